// A browser, and what must hold on every page that it shows.

import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { text } from "node:stream/consumers";
import path from "node:path";

const [packages, executablePath] = process.argv.slice(2);
const require = createRequire(packages);
const { chromium } = require("playwright-core");
const { default: AxeBuilder } = require("@axe-core/playwright");

/** What the test says, as JSON on standard input. */
export const given = JSON.parse(await text(process.stdin));

export const SIZES = [
  { width: 320, height: 568 },
  { width: 390, height: 844 },
  { width: 844, height: 390 },
  { width: 1280, height: 800 },
];
export const [, PHONE, , DESKTOP] = SIZES;

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

const faults = [];
let looked = 0;

/** Says what is wrong; the script fails at its end. */
export function fault(what) {
  faults.push(what);
}

export function check(holds, what) {
  if (!holds) fault(what);
}

/** Says what is done. */
export function step(what) {
  console.log(what);
}

/** A page of its own, with a fault for each error that it logs, a violated policy among them. */
export async function open(options = {}) {
  const context = await browser.newContext({ viewport: DESKTOP, locale: "en-GB", ...options });
  // A page that hangs is a fault, and not the end of all that the script says.
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  page.on("pageerror", (error) => fault(`${page.url()}: ${error}`));
  page.on("console", (message) => {
    // The browser logs each answer that says no; the scripts know which of them do.
    const refusal = /^Failed to load resource: the server responded with a status of 4\d\d/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !(refusal && given.refusals)) fault(`${page.url()}: ${message.text()}`);
  });
  page.on("requestfailed", (request) => {
    // A download ends the navigation that began it.
    const error = request.failure()?.errorText;
    if (error !== "net::ERR_ABORTED") fault(`${request.url()}: ${error}`);
  });
  page.on("request", (request) => {
    check(request.url().startsWith(new URL(given.base).origin), `${page.url()} asks for ${request.url()}`);
  });
  return page;
}

/** What axe finds in the page, as it is. */
export async function axe(page, state) {
  // Findings of frames would have to be put together in a further page.
  check(page.frames().length === 1, `${state}: a frame`);
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  looked += 1;
  for (const { id, help, nodes } of violations) {
    fault(`${state}: ${id} (${help}): ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  }
}

/** Whether the page fits each window, and no word is broken, but for addresses and what has no words. */
export async function fits(page, state) {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    const { wide, narrow, broken } = await page.evaluate(() => {
      const { scrollWidth: wide, clientWidth: narrow } = document.documentElement;
      const broken = [];
      const range = document.createRange();
      const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode;
        if (text.parentElement.closest("code, pre, textarea, select, .address")) continue;
        for (const { index, 0: word } of text.data.matchAll(/[\p{L}\p{N}]+/gu)) {
          if (word.length > 30) continue;
          range.setStart(text, index);
          range.setEnd(text, index + word.length);
          const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
          if (lines.size > 1) broken.push(word);
        }
      }
      return { wide, narrow, broken: broken.slice(0, 3) };
    });
    check(wide <= narrow, `${state} at ${size.width} × ${size.height}: ${wide} px wide`);
    check(broken.length === 0, `${state} at ${size.width} px: broken words: ${broken.join(", ")}`);
  }
}

/** Whether all of an element is in the window, at the top of the page and at its end. */
export async function staysInView(page, element, state) {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    for (const place of [0, 0.5, 1]) {
      await page.evaluate((part) => window.scrollTo(0, part * document.documentElement.scrollHeight), place);
      const box = await element.boundingBox();
      const inside = box && box.x >= 0 && box.y >= 0 && box.x + box.width <= size.width && box.y + box.height <= size.height;
      check(inside, `${state} at ${size.width} × ${size.height}, scrolled to ${place}: the button is out of view`);
    }
  }
}

/** Whether no bar covers a field that has the focus, on phones. */
export async function fieldsStayClear(page, state) {
  for (const width of [360, 390, 412]) {
    await page.setViewportSize({ width, height: 740 });
    for (const field of await page.locator("form :is(input:not([type=hidden]), textarea)").all()) {
      await page.evaluate(() => window.scrollTo(0, 0));
      await field.focus();
      const covered = await field.evaluate((element) => {
        const bar = document.querySelector(".sign-bar")?.getBoundingClientRect();
        const own = element.getBoundingClientRect();
        return bar !== undefined && own.bottom > bar.top && own.top < bar.bottom;
      });
      check(!covered, `${state} at ${width} px: the bar covers ${await field.getAttribute("name")}`);
    }
  }
}

/** Pictures of the page, for looking at. */
export async function picture(page, name) {
  mkdirSync(given.pictures, { recursive: true });
  for (const [device, size] of [["phone", PHONE], ["desktop", DESKTOP]]) {
    await page.setViewportSize(size);
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.screenshot({ path: path.join(given.pictures, `${name}-${device}.png`), fullPage: true, caret: "initial" });
  }
}

/** Ends the script. */
export async function end() {
  await browser.close();
  for (const what of faults.slice(0, 100)) console.error(what);
  console.log(`axe: ${looked} pages looked at; faults of all kinds: ${faults.length}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
