//! Issuing an invoice: its number is allocated, and its document is frozen.
//!
//! The document shows the number, which is allocated only with the issue. So an issue renders the
//! next number, and its transaction takes that number or starts again. Issues of a company wait for
//! each other in a process, so only another process can take it meanwhile.

use chrono::{Datelike, NaiveDate};
use invoicing_core::{
    ChangeTime, Changed, Company, DocumentFormat, DomainError, Invoice, InvoiceId, InvoiceIssue,
    PaymentSource, Timestamp,
};

use super::payments::{NewPayment, insert_payment};
use super::{Invoices, note};
use crate::documents::{
    BoundedStore, Buyer, Document, DocumentContent, DocumentFacts, DocumentLogo, Frozen, Parties,
};
use crate::error::Error;
use crate::operations::CompanyHandle;
use crate::operations::freezing::{FreezingPlan, ISSUE_ATTEMPTS};
use crate::operations::frozen_files::{current_facts, find_logo};
use crate::records::{HistoryAction, ReadinessGap};
use crate::store::quotes::DocumentTerms;
use crate::store::{ChangeContext, CompanyReader, CompanyTx, Prefetch, Tables};

/// The facts of an issue that the caller may set.
///
/// ```
/// use invoicing_server::{IssueOptions, NaiveDate};
///
/// let day = |day| NaiveDate::from_ymd_opt(2026, 9, day).expect("a date");
/// let options = IssueOptions::default().due_date(day(30)).period(day(1), day(14)).order_number("PO-77");
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueOptions {
    /// Last day for paying; 30 days after the issue if missing.
    pub due_date: Option<NaiveDate>,
    /// Day of the supply, if it is not the day of issue.
    pub supplied_on: Option<NaiveDate>,
    /// First and last day of the period that the invoice is about, if it is about one.
    pub period: Option<(NaiveDate, NaiveDate)>,
    /// The number of the client's order, if it is another one than that of the draft; an empty one
    /// removes it. At most 50 characters.
    pub order_number: Option<String>,
}

impl IssueOptions {
    /// Sets [`due_date`](Self#structfield.due_date).
    pub fn due_date(mut self, day: NaiveDate) -> Self {
        self.due_date = Some(day);
        self
    }

    /// Sets [`supplied_on`](Self#structfield.supplied_on).
    pub fn supplied_on(mut self, day: NaiveDate) -> Self {
        self.supplied_on = Some(day);
        self
    }

    /// Sets [`period`](Self#structfield.period).
    pub fn period(mut self, start: NaiveDate, end: NaiveDate) -> Self {
        self.period = Some((start, end));
        self
    }

    /// Sets [`order_number`](Self#structfield.order_number).
    pub fn order_number(mut self, number: impl Into<String>) -> Self {
        self.order_number = Some(number.into());
        self
    }

    fn issue<'a>(
        &'a self,
        (number, issue_date): (&'a str, NaiveDate),
        format: Option<DocumentFormat>,
    ) -> InvoiceIssue<'a> {
        let Self { due_date, supplied_on, period, ref order_number } = *self;
        InvoiceIssue {
            due_date,
            supplied_on,
            period,
            order_number: order_number.as_deref(),
            document_format: format,
            ..InvoiceIssue::new(number, issue_date)
        }
    }
}

/// The purpose of an issue.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    Issue(IssueOptions),
    /// The invoice is marked paid in the same transaction.
    MarkPaid,
}

