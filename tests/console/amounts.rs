//! The amounts on the page of an invoice: added up as they are printed, in every state.

use invoicing_core::{InvoiceId, InvoiceStatus, Money, NewCreditNote, NewLine, NewQuote, Percent, UnitPrice};
use invoicing_server::{
    ConsoleRole, ConsoleSession, Error, Language, NewPayment, PaymentSource, SignInDecision,
};
use invoicing_tests::{Database, World, on_each_database};
use proptest::prelude::*;
use proptest::sample::Index;
use rust_decimal::Decimal;

use super::Browser;
use crate::support::DAY;
use crate::support::proptest_runner::{for_all, runtime};

const RATES: [&str; 4] = ["2.1", "5.5", "10", "20"];

fn cents(cents: i64) -> Money {
    Money::from_cents(cents).unwrap()
}

/// An invoice before it is issued: its lines as quantity, price in cents and VAT rate, and the
/// percent that are retained.
type Draft = (Vec<(u32, i64, usize)>, u32);

fn draft() -> impl Strategy<Value = Draft> {
    (proptest::collection::vec((1_u32..20, 1_i64..20_000, 0..RATES.len()), 1..4), 0_u32..=5)
}

/// A change of an invoice. One that its state refuses leaves it as it is.
#[derive(Debug, Clone)]
enum Step {
    Issue,
    Pay(i64),
    /// The amount due and a part of the retention.
    PayBeyond(i64),
    MarkPaid,
    Reverse(Index),
    /// This percentage of what is overpaid.
    Refund(u32),
    CreditLine(Index, u32),
    Reduce(Index, i64),
    CreditRemaining,
    Cancel,
    /// The due date passes.
    Overdue,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_i64..200_000).prop_map(Step::Pay),
        3 => (1_i64..500).prop_map(Step::PayBeyond),
        1 => Just(Step::Issue),
        1 => Just(Step::MarkPaid),
        2 => any::<Index>().prop_map(Step::Reverse),
        2 => (1_u32..=100).prop_map(Step::Refund),
        3 => (any::<Index>(), 1_u32..20).prop_map(|(line, quantity)| Step::CreditLine(line, quantity)),
        2 => (any::<Index>(), 1_i64..5_000).prop_map(|(line, amount)| Step::Reduce(line, amount)),
        1 => Just(Step::CreditRemaining),
        1 => Just(Step::Cancel),
        1 => Just(Step::Overdue),
    ]
}

async fn make(world: &World, (lines, retained): &Draft) -> InvoiceId {
    let client = world.client("Lefèvre").await;
    let new = lines.iter().fold(NewQuote::empty(client), |new, (quantity, price, rate)| {
        let price = UnitPrice::new(Decimal::new(*price, 2)).unwrap();
        new.line(NewLine::new("Pose", *quantity, price, RATES[*rate].parse::<Percent>().unwrap()))
    });
    world.company.invoices().create_direct(&new.retention_rate(*retained)).await.unwrap().summary.id
}

async fn take(world: &World, id: InvoiceId, step: &Step) -> Result<(), Error> {
    let invoices = world.company.invoices();
    let invoice = invoices.get(id).await.unwrap();
    let pay = |amount: Money| NewPayment::new(amount, PaymentSource::Entered);
    match step {
        Step::Issue => invoices.issue(id, None).await.map(drop),
        Step::Pay(amount) => invoices.pay(id, &pay(cents(*amount))).await.map(drop),
        Step::PayBeyond(beyond) => {
            invoices.pay(id, &pay(invoice.summary.amount_due.plus(cents(*beyond)).unwrap())).await.map(drop)
        }
        Step::MarkPaid => invoices.mark_paid(id).await.map(drop),
        Step::Reverse(which) => {
            let payments = invoices.payments(id).await.unwrap();
            let standing: Vec<_> = payments.iter().filter(|payment| payment.reversed_at.is_none()).collect();
            if standing.is_empty() {
                return Ok(());
            }
            invoices.reverse_payment(id, standing[which.index(standing.len())].id).await.map(drop)
        }
        Step::Refund(percent) => {
            let part = invoice.summary.amount_overpaid.percent(Percent::from(*percent)).unwrap();
            invoices.refund(id, &pay(part)).await.map(drop)
        }
        Step::CreditLine(line, quantity) => {
            let line = line.index(invoice.lines.len());
            invoices.credit(id, &NewCreditNote::new("x").quantity(line, *quantity)).await.map(drop)
        }
        Step::Reduce(line, amount) => {
            let rate = invoice.lines[line.index(invoice.lines.len())].tva_rate;
            invoices.credit(id, &NewCreditNote::new("x").reduction("y", rate, cents(*amount))).await.map(drop)
        }
        Step::CreditRemaining => invoices.credit(id, &NewCreditNote::of_remaining("x")).await.map(drop),
        Step::Cancel => invoices.cancel(id).await.map(drop),
        Step::Overdue => {
            world.advance(40 * DAY);
            world.invoicing.sweep().await.map(drop)
        }
    }
}

