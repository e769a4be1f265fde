//! The company's legal data and the clients, which the list of an invoice's gaps leads to.

use http::StatusCode;
use invoicing_core::{BillingAddress, ClientType, CompanyIdentity, NewClient, NewLine, NewQuote};
use invoicing_server::{ConsoleAction, ConsoleRole};
use invoicing_tests::{Database, World, on_each_database};

use super::once::{COMPANY, full};
use super::{Browser, PREFIX};

/// The links of the list, without the prefix.
async fn gaps(browser: &Browser, page: &str) -> Vec<String> {
    let shown = browser.get(page).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.html);
    let links = shown.page().attrs("div.notice.error li a", "href");
    links.iter().map(|link| link.strip_prefix(PREFIX).unwrap().to_owned()).collect()
}

/// Rules: INVOICE-27
#[on_each_database]
async fn a_company_without_data_comes_to_an_issued_invoice(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    world.company.set_identity(&CompanyIdentity::default()).await.unwrap();
    let client = NewClient::named("Dupont").r#type(ClientType::Professionnel);
    let client = world.company.clients().create(&client).await.unwrap().id;
    let content = NewQuote::empty(client).line(NewLine::new("Pose", 1, 100, 20));
    let invoice = world.company.invoices().create_direct(&content).await.unwrap().summary.id;
    let issue = format!("/invoices/{invoice}/issue");
    let expected =
        ["/company#address", "/company#siret", "/company#vatNumber", &format!("/clients/{client}#address")];
    assert_eq!(gaps(&browser, &issue).await, expected);
    let refused = browser.post(&issue, &[]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.html);
    assert!(refused.html.contains("The company has no address"), "{}", refused.html);

    assert_eq!(gaps(&browser, "/company").await, expected[..3]);
    for gap in &expected {
        let (page, input) = gap.split_once('#').unwrap();
        assert!(browser.get(page).await.page().has(&format!("form #{input}")), "{gap}");
    }
    let saved = browser.post("/company", COMPANY).await;
    assert_eq!((saved.status, saved.location()), (StatusCode::SEE_OTHER, "/company?done=saved"));
    assert_eq!(gaps(&browser, "/company").await, [""; 0]);
    let page = format!("/clients/{client}");
    let fields = [("name", "Dupont"), ("type", "PROFESSIONNEL"), ("address", "8 quai de la Fosse")];
    assert_eq!(browser.post(&page, &fields).await.status, StatusCode::SEE_OTHER);
    assert_eq!(gaps(&browser, &issue).await, [""; 0]);
    assert_eq!(browser.post(&issue, &[]).await.status, StatusCode::SEE_OTHER);
    let identity = world.company.details().await.unwrap().identity;
    assert_eq!(identity.siret.as_deref(), Some("73282932000074"));
    assert!(identity.vat_on_debits);
}

#[on_each_database]
async fn a_wrong_input_comes_again_with_its_error_in_the_reader_s_words(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let before = world.company.details().await.unwrap();
    let mut fields = COMPANY.to_vec();
    fields.retain(|(name, _)| *name != "siret");
    fields.push(("siret", "12"));
    let refused = browser.post("/company", &fields).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.page().attr("#siret", "value"), "12");
    assert!(refused.page().text("#siret-wrong").contains("14"), "{}", refused.html);
    assert_eq!(world.company.details().await.unwrap(), before);
    for (name, value) in [
        ("email", "x"),
        ("siren", "123456789"),
        ("country", "France"),
        ("billingAddress.country", "France"),
        ("name", ""),
    ] {
        let id = name.replace('.', "-");
        let given = [("name", "Léa"), (name, value)];
        let given = &given[usize::from(name == "name")..];
        let refused = browser.post("/clients", given).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name}");
        assert!(refused.page().has(&format!("#{id}-wrong")), "{name}: {}", refused.html);
    }
}

#[on_each_database]
async fn clients_are_found_entered_and_changed_by_those_who_may(db: Database) {
    let world = World::new(db).await;
    let manager = ConsoleRole::Actions([ConsoleAction::ManageClients].into());
    let manager = Browser::of(&world.invoicing, world.company.id(), manager);
    let made = manager.post("/clients", &[("name", "Léa <b>"), ("email", "<lea@exemple.fr>,")]).await;
    let page = made.location().split('?').next().unwrap().to_owned();
    let shown = manager.get(&page).await;
    assert_eq!(shown.page().attr("#email", "value"), "lea@exemple.fr");
    assert!(shown.html.contains("Léa &lt;b&gt;"), "{}", shown.html);
    let found = manager.get("/clients?q=lea").await.page().attrs("ul.steps a", "href");
    assert_eq!(found, [format!("{PREFIX}{page}")]);
    assert_eq!(manager.get("/clients?q=nobody").await.page().attrs("ul.steps a", "href"), [""; 0]);
    let billed = [
        ("name", "Léa"),
        ("email", "lea@exemple.fr"),
        ("billingAddress.city", "Lyon"),
        ("billingAddress.zipCode", " "),
    ];
    assert_eq!(manager.post(&page, &billed).await.status, StatusCode::SEE_OTHER);
    let id = page.rsplit('/').next().unwrap().parse().unwrap();
    let stored = async || world.company.clients().get(id).await.unwrap().billing_address;
    assert_eq!(stored().await, Some(BillingAddress::default().city("Lyon")));
    let shown = manager.get(&page).await;
    assert_eq!(shown.page().attr("#billingAddress-city", "value"), "Lyon");
    let reader = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::ReadOnly);
    assert!(reader.get(&page).await.html.contains("Billing address"));
    // Emptied, it is none.
    assert_eq!(manager.post(&page, &[billed[0], billed[1]]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(stored().await, None);
    for page in [&*page, "/clients", "/company"] {
        let shown = reader.get(page).await;
        assert_eq!(shown.status, StatusCode::OK, "{page}");
        assert!(!shown.page().has("form[method=post]"), "{page}: {}", shown.html);
    }
    assert!(reader.get(&page).await.html.contains("lea@exemple.fr"));
    assert_eq!(reader.get("/clients/new").await.status, StatusCode::FORBIDDEN);
}