impl Purpose {
    /// The invoice as it leaves the draft: issued, or issued and paid.
    fn carry_out(
        &self,
        draft: &Invoice,
        next: (&str, NaiveDate),
        format: Option<DocumentFormat>,
        at: ChangeTime,
    ) -> Result<Changed<Invoice>, DomainError> {
        let options = match self {
            Self::Issue(options) => return draft.issue(options.issue(next, format), at),
            Self::MarkPaid if draft.summary.retention_amount.is_zero() => {
                IssueOptions::default().due_date(next.1)
            }
            Self::MarkPaid => IssueOptions::default(),
        };
        let issued = draft.issue(options.issue(next, format), at)?;
        // With nothing due the issued invoice is paid already.
        if issued.record.summary.amount_due.is_zero() {
            return Ok(issued);
        }
        let paid = issued.record.mark_paid(at)?;
        Ok(Changed { record: paid.record, events: [issued.events, paid.events].concat() })
    }

    const fn action(&self) -> HistoryAction {
        match self {
            Self::Issue(_) => HistoryAction::InvoiceIssued,
            Self::MarkPaid => HistoryAction::InvoiceMarkedPaid,
        }
    }
}

/// A draft as it was read before its document was rendered.
struct Draft {
    change: ChangeContext,
    invoice: Invoice,
    facts: DocumentFacts,
    logo: Option<DocumentLogo>,
    /// The number and the date that the issue would allocate.
    next: (String, NaiveDate),
}

impl Draft {
    async fn read(company: &CompanyHandle, id: InvoiceId) -> Result<Self, Error> {
        let now = company.env().now();
        let draft = company.read(async move |mut tx| {
            // A refusal of the preview depends on all of these together.
            tx.begin_snapshot().await?;
            let draft = Self::find(&mut tx, id, now).await;
            tx.end_snapshot().await?;
            draft
        });
        draft.await
    }

    async fn find(tx: &mut CompanyReader<'_>, id: InvoiceId, now: Timestamp) -> Result<Self, Error> {
        let invoice = tx.invoices().find(id).await?;
        let (company, last_stamp) = tx.company_row().find().await?;
        let change = ChangeContext::new(company, last_stamp, now)?;
        let facts = facts(tx, &change.company, &invoice).await?;
        let logo = find_logo(tx, &change.company).await?;
        let today = change.today();
        let next = tx.invoice_series(today.year()).next_dated(today).await?;
        Ok(Self { change, invoice, facts, logo, next })
    }

    /// The invoice as it would be issued now.
    fn preview(&self, purpose: &Purpose, format: Option<DocumentFormat>) -> Result<Invoice, Error> {
        let (number, date) = &self.next;
        Ok(purpose.carry_out(&self.invoice, (number, *date), format, self.change.at())?.record)
    }

    /// The content of the document.
    fn content(&self, invoice: Invoice) -> DocumentContent {
        let content = DocumentContent {
            document: Document::Invoice(invoice.into()),
            facts: self.facts.clone(),
            logo: self.logo.clone(),
            format: DocumentFormat::Pdf,
        };
        content.in_possible_format()
    }
}

impl Invoices<'_> {
    pub(super) async fn issue_for(&self, id: InvoiceId, purpose: Purpose) -> Result<Invoice, Error> {
        let services = &self.0.services;
        let _turn = services.numbering.turn_to_issue(self.0.id).await?;
        let issued = self.0.freeze(&Issue { id, purpose }, ISSUE_ATTEMPTS).await?;
        let taken = || Error::unavailable("other nodes keep taking the number of the invoice");
        let Issued { invoice, today } = issued.ok_or_else(taken)?;
        let date = invoice.summary.issue_date.unwrap_or(today);
        services.held_dates.check(self.0.id, date, today);
        Ok(invoice)
    }

    /// The gaps of the issue, and the format that the document would have.
    pub(super) async fn gaps(
        &self,
        id: InvoiceId,
        options: IssueOptions,
    ) -> Result<(Vec<ReadinessGap>, DocumentFormat), Error> {
        let draft = Draft::read(self.0, id).await?;
        let document = draft.content(draft.preview(&Purpose::Issue(options), None)?);
        let format = document.format;
        Ok((self.0.services.documents.gaps(document).await?, format))
    }
}

/// The issue of a draft.
#[derive(Debug, Clone)]
struct Issue {
    id: InvoiceId,
    purpose: Purpose,
}

