//! Invoices and credit notes: found, shown, made, issued, paid, credited, cancelled.

use std::collections::BTreeSet;

use http::{StatusCode, header};
use invoicing_core::{
    ClientType, InvoiceId, InvoiceStatus, Money, NewClient, NewCreditNote, NewLine, NewQuote,
};
use invoicing_server::{
    ConsoleAction, ConsoleRole, ConsoleSession, InvoiceQuery, Language, NewPayment, PaymentMethod,
    PaymentSource, SignInDecision,
};
use invoicing_tests::{Database, World, legal_identity, on_each_database};

use super::{Browser, PREFIX, Shown};
use crate::support::quote_at;

fn browser(world: &World) -> Browser {
    Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full)
}

fn lecteur(world: &World) -> Browser {
    let session =
        ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full).language(Language::French);
    Browser::with(&world.invoicing, world.company.id(), move |_| SignInDecision::Granted(session.clone()))
}

/// A draft of one line: 10 at 100.00, VAT 20 %.
async fn draft(world: &World) -> InvoiceId {
    let client = world.client("Claire Lefèvre").await;
    let new = NewQuote::empty(client).line(NewLine::new("Pose de carrelage", 10, 100, 20).unit("m2"));
    world.company.invoices().create_direct(&new).await.unwrap().summary.id
}

async fn issued(world: &World) -> InvoiceId {
    let id = draft(world).await;
    world.company.invoices().issue(id, None).await.unwrap();
    id
}

async fn status(world: &World, id: InvoiceId) -> InvoiceStatus {
    world.company.invoices().get(id).await.unwrap().summary.status
}

fn entered(amount: i32) -> NewPayment {
    NewPayment::new(amount, PaymentSource::Entered)
}

/// The address of the review of a credit note, to which the form with these fields leads.
fn review(id: InvoiceId, fields: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    format!("/invoices/{id}/credit/review?{query}")
}

/// The changes that the page of an invoice offers, as the ends of their paths.
fn offered(shown: &Shown, id: InvoiceId) -> Vec<String> {
    let start = format!("{PREFIX}/invoices/{id}/");
    let links = shown.page().attrs(&format!("p.actions [href^='{start}']"), "href");
    links.iter().map(|link| link[start.len()..].to_owned()).collect()
}

#[on_each_database]
async fn invoices_are_listed_newest_first_and_by_state(db: Database) {
    let world = World::new(db).await;
    let client = NewClient::named("Lefèvre <script>").country("GF");
    let client = world.company.clients().create(&client).await.unwrap().id;
    let mut ids = Vec::new();
    for _ in 0..60 {
        let direct = world.company.invoices().create_direct(&quote_at(client, "10")).await.unwrap();
        ids.insert(0, direct.summary.id);
    }
    world.company.invoices().issue(ids[3], None).await.unwrap();
    let browser = browser(&world);
    let pages = browser.pages("/invoices").await;
    let on = |page: &Shown| {
        let links = page.page().attrs("td a", "href");
        let start = format!("{PREFIX}/invoices/");
        links.iter().map(|link| link[start.len()..].parse().unwrap()).collect::<Vec<InvoiceId>>()
    };
    assert_eq!(pages.iter().map(|page| on(page).len()).collect::<Vec<_>>(), [50, 10]);
    assert_eq!(pages.iter().flat_map(on).collect::<Vec<_>>(), ids);
    assert!(pages.iter().all(|page| page.html.len() < 100 * 1024 && !page.html.contains("<script>")));
    let sent = browser.get("/invoices?status=SENT").await;
    assert_eq!(on(&sent), [ids[3]]);
    assert!(sent.html.contains("FAC-2026-0001") && sent.html.contains("€10.00"), "{}", sent.html);
    assert!(on(&browser.get("/invoices?status=PAID").await).is_empty());
    for wrong in ["status=eaten", "before=x", "before=-1", "before=99999999999"] {
        assert_eq!(
            browser.get(&format!("/invoices?{wrong}")).await.status,
            StatusCode::BAD_REQUEST,
            "{wrong}"
        );
    }
    assert!(lecteur(&world).get("/invoices").await.html.contains("Brouillon"));
}

