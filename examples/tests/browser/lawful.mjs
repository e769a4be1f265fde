// From a company that has entered nothing to an issued invoice: each gap of the list leads to the input that mends it.

import { axe, check, end, given, open, step } from "./pages.mjs";

const page = await open({ javaScriptEnabled: given.script });
const at = (path) => new URL(path, given.base.replace(/\/?$/, "/")).href;
const gaps = () => page.locator("div.notice.error li a");
const value = { address: "12 rue des Métiers", siret: "73282932000074", vatNumber: "FR44732829320" };

await page.goto(at("clients/new"));
await page.locator("#name").fill("Dupont SARL");
await page.locator("#type").selectOption("PROFESSIONNEL");
await page.getByRole("button", { name: "Save the client" }).click();
step("a client has a name and a kind");

await page.goto(at("invoices/new"));
await page.locator("#q").fill("dupont");
await page.getByRole("button", { name: "Search" }).click();
await page.getByRole("link", { name: "Dupont SARL" }).click();
const first = (name) => page.locator(`[name="lines[0].${name}"]`);
await first("description").fill("Pose de cloisons");
await first("unitPrice").fill("1,200.00");
await page.getByRole("button", { name: "Make the draft" }).click();
await page.getByRole("link", { name: "Issue the invoice" }).click();
const issue = page.url();
if (given.script) await axe(page, "the list of an empty company");
if (given.pictures) await page.screenshot({ path: `${given.pictures}-empty.png`, fullPage: true });
const listed = await gaps().count();
check(listed === 4, `${listed} gaps: ${await page.locator("main").innerText()}`);
step("the issue lists all that is missing at once");

for (let left = listed; left > 0; left -= 1) {
  await gaps().first().click();
  const name = new URL(page.url()).hash.slice(1);
  const input = page.locator(`form #${name}`);
  check(await input.isVisible(), `no input ${name} on ${page.url()}`);
  await input.fill(value[name]);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  check((await page.locator("main").innerText()).includes("Saved."), `${name} is not saved`);
  await page.goto(issue);
  check((await gaps().count()) === left - 1, `after ${name}: ${await page.locator("main").innerText()}`);
  step(`${name} is entered`);
}

if (given.pictures) await page.screenshot({ path: `${given.pictures}-ready.png`, fullPage: true });
await page.getByRole("button", { name: "Issue the invoice" }).click();
const issued = await page.locator("main").innerText();
check(/FAC-\d{4}-0001/.test(issued), `not issued: ${issued}`);
step("the invoice is issued");
await end();
