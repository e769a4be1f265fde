// Reads deliveries as JSON, and writes the event of each that Stripe's library takes for genuine, else null.

import { json } from "node:stream/consumers";
import { createRequire } from "node:module";

// Its packages are not beside this file.
const Stripe = createRequire(process.argv[2])("stripe");
const taken = (await json(process.stdin)).map(({ body, signature, secret }) => {
  try {
    return Stripe.webhooks.constructEvent(Buffer.from(body), signature, secret).event;
  } catch (refused) {
    if (refused.type === "StripeSignatureVerificationError") return null;
    throw refused;
  }
});
process.stdout.write(JSON.stringify(taken));
