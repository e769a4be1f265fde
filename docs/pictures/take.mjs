// Takes the pictures: a client signs a quote of the sandbox on a phone, an invoice is issued and paid, and a receiver that
// refuses some events takes the rest. `make` says what it needs.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { end, given, open, PHONE } from "../../examples/tests/browser/pages.mjs";

// A name of this machine, in the network that `make` has set up.
const RECEIVER = "http://crm.exemple.fr/hook";
// The business before the first picture, always the same.
const OPERATIONS = 100;
const SEED = 1;
const TWICE = { deviceScaleFactor: 2 };
const DESK = { ...TWICE, viewport: { width: 880, height: 800 } };

const file = (name) => path.join(given.folder, name);
const renovation = JSON.parse(readFileSync("examples/data/renovation.json", "utf8"));

/** The events that the receiver refuses for now. */
const refused = new Set();
const receiver = createServer(async (request, response) => {
  const { event } = JSON.parse(await text(request));
  response.writeHead(refused.has(event) ? 503 : 204).end();
});
receiver.listen(80, "127.0.0.1");
await once(receiver, "listening");

/** Starts a sandbox on the one database: its first line, one that waits for further ones, and one that stops it. */
async function sandbox(activity) {
  const options = ["--db", file("sandbox.db"), "--webhook", RECEIVER, "--quota", "0", "--seed", SEED, "--activity", activity];
  const program = spawn(given.sandbox, options.map(String), { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the sandbox has ended");
    return JSON.parse(value);
  };
  const stop = async () => {
    const ended = once(program, "exit");
    program.kill();
    await ended;
  };
  return { hello: await line(), line, stop };
}

const before = await sandbox(40);
for (let count = 0; count < OPERATIONS; count += 1) await before.line();
await before.stop();
const { hello, stop } = await sandbox(0);
given.base = hello.baseUrl;
const at = (address) => new URL(address, given.base).href;

/** Calls the API. */
async function call(address, body) {
  const headers = { authorization: `Bearer ${hello.companies[0].apiKey}`, "content-type": "application/json" };
  const answer = await fetch(at(`/api/v1/${address}`), { headers, method: body ? "POST" : "GET", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** Loads the page again until its table shows all of the texts. */
async function shows(page, texts) {
  const limit = Date.now() + 30_000;
  for (;;) {
    const table = await page.locator("table").innerText();
    if (texts.every((wanted) => table.includes(wanted))) return;
    if (Date.now() > limit) throw new Error(`${page.url()} does not show ${texts.join(" and ")}: ${table}`);
    await page.waitForTimeout(200);
    await page.reload();
  }
}

const studio = await open();

/** Keeps a PNG as WebP, which takes less than half of the room, with an edge that shows on any ground. */
async function keep(name, png) {
  const webp = await studio.evaluate(async (text) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    Object.assign(pen, { strokeStyle: "rgb(128 128 128 / 50%)", lineWidth: 4 }).strokeRect(0, 0, image.width, image.height);
    const bytes = await (await canvas.convertToBlob({ type: "image/webp", quality: 0.8 })).arrayBuffer();
    return Array.from(new Uint8Array(bytes));
  }, png.toString("base64"));
  writeFileSync(file(`${name}.webp`), Buffer.from(webp));
}

/** Pictures of the page, in the light and in the dark, down to the end of an element. */
async function picture(page, name, last) {
  const box = await last.boundingBox();
  const clip = { x: 0, y: 0, width: page.viewportSize().width, height: Math.ceil(box.y + box.height) + 8 };
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await keep(`${name}-${colorScheme}`, await page.screenshot({ fullPage: true, clip }));
  }
}

/** Fills in the form of an invoice without a quote. */
async function draft(page, client, lines) {
  await page.goto(at(`/invoices/new?client=${client.id}`));
  for (const [place, line] of lines.entries()) {
    for (const part of ["description", "quantity", "unit", "unitPrice", "tvaRate"]) {
      await page.locator(`[name="lines[${place}].${part}"]`).fill(`${line[part]}`);
    }
  }
  await page.getByRole("button", { name: "Make the draft" }).click();
}

const page = await open(DESK);
await page.goto(hello.consoleUrl);

const clients = (await call("clients?limit=100")).data;
const people = new Set(clients.filter(({ type }) => type === "PARTICULIER").map(({ id }) => id));
const quote = (await call("quotes?status=DRAFT&limit=100")).data.find(({ clientId }) => people.has(clientId));
await page.goto(at(`/quotes/${quote.id}/send`));
await page.getByRole("button", { name: "Send the quote" }).click();
await page.getByRole("button", { name: "Make a signing link" }).click();
await page.getByText("Show the link").click();
const link = await page.locator(".secret code").innerText();
const phone = await open({ ...TWICE, viewport: PHONE, isMobile: true, hasTouch: true, locale: "fr-FR" });
await phone.goto(link);
await phone.locator("[name=name]").fill(quote.clientName);
const plain = quote.clientName.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
await phone.locator("[name=email]").fill(`${plain.replace(" ", ".")}@exemple.fr`);
await phone.getByRole("button", { name: "Signer" }).click();
await picture(phone, "signature", phone.locator("main"));
await phone.getByRole("button", { name: "Signer maintenant" }).click();

refused.add("invoice.created");
const lines = [0, 1, 3, 5, 7].map((place) => renovation.lines[place]);
await draft(page, await call("clients", renovation.client), lines);
const invoice = page.url().split("?")[0];
await page.getByRole("link", { name: "Issue the invoice" }).click();
await page.getByRole("button", { name: "Issue the invoice" }).click();
const issued = await page.request.get(`${invoice}/document`);
const pdf = ["-png", "-singlefile", "-r", "144", "-", file("invoice")];
execFileSync("pdftoppm", pdf, { input: await issued.body() });
await keep("invoice", readFileSync(file("invoice.png")));

const deliveries = at(`/webhooks/${hello.webhooks[0].id}/deliveries`);
await page.goto(deliveries);
await shows(page, ["Failed"]);
refused.add("invoice.paid");
await page.goto(`${invoice}/paid`);
await page.getByRole("button", { name: "Mark as paid" }).click();
await page.goto(deliveries);
await shows(page, ["Failed", "Waiting"]);
await picture(page, "deliveries", page.locator("tbody tr").nth(6));

await page.goto(at("/invoices"));
await picture(page, "invoices", page.locator("tbody tr").nth(7));
await draft(page, await call("clients", { name: "Menuiserie Faure", type: "PROFESSIONNEL" }), lines.slice(0, 1));
await page.getByRole("link", { name: "Issue the invoice" }).click();
await picture(page, "gaps", page.locator(".notice").last());

await stop();
receiver.close();
receiver.closeAllConnections();
await end();
