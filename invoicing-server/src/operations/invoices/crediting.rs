//! Credit notes on an invoice, and its cancellation.
//!
//! A credit note repeats the parties of its invoice's document, so that neither a later change of
//! the company or the client nor missing legal data can prevent it.

use std::sync::Arc;

use chrono::{Datelike, NaiveDate};
use invoicing_core::{
    CreditContent, CreditNote, CreditNoteId, CreditNoteIssue, CreditRest, DocumentFormat, Invoice, InvoiceId,
    InvoiceStatus, NewCreditNote, OpenEnum, Timestamp,
};

use super::issuing::particulars;
use super::{Invoices, note, update};
use crate::documents::{BillingDocument, DocumentLogo, Frozen, InvoiceParticulars, IssuedRecord};
use crate::error::Error;
use crate::operations::attempts::{ISSUE_ATTEMPTS, until_committed};
use crate::operations::documents::{find_logo, finish_issued};
use crate::records::HistoryAction;
use crate::store::{ChangeContext, CompanyReader, Prefetch, Tables};

/// The reason on the credit note of a cancelled invoice.
const CANCELED: &str = "Annulation de la facture";

/// An issued invoice as it was read before a credit note was rendered.
struct CreditSnapshot {
    change: ChangeContext,
    invoice: Arc<Invoice>,
    rest: CreditRest,
    particulars: InvoiceParticulars,
    logo: Option<DocumentLogo>,
    /// The number and the date that the credit note would get.
    next: (String, NaiveDate),
}

/// A credit note as it was issued, and its invoice.
struct Credited {
    note: CreditNote,
    invoice: Invoice,
    /// The day of the issue, by the clock.
    today: NaiveDate,
}

/// The content of a credit note.
#[derive(Clone)]
enum Credit {
    Given(NewCreditNote),
    /// All that is left of an invoice without payments.
    Cancel,
}

impl CreditSnapshot {
    fn content(&self, credit: &Credit) -> Result<CreditContent, Error> {
        let new = match credit {
            Credit::Given(new) => new,
            Credit::Cancel => {
                self.invoice.check_cancelable()?;
                &NewCreditNote::of_the_rest(CANCELED)
            }
        };
        Ok(self.rest.clone().credit(&self.invoice, new)?)
    }

    /// The format of the credit note: that of its invoice.
    fn format(&self) -> DocumentFormat {
        let format = self.invoice.summary.document_format.as_ref().and_then(OpenEnum::known);
        format.unwrap_or(DocumentFormat::Pdf)
    }
}