/// An amount as a page prints it.
fn printed(language: Language, text: &str) -> Decimal {
    let mark = if language == Language::French { ',' } else { '.' };
    let plain = text.chars().filter_map(|c| match c {
        '0'..='9' => Some(c),
        '\u{2212}' => Some('-'),
        c if c == mark => Some('.'),
        _ => None,
    });
    plain.collect::<String>().parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Reads the ladder on the page of an invoice: its rows, from the total to the last one.
async fn ladder(browser: &Browser, language: Language, id: InvoiceId) -> Vec<(String, Decimal)> {
    let shown = browser.get(&format!("/invoices/{id}")).await;
    let page = shown.page();
    let amounts = page.texts("dl.totals dd");
    let rows: Vec<_> = page
        .texts("dl.totals dt")
        .into_iter()
        .zip(amounts.iter().map(|amount| printed(language, amount)))
        .collect();
    // The table of the totals ends with the total, too.
    let total = if language == Language::French { "Total TTC" } else { "Total incl. VAT" };
    let start = rows.iter().rposition(|(name, _)| name == total).unwrap();
    rows[start..].to_vec()
}

/// The rows before the amount due add up to it, and what the payments have left of the retention is
/// still due.
fn check(language: Language, rows: &[(String, Decimal)]) -> Result<(), TestCaseError> {
    let pick = |english, french| if language == Language::French { french } else { english };
    let due = pick("Amount due", "Reste à payer");
    let end = rows.iter().position(|(name, _)| name == due).unwrap();
    let (steps, rest) = rows.split_at(end);
    let sum: Decimal = steps.iter().map(|(_, amount)| amount).sum();
    prop_assert_eq!(sum, rest[0].1, "{:?}", rows);
    let amount = |rows: &[(String, Decimal)], name: &str| -> Decimal {
        rows.iter().filter(|(row, _)| row.starts_with(name)).map(|(_, amount)| amount).sum()
    };
    let retained = -amount(steps, pick("Retention ", "Retenue de garantie "));
    let paid = amount(steps, pick("Paid of the retention", "Payé sur la retenue"));
    let still = amount(rest, pick("Retention still due", "Retenue restant due"));
    // A cancelled invoice owes no retention.
    if !steps.iter().any(|(name, _)| name == pick("Cancelled", "Annulée")) {
        prop_assert_eq!(retained - paid, still, "{:?}", rows);
    }
    for (name, _) in &rest[1..] {
        prop_assert_eq!(name, pick("Retention still due", "Retenue restant due"));
    }
    Ok(())
}

fn browser(world: &World, language: Language) -> Browser {
    let session = ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full).language(language);
    Browser::with(&world.invoicing, world.company.id(), move |_| SignInDecision::Granted(session.clone()))
}

/// Rules: PAGE-8
#[on_each_database]
fn the_amounts_of_an_invoice_add_up_as_they_are_printed(db: Database) {
    let runtime = runtime();
    let world = runtime.block_on(World::new(db));
    let languages = [Language::English, Language::French];
    let browsers = languages.map(|language| (language, browser(&world, language)));
    let journeys = (draft(), any::<bool>(), proptest::collection::vec(step(), 1..8));
    for_all(db, 40, &journeys, |(draft, is_issued, steps)| {
        runtime.block_on(async {
            let id = make(&world, &draft).await;
            let first = is_issued.then_some(Step::Issue);
            for step in first.iter().chain(&steps) {
                let taken = take(&world, id, step).await;
                prop_assert!(
                    matches!(taken, Ok(()) | Err(Error::Conflict(_) | Error::Invalid(_))),
                    "{:?}",
                    taken
                );
                for (language, browser) in &browsers {
                    check(*language, &ladder(browser, *language, id).await)?;
                }
            }
            Ok(())
        })
    });
}

/// Rules: PAGE-8
#[on_each_database]
async fn what_a_payment_left_to_the_retention_has_a_line(db: Database) {
    let world = World::new(db).await;
    let id = make(&world, &(vec![(10, 10_000, 3)], 5)).await;
    let invoices = world.company.invoices();
    invoices.issue(id, None).await.unwrap();
    // 1,200.00 less 60.00 that are retained.
    invoices.mark_paid(id).await.unwrap();
    invoices.credit(id, &NewCreditNote::new("Geste").quantity(0, 2)).await.unwrap();
    assert_eq!(invoices.get(id).await.unwrap().summary.status, InvoiceStatus::Paid);
    let rows = ladder(&browser(&world, Language::English), Language::English, id).await;
    let rows: Vec<_> = rows.iter().map(|(name, amount)| (&**name, amount.to_string())).collect();
    let expected = [
        ("Total incl. VAT", "1200.00"),
        ("Credited", "-240.00"),
        ("Retention 5%", "-48.00"),
        ("Paid", "-1140.00"),
        ("Paid of the retention", "48.00"),
        ("Overpaid", "180.00"),
        ("Amount due", "0.00"),
    ];
    assert_eq!(rows, expected.map(|(name, amount)| (name, amount.to_owned())));
}
