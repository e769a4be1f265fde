//! Issued invoices under random operations: what was issued stays, the amounts follow from the valid entries, and each document of
//! a business is a Factur-X for the official rules.

use invoicing_core::{
    ClientType, CreditNoteId, DocumentFormat, Invoice, InvoiceId, InvoiceStatus, Money, NewClient,
    NewCreditNote, NewLine, NewQuote, OpenEnum, Percent, Quantity, percent, unit_price,
};
use invoicing_server::{Error, NewPayment, OpenedDocument, PaymentSource};
use invoicing_tests::{Database, World, business_client, legal_identity, on_each_database};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rust_decimal::Decimal;

use super::golden::run;
use super::invoices::xml_of;
use crate::support::DAY;

const INVOICES: u32 = 12;
/// On each of two databases.
const OPERATIONS: usize = 500;
const RATES: [Percent; 3] = [percent!(20), percent!(10), percent!(5.5)];

#[derive(Debug, Clone)]
enum Operation {
    Pay(Money),
    MarkPaid,
    Refund(Money),
    /// A payment, by its place among all that were recorded.
    Reverse(usize),
    Quantity(usize, Quantity),
    Reduction(Percent, Money),
    Remaining,
    Cancel,
    IssueAgain,
    MoveCompany,
    RenameClient,
    NextDay,
}

fn money() -> impl Strategy<Value = Money> {
    (1_i64..40_000).prop_map(|cents| Money::new(Decimal::new(cents, 2)).unwrap())
}

fn operation() -> impl Strategy<Value = Operation> {
    let part = (1_i64..4_000).prop_map(|parts| Quantity::new(Decimal::new(parts, 3)).unwrap());
    prop_oneof![
        6 => money().prop_map(Operation::Pay),
        1 => Just(Operation::MarkPaid),
        4 => money().prop_map(Operation::Refund),
        5 => any::<prop::sample::Index>().prop_map(|place| Operation::Reverse(place.index(1_000))),
        8 => (0_usize..RATES.len(), part).prop_map(|(line, part)| Operation::Quantity(line, part)),
        6 => (prop::sample::select(RATES.to_vec()), money())
            .prop_map(|(rate, amount)| Operation::Reduction(rate, amount)),
        1 => Just(Operation::Remaining),
        1 => Just(Operation::Cancel),
        1 => Just(Operation::IssueAgain),
        1 => Just(Operation::MoveCompany),
        1 => Just(Operation::RenameClient),
        1 => Just(Operation::NextDay),
    ]
}

/// An invoice as it was issued.
struct Issued {
    invoice: Invoice,
    document: OpenedDocument,
}