impl Invoices<'_> {
    /// Issues a credit note on an issued invoice: `credit_note.issued`. An invoice that is credited
    /// in full and has no payment is CANCELED. One on which nothing is due any more and something
    /// is paid is PAID: `invoice.paid`. The overpaid amount can be [refunded](Self::refund).
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than is left of the invoice, of a line or of a VAT rate, and for
    /// nothing; [`Error::Conflict`] on an invoice that is not issued;
    /// [`Error::StorageUnavailable`] when the document cannot be stored, or other nodes keep taking
    /// the number.
    pub async fn credit(&self, id: InvoiceId, new: &NewCreditNote) -> Result<CreditNote, Error> {
        let credited = self.credit_for(id, Credit::Given(new.clone()));
        Ok(self.0.operation("invoices.credit", credited).await?.note)
    }

    /// The rest of an invoice after its credit notes.
    #[cfg(feature = "console")]
    pub(crate) async fn credit_rest(&self, id: InvoiceId) -> Result<CreditRest, Error> {
        let rest = self.0.read(async move |mut tx| {
            let invoice = tx.invoices().find(id).await?;
            rest(&mut tx, &invoice).await
        });
        self.0.operation("invoices.credit_rest", rest).await
    }

    /// Cancels an invoice on which nothing has been paid. A draft has no number, now or later. An
    /// issued invoice keeps its number, and a credit note takes back all that is left of it:
    /// `credit_note.issued`. Its quote can be converted again.
    ///
    /// # Errors
    /// [`Error::Conflict`] on an invoice with payments: reverse or refund them first;
    /// [`Error::StorageUnavailable`] as for [`credit`](Self::credit).
    pub async fn cancel(&self, id: InvoiceId) -> Result<Invoice, Error> {
        let canceled = async {
            if let Some(canceled) = self.cancel_draft(id).await? {
                return Ok(canceled);
            }
            Ok(self.credit_for(id, Credit::Cancel).await?.invoice)
        };
        self.0.operation("invoices.cancel", canceled).await
    }

    /// Cancels a draft; `None` for an invoice that is not a draft.
    async fn cancel_draft(&self, id: InvoiceId) -> Result<Option<Invoice>, Error> {
        let known = self.preload(id).await?;
        self.0
            .write([Prefetch::Invoice(id)], async move |mut tx| {
                let invoice = tx.document_to_change(id, known).await?;
                if invoice.summary.status != InvoiceStatus::Draft {
                    return Ok(None);
                }
                let canceled = invoice.cancel_draft(tx.change.at())?;
                let invoice = update(&mut tx, canceled).await?;
                note(&mut tx, HistoryAction::InvoiceCanceled, &invoice).await?;
                Ok(Some(invoice))
            })
            .await
    }

    async fn credit_for(&self, id: InvoiceId, credit: Credit) -> Result<Credited, Error> {
        let services = &self.0.services;
        let _turn = services.numbering.turn_to_issue(self.0.id).await?;
        let note_id = CreditNoteId(self.0.env().uuid());
        let credited = until_committed(ISSUE_ATTEMPTS, || self.try_credit(id, note_id, credit.clone()));
        let taken = || Error::unavailable("other nodes keep taking the number of the credit note");
        let credited = credited.await?.ok_or_else(taken)?;
        services.held_dates.check(self.0.id, credited.note.summary.issue_date, credited.today);
        Ok(credited)
    }

    /// Attempts a credit note. `None` if the invoice or the next number have changed since they
    /// were read.
    async fn try_credit(
        &self,
        id: InvoiceId,
        note_id: CreditNoteId,
        credit: Credit,
    ) -> Result<Option<Credited>, Error> {
        let before = self.creditable(id).await?;
        self.0.check_expected("the invoice", before.invoice.summary.updated_at)?;
        let content = before.content(&credit)?;
        let frozen = self.freeze_credit(&before, note_id, content.clone()).await?;
        let format = frozen.as_ref().map(|_| before.format());
        let CreditSnapshot { invoice, next, .. } = before;
        self.0
            .write([], async move |mut tx| {
                let today = tx.change.today();
                let first = not_before(today, &invoice);
                if tx.summary_to_change::<Invoice>(id).await?.updated_at != invoice.summary.updated_at
                    || tx.credit_note_series(first.year()).next_dated(first).await? != next
                    || !finish_issued(&mut tx, note_id.0, frozen.as_ref()).await?
                {
                    return Ok(None);
                }
                let (number, issue_date) = tx.credit_note_series(first.year()).allocate_dated(first).await?;
                let issue = CreditNoteIssue {
                    id: note_id,
                    number: &number,
                    issue_date,
                    document_format: format,
                    at: tx.change.at(),
                };
                let parts = content.parts.clone();
                let (note, credited) = CreditNote::issue(issue, &invoice, content)?;
                tx.credit_notes().insert(&note, &parts).await?;
                tx.invoices().update(&credited.record.summary, Some(&credited.record.detail)).await?;
                tx.record_events(&credited.events).await?;
                let action = match credit {
                    Credit::Given(_) => HistoryAction::InvoiceCredited,
                    Credit::Cancel => HistoryAction::InvoiceCanceled,
                };
                tx.note(action, id.0, &note.summary.number).await?;
                Ok(Some(Credited { note, invoice: credited.record, today }))
            })
            .await
    }

    async fn creditable(&self, id: InvoiceId) -> Result<CreditSnapshot, Error> {
        let now = self.0.env().now();
        self.0
            .read(async move |mut tx| {
                tx.begin_snapshot().await?;
                let read = read_creditable(&mut tx, id, now).await;
                tx.end_snapshot().await?;
                read
            })
            .await
    }

    async fn freeze_credit(
        &self,
        before: &CreditSnapshot,
        id: CreditNoteId,
        content: CreditContent,
    ) -> Result<Option<Frozen<InvoiceParticulars>>, Error> {
        let (format, (number, issue_date)) = (before.format(), &before.next);
        let issue = CreditNoteIssue {
            id,
            number,
            issue_date: *issue_date,
            document_format: Some(format),
            at: before.change.at(),
        };
        let (note, _) = CreditNote::issue(issue, &before.invoice, content)?;
        if !self.0.services.documents.renders_invoices() {
            return Ok(None);
        }
        let invoice_date = before.invoice.summary.issue_date.unwrap_or(*issue_date);
        let document = BillingDocument {
            record: IssuedRecord::CreditNote { note: note.into(), invoice_date },
            particulars: before.particulars.clone(),
            logo: before.logo.clone(),
        };
        self.0.services.freeze_billing(document, format).await.map(Some)
    }
}

async fn read_creditable(
    tx: &mut CompanyReader<'_>,
    id: InvoiceId,
    now: Timestamp,
) -> Result<CreditSnapshot, Error> {
    let invoice = tx.invoices().find(id).await?;
    let (company, last_stamp) = tx.company_row().find().await?;
    let change = ChangeContext::new(company, last_stamp, now)?;
    let rest = rest(tx, &invoice).await?;
    let particulars = match tx.frozen_files().latest_with_facts(id.0).await? {
        Some((_, particulars)) => particulars,
        // The host had no renderer of invoices, so none was frozen.
        None => particulars(tx, &change.company, &invoice).await?,
    };
    let logo = find_logo(tx, &particulars.company).await?;
    let first = not_before(change.today(), &invoice);
    let next = tx.credit_note_series(first.year()).next_dated(first).await?;
    Ok(CreditSnapshot { change, invoice: Arc::new(invoice), rest, particulars, logo, next })
}

/// The rest of an invoice after its credit notes.
async fn rest(tx: &mut impl Tables, invoice: &Invoice) -> Result<CreditRest, Error> {
    let mut rest = CreditRest::of(invoice);
    for (parts, detail) in tx.credit_notes().credited(invoice.summary.id).await? {
        rest.take(&parts, &detail.vat_breakdown)?;
    }
    Ok(rest)
}

/// The first day that a credit note may have: not before its invoice, even if a clock was set back.
fn not_before(today: NaiveDate, invoice: &Invoice) -> NaiveDate {
    invoice.summary.issue_date.map_or(today, |issued| issued.max(today))
}
