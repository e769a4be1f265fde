//! Credit notes on an invoice, and its cancellation.
//!
//! A credit note repeats the parties of its invoice's document, so that neither a later change of
//! the company or the client nor missing legal data can prevent it.

use chrono::{Datelike, NaiveDate};
use invoicing_core::{
    ChangeTime, Changed, CreditContent, CreditNote, CreditNoteId, CreditNoteIssue, CreditableBalance,
    DocumentFormat, Invoice, InvoiceId, InvoiceStatus, NewCreditNote, OpenEnum, Timestamp,
};

use super::issuing::facts;
use super::{Invoices, note, update};
use crate::documents::{BoundedStore, Document, DocumentContent, DocumentFacts, DocumentLogo, Frozen};
use crate::error::Error;
use crate::operations::CompanyHandle;
use crate::operations::freezing::{FreezingPlan, ISSUE_ATTEMPTS};
use crate::operations::frozen_files::find_logo;
use crate::records::{HistoryAction, ReadinessGap};
use crate::store::{ChangeContext, CompanyReader, CompanyTx, Prefetch, Tables};

/// The reason on the credit note of a cancelled invoice.
const CANCELED: &str = "Annulation de la facture";

/// An issued invoice as it was read before a credit note was rendered.
struct CreditSnapshot {
    change: ChangeContext,
    invoice: Invoice,
    balance: CreditableBalance,
    facts: DocumentFacts,
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
    async fn read(tx: &mut CompanyReader<'_>, id: InvoiceId, now: Timestamp) -> Result<Self, Error> {
        let invoice = tx.invoices().find(id).await?;
        let (company, last_stamp) = tx.company_row().find().await?;
        let change = ChangeContext::new(company, last_stamp, now)?;
        let balance = balance(tx, &invoice).await?;
        let facts = match tx.frozen_files().latest_with_facts(id.0).await? {
            Some((_, facts)) => facts,
            // The host had no renderer of invoices, so none was frozen.
            None => facts(tx, &change.company, &invoice).await?,
        };
        let logo = find_logo(tx, &facts.parties.seller).await?;
        let first = not_before(change.today(), &invoice);
        let next = tx.credit_note_series(first.year()).next_dated(first).await?;
        Ok(Self { change, invoice, balance, facts, logo, next })
    }

