"""Lists, reads, creates and links with the client that openapi-python-client generated, then reads what later versions
may send."""

import datetime, json, os, sys, uuid

import httpx
from invoicing_api import AuthenticatedClient
from invoicing_api.api.clients import create_client, list_clients
from invoicing_api.api.credit_notes import get_credit_note, get_credit_note_document, list_credit_notes
from invoicing_api.api.invoices import get_invoice, get_invoice_document, list_invoices
from invoicing_api.api.quotes import get_quote, get_quote_document, link_quote, list_quotes
from invoicing_api.models import (
    ClientPage, CreditNoteIssuedEvent, Error, InvoiceCreatedEvent, InvoiceIssuedEvent, InvoicePaidEvent,
    ListQuotesInclude, ListQuotesStatus, NewClient, NewQuoteLink, PingEvent, ProjectCompletedEvent,
    QuoteAcceptedEvent, QuoteCreatedEvent, QuoteSignedEvent,
)

client = AuthenticatedClient(os.environ["BASE_URL"], token=os.environ["API_KEY"], raise_on_unexpected_status=True)

since = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
accepted, lines = ListQuotesStatus.ACCEPTED, ListQuotesInclude.LINES
page = list_quotes.sync(client=client, status=accepted, include=lines, limit=1, since=since)
[item] = page.data
assert item.status == "ACCEPTED" and item.lines and page.pagination.limit == 1, page
quote = get_quote.sync(item.id, client=client)
assert (quote.number, quote.lines) == (item.number, item.lines), quote
assert all(quote.updated_at >= page.as_of for quote in list_quotes.sync(client=client, since=page.as_of).data)
assert get_quote_document.sync(item.id, client=client).size_bytes > 1_000

deal = f"deal-{uuid.uuid4()}"
assert link_quote.sync(item.id, client=client, body=NewQuoteLink(external_id=deal)).external_id == deal
assert get_quote.sync(item.id, client=client).external_id == deal
assert link_quote.sync(item.id, client=client, body=NewQuoteLink(external_id=None)).external_id is None

new = NewClient(name="Zoé Généré", city="Lyon", external_id=f"crm-{uuid.uuid4()}")
created = create_client.sync_detailed(client=client, body=new)
again = create_client.sync_detailed(client=client, body=new)
assert (created.status_code, again.status_code) == (201, 200) and created.parsed == again.parsed, (created, again)
found = list_clients.sync(client=client, external_id=new.external_id)
assert isinstance(found, ClientPage) and found.data == [created.parsed], found

[invoice] = list_invoices.sync(client=client, limit=1).data
assert get_invoice.sync(invoice.id, client=client).lines
missing = get_invoice.sync(uuid.uuid4(), client=client)
assert isinstance(missing, Error) and missing.error.code == "not_found", missing

[item_of_note] = list_credit_notes.sync(client=client, limit=1).data
note = get_credit_note.sync(item_of_note.id, client=client)
assert note.lines and note.number == item_of_note.number, note
assert get_credit_note_document.sync(note.id, client=client).size_bytes > 1_000
credited = get_invoice.sync(note.invoice_id, client=client)
assert note.id in [named.id for named in credited.credit_notes], credited
assert get_invoice_document.sync(credited.id, client=client).size_bytes > 1_000

EVENTS = {
    "quote.created": QuoteCreatedEvent, "quote.signed": QuoteSignedEvent, "quote.accepted": QuoteAcceptedEvent,
    "invoice.created": InvoiceCreatedEvent, "invoice.paid": InvoicePaidEvent,
    "project.completed": ProjectCompletedEvent, "invoice.issued": InvoiceIssuedEvent,
    "credit_note.issued": CreditNoteIssuedEvent, "ping": PingEvent,
}


def read(event):
    """An event as its model; `None` where the kind is not known."""
    model = EVENTS.get(event["event"])
    return model and model.from_dict(event)


def answered(status, body):
    """The client of a service of a later version, which answers so."""
    transport = httpx.MockTransport(lambda request: httpx.Response(status, json=body))
    return AuthenticatedClient("http://later", token="isk_", httpx_args={"transport": transport})


events = json.load(sys.stdin)
for event in events["recorded"]:
    known = read(event)
    assert (known.event, str(known.data.id)) == (event["event"], event["data"]["id"]), event

# A kind, a status, a code of an error and fields that are not there yet.
archived, created = events["later"]
assert read(archived) is None, archived
data = read(created).data
assert data.status == "ARCHIVED" and data["archivedBy"] == {"name": "Zoé"}, data
later = {**item.to_dict(), "status": "ARCHIVED", "archivedBy": {"name": "Zoé"}}
grown = list_quotes.sync(client=answered(200, {**page.to_dict(), "data": [later], "total": 1}))
[record] = grown.data
assert record.status == "ARCHIVED" and record["archivedBy"] == {"name": "Zoé"} and grown["total"] == 1, grown
frozen = get_quote.sync(item.id, client=answered(404, {"error": {"code": "frozen", "message": "m", "since": 1}}))
assert isinstance(frozen, Error) and frozen.error.code == "frozen", frozen
print("it lists, reads, creates and links")
