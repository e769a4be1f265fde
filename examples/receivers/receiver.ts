// Receives webhooks with nothing but Node (24 or newer, which runs TypeScript as it is).
//
//     SIGNING_SECRET=whsec_… API_KEY=isk_… BASE_URL=https://quotes.example.com node receiver.ts
//
// A delivery is verified, kept in the inbox and answered. Then the document is fetched and linked.

import { createHmac, timingSafeEqual } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

interface Event {
  event: string;
  timestamp: string;
  data: { id: string };
}

const { SIGNING_SECRET = "", API_KEY = "", BASE_URL = "", INBOX = "inbox.db", PORT = "9000" } = process.env;
if (!SIGNING_SECRET) throw new Error("SIGNING_SECRET is not set"); // anybody can sign with an empty one
const inbox = new DatabaseSync(INBOX, { timeout: 5_000 });
inbox.exec(`CREATE TABLE IF NOT EXISTS inbox (event TEXT, id TEXT, timestamp TEXT, body TEXT,
            handled INTEGER DEFAULT FALSE, PRIMARY KEY (event, id, timestamp))`);
const arrivals = new EventEmitter();

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
  // What is known already is left alone.
  const insert = inbox.prepare("INSERT OR IGNORE INTO inbox (event, id, timestamp, body) VALUES (?, ?, ?, ?)");
  insert.run(event, data.id, timestamp, body);
  arrivals.emit("kept");
}

async function call(method: string, path: string, body?: object) {
  const headers = { Authorization: `Bearer ${API_KEY}`, "Content-Type": "application/json" };
  for (;;) {
    const request = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(30_000) };
    const response = await fetch(`${BASE_URL}/api/v1${path}`, request);
    if (response.ok) return response.json();
    const wait = response.headers.get("Retry-After"); // the quota of the key, or an outage
    if (wait === null) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    await setTimeout(1_000 * Number(wait));
  }
}

async function handle({ event, data }: Event): Promise<string> {
  switch (event) {
    case "quote.created": case "quote.signed": case "quote.accepted": {
      const quote = await call("GET", `/quotes/${data.id}`);
      const deal = `deal-${quote.number}`; // the id in your own system
      if (quote.externalId !== deal) await call("PATCH", `/quotes/${quote.id}`, { externalId: deal });
      return `${deal} has ${quote.lines.length} lines`;
    }
    case "invoice.created": case "invoice.paid": {
      const invoice = await call("GET", `/invoices/${data.id}`);
      return `${invoice.status} with ${invoice.lines.length} lines`;
    }
    default:
      return "nothing to do"; // pings, projects, and what later versions add
  }
}

async function work(): Promise<never> {
  const waiting = inbox.prepare("SELECT rowid, body FROM inbox WHERE NOT handled ORDER BY rowid");
  const finish = inbox.prepare("UPDATE inbox SET handled = TRUE WHERE rowid = ?");
  for (;;) {
    const due = waiting.all();
    for (const { rowid, body } of due) {
      const event: Event = JSON.parse(String(body));
      try {
        const done = await handle(event);
        finish.run(rowid ?? null);
        console.log(event.event, event.data.id, event.timestamp, done);
      } catch (failed) { // whatever it is, the event comes again after the others
        console.error(`${event.event}: ${failed}`);
        await setTimeout(5_000);
      }
    }
    if (due.length === 0) await once(arrivals, "kept");
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
