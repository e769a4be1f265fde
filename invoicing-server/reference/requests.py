#!/usr/bin/env python3
"""Every request of the API with Python's standard library. Runs as a whole against a service that has an accepted quote,
and an invoice with a document and a credit note:

    INVOICING_URL=http://127.0.0.1:8080 INVOICING_API_KEY=isk_… python3 requests.py
"""

# region setup
import decimal
import email.utils
import hashlib
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ["INVOICING_URL"]  # such as https://quotes.example.com
KEY = os.environ["INVOICING_API_KEY"].strip()


class ApiError(Exception):
    """A refusal: its status, its code, which may be one that is not known yet, and a text for people."""

    def __init__(self, status, body):
        try:
            answer = json.loads(body)
            error = answer.get("error", answer)  # a 429 is flat; any other error has an envelope
        except ValueError:
            error = {}  # what a proxy answers may be no JSON
        self.status, self.code = status, error.get("code")
        super().__init__(f"{status} {self.code}: {error.get('message')}")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to no other address: a redirect is an error."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect)


def pause(retry_after, attempt):
    """Seconds to wait: what the answer asks for, in seconds or as a date, and longer with each attempt."""
    try:
        asked = int(retry_after)
    except (TypeError, ValueError):
        try:
            asked = email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (TypeError, ValueError):
            asked = 0
    return min(max(asked, 2 ** (attempt - 1)), 90)


def api(method, path, body=None, **query):
    """The JSON of an answer. Waits where the quota is used up or the service is busy."""
    url = f"{URL}/api/v1{path}?{urllib.parse.urlencode(query)}" if query else f"{URL}/api/v1{path}"
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    for attempt in range(1, 5):
        try:
            with opener.open(request, timeout=30) as answer:
                return json.load(answer, parse_float=decimal.Decimal)  # no cent is lost
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 503) or attempt == 4:
                raise ApiError(refused.code, refused.read()) from None
            time.sleep(pause(refused.headers.get("Retry-After"), attempt))
# endregion


# region listQuotes
def quotes_since(since):
    """The quotes that changed at or after `since`, and the `since` of the next catch-up, to be stored with them."""
    quotes, as_of, offset, has_more = {}, None, 0, True
    while has_more:
        page = api("GET", "/quotes", since=since, limit=100, offset=offset)
        # Of the first page: what changes while the others are read comes with the next catch-up.
        as_of = as_of or page["asOf"]
        # A quote may come twice, because others that change meanwhile push it back.
        quotes.update((quote["id"], quote) for quote in page["data"])
        offset += len(page["data"])
        has_more = page["pagination"]["hasMore"]
    return list(quotes.values()), as_of
# endregion


def get_quote(quote_id):
    # region getQuote
    quote = api("GET", f"/quotes/{quote_id}")
    for line in quote["lines"]:
        print(line["description"], line["quantity"], line["unit"], line["totalHT"])
    # endregion
    return quote


def link_quote(quote_id):
    # region linkQuote
    link = api("PATCH", f"/quotes/{quote_id}", {"externalId": "deal-7"})  # None unlinks
    # endregion
    return link


def get_quote_document(quote_id):
    # region getQuoteDocument
    document = api("GET", f"/quotes/{quote_id}/document")
    print(document["fileName"], document["url"], "until", document["expiresAt"])
    # endregion
    return document


def download_document(document):
    # region downloadDocument
    # No key: the URL is its own permission.
    with urllib.request.urlopen(document["url"], timeout=30) as answer:
        pdf = answer.read()
    if hashlib.sha256(pdf).hexdigest() != document["sha256"]:
        raise ValueError("the document was damaged on the way")
    # endregion
    return pdf


def list_invoices():
    # region listInvoices
    page = api("GET", "/invoices", since="2026-01-01T00:00:00Z", include="lines")
    for invoice in page["data"]:
        # A draft has no number yet.
        print(invoice["number"] or "draft", invoice["status"], invoice["amountDue"], len(invoice["lines"]))
    # endregion
    return page


def get_invoice(invoice_id):
    # region getInvoice
    invoice = api("GET", f"/invoices/{invoice_id}")
    paid, total = invoice["amountPaid"], invoice["totalTTC"]
    print(f"{paid} of {total} {invoice['currency']} paid")
    # endregion
    return invoice


def get_invoice_document(invoice_id):
    # region getInvoiceDocument
    document = api("GET", f"/invoices/{invoice_id}/document")  # a draft has none yet: 409
    print(document["fileName"], document["url"], "until", document["expiresAt"])
    # endregion
    return document


def list_credit_notes():
    # region listCreditNotes
    page = api("GET", "/credit-notes", since="2026-01-01T00:00:00Z", include="lines")
    for note in page["data"]:
        # Amounts are positive: they are what is taken back.
        print(note["number"], "on", note["invoiceNumber"], note["totalTTC"], note["reason"])
    # endregion
    return page


def get_credit_note(credit_note_id):
    # region getCreditNote
    note = api("GET", f"/credit-notes/{credit_note_id}")
    for share in note["vatBreakdown"]:
        print(share["tvaRate"], "% of", share["baseHT"], "is", share["amountTVA"])
    # endregion
    return note


def get_credit_note_document(credit_note_id):
    # region getCreditNoteDocument
    document = api("GET", f"/credit-notes/{credit_note_id}/document")
    print(document["fileName"], document["url"], "until", document["expiresAt"])
    # endregion
    return document


def list_clients():
    # region listClients
    page = api("GET", "/clients", q="lefevre")  # finds Lefèvre, too
    for found in page["data"]:
        print(found["name"], found["email"], found["city"])
    # endregion
    return page


def create_client():
    # region createClient
    # With an externalId, creating twice creates once.
    new = {"name": "Dupont SARL", "type": "PROFESSIONNEL", "city": "Lyon", "externalId": "crm-42"}
    created = api("POST", "/clients", new)
    # endregion
    return created


def main():
    quotes, as_of = quotes_since("1970-01-01T00:00:00Z")
    again, _ = quotes_since(as_of)
    assert len(again) <= len(quotes), "a catch-up has only what changed"
    accepted = next(quote for quote in quotes if quote["status"] == "ACCEPTED")
    quote = get_quote(accepted["id"])
    assert isinstance(quote["totalTTC"], (int, decimal.Decimal)), "money is exact"
    assert link_quote(quote["id"])["externalId"] == "deal-7"
    assert download_document(get_quote_document(quote["id"])).startswith(b"%PDF-")
    list_invoices()
    note = get_credit_note(list_credit_notes()["data"][0]["id"])
    shares = note["vatBreakdown"]
    assert note["totalTTC"] == sum(share["baseHT"] + share["amountTVA"] for share in shares), "money is exact"
    assert download_document(get_credit_note_document(note["id"])).startswith(b"%PDF-")
    # Only an issued invoice has a credit note, so it has a document.
    invoice = get_invoice(note["invoiceId"])
    assert invoice["totalTTC"] >= invoice["amountDue"]
    assert note["id"] in [named["id"] for named in invoice["creditNotes"]]
    assert download_document(get_invoice_document(invoice["id"])).startswith(b"%PDF-")
    list_clients()
    assert create_client()["id"] == create_client()["id"], "an externalId is one client"
    try:
        api("GET", "/quotes", since="2026-09-14")
    except ApiError as refused:
        assert (refused.status, refused.code) == (400, "validation_error"), refused
    else:
        raise AssertionError("a date alone was accepted")
    print("every request was answered")


if __name__ == "__main__":
    main()
