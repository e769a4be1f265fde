// Reads documents, XML or PDF, with `factur-x-kit`. Standard input is a JSON array of them in base64; standard output is one
// of `{"object": …}` or `{"error": …}` for each. The packages are those of the working directory.

import { createRequire } from "node:module";
import process from "node:process";
import { json } from "node:stream/consumers";

const { FacturX } = createRequire(`${process.cwd()}/`)("factur-x-kit");

// The library prints its objections to standard output, which holds the answer here.
console.log = () => {};

async function read(document) {
  try {
    const bytes = Buffer.from(document, "base64");
    const isPdf = bytes.subarray(0, 5).toString() === "%PDF-";
    const invoice = isPdf ? await FacturX.fromPDF(bytes) : await FacturX.fromXML(bytes);
    return { object: invoice.object };
  } catch (error) {
    return { error: String(error) };
  }
}

const outcomes = [];
for (const document of await json(process.stdin)) outcomes.push(await read(document));
process.stdout.write(JSON.stringify(outcomes));
