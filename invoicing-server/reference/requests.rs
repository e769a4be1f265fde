//! Every request of the API with the crate `invoicing-client`. Runs as a whole against a service that has an accepted
//! quote, and an invoice with a document and a credit note:
//!
//! ```console
//! $ INVOICING_URL=http://127.0.0.1:8080 INVOICING_API_KEY=isk_… cargo run --example reference_requests
//! ```

// region setup
use std::{env, error::Error};

use futures_util::TryStreamExt;
use invoicing_client::{
    Client, ClientType, CreditNote, CreditNoteId, DocumentLink, ErrorCode, FileCheckpoint, Invoice,
    InvoiceId, InvoicingClient, NewClient, Quote, QuoteId, QuoteStatus,
};

/// A client that keeps to the quota, repeats only what is safe to repeat, and reads money exactly.
fn connect() -> Result<InvoicingClient, Box<dyn Error>> {
    let (url, key) = (env::var("INVOICING_URL")?, env::var("INVOICING_API_KEY")?);
    Ok(InvoicingClient::builder(url, key).build()?)
}
// endregion

async fn catch_up(client: &InvoicingClient, checkpoint: FileCheckpoint) -> Result<usize, Box<dyn Error>> {
    // region listQuotes
    // Reads all pages, oldest change first. The checkpoint keeps the next `since`, and moves once all quotes are stored.
    let mut catch_up = client.quotes().catch_up(checkpoint);
    let pass = catch_up
        .pass(async |quote| {
            println!("store {} {}", quote.summary.number, quote.summary.status);
            Ok::<(), std::io::Error>(())
        })
        .await?;
    // endregion
    Ok(pass.delivered)
}

async fn get_quote(client: &InvoicingClient, quote_id: QuoteId) -> Result<Quote, Box<dyn Error>> {
    // region getQuote
    let quote = client.quotes().get(quote_id).await?;
    for line in &quote.lines {
        println!("{} {} {:?} {}", line.description, line.quantity, line.unit, line.total_ht);
    }
    // endregion
    Ok(quote)
}

async fn link_quote(client: &InvoicingClient, quote_id: QuoteId) -> Result<(), Box<dyn Error>> {
    // region linkQuote
    let link = client.quotes().link(quote_id, "deal-7").await?; // `unlink` sets null
    // endregion
    check(link.external_id.as_deref() == Some("deal-7"), "the quote is linked")
}

async fn get_quote_document(
    client: &InvoicingClient,
    quote_id: QuoteId,
) -> Result<DocumentLink, Box<dyn Error>> {
    // region getQuoteDocument
    let link = client.quotes().document(quote_id).await?;
    println!("{} {} until {}", link.file_name, link.url, link.expires_at);
    // endregion
    Ok(link)
}

async fn download_document(client: &InvoicingClient, link: &DocumentLink) -> Result<(), Box<dyn Error>> {
    // region downloadDocument
    let pdf = client.quotes().download(link).await?; // without the key, and checked against `sha256`
    // endregion
    check(pdf.starts_with(b"%PDF-"), "the document is a PDF")
}

async fn list_invoices(client: &InvoicingClient) -> Result<(), Box<dyn Error>> {
    // region listInvoices
    let mut invoices = client.invoices().list().include_lines().stream(); // all pages
    while let Some(invoice) = invoices.try_next().await? {
        let number = invoice.summary.number.as_deref().unwrap_or("draft");
        println!("{number} {} {}", invoice.summary.status, invoice.summary.amount_due);
    }
    // endregion
    Ok(())
}

async fn get_invoice(client: &InvoicingClient, invoice_id: InvoiceId) -> Result<Invoice, Box<dyn Error>> {
    // region getInvoice
    let invoice = client.invoices().get(invoice_id).await?;
    println!("{} of {} paid", invoice.summary.amount_paid, invoice.summary.total_ttc);
    // endregion
    Ok(invoice)
}

async fn get_invoice_document(
    client: &InvoicingClient,
    invoice_id: InvoiceId,
) -> Result<DocumentLink, Box<dyn Error>> {
    // region getInvoiceDocument
    let link = client.invoices().document(invoice_id).await?; // a draft has none yet: 409
    println!("{} {} until {}", link.file_name, link.url, link.expires_at);
    // endregion
    Ok(link)
}

