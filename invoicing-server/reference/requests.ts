// Every request of the API with fetch, in Node 20 or newer. Runs as a whole against a service that has an accepted
// quote, and an invoice with a document and a credit note, once it is compiled by `tsc --strict`:
//
//   INVOICING_URL=http://127.0.0.1:8080 INVOICING_API_KEY=isk_… node requests.js

// region setup
import { createHash } from "node:crypto";

const url = process.env.INVOICING_URL; // such as https://quotes.example.com
const key = process.env.INVOICING_API_KEY?.trim();

// The members that are used here. `npx openapi-typescript $INVOICING_URL/api/v1/openapi.json` generates all of them.
interface Page<T> { data: T[]; pagination: { limit: number; offset: number; hasMore: boolean }; asOf: string }
interface Line { description: string; quantity: number; unit: string | null; totalHT: number }
interface QuoteItem { id: string; number: string; status: string; totalTTC: number; updatedAt: string }
interface Quote extends QuoteItem { lines: Line[] }
interface Invoice { id: string; number: string | null; status: string; totalTTC: number; amountDue: number; currency: string }
interface CreditNoteItem { id: string; number: string; invoiceId: string; invoiceNumber: string; totalTTC: number }
interface VatShare { tvaRate: number; baseHT: number; amountTVA: number }
interface CreditNote extends CreditNoteItem { lines: Line[]; vatBreakdown: VatShare[] }
interface Client { id: string; name: string; email: string | null; city: string | null }
interface DocumentLink { url: string; expiresAt: string; fileName: string; sha256: string }

/** A refusal: its status, its code, which may be one that is not known yet, and a text for people. */
class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(`${status} ${code}: ${message}`);
  }
}

/** Milliseconds to wait: what the answer asks for, in seconds or as a date, and longer with each attempt. */
function pause(retryAfter: string | null, attempt: number): number {
  const asked = /^[0-9]+$/.test(retryAfter ?? "") ? Number(retryAfter) * 1_000 : Date.parse(retryAfter ?? "") - Date.now();
  return Math.min(Math.max(asked || 0, 1_000 * 2 ** (attempt - 1)), 90_000);
}

/** The JSON of an answer. Waits where the quota is used up or the service is busy. */
async function api<T>(method: string, path: string, body?: object): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "error", // the key goes to no other address
      signal: AbortSignal.timeout(30_000),
    });
    if (answer.ok) return (await answer.json()) as T;
    if (![429, 503].includes(answer.status) || attempt === 4) {
      // A 429 is flat. Any other error has an envelope. What a proxy answers may be no JSON.
      const json = await answer.json().catch(() => ({}));
      const { code = "unknown", message = answer.statusText } = json.error ?? json;
      throw new ApiError(answer.status, code, message);
    }
    const wait = pause(answer.headers.get("Retry-After"), attempt);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
// endregion

// region listQuotes
/** The quotes that changed at or after `since`, and the `since` of the next catch-up, to be stored with them. */
async function quotesSince(since: string): Promise<{ quotes: QuoteItem[]; asOf: string }> {
  const quotes = new Map<string, QuoteItem>();
  let asOf: string | undefined;
  for (let offset = 0; ; ) {
    const query = new URLSearchParams({ since, limit: "100", offset: String(offset) });
    const page = await api<Page<QuoteItem>>("GET", `/quotes?${query}`);
    // Of the first page: what changes while the others are read comes with the next catch-up.
    asOf ??= page.asOf;
    // A quote may come twice, because others that change meanwhile push it back.
    for (const quote of page.data) quotes.set(quote.id, quote);
    offset += page.data.length;
    if (!page.pagination.hasMore) return { quotes: [...quotes.values()], asOf };
  }
}
// endregion

async function getQuote(quoteId: string): Promise<Quote> {
  // region getQuote
  const quote = await api<Quote>("GET", `/quotes/${quoteId}`);
  for (const line of quote.lines) {
    console.log(line.description, line.quantity, line.unit, line.totalHT);
  }
  // endregion
  return quote;
}

async function linkQuote(quoteId: string): Promise<{ id: string; externalId: string | null }> {
  // region linkQuote
  const link = await api<{ id: string; externalId: string | null }>("PATCH", `/quotes/${quoteId}`, {
    externalId: "deal-7", // null unlinks
  });
  // endregion
  return link;
}

async function getQuoteDocument(quoteId: string): Promise<DocumentLink> {
  // region getQuoteDocument
  const document = await api<DocumentLink>("GET", `/quotes/${quoteId}/document`);
  console.log(document.fileName, document.url, "until", document.expiresAt);
  // endregion
  return document;
}

async function downloadDocument(document: DocumentLink): Promise<Buffer> {
  // region downloadDocument
  // No key: the URL is its own permission.
  const answer = await fetch(document.url, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`the document: ${answer.status}`);
  const pdf = Buffer.from(await answer.arrayBuffer());
  if (createHash("sha256").update(pdf).digest("hex") !== document.sha256) {
    throw new Error("the document was damaged on the way");
  }
  // endregion
  return pdf;
}