    fn content(&self, credit: &Credit) -> Result<CreditContent, Error> {
        let new = match credit {
            Credit::Given(new) => new,
            Credit::Cancel => {
                self.invoice.check_cancelable()?;
                &NewCreditNote::of_remaining(CANCELED)
            }
        };
        Ok(self.balance.clone().credit(&self.invoice, new)?)
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

    /// The part of an invoice that its credit notes have left.
    #[cfg(feature = "console")]
    pub(crate) async fn creditable_balance(&self, invoice: &Invoice) -> Result<CreditableBalance, Error> {
        let balance = self.0.read(async |mut tx| balance(&mut tx, invoice).await);
        self.0.operation("invoices.creditable_balance", balance).await
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

    /// All that a credit note of this content would be refused for or advised of, as
    /// [`readiness`](Self::readiness) lists it. It repeats the parties of its invoice, so only its
    /// own reason, dates and texts refuse it.
    ///
    /// # Errors
    /// As [`credit`](Self::credit) for amounts.
    pub async fn credit_readiness(
        &self,
        id: InvoiceId,
        new: &NewCreditNote,
    ) -> Result<Vec<ReadinessGap>, Error> {
        let plan = self.crediting(id, Credit::Given(new.clone()));
        let gaps = async {
            let read = plan.read(self.0).await?;
            self.0.services.documents.gaps(plan.content(&read)?).await
        };
        self.0.operation("invoices.credit_readiness", gaps).await
    }

    fn crediting(self, invoice: InvoiceId, credit: Credit) -> Crediting {
        Crediting { invoice, note: CreditNoteId(self.0.env().uuid()), credit }
    }

    async fn credit_for(&self, id: InvoiceId, credit: Credit) -> Result<Credited, Error> {
        let services = &self.0.services;
        let _turn = services.numbering.turn_to_issue(self.0.id).await?;
        let plan = self.crediting(id, credit);
        let taken = || Error::unavailable("other nodes keep taking the number of the credit note");
        let credited = self.0.freeze(&plan, ISSUE_ATTEMPTS).await?.ok_or_else(taken)?;
        services.held_dates.check(self.0.id, credited.note.summary.issue_date, credited.today);
        Ok(credited)
    }
}

/// The issue of a credit note.
#[derive(Clone)]
struct Crediting {
    invoice: InvoiceId,
    note: CreditNoteId,
    credit: Credit,
}

impl Crediting {
    /// The credit note, and its invoice as it is credited then.
    fn issue(
        &self,
        (read, content): &(CreditSnapshot, CreditContent),
        (number, issue_date): &(String, NaiveDate),
        format: Option<DocumentFormat>,
        at: ChangeTime,
    ) -> Result<(CreditNote, Changed<Invoice>), Error> {
        let issue =
            CreditNoteIssue { id: self.note, number, issue_date: *issue_date, document_format: format, at };
        Ok(CreditNote::issue(issue, &read.invoice, content.clone())?)
    }

    /// The document of the credit note as it would be issued now.
    fn content(&self, read: &(CreditSnapshot, CreditContent)) -> Result<DocumentContent, Error> {
        let (before, _) = read;
        let format = before.format();
        let (note, _) = self.issue(read, &before.next, Some(format), before.change.at())?;
        let invoice = &before.invoice.summary;
        let invoice_date = invoice.issue_date.unwrap_or(note.summary.issue_date);
        let supplied_on = invoice.supplied_on.or(invoice.period_end).unwrap_or(invoice_date);
        let order_number = before.invoice.detail.order_number.clone();
        let document = Document::CreditNote { note: note.into(), invoice_date, supplied_on, order_number };
        let (facts, logo) = (before.facts.clone(), before.logo.clone());
        Ok(DocumentContent { document, facts, logo, format })
    }
}

impl FreezingPlan for Crediting {
    type Read = (CreditSnapshot, CreditContent);
    type Done = Credited;

    async fn read(&self, company: &CompanyHandle) -> Result<Self::Read, Error> {
        let (id, now) = (self.invoice, company.env().now());
        let read = company.read(async move |mut tx| {
            // A refusal of the preview depends on all of these together.
            tx.begin_snapshot().await?;
            let read = CreditSnapshot::read(&mut tx, id, now).await;
            tx.end_snapshot().await?;
            read
        });
        let read = read.await?;
        company.check_expected("the invoice", read.invoice.summary.updated_at)?;
        let content = read.content(&self.credit)?;
        Ok((read, content))
    }

    async fn preview(
        &self,
        read: &Self::Read,
        _: &mut BoundedStore<'_>,
    ) -> Result<Option<DocumentContent>, Error> {
        let content = self.content(read)?;
        // An invoice can always be cancelled.
        if let Credit::Given(_) = self.credit {
            content.check_lawful()?;
        }
        Ok(Some(content))
    }

    async fn still_current(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &Self::Read,
        _: Option<&Frozen>,
    ) -> Result<bool, Error> {
        let (before, _) = read;
        let first = not_before(tx.change.today(), &before.invoice);
        let stored = tx.summary_to_change::<Invoice>(self.invoice).await?;
        Ok(stored.updated_at == before.invoice.summary.updated_at
            && tx.credit_note_series(first.year()).next_dated(first).await? == before.next)
    }

    async fn commit(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &Self::Read,
        frozen: Option<&Frozen>,
    ) -> Result<Credited, Error> {
        let today = tx.change.today();
        let (before, content) = read;
        let first = not_before(today, &before.invoice);
        let next = tx.credit_note_series(first.year()).allocate_dated(first).await?;
        let format = frozen.map(|frozen| frozen.format);
        let (note, credited) = self.issue(read, &next, format, tx.change.at())?;
        tx.credit_notes().insert(&note, &content.parts).await?;
        tx.invoices().update(&credited.record.summary, Some(&credited.record.detail)).await?;
        tx.record_events(&credited.events).await?;
        let action = match self.credit {
            Credit::Given(_) => HistoryAction::InvoiceCredited,
            Credit::Cancel => HistoryAction::InvoiceCanceled,
        };
        tx.note(action, self.invoice.0, &note.summary.number).await?;
        Ok(Credited { note, invoice: credited.record, today })
    }
}

/// The part of an invoice that its credit notes have left.
async fn balance(tx: &mut impl Tables, invoice: &Invoice) -> Result<CreditableBalance, Error> {
    let mut balance = CreditableBalance::of(invoice);
    for (parts, detail) in tx.credit_notes().credited(invoice.summary.id).await? {
        balance.take(&parts, &detail.vat_breakdown)?;
    }
    Ok(balance)
}

/// The first day that a credit note may have: not before its invoice, even if a clock was set back.
fn not_before(today: NaiveDate, invoice: &Invoice) -> NaiveDate {
    invoice.summary.issue_date.map_or(today, |issued| issued.max(today))
}