/// An invoice as it was issued, and the day of the issue by the clock.
struct Issued {
    invoice: Invoice,
    today: NaiveDate,
}

impl FreezingPlan for Issue {
    type Read = Draft;
    type Done = Issued;

    async fn read(&self, company: &CompanyHandle) -> Result<Draft, Error> {
        let draft = Draft::read(company, self.id).await?;
        company.check_expected("the invoice", draft.invoice.summary.updated_at)?;
        Ok(draft)
    }

    async fn preview(
        &self,
        draft: &Draft,
        _: &mut BoundedStore<'_>,
    ) -> Result<Option<DocumentContent>, Error> {
        let mut content = draft.content(draft.preview(&self.purpose, None)?);
        content.check_lawful()?;
        let issued = draft.preview(&self.purpose, Some(content.format))?;
        content.document = Document::Invoice(issued.into());
        Ok(Some(content))
    }

    fn prefetched(&self, draft: &Draft) -> Vec<Prefetch> {
        vec![Prefetch::Client(draft.invoice.summary.client_id)]
    }

    async fn still_current(
        &self,
        tx: &mut CompanyTx<'_>,
        draft: &Draft,
        _: Option<&Frozen>,
    ) -> Result<bool, Error> {
        let today = tx.change.today();
        let stored = tx.summary_to_change::<Invoice>(self.id).await?;
        if stored.updated_at != draft.invoice.summary.updated_at
            || tx.invoice_series(today.year()).next_dated(today).await? != draft.next
        {
            return Ok(false);
        }
        // The quote is accepted, so its number and its terms never change.
        let client = tx.clients().find(stored.client_id).await?;
        let Parties { seller, buyer } = &draft.facts.parties;
        Ok(*seller == *tx.change.company && *buyer == Buyer::of(&client))
    }

    async fn commit(
        &self,
        tx: &mut CompanyTx<'_>,
        draft: &Draft,
        frozen: Option<&Frozen>,
    ) -> Result<Issued, Error> {
        let today = tx.change.today();
        let (number, date) = tx.invoice_series(today.year()).allocate_dated(today).await?;
        let format = frozen.map(|frozen| frozen.format);
        let changed = self.purpose.carry_out(&draft.invoice, (&number, date), format, tx.change.at())?;
        let paid = changed.record.summary.amount_paid;
        if !paid.is_zero() {
            insert_payment(tx, self.id, NewPayment::new(paid, PaymentSource::Manual)).await?;
        }
        let Changed { record: invoice, events } = changed;
        // An issue may change the order number, which is in the detail.
        tx.invoices().update(&invoice.summary, Some(&invoice.detail)).await?;
        tx.record_events(&events).await?;
        note(tx, self.purpose.action(), &invoice).await?;
        Ok(Issued { invoice, today })
    }
}

/// The data that the document of an invoice shows besides the invoice, as they are now.
pub(super) async fn facts(
    tx: &mut impl Tables,
    company: &Company,
    invoice: &Invoice,
) -> Result<DocumentFacts, Error> {
    let client = tx.clients().find(invoice.summary.client_id).await?;
    let Some(id) = invoice.summary.quote_id else {
        return Ok(current_facts(company, &client, DocumentTerms::default()));
    };
    let quote = tx.quotes().find_summary(id).await?;
    let facts = current_facts(company, &client, tx.quotes().find_terms(id).await?);
    if quote.was_accepted_at_once() {
        return Ok(facts);
    }
    // The client has agreed to the statements of the quote's document.
    let quoted: Option<(_, DocumentFacts)> = tx.frozen_files().latest_with_facts(id.0).await?;
    let housing_works = quoted.map_or(facts.housing_works, |(_, quoted)| quoted.housing_works);
    Ok(DocumentFacts { quote_number: Some(quote.number), housing_works, ..facts })
}
