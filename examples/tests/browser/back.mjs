// Back and forward, before and after a signature: no page asks to send a form again, and entries are kept.

import { check, end, given, open, step } from "./pages.mjs";

const [NAME, EMAIL] = ["Léa Lefèvre", "léa@exemple.fr"];
const page = await open({ javaScriptEnabled: given.script });
const textOf = async () => (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");

/** Goes through the history of the browser, to a page that is there. */
async function go(where, wanted) {
  const response = await (where === "back" ? page.goBack() : page.goForward());
  check(response === null || response.ok(), `${where}: ${response?.status()}`);
  check((await textOf()).includes(wanted), `${where} to ${wanted}: ${await textOf()}`);
}

await page.goto(new URL(given.signing.open, given.base).href);
await page.getByLabel("Your name").fill(NAME);
await page.getByLabel("Your e-mail").fill(EMAIL);
await page.locator(".sign-bar button").click();
await page.waitForSelector("input[name=confirmed]", { state: "attached" });
const address = decodeURIComponent(page.url());
check(!address.includes("Léa") && !address.includes("léa") && address.length < 4_000, `the address: ${address}`);
await page.reload();
check((await textOf()).includes(`You sign`) && (await textOf()).includes(EMAIL), "the second look, loaded again");
step("the second look is loaded again");

await page.getByRole("link", { name: "Back to the quote" }).click();
check((await page.getByLabel("Your name").inputValue()) === NAME, "the name is kept");
check((await page.getByLabel("Your e-mail").inputValue()) === EMAIL, "the e-mail is kept");
await go("back", "You sign");
await go("back", "Sign the quote");
await go("forward", "You sign");
step("back and forward lead to the second look");

await page.getByRole("button", { name: "Sign now" }).click();
await page.waitForSelector("input[name=confirmed]", { state: "detached" });
check((await textOf()).includes("The quote is signed"), `after signing: ${await textOf()}`);
// The second look, and before it the quote, are now the page of the signed quote.
await go("back", "The quote is signed");
await go("back", "The quote is signed");
await go("forward", "The quote is signed");
await page.reload();
check((await textOf()).includes(NAME), `loaded again: ${await textOf()}`);
step("back leads to the signed quote");
await end();