async function listInvoices(): Promise<Page<Invoice & { lines: Line[] }>> {
  // region listInvoices
  const query = new URLSearchParams({ since: "2026-01-01T00:00:00Z", include: "lines" });
  const page = await api<Page<Invoice & { lines: Line[] }>>("GET", `/invoices?${query}`);
  for (const invoice of page.data) {
    // A draft has no number yet.
    console.log(invoice.number ?? "draft", invoice.status, invoice.amountDue, invoice.lines.length);
  }
  // endregion
  return page;
}

async function getInvoice(invoiceId: string): Promise<Invoice> {
  // region getInvoice
  const invoice = await api<Invoice>("GET", `/invoices/${invoiceId}`);
  // Sums are exact in cents: a number of JavaScript is a binary fraction.
  const dueCents = Math.round(invoice.amountDue * 100);
  console.log(`${dueCents} cents (${invoice.currency}) are due`);
  // endregion
  return invoice;
}

async function getInvoiceDocument(invoiceId: string): Promise<DocumentLink> {
  // region getInvoiceDocument
  const document = await api<DocumentLink>("GET", `/invoices/${invoiceId}/document`); // a draft has none yet: 409
  console.log(document.fileName, document.url, "until", document.expiresAt);
  // endregion
  return document;
}

async function listCreditNotes(): Promise<Page<CreditNoteItem & { lines: Line[] }>> {
  // region listCreditNotes
  const query = new URLSearchParams({ since: "2026-01-01T00:00:00Z", include: "lines" });
  const page = await api<Page<CreditNoteItem & { lines: Line[] }>>("GET", `/credit-notes?${query}`);
  for (const note of page.data) {
    // Amounts are positive: they are what is taken back.
    console.log(note.number, "on", note.invoiceNumber, note.totalTTC, note.lines.length);
  }
  // endregion
  return page;
}

async function getCreditNote(creditNoteId: string): Promise<CreditNote> {
  // region getCreditNote
  const note = await api<CreditNote>("GET", `/credit-notes/${creditNoteId}`);
  for (const share of note.vatBreakdown) {
    console.log(share.tvaRate, "% of", share.baseHT, "is", share.amountTVA);
  }
  // endregion
  return note;
}

async function getCreditNoteDocument(creditNoteId: string): Promise<DocumentLink> {
  // region getCreditNoteDocument
  const document = await api<DocumentLink>("GET", `/credit-notes/${creditNoteId}/document`);
  console.log(document.fileName, document.url, "until", document.expiresAt);
  // endregion
  return document;
}

async function listClients(): Promise<Page<Client>> {
  // region listClients
  const page = await api<Page<Client>>("GET", `/clients?${new URLSearchParams({ q: "lefevre" })}`);
  for (const client of page.data) {
    console.log(client.name, client.email, client.city); // finds Lefèvre, too
  }
  // endregion
  return page;
}

async function createClient(): Promise<Client> {
  // region createClient
  // With an externalId, creating twice creates once.
  const client = await api<Client>("POST", "/clients", {
    name: "Dupont SARL",
    type: "PROFESSIONNEL",
    city: "Lyon",
    externalId: "crm-42",
  });
  // endregion
  return client;
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

function checkPdf(document: Buffer): void {
  check(document.subarray(0, 5).toString() === "%PDF-", "the document is a PDF");
}

function toCents(amount: number): number {
  return Math.round(amount * 100);
}

async function main(): Promise<void> {
  const { quotes, asOf } = await quotesSince("1970-01-01T00:00:00Z");
  check((await quotesSince(asOf)).quotes.length <= quotes.length, "a catch-up has only what changed");
  const accepted = quotes.find((quote) => quote.status === "ACCEPTED");
  if (!accepted) throw new Error("there is no accepted quote");
  const quote = await getQuote(accepted.id);
  check((await linkQuote(quote.id)).externalId === "deal-7", "the quote is linked");
  checkPdf(await downloadDocument(await getQuoteDocument(quote.id)));
  await listInvoices();
  const [credited] = (await listCreditNotes()).data;
  if (!credited) throw new Error("there is no credit note");
  const note = await getCreditNote(credited.id);
  const cents = note.vatBreakdown.reduce((sum, { baseHT, amountTVA }) => sum + toCents(baseHT) + toCents(amountTVA), 0);
  check(cents === toCents(note.totalTTC), "the VAT shares add up to the total");
  checkPdf(await downloadDocument(await getCreditNoteDocument(note.id)));
  // Only an issued invoice has a credit note, so it has a document.
  const invoice = await getInvoice(note.invoiceId);
  check(invoice.totalTTC >= invoice.amountDue, "no more is due than the total");
  checkPdf(await downloadDocument(await getInvoiceDocument(invoice.id)));
  await listClients();
  check((await createClient()).id === (await createClient()).id, "an externalId is one client");
  const refused = await api("GET", "/quotes?since=2026-09-14").catch((error: unknown) => error);
  check(refused instanceof ApiError && refused.code === "validation_error", "a date alone is refused");
  console.log("every request was answered");
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
