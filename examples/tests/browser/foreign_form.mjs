// A form on another site, and what it may not do.

import { createServer } from "node:http";
import { check, end, given, open, step } from "./pages.mjs";

const server = createServer((request, response) => {
  response.writeHead(200, { "content-type": "text/html" });
  response.end(`<!DOCTYPE html><title>Elsewhere</title><form method="post" action="${given.target}"><button>Win</button></form>`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
// Another port of the same host is the same site and another origin; another host is another site.
for (const host of ["127.0.0.1", "localhost"]) {
  const page = await open({});
  page.removeAllListeners();
  await page.goto(`http://${host}:${server.address().port}/`);
  const [response] = await Promise.all([page.waitForNavigation(), page.getByRole("button").click()]);
  check(response.status() === 403, `a form on ${host}: ${response.status()}`);
  step(`a form on ${host} is refused`);
}
server.close();
server.closeAllConnections();
await end();
