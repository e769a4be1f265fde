// By keyboard alone: every target is reached and seen, and a quote is signed.

import { check, end, given, open, step } from "./pages.mjs";

/** Goes on with the tab key until an element has the focus. */
async function tabTo(page, matches, what) {
  for (let presses = 0; presses < 200; presses++) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const element = document.activeElement;
      const style = getComputedStyle(element);
      const box = element.getBoundingClientRect();
      return {
        id: element.id, name: element.getAttribute("name"), value: element.getAttribute("value"), type: element.type,
        text: element.innerText ?? "", href: element.getAttribute("href"), sign: element.matches(".sign-bar button"),
        // A check box has the outline itself; what is out of the window is not seen.
        seen: style.outlineStyle !== "none" && box.width > 0 && box.bottom > 0 && box.top < innerHeight,
        covered: element === document.body,
      };
    });
    if (!focus.covered) check(focus.seen, `${page.url()}: the focus on ${JSON.stringify(focus)} is not seen`);
    if (matches(focus)) return;
  }
  throw new Error(`${page.url()}: ${what} is not reached`);
}

const page = await open({ viewport: { width: 1280, height: 800 } });
await page.goto(new URL("webhooks/new", given.base.replace(/\/?$/, "/")).href);
await tabTo(page, ({ href }) => href === "#content", "the link to the content");
await page.keyboard.press("Enter");
await tabTo(page, ({ name }) => name === "url", "the address");
await page.keyboard.type("http://127.0.0.1:8/hook");
await tabTo(page, ({ value }) => value === "quote.created", "a check box");
await page.keyboard.press("Space");
await tabTo(page, ({ text, type }) => type === "submit" && text === "Register", "the button");
await page.keyboard.press("Enter");
await page.waitForSelector("#secret", { state: "attached" });
step("a webhook is registered by keyboard");

const signing = await open({ viewport: { width: 390, height: 844 } });
await signing.goto(new URL(given.signing.open, given.base).href);
await tabTo(signing, ({ name }) => name === "name", "the name");
await signing.keyboard.type("Claire Lefèvre");
await tabTo(signing, ({ name }) => name === "email", "the e-mail");
await signing.keyboard.type("claire@example.com");
await tabTo(signing, ({ sign }) => sign, "the sign button");
await signing.keyboard.press("Enter");
await signing.waitForSelector("input[name=confirmed]", { state: "attached" });
await tabTo(signing, ({ text, type }) => type === "submit" && text === "Sign now", "the button of the second look");
await signing.keyboard.press("Enter");
await signing.waitForSelector("input[name=confirmed]", { state: "detached" });
check(/signed/i.test(await signing.locator("main").innerText()), "signed by keyboard");
step("a quote is signed by keyboard");
await end();
