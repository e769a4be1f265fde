// Receives webhooks with nothing but Node (24 or newer, which runs TypeScript as it is).
//
//     SIGNING_SECRET=whsec_… API_KEY=isk_… BASE_URL=https://quotes.example.com node receiver.ts
//
// A delivery is verified, kept in the inbox and answered. Then the document is fetched and linked.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

interface Event {
  event: string;
  timestamp: string;
  data?: { id?: string };
}

const { BASE_URL = "", INBOX = "inbox.db", PORT = "9000", RECEIVER = "" } = process.env; // RECEIVER: see README.md
const SIGNING_SECRET = (process.env.SIGNING_SECRET ?? "").trim();
const API_KEY = (process.env.API_KEY ?? "").trim();
process.umask(0o077); // the inbox has your clients' names
if (!SIGNING_SECRET) throw new Error("SIGNING_SECRET is not set"); // with an empty one, any signature can be made
const inbox = new DatabaseSync(INBOX, { timeout: 3_000 }); // the sender waits for 5 s
inbox.exec(`CREATE TABLE IF NOT EXISTS inbox (receiver TEXT, event TEXT, id TEXT, timestamp TEXT, body TEXT, handled
            INTEGER DEFAULT FALSE, attempts INTEGER DEFAULT 0, due INTEGER DEFAULT 0,
            PRIMARY KEY (receiver, event, id, timestamp))`);

function isGenuine(header: string, body: Buffer): boolean {
  const parts = header.split(",").map((part) => /^([^=]*)=(.*)$/.exec(part) ?? ["", "", ""]);
  const times = parts.filter(([, name]) => name === "t").map(([, , value]) => value);
  const [t = ""] = times;
  const age = Math.abs(Math.floor(Date.now() / 1000) - Number(t));
  if (times.length !== 1 || !/^[0-9]{1,12}$/.test(t) || age > 300) return false;
  // The key is the whole secret, `whsec_` included. There are two `v1` while a secret is being replaced.
  const mac = createHmac("sha256", SIGNING_SECRET).update(`${t}.`).update(body).digest("hex");
  const isMac = (value = "") =>
    value.length === mac.length && timingSafeEqual(Buffer.from(value, "latin1"), Buffer.from(mac));
  return parts.some(([, name, value]) => name === "v1" && isMac(value));
}

function keep(body: string): void {
  const { event, data, timestamp }: Event = JSON.parse(body);
  // What is known already is left alone. An event that is not known here may be without an id.
  const insert = inbox.prepare(`INSERT OR IGNORE INTO inbox (receiver, event, id, timestamp, body)
    VALUES (?, ?, ?, ?, ?)`);
  insert.run(RECEIVER, event, data?.id ?? "", timestamp, body);
}

/** Milliseconds to wait: what the answer asks for, in seconds or as a date, and longer with each attempt. */
function pause(retryAfter: string, attempt: number): number {
  const asked = /^[0-9]+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - Date.now();
  return Math.min(Math.max(asked || 0, 1_000 * 2 ** attempt), 90_000);
}

async function call(method: string, path: string, body?: object) {
  const headers = { Authorization: `Bearer ${API_KEY}`, "Content-Type": "application/json" };
  for (let attempt = 0; ; attempt++) {
    const request = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(30_000) };
    // No redirect: the key goes to no other address.
    const response = await fetch(`${BASE_URL}/api/v1${path}`, { ...request, redirect: "error" });
    if (response.ok) return response.json();
    const wait = response.headers.get("Retry-After"); // the quota of the key, or an outage
    if (wait === null || attempt === 4) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    await setTimeout(pause(wait, attempt));
  }
}

async function handle({ event, data }: Event): Promise<string> {
  switch (event) {
    case "quote.created": case "quote.signed": case "quote.accepted": {
      const quote = await call("GET", `/quotes/${data?.id}`);
      const deal = `deal-${quote.number}`; // the id in your own system
      if (quote.externalId !== deal) await call("PATCH", `/quotes/${quote.id}`, { externalId: deal });
      return `${deal} has ${quote.lines.length} lines`;
    }
    case "invoice.created": case "invoice.paid": {
      const invoice = await call("GET", `/invoices/${data?.id}`);
      return `${invoice.status} with ${invoice.lines.length} lines`;
    }
    default:
      return "nothing to do"; // pings, projects, and what later versions add
  }
}

async function work(): Promise<never> {
  const waiting = inbox.prepare(`SELECT rowid, event, id, timestamp, body FROM inbox
    WHERE receiver = ? AND NOT handled AND due <= strftime('%s', 'now') ORDER BY rowid`);
  const finish = inbox.prepare("UPDATE inbox SET handled = TRUE WHERE rowid = ?");
  // In 5 s, then in 10 s, and so on up to 85 minutes: one that always fails does not hold up the others.
  const postpone = inbox.prepare(`UPDATE inbox SET attempts = attempts + 1,
    due = strftime('%s', 'now') + (5 << min(attempts, 10)) WHERE rowid = ?`);
  for (;;) {
    for (const { rowid = null, event, id, timestamp, body } of waiting.all(RECEIVER)) {
      try {
        const done = await handle(JSON.parse(String(body)));
        finish.run(rowid);
        console.log(event, id, timestamp, done);
      } catch (failed) {
        console.error(`${event}: ${failed}`);
        postpone.run(rowid);
      }
    }
    await setTimeout(200);
  }
}

async function receive(request: IncomingMessage): Promise<number> {
  if (!(Number(request.headers["content-length"]) <= 1 << 20)) return 413;
  const body = await buffer(request); // as it came, not parsed
  if (!isGenuine(String(request.headers["x-service-signature"]), body)) return 400; // a 4xx ends the delivery
  keep(body.toString());
  return 204;
}

createServer(async (request, response) => {
  response.writeHead(await receive(request).catch(() => 500)).end();
}).listen(Number(PORT), "127.0.0.1");
await work();
