// Follows every link: each page fits each window, axe finds nothing, nothing is logged, and no page changes anything.

import { axe, check, end, fieldsStayClear, fits, given, open, picture, staysInView, step } from "./pages.mjs";

/** The address without what differs between two pages of one kind: ids, tokens and the query. */
function kind(address) {
  const pathname = new URL(address).pathname.slice(new URL(given.base).pathname.replace(/\/$/, "").length);
  const parts = pathname.split("/").filter(Boolean);
  return parts.map((part) => (part.length > 20 ? "one" : part)).join("-") || "home";
}

/** The addresses below the base that a page leads to. */
async function links(page) {
  const all = await page.$$eval("a[href]:not([download])", (anchors) => anchors.map((anchor) => anchor.href.split("#")[0]));
  const prefix = given.base.replace(/\/$/, "") + "/";
  return all.filter((address) => address.startsWith(prefix) && !/\.pdf$|\/api\/v1\//.test(address));
}

async function look(page, address, name, pictured) {
  const response = await page.goto(address);
  const expected = given.expected?.[name] ?? 200;
  check(response?.status() === expected, `${address}: ${response?.status()}`);
  check((await page.locator("h1").count()) === 1, `${address}: one heading of the first level`);
  if (given.quick) return;
  await axe(page, `${address} (${name})`);
  await fits(page, address);
  const sign = page.locator(".sign-bar button");
  if (await sign.count()) {
    await staysInView(page, sign, address);
    await fieldsStayClear(page, address);
  }
  if (pictured) await picture(page, name);
}

/** All pages of the console that links lead to, each address once; of each kind no more than a few. */
async function crawl(options, each, pictured) {
  const [seen, kinds] = [new Set(), new Map()];
  const tabs = await Promise.all([open(options), open(options)]);
  let addresses = [given.base];
  while (addresses.length > 0) {
    const chosen = addresses.flatMap((address) => {
      const of = kind(address);
      const count = kinds.get(of) ?? 0;
      if (seen.has(address) || count >= each) return [];
      seen.add(address);
      kinds.set(of, count + 1);
      return [{ address, name: `${of}${count ? `-${count + 1}` : ""}` }];
    });
    // The tabs share the pages of one distance from the first; which of a kind are chosen does not depend on their speed.
    const [found, numbered] = [[], [...chosen.entries()]];
    const work = async (page) => {
      for (let next; (next = numbered.shift()); ) {
        const [place, { address, name }] = next;
        await look(page, address, name, pictured);
        found[place] = await links(page);
      }
    };
    await Promise.all(tabs.map(work));
    addresses = found.flat();
  }
  for (const [name, path] of Object.entries(given.signing ?? {})) {
    // An error of the protocol is logged by the browser itself.
    await look(await open(options), new URL(path, given.base).href, name, pictured);
  }
  step(`${JSON.stringify(options)}: ${seen.size} pages of ${kinds.size} kinds: ${[...kinds.keys()].join(", ")}`);
  await Promise.all(tabs.map((page) => page.context().close()));
  return kinds;
}

const kinds = await crawl({ colorScheme: "light", locale: "en-GB" }, given.each, given.pictures !== undefined);
for (const wanted of given.kinds ?? []) check(kinds.has(wanted), `no link leads to ${wanted}`);
// Colours and texts depend on the kind alone.
if (given.thorough) await crawl({ colorScheme: "dark", locale: "fr-FR" }, 1, false);
await end();
