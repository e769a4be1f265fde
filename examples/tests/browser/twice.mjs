// A form whose answer is late, one that is sent again, and a new one behind it.

import { check, end, given, open, step } from "./pages.mjs";

const page = await open({ javaScriptEnabled: given.script });
await page.goto(new URL("keys/new", given.base.replace(/\/?$/, "/")).href);
await page.getByLabel("Name").fill("CRM");
await page.route("**/keys", async (route) => {
  await new Promise((later) => setTimeout(later, 2_000));
  await route.continue();
});
const button = page.getByRole("button", { name: "Issue the key" });
if (given.script) {
  await button.evaluate((button) => button.form.addEventListener("submit", () => {
    setTimeout(() => sessionStorage.setItem("off", String(button.disabled)), 100);
  }));
}
await button.click({ noWaitAfter: true });
await page.waitForSelector("#key", { state: "attached" });
if (given.script) {
  const off = await page.evaluate(() => sessionStorage.getItem("off"));
  check(off === "true", "the button is on while the form is under way");
}
const key = await page.locator("#key").textContent();
step("a key is issued");

await page.unroute("**/keys");
await page.reload();
const again = await page.locator("main").innerText();
check(again.includes("Already done") && again.includes("CRM") && !again.includes(key), `sent again: ${again}`);
step("loaded again, the page leads to the key");
await page.getByRole("link", { name: "See what it has done" }).click();
await page.goBack();
check((await page.locator("main").innerText()).includes("Already done"), "back to the page that leads to the key");
step("back from the key, the page is there again");

await page.goBack();
await page.waitForLoadState();
await page.getByLabel("Name").fill("Second");
await page.getByRole("button", { name: "Issue the key" }).click();
await page.waitForSelector("#key", { state: "attached" });
step("the form behind it issues another key");
await end();