#[on_each_database]
async fn an_accepted_quote_is_converted_and_leads_to_its_invoice(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let quote = world.accepted().await.summary.id;
    let page = format!("/quotes/{quote}");
    let convert = format!("{page}/convert");
    let converted = browser.fill(&page, &convert, &[]).await;
    let id: InvoiceId =
        converted.location()["/invoices/".len()..].split('?').next().unwrap().parse().unwrap();
    assert_eq!(status(&world, id).await, InvoiceStatus::Draft);
    let shown = browser.get(&page).await;
    assert!(shown.page().has(&format!("[href='{PREFIX}/invoices/{id}']")), "{}", shown.html);
    assert!(!shown.page().has(&format!("[action='{PREFIX}{convert}']")), "{}", shown.html);
    assert_eq!(browser.post(&convert, &[]).await.status, StatusCode::CONFLICT);
    let invoice = browser.get(&format!("/invoices/{id}")).await;
    assert!(invoice.page().has(&format!("[href='{PREFIX}{page}']")), "{}", invoice.html);
    assert!(invoice.html.contains("Converted a quote to an invoice"), "{}", invoice.html);
    // A draft that is not accepted cannot be converted.
    let draft = world.draft().await.summary.id;
    assert!(!browser.get(&format!("/quotes/{draft}")).await.html.contains("/convert\""));
}

