"""Reads deliveries as JSON, and writes the event of each that Stripe's library takes for genuine, else null."""

import json, sys, stripe

taken = []
for delivery in json.load(sys.stdin):
    try:
        event = stripe.Webhook.construct_event(delivery["body"].encode(), delivery["signature"], delivery["secret"])
        taken.append(event["event"])
    except stripe.SignatureVerificationError:
        taken.append(None)
json.dump(taken, sys.stdout)
