// Validates a document with the JSON Schema of OpenAPI 3.1, its schemas included.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Its packages are not beside this file.
const [packages, document] = process.argv.slice(2);
const library = createRequire(packages).resolve("@hyperjump/json-schema/openapi-3-1");
const { validate } = await import(pathToFileURL(library));
const found = await validate(
  "https://spec.openapis.org/oas/3.1/schema-base",
  JSON.parse(await readFile(document, "utf8")),
  "BASIC",
);
if (!found.valid) {
  console.error(JSON.stringify(found.errors, null, 1));
  process.exitCode = 1;
}
