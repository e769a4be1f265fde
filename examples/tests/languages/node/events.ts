// A switch over all events, with the types that openapi-typescript generated. Reads events as JSON, writes a line of each.

import { json } from "node:stream/consumers";
import type { webhooks } from "./api.js";

type Body<Kind extends keyof webhooks> = webhooks[Kind]["post"]["requestBody"]["content"]["application/json"];
type Event = { [Kind in keyof webhooks]: Body<Kind> }[keyof webhooks];

function tell(event: Event): string {
  switch (event.event) {
    case "quote.created":
    case "quote.signed":
    case "quote.accepted":
      switch (event.data.status) {
        case "DRAFT": return `${event.data.number} is a draft of ${event.data.totalTTC}`;
        case "SENT": return `${event.data.number} is waiting for ${event.data.clientName}`;
        case "ACCEPTED": return `${event.data.number} was accepted at ${event.data.acceptedAt}`;
        default: return `${event.data.number} is not DRAFT, SENT or ACCEPTED: ${event.data.status}`;
      }
    case "invoice.created":
    case "invoice.issued":
      return `${event.data.id} of quote ${event.data.quoteId}: ${event.data.amountDue} due`;
    case "invoice.paid":
      return `${event.data.number ?? "a draft"} was paid at ${event.data.paidAt}`;
    case "credit_note.issued":
      return `${event.data.number} on ${event.data.invoiceNumber}: ${event.data.totalTTC} back`;
    case "project.completed":
      return `${event.data.name} of ${event.data.quoteIds.length} quotes`;
    case "ping":
      return event.data.message;
    default:
      return "not known here";
  }
}

for (const event of (await json(process.stdin)) as Event[]) console.log(`${event.event}: ${tell(event)}`);
