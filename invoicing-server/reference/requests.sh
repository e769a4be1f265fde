#!/usr/bin/env bash
# Every request of the API with curl. Runs as a whole against a service that has an accepted quote, and an invoice with a
# document and a credit note:
#
#   INVOICING_URL=http://127.0.0.1:8080 INVOICING_API_KEY=isk_… bash requests.sh

# region setup
set -euo pipefail

# Fails on an error. Repeats, after its Retry-After, what may pass: a 408, 429, 500, 502, 503 or 504, or a timeout; at most
# 4 times, for 3 minutes. Follows no redirect, so that the key goes to no other address.
curl() { command curl -sS --fail-with-body --retry 4 --retry-max-time 180 --max-redirs 0 "$@"; }

: "${INVOICING_URL:?such as https://quotes.example.com}" "${INVOICING_API_KEY:?isk_…}"
# From a file it may end with a line break, which would end the headers.
INVOICING_API_KEY=$(printf %s "$INVOICING_API_KEY")
# endregion

list_quotes() {
    # region listQuotes
    # While pagination.hasMore is true, read on with offset=100, …
    # Store the asOf of this first page: the next since.
    curl --get "$INVOICING_URL/api/v1/quotes" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --data-urlencode "since=2026-01-01T00:00:00Z" \
        --data limit=100 \
        --data offset=0
    # endregion
}

accepted_quotes() {
    curl --get "$INVOICING_URL/api/v1/quotes" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --data status=ACCEPTED
}

get_quote() {
    # region getQuote
    curl "$INVOICING_URL/api/v1/quotes/$quote_id" \
        --header "Authorization: Bearer $INVOICING_API_KEY"
    # endregion
}

link_quote() {
    # region linkQuote
    curl --request PATCH "$INVOICING_URL/api/v1/quotes/$quote_id" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --header "Content-Type: application/json" \
        --data '{"externalId": "deal-7"}'
    # endregion
}

get_quote_document() {
    # region getQuoteDocument
    curl "$INVOICING_URL/api/v1/quotes/$quote_id/document" \
        --header "Authorization: Bearer $INVOICING_API_KEY"
    # endregion
}

download_document() {
    # region downloadDocument
    # No key: the URL is its own permission.
    curl "$document_url" --output document.pdf
    # endregion
}

list_invoices() {
    # region listInvoices
    curl --get "$INVOICING_URL/api/v1/invoices" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --data-urlencode "since=2026-01-01T00:00:00Z" \
        --data include=lines
    # endregion
}

get_invoice() {
    # region getInvoice
    curl "$INVOICING_URL/api/v1/invoices/$invoice_id" \
        --header "Authorization: Bearer $INVOICING_API_KEY"
    # endregion
}

get_invoice_document() {
    # region getInvoiceDocument
    # A draft has no document yet: 409.
    curl "$INVOICING_URL/api/v1/invoices/$invoice_id/document" \
        --header "Authorization: Bearer $INVOICING_API_KEY"
    # endregion
}

list_credit_notes() {
    # region listCreditNotes
    curl --get "$INVOICING_URL/api/v1/credit-notes" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --data-urlencode "since=2026-01-01T00:00:00Z" \
        --data include=lines
    # endregion
}

get_credit_note() {
    # region getCreditNote
    curl "$INVOICING_URL/api/v1/credit-notes/$credit_note_id" \
        --header "Authorization: Bearer $INVOICING_API_KEY"
    # endregion
}

get_credit_note_document() {
    # region getCreditNoteDocument
    curl "$INVOICING_URL/api/v1/credit-notes/$credit_note_id/document" \
        --header "Authorization: Bearer $INVOICING_API_KEY"
    # endregion
}

list_clients() {
    # region listClients
    curl --get "$INVOICING_URL/api/v1/clients" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --data-urlencode "q=lefevre"
    # endregion
}

create_client() {
    # region createClient
    curl "$INVOICING_URL/api/v1/clients" \
        --header "Authorization: Bearer $INVOICING_API_KEY" \
        --header "Content-Type: application/json" \
        --data '{"name": "Dupont SARL", "type": "PROFESSIONNEL", "city": "Lyon", "externalId": "crm-42"}'
    # endregion
}

get_open_api() {
    # region getOpenApi
    curl "$INVOICING_URL/api/v1/openapi.json" --output openapi.json
    # endregion
}

get_reference() {
    # region getReference
    curl "$INVOICING_URL/api/v1/docs" --output reference.html
    # endregion
}

# Takes an answer, and fails where it lacks the text.
has() { [[ $1 == *"$2"* ]] || { echo "no $2 in $1" >&2; exit 1; }; }

# The first value of a member in JSON without white space.
first() { [[ $1 =~ \"$2\":\"([^\"]*)\" ]] && echo "${BASH_REMATCH[1]}"; }

cd "$(mktemp -d)"
has "$(list_quotes)" '"hasMore":'
quote_id=$(first "$(accepted_quotes)" id)
has "$(get_quote)" '"vatBreakdown":'
has "$(link_quote)" '"externalId":"deal-7"'
document_url=$(first "$(get_quote_document)" url)
download_document
has "$(head -c 5 document.pdf)" '%PDF-'
has "$(list_invoices)" '"lines":'
credit_note_id=$(first "$(list_credit_notes)" id)
credit_note=$(get_credit_note)
has "$credit_note" '"totalTTC":'
document_url=$(first "$(get_credit_note_document)" url)
download_document
has "$(head -c 5 document.pdf)" '%PDF-'
# Only an issued invoice has a credit note, so it has a document.
invoice_id=$(first "$credit_note" invoiceId)
has "$(get_invoice)" "$credit_note_id"
document_url=$(first "$(get_invoice_document)" url)
download_document
has "$(head -c 5 document.pdf)" '%PDF-'
has "$(list_clients)" '"hasMore":'
has "$(create_client)" '"externalId":"crm-42"'
get_open_api
has "$(head -n 2 openapi.json)" '"openapi": "3.1'
get_reference
has "$(head -c 15 reference.html)" '<!DOCTYPE html>'
echo "every request was answered"
