// The whole journey: a webhook is registered, its test fails and says why, the receiver is mended, what failed is sent
// again; a quote is sent, and signed on a phone.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { axe, check, end, given, open, PHONE, picture, staysInView, step } from "./pages.mjs";

const script = given.script ?? true;
const receiver = { status: 500, received: [] };
const server = createServer(async (request, response) => {
  const { event } = JSON.parse(await text(request));
  receiver.received.push({ event, status: receiver.status });
  response.writeHead(receiver.status, { "content-type": "text/html" });
  response.end("<script>alert(1)</script>");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${server.address().port}/hook`;

/** Loads the page again until a part of it shows a text, as a person without a script would. */
async function shows(page, wanted, part = "main") {
  const limit = Date.now() + 30_000;
  for (;;) {
    const texts = await page.locator(part).allInnerTexts();
    if (texts.some((text) => text.includes(wanted))) return;
    if (Date.now() > limit) throw new Error(`${page.url()} does not show ${wanted}: ${texts.join()}`);
    await page.waitForTimeout(300);
    await page.reload();
  }
}

const page = await open({ javaScriptEnabled: script });
await page.goto(given.base);
await page.getByRole("link", { name: "Register a webhook" }).click();
await page.getByLabel("Address of the receiver").fill(url);
await page.getByLabel(/^quote\.created/).check();
await page.getByLabel(/^quote\.signed/).check();
await page.getByRole("button", { name: "Register" }).click();
await page.getByText("Show the secret").click();
const secret = await page.locator("#secret").innerText();
check(secret.startsWith("whsec_"), `the secret: ${secret}`);
if (script) await axe(page, "the secret");
await picture(page, `secret${script ? "" : "-without-script"}`);
step("registered, and the secret is shown");

await page.getByRole("link", { name: "I have kept it" }).click();
await page.getByRole("button", { name: "Send a test" }).click();
await shows(page, "HTTP 500");
// All attempts.
await shows(page, "Failed.");
if (script) await axe(page, "a test that failed");
await picture(page, `failed-test${script ? "" : "-without-script"}`);
step("the test failed, and the page says why: HTTP 500");

// A quote, from the draft to the signature on a phone.
await page.goto(new URL(given.draft, given.base).href);
await page.getByRole("link", { name: "Send the quote" }).click();
await page.getByRole("button", { name: "Send the quote" }).click();
await page.getByRole("button", { name: "Make a signing link" }).click();
await page.getByText("Show the link").click();
const address = await page.locator(".secret code").innerText();
if (script) await axe(page, "a signing link");
await picture(page, `signing-link${script ? "" : "-without-script"}`);
step("the quote is sent, with a link to sign");

const phone = await open({ viewport: PHONE, isMobile: true, hasTouch: true, javaScriptEnabled: script });
await phone.goto(address);
await staysInView(phone, phone.locator(".sign-bar button"), "the quote on a phone");
await phone.setViewportSize(PHONE);
await phone.getByLabel("Your name").fill("Claire Lefèvre");
await phone.getByLabel("Your e-mail").fill("claire@example.com");
await phone.locator(".sign-bar button").click();
await phone.waitForLoadState();
const secondLook = await phone.locator("main").innerText();
check(/^You sign [\d\s,]+/.test(secondLook) && secondLook.includes("Claire Lefèvre"), `the second look: ${secondLook}`);
if (script) await axe(phone, "the second look");
await picture(phone, `second-look${script ? "" : "-without-script"}`);
await phone.getByRole("button", { name: "Sign now" }).click();
await phone.waitForLoadState();
const signed = await phone.locator("main").innerText();
check(/signed/i.test(signed) && /[0-9a-f]{64}/.test(signed.replaceAll(/\s/g, "")), `after signing: ${signed}`);
if (script) await axe(phone, "after signing");
await picture(phone, `after-signing${script ? "" : "-without-script"}`);
step("signed on a phone, and the fingerprint is shown");

await page.goto(new URL(given.draft, given.base).href);
check(/accepted/i.test(await page.locator("main").innerText()), "the quote is accepted");
step("the console shows that it is accepted");
// Mended, once all attempts to tell of the signature have failed.
await page.goto(new URL("/webhooks", given.base).href);
// Lists show no more of an address than its host.
await page.getByRole("link", { name: new URL(url).host }).first().click();
const webhook = page.url();
await page.goto(`${webhook}/deliveries?status=failed&kind=quote.signed`);
await shows(page, "quote.signed", "table");
await picture(page, `failed-deliveries${script ? "" : "-without-script"}`);
receiver.status = 204;
await page.goto(webhook);
await page.getByRole("button", { name: "Send a test" }).click();
await shows(page, "HTTP 204");
step("the receiver is mended, and the test arrived");

await page.getByRole("link", { name: /deliveries/i }).first().click();
await page.getByRole("link", { name: /failed/i }).first().click();
await page.getByRole("button", { name: "Count them" }).click();
// The first test, too.
await shows(page, "2 deliveries have failed");
if (script) await axe(page, "how many are sent again");
await picture(page, `how-many${script ? "" : "-without-script"}`);
await page.getByRole("button", { name: "Send again: 2" }).click();
await page.goto(`${webhook}/deliveries?status=delivered&kind=quote.signed`);
await shows(page, "quote.signed", "table");
const arrived = receiver.received.filter(({ event, status }) => event === "quote.signed" && status === 204);
check(arrived.length === 1, JSON.stringify(receiver.received));
step("what failed was sent again, and arrived");

server.close();
server.closeAllConnections();
await end();
