//! A form asks before it enters an unusual payment.

use http::StatusCode;
use invoicing_core::InvoiceId;
use invoicing_server::{NewCreditNote, NewPayment, PaymentSource};
use invoicing_tests::{Database, World, on_each_database};

use super::once::full;
use super::{Browser, Shown};
use crate::support::{DAY, issued_over};

const BEYOND: &str = "This is more than what is left of the invoice:";
const REPEATED: &str = "The same amount with the same reference was already entered today.";
/// The inputs of a person, by their names.
type Fields<'f> = &'f [(&'f str, &'f str)];

/// The form of a payment or a refund, in one browser.
struct Form<'f> {
    world: &'f World,
    browser: Browser,
    id: InvoiceId,
    path: String,
}

impl<'f> Form<'f> {
    fn new(world: &'f World, id: InvoiceId, verb: &str) -> Self {
        Self { world, browser: full(world), id, path: format!("/invoices/{id}/{verb}") }
    }

    async fn payments(&self) -> usize {
        self.world.company.invoices().payments(self.id).await.unwrap().len()
    }

    /// Fills in the form as it is opened.
    async fn enter(&self, fields: Fields<'_>) -> Shown {
        self.browser.fill(&self.path, &self.path, fields).await
    }

    /// Sends the form of a page again, with its box checked.
    async fn confirm(&self, asked: &Shown, fields: Fields<'_>) -> Shown {
        let mut sent = asked.hidden(&self.path);
        sent.push(("confirmed".to_owned(), asked.page().attr("[name=confirmed]", "value")));
        sent.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.browser.post_bare(&self.path, &sent).await
    }
}

/// A question that has entered nothing, with these doubts and no others.
async fn assert_asked(form: &Form<'_>, shown: &Shown, before: usize, doubts: &[&str]) {
    assert_eq!(shown.status, StatusCode::CONFLICT, "{}", shown.html);
    for doubt in [BEYOND, REPEATED] {
        assert_eq!(shown.html.contains(doubt), doubts.contains(&doubt), "{doubt}: {}", shown.html);
    }
    assert!(shown.html.contains("Nothing has been entered yet."), "{}", shown.html);
    assert!(!shown.page().has("[name=confirmed][checked]"));
    assert_eq!(form.payments().await, before);
}

/// Rules: FORM-6
#[on_each_database]
async fn an_amount_beyond_the_rest_of_the_invoice_is_asked_for(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let id = issued_over(&world.company, "120").await.summary.id;
    invoices.pay(id, &NewPayment::new(15, PaymentSource::Bank)).await.unwrap();
    invoices.credit(id, &NewCreditNote::new("Remise").reduction("Remise", 0, 5)).await.unwrap();
    let form = Form::new(&world, id, "pay");
    let asked = form.enter(&[("amount", "100.01"), ("method", "cheque"), ("reference", "CHQ <1>")]).await;
    assert_asked(&form, &asked, 1, &[BEYOND]).await;
    assert!(asked.html.contains("€100.00"), "{}", asked.html);
    for kept in ["value=\"100.01\"", "value=\"cheque\" selected", "value=\"CHQ &lt;1&gt;\""] {
        assert!(asked.html.contains(kept), "{kept}: {}", asked.html);
    }
    // The answer is about this amount: another one is asked for again, and an ordinary one needs none.
    let other = form.confirm(&asked, &[("amount", "99999999999"), ("reference", "CHQ <1>")]).await;
    assert_asked(&form, &other, 1, &[BEYOND]).await;
    let entered = form.confirm(&other, &[("amount", "99999999999"), ("reference", "CHQ <1>")]).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER, "{}", entered.html);
    assert_eq!(form.payments().await, 2);

    let id = issued_over(&world.company, "120").await.summary.id;
    let form = Form::new(&world, id, "pay");
    let asked = form.enter(&[("amount", "120.01")]).await;
    assert_asked(&form, &asked, 0, &[BEYOND]).await;
    let corrected = form.confirm(&asked, &[("amount", "120")]).await;
    assert_eq!(corrected.status, StatusCode::SEE_OTHER, "{}", corrected.html);

    // Without a reference too, the answer enters the payment.
    let id = issued_over(&world.company, "120").await.summary.id;
    let form = Form::new(&world, id, "pay");
    let asked = form.enter(&[("amount", "120.01")]).await;
    assert_asked(&form, &asked, 0, &[BEYOND]).await;
    assert_eq!(form.confirm(&asked, &[("amount", "120.01")]).await.status, StatusCode::SEE_OTHER);
}

/// Rules: FORM-6
#[on_each_database]
async fn the_same_reference_amount_and_day_are_asked_for(db: Database) {
    let world = World::new(db).await;
    let id = issued_over(&world.company, "120").await.summary.id;
    let form = Form::new(&world, id, "pay");
    let instalment: Fields<'_> = &[("amount", "30"), ("reference", "FAC-2026-0001")];
    assert_eq!(form.enter(instalment).await.status, StatusCode::SEE_OTHER);
    // Another amount or reference is another payment.
    for other in [[("amount", "30"), ("reference", "")], [("amount", "10"), ("reference", "FAC-2026-0001")]] {
        assert_eq!(form.enter(&other).await.status, StatusCode::SEE_OTHER, "{other:?}");
    }
    let asked = form.enter(instalment).await;
    assert_asked(&form, &asked, 3, &[REPEATED]).await;
    // The same reference in another composition is the same.
    let composed: Fields<'_> = &[("amount", "1"), ("reference", "virement \u{e9}")];
    let decomposed: Fields<'_> = &[("amount", "1"), ("reference", "virement e\u{301} ")];
    assert_eq!(form.enter(composed).await.status, StatusCode::SEE_OTHER);
    assert_asked(&form, &form.enter(decomposed).await, 4, &[REPEATED]).await;
    let payment = world.company.invoices().payments(id).await.unwrap().pop().unwrap().id;
    world.company.invoices().reverse_payment(id, payment).await.unwrap();
    let asked = form.enter(instalment).await;
    assert_eq!(form.confirm(&asked, instalment).await.status, StatusCode::SEE_OTHER);
    // The next one is also beyond the rest, which the former answer is not about.
    let again = form.enter(instalment).await;
    assert_asked(&form, &again, 5, &[BEYOND, REPEATED]).await;
    // A reversed one, and one of another day, are no repetition.
    for payment in world.company.invoices().payments(id).await.unwrap() {
        if payment.reversed_at.is_some() {
            continue;
        }
        world.company.invoices().reverse_payment(id, payment.id).await.unwrap();
    }
    assert_eq!(form.enter(instalment).await.status, StatusCode::SEE_OTHER);
    world.advance(DAY);
    assert_eq!(form.enter(instalment).await.status, StatusCode::SEE_OTHER);
}

/// Rules: FORM-6
#[on_each_database]
async fn a_refund_of_the_same_amount_is_asked_for(db: Database) {
    let world = World::new(db).await;
    let id = issued_over(&world.company, "120").await.summary.id;
    world.company.invoices().pay(id, &NewPayment::new(150, PaymentSource::Bank)).await.unwrap();
    let form = Form::new(&world, id, "refund");
    let refund: Fields<'_> = &[("amount", "10"), ("reference", "RMB 1")];
    assert_eq!(form.enter(refund).await.status, StatusCode::SEE_OTHER);
    let asked = form.enter(refund).await;
    assert_asked(&form, &asked, 2, &[REPEATED]).await;
    assert_eq!(form.confirm(&asked, refund).await.status, StatusCode::SEE_OTHER);
}
