// Whether a delivery is genuine, with Node's standard library. Exits with 0 where it is, else with 1:
//
//   INVOICING_WEBHOOK_SECRET=whsec_… SIGNATURE='t=…,v1=…' node verify.js < body

import { readFileSync } from "node:fs";

// region verify
import { createHmac, timingSafeEqual } from "node:crypto";

/** Takes the whole secret with `whsec_`, the signature header, and the body as it came, before any parser. */
export function verify(secret: string, signature: string, body: Buffer): boolean {
  const values = (name: string): string[] =>
    signature.split(",").filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const [t, ...more] = values("t");
  if (t === undefined || more.length > 0 || !/^[0-9]{1,12}$/.test(t)) return false;
  if (Math.abs(Math.floor(Date.now() / 1_000) - Number(t)) > 300) return false; // a replay, or a wrong clock
  // A secret from a file ends with a line break.
  const mac = Buffer.from(createHmac("sha256", secret.trim()).update(`${t}.`).update(body).digest("hex"));
  // In constant time. There are two `v1` while a secret is rotated: any match is enough.
  return values("v1").map((v1) => Buffer.from(v1)).some((v1) => v1.length === mac.length && timingSafeEqual(v1, mac));
}
// endregion

const { INVOICING_WEBHOOK_SECRET: secret, SIGNATURE: signature } = process.env;
if (!secret || !signature) throw new Error("INVOICING_WEBHOOK_SECRET or SIGNATURE is not set");
process.exitCode = verify(secret, signature, readFileSync(0)) ? 0 : 1;