async fn list_credit_notes(client: &InvoicingClient) -> Result<Option<CreditNoteId>, Box<dyn Error>> {
    let mut some = None;
    // region listCreditNotes
    let mut notes = client.credit_notes().list().include_lines().stream(); // all pages
    while let Some(note) = notes.try_next().await? {
        // Amounts are positive: they are what is taken back.
        println!("{} on {} {}", note.summary.number, note.summary.invoice_number, note.summary.total_ttc);
        some = Some(note.summary.id);
    }
    // endregion
    Ok(some)
}

async fn get_credit_note(client: &InvoicingClient, id: CreditNoteId) -> Result<CreditNote, Box<dyn Error>> {
    // region getCreditNote
    let note = client.credit_notes().get(id).await?;
    for share in &note.detail.vat_breakdown {
        println!("{} % of {} is {}", share.tva_rate, share.base_ht, share.amount_tva);
    }
    // endregion
    Ok(note)
}

async fn get_credit_note_document(
    client: &InvoicingClient,
    id: CreditNoteId,
) -> Result<DocumentLink, Box<dyn Error>> {
    // region getCreditNoteDocument
    let link = client.credit_notes().document(id).await?;
    println!("{} {} until {}", link.file_name, link.url, link.expires_at);
    // endregion
    Ok(link)
}

async fn check_credit_note(client: &InvoicingClient) -> Result<CreditNote, Box<dyn Error>> {
    let note = list_credit_notes(client).await?.ok_or("there is no credit note")?;
    let note = get_credit_note(client, note).await?;
    let rest = note.detail.vat_breakdown.iter().fold(note.summary.total_ttc.get(), |rest, share| {
        rest - share.base_ht.get() - share.amount_tva.get()
    });
    check(rest.is_zero(), "the VAT shares add up to the total")?;
    download_document(client, &get_credit_note_document(client, note.summary.id).await?).await?;
    Ok(note)
}

/// Only an issued invoice has a credit note, so it has a document.
async fn check_credited(client: &InvoicingClient, note: &CreditNote) -> Result<(), Box<dyn Error>> {
    let Invoice { summary: invoice, detail, .. } = get_invoice(client, note.summary.invoice_id).await?;
    check(invoice.total_ttc >= invoice.amount_due, "no more is due than the total")?;
    let is_named = detail.credit_notes.iter().any(|named| named.id == note.summary.id);
    check(is_named, "the invoice names its credit note")?;
    download_document(client, &get_invoice_document(client, invoice.id).await?).await
}

async fn list_clients(client: &InvoicingClient) -> Result<(), Box<dyn Error>> {
    // region listClients
    let mut clients = client.clients().list().q("lefevre").stream(); // finds Lefèvre, too
    while let Some(found) = clients.try_next().await? {
        println!("{} {:?} {:?}", found.name, found.email, found.city);
    }
    // endregion
    Ok(())
}

async fn create_client(client: &InvoicingClient) -> Result<Client, Box<dyn Error>> {
    // region createClient
    // With an `externalId`, creating twice creates once.
    let new =
        NewClient::named("Dupont SARL").r#type(ClientType::Professionnel).city("Lyon").external_id("crm-42");
    let creation = client.clients().create(&new).await?;
    // endregion
    Ok(creation.into_client())
}

fn check(holds: bool, what: &'static str) -> Result<(), Box<dyn Error>> {
    if holds { Ok(()) } else { Err(what.into()) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = connect()?;
    let folder = tempfile::tempdir()?;
    let checkpoint = || FileCheckpoint::new(folder.path().join("quotes.checkpoint.json"));
    let all = catch_up(&client, checkpoint()).await?;
    check(catch_up(&client, checkpoint()).await? <= all, "a catch-up has only what changed")?;

    let accepted = client.quotes().list().status(QuoteStatus::Accepted).limit(1).send().await?;
    let accepted = accepted.data.first().ok_or("there is no accepted quote")?;
    let quote = get_quote(&client, accepted.summary.id).await?;
    link_quote(&client, quote.summary.id).await?;
    let link = get_quote_document(&client, quote.summary.id).await?;
    download_document(&client, &link).await?;

    list_invoices(&client).await?;
    check_credited(&client, &check_credit_note(&client).await?).await?;
    list_clients(&client).await?;
    check(
        create_client(&client).await?.id == create_client(&client).await?.id,
        "an externalId is one client",
    )?;

    let refused = client.quotes().list().limit(0).send().await;
    let is_invalid = refused.is_err_and(|error| error.code() == Some(&ErrorCode::ValidationError));
    check(is_invalid, "a limit of 0 is refused")?;
    println!("every request was answered");
    Ok(())
}