/// Each fourth invoice is of a private client, who gets a plain PDF.
async fn issue(world: &World, n: u32) -> Issued {
    let client = business_client();
    let private = NewClient { r#type: Some(ClientType::Particulier), siren: None, ..client.clone() };
    let client = NewClient { name: format!("Client {n}"), ..if n % 4 == 3 { private } else { client } };
    let client = world.company.clients().create(&client).await.unwrap().id;
    let content = NewQuote::empty(client).retention_rate(n % 6);
    let lines = RATES.map(|rate| NewLine::new("Ouvrage", 9, unit_price!(33.33), rate));
    let content = lines.into_iter().fold(content, NewQuote::line);
    let invoices = world.company.invoices();
    let draft = invoices.create_direct(&content).await.unwrap().summary.id;
    let invoice = invoices.issue(draft, None).await.unwrap();
    Issued { document: invoices.open_document(draft).await.unwrap(), invoice }
}

async fn apply(world: &World, issued: &Issued, operation: &Operation) -> Result<(), Error> {
    let (company, id) = (&world.company, issued.invoice.summary.id);
    let invoices = company.invoices();
    let payment = |amount: &Money| NewPayment::new(*amount, PaymentSource::Bank);
    match operation {
        Operation::Pay(amount) => drop(invoices.pay(id, &payment(amount)).await?),
        Operation::MarkPaid => drop(invoices.mark_paid(id).await?),
        Operation::Refund(amount) => drop(invoices.refund(id, &payment(amount)).await?),
        Operation::Reverse(place) => {
            let payments = invoices.payments(id).await?;
            if let Some(payment) = payments.get(place % payments.len().max(1)) {
                invoices.reverse_payment(id, payment.id).await?;
            }
        }
        Operation::Quantity(line, quantity) => {
            let part = NewCreditNote::new("Moins de travaux").quantity(*line, *quantity);
            invoices.credit(id, &part).await?;
        }
        Operation::Reduction(rate, amount) => {
            let part = NewCreditNote::new("Geste commercial").reduction("Remise", *rate, *amount);
            invoices.credit(id, &part).await?;
        }
        Operation::Remaining => drop(invoices.credit(id, &NewCreditNote::of_remaining("Annulation")).await?),
        Operation::Cancel => drop(invoices.cancel(id).await?),
        Operation::IssueAgain => drop(invoices.issue(id, None).await?),
        Operation::MoveCompany => {
            let street = format!("{} rue des Métiers", world.now().as_millis() % 1_000);
            company.set_identity(&legal_identity().address(street)).await?;
        }
        Operation::RenameClient => {
            let client = NewClient::named(format!("Autre {}", world.now().as_millis() % 1_000));
            company.clients().change(issued.invoice.summary.client_id, &client).await?;
        }
        Operation::NextDay => {
            world.advance(DAY);
            world.invoicing.sweep().await?;
        }
    }
    Ok(())
}

/// The invoice has what was issued, and its amounts follow from its payments and its credit notes.
async fn check(world: &World, issued: &Issued) {
    let (before, id) = (&issued.invoice, issued.invoice.summary.id);
    let invoices = world.company.invoices();
    let after = invoices.get(id).await.unwrap();
    let head = after.summary;
    assert_eq!(invoices.open_document(id).await.unwrap(), issued.document);
    assert_eq!(after.lines, before.lines);
    assert_eq!(after.detail.vat_breakdown, before.detail.vat_breakdown);
    let fixed = |head: &invoicing_core::InvoiceSummary| {
        let dates = (head.issue_date, head.due_date, head.supplied_on, head.period_start, head.period_end);
        let amounts = (head.total_ht, head.total_ttc, head.tva_rate, head.retention_rate);
        let parties = (head.client_id, head.client_name.clone(), head.client_email.clone());
        (head.number.clone(), dates, amounts, parties, head.document_format.clone())
    };
    assert_eq!(fixed(&head), fixed(&before.summary));

    let payments = invoices.payments(id).await.unwrap();
    let standing = payments.iter().filter(|payment| payment.reversed_at.is_none());
    let paid: Decimal = standing.map(|payment| payment.amount.get()).sum();
    let credited: Decimal = after.detail.credit_notes.iter().map(|note| note.total_ttc.get()).sum();
    assert_eq!((head.amount_paid.get(), head.amount_credited.get()), (paid, credited));
    let left = head.total_ttc.get() - credited;
    assert!(left >= Decimal::ZERO && paid >= Decimal::ZERO, "{head:?}");
    let half_up = rust_decimal::RoundingStrategy::MidpointAwayFromZero;
    let held = (left * head.retention_rate.get() / Decimal::ONE_HUNDRED).round_dp_with_strategy(2, half_up);
    assert_eq!(head.retention_amount.get(), held);
    let is_canceled = head.status == InvoiceStatus::Canceled;
    let or_nothing = |amount: Decimal| if is_canceled { Decimal::ZERO } else { amount.max(Decimal::ZERO) };
    assert_eq!(head.amount_due.get(), or_nothing(left - held - paid), "{head:?}");
    assert_eq!(head.retention_due.get(), or_nothing(held.min(left - paid)), "{head:?}");
    assert_eq!(head.amount_overpaid.get(), (paid - left).max(Decimal::ZERO), "{head:?}");
    assert_eq!(is_canceled, left.is_zero() && paid.is_zero(), "{head:?}");
    if !head.amount_due.is_zero() {
        let today = chrono::DateTime::from_timestamp_millis(world.now().as_millis()).unwrap().date_naive();
        let is_late = head.due_date.unwrap() < today;
        assert_eq!(
            head.status,
            if is_late { InvoiceStatus::Overdue } else { InvoiceStatus::Sent },
            "{head:?}"
        );
    } else if !left.is_zero() {
        assert_eq!(head.status, InvoiceStatus::Paid, "{head:?}");
    }
}

/// A document whose record says Factur-X, and no other, has XML, with its number.
fn check_format(
    db: Database,
    number: &str,
    format: Option<&OpenEnum<DocumentFormat>>,
    document: &OpenedDocument,
) {
    if run("qpdf", &["--version"]).is_none() {
        return;
    }
    let xml = xml_of(db, number, &document.bytes);
    assert_eq!(xml.is_some(), format.is_some_and(|format| *format == DocumentFormat::FacturX), "{number}");
    assert!(xml.is_none_or(|xml| xml.contains(&format!("<ram:ID>{number}</ram:ID>"))), "{number}");
}

/// Each number of a series once, from 1 on, and no date before an earlier one.
fn is_gapless(mut issued: Vec<(&str, chrono::NaiveDate)>) {
    issued.sort_unstable();
    for (place, (number, _)) in issued.iter().enumerate() {
        assert!(number.ends_with(&format!("-{:04}", place + 1)), "{number} at {place}");
    }
    assert!(issued.is_sorted_by_key(|(_, date)| *date), "{issued:?}");
}

/// Rules: DOCUMENT-24, INVOICE-23, INVOICE-24, INVOICE-25, CREDIT-3, CREDIT-7, NUMBER-8
#[on_each_database]
async fn five_hundred_operations_leave_what_was_issued(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let mut issued = Vec::new();
    for n in 0..INVOICES {
        issued.push(issue(&world, n).await);
    }
    let operations = vec((0..INVOICES as usize, operation()), OPERATIONS);
    let operations = operations.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let (mut done, mut notes) = (0, std::collections::BTreeMap::<CreditNoteId, OpenedDocument>::new());
    for (place, operation) in &operations {
        world.advance(std::time::Duration::from_millis(7));
        let outcome = apply(&world, &issued[*place], operation).await;
        assert!(matches!(outcome, Ok(()) | Err(Error::Invalid(_) | Error::Conflict(_))), "{outcome:?}");
        done += usize::from(outcome.is_ok());
        check(&world, &issued[*place]).await;
        let invoice: InvoiceId = issued[*place].invoice.summary.id;
        for note in world.company.invoices().get(invoice).await.unwrap().detail.credit_notes {
            let document = world.company.credit_notes().open_document(note.id).await.unwrap();
            assert_eq!(*notes.entry(note.id).or_insert_with(|| document.clone()), document);
        }
    }
    assert!(done > OPERATIONS / 3 && notes.len() > issued.len(), "{done} done, {} credit notes", notes.len());
    for invoice in &issued {
        check(&world, invoice).await;
        let head = &invoice.invoice.summary;
        let number = head.number.as_deref().unwrap();
        check_format(db, number, head.document_format.as_ref(), &invoice.document);
    }
    is_gapless(
        issued
            .iter()
            .map(|issued| &issued.invoice.summary)
            .map(|head| (head.number.as_deref().unwrap(), head.issue_date.unwrap()))
            .collect(),
    );
    let mut listed = Vec::new();
    for (id, document) in &notes {
        let note = world.company.credit_notes().get(*id).await.unwrap().summary;
        check_format(db, &note.number, note.document_format.as_ref(), document);
        listed.push(note);
    }
    is_gapless(listed.iter().map(|note| (&*note.number, note.issue_date)).collect());
}