#[on_each_database]
async fn a_draft_is_issued_after_a_checklist_and_has_its_document(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let id = draft(&world).await;
    let (page, issue) = (format!("/invoices/{id}"), format!("/invoices/{id}/issue"));
    let shown = browser.get(&page).await;
    assert_eq!(offered(&shown, id), ["issue", "cancel"]);
    assert!(!shown.html.contains("/document\""), "{}", shown.html);
    assert_eq!(browser.get(&format!("{page}/document")).await.status, StatusCode::CONFLICT);
    let asked = browser.get(&issue).await.html;
    for text in ["Ready: nothing that is needed is missing.", "A business pays within 60 days of it."] {
        assert!(asked.contains(text), "{text}: {asked}");
    }
    let wrong = browser.fill(&issue, &issue, &[("dueDate", "2020-01-01")]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(wrong.html.contains("Due date: must not be before the date of the invoice"), "{}", wrong.html);
    assert_eq!(wrong.page().attr("[name=dueDate]", "value"), "2020-01-01");
    let long = "x".repeat(51);
    let wrong = browser.fill(&issue, &issue, &[("orderNumber", &*long)]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(wrong.html.contains("Order number: must have at most 50 characters"), "{}", wrong.html);
    assert_eq!(wrong.page().attr("#orderNumber", "value"), long);
    let fields = [("dueDate", "2027-03-04"), ("suppliedOn", "2026-09-01"), ("orderNumber", "PO-77")];
    let sent = browser.fill(&issue, &issue, &fields).await;
    assert_eq!(sent.location(), format!("{page}?done=issued"));
    let shown = browser.get(sent.location()).await;
    for text in [
        "FAC-2026-0001",
        "4 Mar 2027",
        "1 Sep 2026",
        "PO-77",
        "Pose de carrelage",
        "€1,200.00",
        "Issued an invoice",
    ] {
        assert!(shown.html.contains(text), "{text}: {}", shown.html);
    }
    assert_eq!(offered(&shown, id), ["pay", "paid", "credit", "cancel"]);
    let file = browser.get(&format!("{page}/document")).await;
    assert!(file.bytes.starts_with(b"%PDF"));
    assert_eq!(file.headers[header::CONTENT_TYPE], "application/pdf");
    assert!(file.headers[header::CONTENT_DISPOSITION].to_str().unwrap().contains("FAC-2026-0001"));
    // Issued once.
    let again = browser.fill(&issue, &issue, &[]).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(again.html.contains("The state of the invoice does not allow this."), "{}", again.html);
}

#[on_each_database]
async fn payments_are_entered_reversed_and_refunded(db: Database) {
    let world = World::new(db).await;
    let (browser, id) = (browser(&world), issued(&world).await);
    let (page, pay) = (format!("/invoices/{id}"), format!("/invoices/{id}/pay"));
    assert_eq!(browser.get(&pay).await.page().attr("[name=amount]", "value"), "1200.00");
    assert_eq!(lecteur(&world).get(&pay).await.page().attr("[name=amount]", "value"), "1200,00");
    for (field, value) in [("amount", "x"), ("amount", "0"), ("amount", "1,23"), ("method", "gold")] {
        let other = if field == "amount" { ("method", "card") } else { ("amount", "1") };
        let wrong = browser.fill(&pay, &pay, &[(field, value), other]).await;
        assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{value}");
        assert!(wrong.page().has(&format!("[name={field}][aria-invalid]")), "{value}: {}", wrong.html);
    }
    let cheque = [("amount", "1,300.50"), ("method", "cheque"), ("reference", "CHQ <1>")];
    // More than the invoice is asked for.
    let confirmed = browser.fill(&pay, &pay, &cheque).await.page().attr("[name=confirmed]", "value");
    let cheque = cheque.into_iter().chain([("confirmed", &*confirmed)]).collect::<Vec<_>>();
    let paid = browser.fill(&pay, &pay, &cheque).await;
    assert_eq!(status(&world, id).await, InvoiceStatus::Paid);
    let payment = world.company.invoices().payments(id).await.unwrap().remove(0);
    assert_eq!(paid.location(), format!("{page}?done=entered&payment={}#payments", payment.id));
    assert_eq!(payment.method, Some(PaymentMethod::Cheque));
    let shown = browser.get(&page).await;
    for text in ["€1,300.50", "Cheque", "CHQ &lt;1&gt;", "Overpaid", "€100.50"] {
        assert!(shown.html.contains(text), "{text}: {}", shown.html);
    }
    assert_eq!(offered(&shown, id), ["credit", "refund"]);

    let refund = format!("{page}/refund");
    let much = browser.fill(&refund, &refund, &[("amount", "100.51")]).await;
    assert!(much.html.contains("at most what is overpaid, 100.50"), "{}", much.html);
    browser.fill(&refund, &refund, &[("amount", "100.50"), ("method", "transfer")]).await;
    let after = world.company.invoices().get(id).await.unwrap().summary;
    assert_eq!((after.amount_paid, after.amount_overpaid), (Money::from(1_200), Money::ZERO));

    let refunded = world.company.invoices().payments(id).await.unwrap().remove(1);
    for payment in [refunded.id, payment.id] {
        let reverse = format!("{page}/payments/{payment}/reverse");
        let reversed = browser.fill(&reverse, &reverse, &[]).await;
        assert_eq!(reversed.location(), format!("{page}?done=reversed#payments"));
        assert_eq!(browser.get(&reverse).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(status(&world, id).await, InvoiceStatus::Sent);
    let paid = format!("{page}/paid");
    assert_eq!(browser.fill(&paid, &paid, &[]).await.location(), format!("{page}?done=paid"));
    assert_eq!(status(&world, id).await, InvoiceStatus::Paid);
}

#[on_each_database]
async fn the_amounts_lead_from_the_total_to_the_amount_due(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let new = NewQuote::empty(client).line(NewLine::new("Pose", 10, 100, 20)).retention_rate(5);
    let invoices = world.company.invoices();
    let id = invoices.create_direct(&new).await.unwrap().summary.id;
    invoices.issue(id, None).await.unwrap();
    invoices.credit(id, &NewCreditNote::new("Geste").quantity(0, 1)).await.unwrap();
    let shown = browser(&world).get(&format!("/invoices/{id}")).await;
    let facts = shown.page().texts("dl.totals > div");
    for fact in [
        "Credited \u{2212}€120.00",
        "Retention 5% \u{2212}€54.00",
        "Amount due €1,026.00",
        "Retention still due €54.00",
    ] {
        assert!(facts.iter().any(|shown| shown == fact), "{fact}: {facts:?}");
    }
}

#[on_each_database]
async fn a_credit_note_takes_back_parts_or_all_that_is_left(db: Database) {
    let world = World::new(db).await;
    let (browser, id) = (browser(&world), issued(&world).await);
    let (page, credit) = (format!("/invoices/{id}"), format!("/invoices/{id}/credit"));
    let (line, reason) = ("lines[0].quantity", ("reason", "Deux m² <non> posés"));
    let form = browser.get(&credit).await;
    assert!(!form.page().has("[type=radio][checked]"), "{}", form.html);
    assert!(form.html.contains("Left: 10 · €1,000.00"), "{}", form.html);
    for (fields, text) in [
        (vec![], "Credit: must be more than nothing."),
        (vec![("what", "rest"), (line, "1")], "not both"),
        (vec![("what", "part"), (line, "11")], "Line 1, quantity: must be a part of what is left, 10."),
        (vec![("tvaRate", "10"), ("amount", "1")], "VAT rate: must be a VAT rate of the invoice."),
        (vec![("tvaRate", "20"), ("amount", "0")], "Amount: must be above 0."),
    ] {
        let refused = browser.get(&review(id, &fields)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{text}: {}", refused.html);
        assert!(refused.html.contains(text), "{text}: {}", refused.html);
    }
    let rest = review(id, &[("what", "rest")]);
    let unnamed = browser.fill(&rest, &credit, &[]).await;
    assert!(unnamed.html.contains("Reason: must have 1 to 2000 characters."), "{}", unnamed.html);
    let part = review(id, &[("what", "part"), (line, "2"), ("tvaRate", "20"), ("amount", "50")]);
    // The way back keeps the entries.
    let entries = browser.get(&part).await.page().attr("[href*='/credit?']", "href");
    let entries = browser.get(entries.strip_prefix(PREFIX).unwrap()).await.page();
    assert_eq!(entries.attr(&format!("[name='{line}']"), "value"), "2");
    assert_eq!(entries.attr("[type=radio][checked]", "value"), "part");
    let credited = browser.fill(&part, &credit, &[reason, ("description", "Geste")]).await;
    let note = credited.location().split('?').next().unwrap().to_owned();
    let shown = browser.get(&note).await;
    for text in ["AVO-2026-0001", "FAC-2026-0001", "Deux m² &lt;non&gt; posés", "Geste", "€300.00"] {
        assert!(shown.html.contains(text), "{text}: {}", shown.html);
    }
    assert!(browser.get(&format!("{note}/document")).await.bytes.starts_with(b"%PDF"));
    assert!(browser.get(&page).await.page().has(&format!("[href='{PREFIX}{note}']")));
    assert!(browser.get(&credit).await.html.contains("Left: 8 · €800.00"));

    let rest = browser.fill(&rest, &credit, &[reason]).await;
    assert_eq!(rest.status, StatusCode::SEE_OTHER, "{}", rest.html);
    assert_eq!(status(&world, id).await, InvoiceStatus::Canceled);
    let shown = browser.get(&page).await;
    assert_eq!(offered(&shown, id), Vec::<String>::new());
    let list = browser.get("/credit-notes").await;
    assert_eq!(list.page().attrs("td:first-child a", "href").len(), 2);
    assert!(lecteur(&world).get(&note).await.html.contains("Télécharger l’avoir"));
}

/// An issued invoice of 4 at 50.00 with a discount of 100.00, VAT 20 %.
async fn discounted(world: &World) -> InvoiceId {
    let client = world.client("Claire Lefèvre").await;
    let new = NewQuote::empty(client).line(NewLine::new("Pose", 4, 50, 20));
    let new = new.line(NewLine::new("Remise", -1, 100, 20));
    let id = world.company.invoices().create_direct(&new).await.unwrap().summary.id;
    world.company.invoices().issue(id, None).await.unwrap();
    id
}

/// Rules: CREDIT-9
#[on_each_database]
async fn the_share_of_a_discount_is_proposed_and_can_be_changed(db: Database) {
    let world = World::new(db).await;
    let (browser, id) = (browser(&world), discounted(&world).await);
    let (credit, share) = (format!("/invoices/{id}/credit"), "lines[1].quantity");
    let half = [("what", "part"), ("lines[0].quantity", "2"), (share, "")];
    let shown = browser.get(&review(id, &half)).await;
    for text in ["(proposed share)", "A discount belongs to no line.", "€60.00"] {
        assert!(shown.html.contains(text), "{text}: {}", shown.html);
    }
    assert!(shown.hidden(&credit).contains(&(share.to_owned(), "-0.5".to_owned())), "{}", shown.html);
    let french = lecteur(&world).get(&review(id, &half)).await;
    assert!(french.html.contains("(part proposée)"), "{}", french.html);
    assert!(french.hidden(&credit).contains(&(share.to_owned(), "-0,5".to_owned())), "{}", french.html);
    // It follows other quantities, so the way back has no entry of it.
    let entries = shown.page().attr("[href*='/credit?']", "href");
    let entries = browser.get(entries.strip_prefix(PREFIX).unwrap()).await.page();
    assert_eq!(entries.attr(&format!("[name='{share}']"), "value"), "");
    for (entered, total) in [("0.25", "€90.00"), ("0", "€120.00")] {
        let shown = browser.get(&review(id, &[half[0], half[1], (share, entered)])).await;
        assert!(!shown.html.contains("proposed share"), "{}", shown.html);
        assert!(shown.html.contains(total), "{total}: {}", shown.html);
    }
    // The rest and an amount have no share.
    for fields in [vec![("what", "rest")], vec![("what", "part"), ("tvaRate", "20"), ("amount", "10")]] {
        let shown = browser.get(&review(id, &fields)).await;
        assert!(!shown.html.contains("proposed share"), "{}", shown.html);
    }

    let sent = browser.fill(&review(id, &half), &credit, &[("reason", "Deux non posés")]).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.html);
    let invoice = world.company.invoices().get(id).await.unwrap().summary;
    assert_eq!((invoice.status, invoice.amount_credited), (InvoiceStatus::Sent, Money::from(60)));
    let last = browser.get(&review(id, &half)).await;
    assert!(!last.html.contains("stay sold"), "{}", last.html);
    let sent = browser.fill(&review(id, &half), &credit, &[("reason", "Rien de posé")]).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.html);
    assert_eq!(status(&world, id).await, InvoiceStatus::Canceled);
}

/// Rules: CREDIT-10
#[on_each_database]
async fn quantities_that_stay_sold_on_an_invoice_credited_in_full_are_named(db: Database) {
    let world = World::new(db).await;
    let (browser, id) = (browser(&world), discounted(&world).await);
    let without_share = vec![("what", "part"), ("lines[0].quantity", "2"), ("lines[1].quantity", "0")];
    let amount = vec![("what", "part"), ("tvaRate", "20"), ("amount", "100")];
    let canceled = "The invoice is then cancelled.";
    for (fields, stays) in [(&without_share, "2 of 4 × 1. "), (&amount, "4 of 4 × 1. ")] {
        let shown = browser.get(&review(id, fields)).await;
        for text in ["stay sold", stays, canceled] {
            assert!(shown.html.contains(text), "{text}: {}", shown.html);
        }
        // A discount is not sold.
        assert!(!shown.html.contains("× 2. "), "{}", shown.html);
    }
    let shown = lecteur(&world).get(&review(id, &amount)).await;
    assert!(shown.html.contains("4 sur 4 × 1. "), "{}", shown.html);
    for fields in [vec![("what", "rest")], vec![amount[0], amount[1], ("amount", "99.99")]] {
        let shown = browser.get(&review(id, &fields)).await;
        assert!(!shown.html.contains("stay sold"), "{}", shown.html);
    }
    world.company.invoices().pay(id, &entered(1)).await.unwrap();
    let shown = browser.get(&review(id, &amount)).await;
    assert!(shown.html.contains("stay sold") && !shown.html.contains(canceled), "{}", shown.html);
}

#[on_each_database]
async fn an_invoice_is_cancelled_unless_it_has_payments(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    for (id, text) in [(draft(&world).await, "gets no number"), (issued(&world).await, "keeps its number")] {
        let cancel = format!("/invoices/{id}/cancel");
        assert!(browser.get(&cancel).await.html.contains(text));
        let canceled = browser.fill(&cancel, &cancel, &[]).await;
        assert_eq!(canceled.location(), format!("/invoices/{id}?done=canceled"));
        assert_eq!(status(&world, id).await, InvoiceStatus::Canceled);
    }
    let paid = issued(&world).await;
    world.company.invoices().pay(paid, &entered(1)).await.unwrap();
    let cancel = format!("/invoices/{paid}/cancel");
    let refused = browser.fill(&cancel, &cancel, &[]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert!(refused.html.contains("Reverse them first"), "{}", refused.html);
}

/// Rules: FORM-5
#[on_each_database]
async fn an_invoice_that_was_changed_meanwhile_is_left_as_it_is(db: Database) {
    let world = World::new(db).await;
    let (browser, id) = (browser(&world), issued(&world).await);
    let page = format!("/invoices/{id}");
    let rest = review(id, &[("what", "rest")]);
    let opened = |segment: &str| format!("{page}/{segment}");
    let forms = [
        ("paid", opened("paid"), vec![]),
        ("cancel", opened("cancel"), vec![]),
        ("credit", rest.clone(), vec![("reason", "Geste")]),
    ];
    let mut older = Vec::new();
    for (segment, opened, fields) in &forms {
        let path = format!("{page}/{segment}");
        let mut all = browser.get(opened).await.hidden(&path);
        all.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        older.push((path, all));
    }
    let new = NewCreditNote::new("Remise").quantity(0, 1);
    world.company.invoices().credit(id, &new).await.unwrap();
    let stored = world.company.invoices().get(id).await.unwrap();
    for (path, fields) in &older {
        let refused = browser.post_bare(path, fields).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{path}");
        assert!(refused.html.contains("was changed after you opened this page"), "{path}: {}", refused.html);
        assert_eq!(world.company.invoices().get(id).await.unwrap(), stored, "{path}");
    }
    let credit = format!("{page}/credit");
    let seen = browser.fill(&rest, &credit, &forms[2].2).await;
    assert_eq!(seen.status, StatusCode::SEE_OTHER, "{}", seen.html);
}

#[on_each_database]
async fn an_invoice_is_made_without_a_quote(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let claire =
        world.company.clients().create(&NewClient::named("Claire <b>").city("Lyon")).await.unwrap().id;
    world.client("Hugo").await;
    let found = browser.get("/invoices/new?q=CLAIRE").await;
    let chosen = found.page().attrs("li a", "href").into_iter().filter(|link| link.contains("client="));
    let chosen: Vec<_> = chosen.collect();
    assert_eq!(chosen, [format!("{PREFIX}/invoices/new?client={claire}")]);
    assert!(found.html.contains("Lyon"), "{}", found.html);
    assert!(browser.get("/invoices/new?q=nobody").await.html.contains("No client matches."));
    let page = format!("/invoices/new?client={claire}");
    let none = browser.fill(&page, "/invoices", &[]).await;
    assert!(none.html.contains("Enter at least one line."), "{}", none.html);
    let line = |part: &str, value: &'static str| (format!("lines[0].{part}"), value);
    let entered = [
        line("description", "Dépannage"),
        line("quantity", "1.5"),
        line("unitPrice", "x"),
        line("tvaRate", "10"),
    ];
    let mut entered = entered.each_ref().map(|(name, value)| (&**name, *value));
    let wrong = browser.fill(&page, "/invoices", &entered).await;
    assert!(wrong.html.contains("Line 1, unit price: must be a number"), "{}", wrong.html);
    assert!(
        wrong.html.contains("value=\"Dépannage\"") && wrong.html.contains("value=\"1.5\""),
        "{}",
        wrong.html
    );
    entered[2].1 = "80";
    let made = browser.fill(&page, "/invoices", &entered).await;
    let id: InvoiceId = made.location()["/invoices/".len()..].split('?').next().unwrap().parse().unwrap();
    let invoice = world.company.invoices().get(id).await.unwrap();
    assert_eq!((invoice.summary.client_id, invoice.summary.total_ttc), (claire, Money::from(132)));
    for unknown in ["x", "018f0000-0000-7000-8000-000000000000"] {
        let shown = browser.get(&format!("/invoices/new?client={unknown}")).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{unknown}");
    }
    assert!(
        matches!(world.company.invoices().list(&InvoiceQuery::default()).await, Ok(list) if list.data.len() == 1)
    );
}

#[on_each_database]
async fn of_the_changes_those_are_offered_that_the_role_includes(db: Database) {
    let world = World::new(db).await;
    let id = issued(&world).await;
    let quote = world.accepted().await.summary.id;
    for (actions, expected, converts) in [
        (vec![], vec![], false),
        (vec![ConsoleAction::ManageInvoices], vec!["credit", "cancel"], true),
        (vec![ConsoleAction::EnterPayments, ConsoleAction::SendQuotes], vec!["pay", "paid"], false),
    ] {
        let role = ConsoleRole::Actions(BTreeSet::from_iter(actions));
        let browser = Browser::of(&world.invoicing, world.company.id(), role);
        assert_eq!(offered(&browser.get(&format!("/invoices/{id}")).await, id), expected);
        let shown = browser.get(&format!("/quotes/{quote}")).await;
        assert_eq!(shown.html.contains("/convert\""), converts);
        assert_eq!(browser.get("/invoices").await.html.contains("/invoices/new\""), converts);
    }
}

#[on_each_database]
async fn a_draft_is_marked_paid_only_by_a_role_that_may_issue_it(db: Database) {
    let world = World::new(db).await;
    let id = draft(&world).await;
    let paid = format!("/invoices/{id}/paid");
    let role = ConsoleRole::Actions(BTreeSet::from([ConsoleAction::EnterPayments]));
    let payer = Browser::of(&world.invoicing, world.company.id(), role);
    assert_eq!(payer.get(&paid).await.status, StatusCode::FORBIDDEN);
    let form = browser(&world).get(&paid).await.hidden(&paid);
    assert_eq!(payer.post_bare(&paid, &form).await.status, StatusCode::FORBIDDEN);
    assert_eq!(status(&world, id).await, InvoiceStatus::Draft);
    world.company.invoices().issue(id, None).await.unwrap();
    assert_eq!(payer.fill(&paid, &paid, &[]).await.status, StatusCode::SEE_OTHER);
}

#[on_each_database]
async fn the_issue_of_a_plain_pdf_or_with_an_older_name_has_a_hint(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let new = NewClient::named("Claire").r#type(ClientType::Particulier).address("1 rue B").city("Nantes");
    let client = world.company.clients().create(&new).await.unwrap();
    let content = NewQuote::empty(client.id).line(NewLine::new("Pose", 10, 100, 20));
    let draft = world.company.invoices().create_direct(&content).await.unwrap().summary.id;
    let issue = format!("/invoices/{draft}/issue");
    let shown = browser(&world).get(&issue).await.html;
    assert!(shown.contains("Ready") && shown.contains("a plain PDF"), "{shown}");
    assert!(!shown.contains("of its quote"), "{shown}");
    let new = NewClient { name: "Claire Durand".into(), ..new };
    world.company.clients().change(client.id, &new).await.unwrap();
    let shown = browser(&world).get(&issue).await.html;
    assert!(shown.contains("of its quote"), "{shown}");
}

/// A draft that lacks the SIREN of its client, with e-invoicing ON.
async fn incomplete(world: &World) -> InvoiceId {
    world.company.set_identity(&legal_identity()).await.unwrap();
    let new = NewClient::named("Durand SARL").r#type(ClientType::Professionnel).city("Nantes");
    let client = world.company.clients().create(&new).await.unwrap().id;
    let new = NewQuote::empty(client).line(NewLine::new("Pose", 10, 100, 20));
    world.company.invoices().create_direct(&new).await.unwrap().summary.id
}

#[on_each_database]
async fn legal_data_that_is_missing_is_named_in_the_reader_s_language(db: Database) {
    let world = World::new(db).await;
    let paid = format!("/invoices/{}/paid", incomplete(&world).await);
    let refused = browser(&world).fill(&paid, &paid, &[]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.html);
    assert!(refused.html.contains("is a business without a SIREN"), "{}", refused.html);
    let refused = lecteur(&world).fill(&paid, &paid, &[]).await;
    assert!(refused.html.contains("est un professionnel sans SIREN"), "{}", refused.html);
}

#[on_each_database]
async fn invoices_of_many_lines_are_credited_in_parts(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let new = (0..70)
        .fold(NewQuote::empty(client), |new, n| new.line(NewLine::new("\"".repeat(2_000), 1, n + 1, 20)));
    let id = world.company.invoices().create_direct(&new).await.unwrap().summary.id;
    world.company.invoices().issue(id, None).await.unwrap();
    let (browser, credit) = (browser(&world), format!("/invoices/{id}/credit"));
    let pages = browser.pages(&credit).await;
    let inputs = |page: &Shown| page.page().attrs("input[name$=quantity]", "name").len();
    assert_eq!(pages.iter().map(inputs).collect::<Vec<_>>(), [50, 20]);
    assert!(pages.iter().all(|page| page.html.len() < 100 * 1024), "{}", pages[0].html.len());
    let second = review(id, &[("lines", "50"), ("what", "part"), ("lines[69].quantity", "1")]);
    let shown = browser.get(&second).await;
    assert!(shown.html.contains("70. ") && shown.html.len() < 100 * 1024, "{}", shown.html);
    let credited = browser.fill(&second, &credit, &[("reason", "Geste")]).await;
    assert_eq!(credited.status, StatusCode::SEE_OTHER, "{}", credited.html);
    let invoice = world.company.invoices().get(id).await.unwrap();
    assert_eq!(invoice.summary.amount_credited, Money::from(84));
}
