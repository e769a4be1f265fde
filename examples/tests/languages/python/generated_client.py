"""Lists, reads, creates and links with the client that openapi-python-client generated, then reads what later versions
may send."""

import datetime, json, os, sys, uuid

from invoicing_api import AuthenticatedClient
from invoicing_api.api.clients import create_client, list_clients
from invoicing_api.api.invoices import get_invoice, list_invoices
from invoicing_api.api.quotes import get_quote, get_quote_document, link_quote, list_quotes
from invoicing_api.models import (
    ClientPage, Error, ListQuotesInclude, ListQuotesStatus, NewClient, NewQuoteLink, QuoteCreatedEvent, QuoteItem,
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

# A status and a field that are not there yet.
later = QuoteItem.from_dict({**item.to_dict(), "status": "ARCHIVED", "archivedBy": {"name": "Zoé"}})
assert later.status == "ARCHIVED" and later["archivedBy"] == {"name": "Zoé"}, later
archived, created = json.load(sys.stdin)
event = QuoteCreatedEvent.from_dict(created)
assert event.data.status == "ARCHIVED" and event.data["archivedBy"] == {"name": "Zoé"}, event
print("it lists, reads, creates and links")
