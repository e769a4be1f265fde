//! Texts as they are entered: every field that a person or a program fills in.

use invoicing_core::{
    BillingAddress, CompanyIdentity, Costing, CreditNote, EInvoicing, Invalid, NewClient, NewCompany,
    NewCreditNote, NewLine, NewQuote, Plan, SignatureEvidence,
};
use invoicing_server::{
    ClientQuery, Decline, Error, NewPayment, NewProject, PaymentSource, QuoteSearch, Signature,
};
use invoicing_tests::{Database, World, legal_identity, new_quote, on_each_database};
use serde_json::json;

use crate::support::api::encode;
use crate::support::conflict;

/// The texts that a field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A name, a label, a phone number, an identifier.
    Short,
    /// Several lines.
    Long,
    Email,
    /// Controls of direction and line breaks are removed: they are invisible, so the person who entered them could not
    /// find them.
    Freed,
}
use Kind::{Email, Freed, Long, Short};

/// Every text field of every input, but for words and numbers such as the time zone, the SIRET, VAT numbers and URLs.
const FIELDS: [(&str, Kind); 46] = [
    ("client.name", Short),
    ("client.email", Email),
    ("client.phone", Short),
    ("client.address", Long),
    ("client.city", Short),
    ("client.zipCode", Short),
    ("client.billingAddress.address", Long),
    ("client.billingAddress.zipCode", Short),
    ("client.billingAddress.city", Short),
    ("client.notes", Long),
    ("client.externalId", Short),
    ("company.name", Short),
    ("identity.address", Long),
    ("identity.zipCode", Short),
    ("identity.city", Short),
    ("identity.email", Email),
    ("identity.phone", Short),
    ("identity.insurance", Long),
    ("identity.terms", Long),
    ("identity.legalForm", Short),
    ("identity.shareCapital", Short),
    ("identity.registration", Short),
    ("identity.latePenalty", Long),
    ("identity.earlyPayment", Long),
    ("identity.mediator", Long),
    ("identity.wasteTerms", Long),
    ("line.description", Long),
    ("line.unit", Short),
    ("line.lot", Short),
    ("line.section", Short),
    ("costing.privateNote", Long),
    ("costing.subcontractor", Short),
    ("quote.workSite", Long),
    ("quote.externalId", Short),
    ("quote.orderNumber", Short),
    ("signature.name", Short),
    ("signature.email", Email),
    ("signature.text", Long),
    ("refusal.reason", Freed),
    ("payment.reference", Short),
    ("payment.movementId", Short),
    ("credit.reason", Long),
    ("credit.description", Long),
    ("project.name", Short),
    ("key.label", Short),
    ("actor", Freed),
];

/// Fails to compile if an input gets a field: a text field needs a row in [`FIELDS`], and a case in [`enter`].
#[expect(dead_code, reason = "its patterns are what counts")]
fn inputs(
    client: &NewClient,
    company: &NewCompany,
    line: &NewLine,
    quote: &NewQuote,
    signature: &Signature,
    project: &NewProject,
    (payment, credit): (&NewPayment, &NewCreditNote),
) {
    let NewClient {
        name: _,
        email: _,
        phone: _,
        address: _,
        city: _,
        zip_code: _,
        r#type: _,
        notes: _,
        external_id: _,
        siren: _,
        vat_number: _,
        electronic_address: _,
        country: _,
        billing_address,
    } = client;
    let Some(BillingAddress { address: _, zip_code: _, city: _, country: _ }) = billing_address else {
        return;
    };
    let NewCompany { name: _, plan: _, time_zone: _, currency: _, automatic_invoicing: _, identity } =
        company;
    let CompanyIdentity {
        address: _,
        zip_code: _,
        city: _,
        email: _,
        phone: _,
        siret: _,
        vat_number: _,
        insurance: _,
        terms: _,
        legal_form: _,
        share_capital: _,
        registration: _,
        vat_regime: _,
        vat_on_debits: _,
        operations: _,
        late_penalty: _,
        early_payment: _,
        iban: _,
        bic: _,
        mediator: _,
        waste_terms: _,
        electronic_address: _,
        e_invoicing: _,
        color: _,
    } = identity;
    let NewLine {
        description: _,
        quantity: _,
        unit: _,
        unit_price: _,
        tva_rate: _,
        lot: _,
        section: _,
        costing,
    } = line;
    let Costing { labour_cost: _, material_cost: _, private_note: _, subcontractor: _ } = costing;
    let NewQuote {
        client_id: _,
        lines: _,
        retention_rate: _,
        valid_until: _,
        order_number: _,
        work_site: _,
        operations: _,
        reverse_charge: _,
        housing_works: _,
    } = quote;
    let NewCreditNote { reason: _, remaining: _, items: _ } = credit;
    let Signature { evidence, ip: _, user_agent: _, document_sha256: _ } = signature;
    let SignatureEvidence { signed_by_name: _, signed_by_email: _, accepted_text: _ } = evidence;
    let NewPayment { amount: _, source: _, method: _, reference: _, movement_id: _ } = payment;
    let NewProject { name: _, client_id: _, quote_ids: _ } = project;
}

fn line() -> NewLine {
    NewLine::new("Peinture", 1, 10, 20)
}

async fn of_client(world: &World, new: NewClient) -> Result<NewClient, Error> {
    let client = world.company.clients().create(&new).await?;
    Ok(NewClient::of(&client))
}

async fn of_billing(world: &World, address: BillingAddress) -> Result<Option<BillingAddress>, Error> {
    Ok(of_client(world, NewClient::named("Durand").billing_address(address)).await?.billing_address)
}

async fn of_identity(world: &World, identity: CompanyIdentity) -> Result<CompanyIdentity, Error> {
    Ok(world.company.set_identity(&identity).await?.identity)
}

/// The line, and its internal part, as they are stored.
async fn of_line(world: &World, line: NewLine) -> Result<(invoicing_core::Line, Costing), Error> {
    let quotes = world.company.quotes();
    let client = world.client("Durand").await;
    let mut quote = quotes.create(&NewQuote::empty(client).line(line)).await?;
    let mut costings = quotes.costings(quote.summary.id).await?;
    Ok((quote.lines.remove(0), costings.remove(0)))
}

async fn of_signature(world: &World, evidence: SignatureEvidence) -> Result<SignatureEvidence, Error> {
    let quote = world.sent().await.summary.id;
    let link = world.company.quotes().create_signing_link(quote).await?;
    let signed = world.invoicing.signing_links().sign(link.reveal(), &Signature::new(evidence)).await?;
    let block = signed.detail.signature.expect("signed");
    Ok(SignatureEvidence::new(block.signed_by_name, block.signed_by_email, block.accepted_text))
}

/// The credit note on an invoice of a line at 10 %.
async fn of_credit(world: &World, new: NewCreditNote) -> Result<CreditNote, Error> {
    let invoices = world.company.invoices();
    let invoice = invoices.convert(world.accepted().await.summary.id).await?.summary.id;
    invoices.issue(invoice, None).await?;
    invoices.credit(invoice, &new).await
}

/// The last change in the history.
async fn last_change(world: &World) -> invoicing_server::HistoryRecord {
    world.company.history().list(None, 1).await.unwrap().remove(0)
}

/// Enters a text in a field. Returns the stored text.
#[expect(clippy::too_many_lines, reason = "an arm for each of 46 fields")]
async fn enter(world: &World, field: &str, text: &str) -> Result<Option<String>, Error> {
    let (company, quotes) = (&world.company, world.company.quotes());
    let named = || NewClient::named("Durand");
    let billing = BillingAddress::default();
    let (identity, costing) = (legal_identity().e_invoicing(EInvoicing::Off), Costing::default());
    Ok(match field {
        "client.name" => Some(of_client(world, NewClient::named(text)).await?.name),
        "client.email" => of_client(world, named().email(text)).await?.email,
        "client.phone" => of_client(world, named().phone(text)).await?.phone,
        "client.address" => of_client(world, named().address(text)).await?.address,
        "client.city" => of_client(world, named().city(text)).await?.city,
        "client.zipCode" => of_client(world, named().zip_code(text)).await?.zip_code,
        "client.billingAddress.address" => {
            of_billing(world, billing.address(text)).await?.and_then(|billing| billing.address)
        }
        "client.billingAddress.zipCode" => {
            of_billing(world, billing.zip_code(text)).await?.and_then(|billing| billing.zip_code)
        }
        "client.billingAddress.city" => {
            of_billing(world, billing.city(text)).await?.and_then(|billing| billing.city)
        }
        "client.notes" => of_client(world, named().notes(text)).await?.notes,
        "client.externalId" => of_client(world, named().external_id(text)).await?.external_id,
        "company.name" => {
            Some(world.invoicing.companies().create(&NewCompany::named(text, Plan::Pro)).await?.name)
        }
        "identity.address" => of_identity(world, identity.address(text)).await?.address,
        "identity.zipCode" => of_identity(world, identity.zip_code(text)).await?.zip_code,
        "identity.city" => of_identity(world, identity.city(text)).await?.city,
        "identity.email" => of_identity(world, identity.email(text)).await?.email,
        "identity.phone" => of_identity(world, identity.phone(text)).await?.phone,
        "identity.insurance" => of_identity(world, identity.insurance(text)).await?.insurance,
        "identity.terms" => of_identity(world, identity.terms(text)).await?.terms,
        "identity.legalForm" => of_identity(world, identity.legal_form(text)).await?.legal_form,
        "identity.shareCapital" => of_identity(world, identity.share_capital(text)).await?.share_capital,
        "identity.registration" => of_identity(world, identity.registration(text)).await?.registration,
        "identity.latePenalty" => of_identity(world, identity.late_penalty(text)).await?.late_penalty,
        "identity.earlyPayment" => of_identity(world, identity.early_payment(text)).await?.early_payment,
        "identity.mediator" => of_identity(world, identity.mediator(text)).await?.mediator,
        "identity.wasteTerms" => of_identity(world, identity.waste_terms(text)).await?.waste_terms,
        "line.description" => Some(of_line(world, NewLine::new(text, 1, 10, 20)).await?.0.description),
        "line.unit" => of_line(world, line().unit(text)).await?.0.unit,
        "line.lot" => of_line(world, line().lot(text)).await?.0.lot,
        "line.section" => of_line(world, line().section(text)).await?.0.section,
        "costing.privateNote" => {
            of_line(world, line().cost(costing.private_note(text))).await?.1.private_note
        }
        "costing.subcontractor" => {
            of_line(world, line().cost(costing.subcontractor(text))).await?.1.subcontractor
        }
        "quote.workSite" => {
            let new =
                NewQuote { work_site: Some(text.to_owned()), ..new_quote(world.client("Durand").await) };
            quotes.work_site(quotes.create(&new).await?.summary.id).await?
        }
        "quote.orderNumber" => {
            let new = new_quote(world.client("Durand").await).order_number(text);
            quotes.create(&new).await?.detail.order_number
        }
        "quote.externalId" => quotes.link(world.draft().await.summary.id, Some(text)).await?.external_id,
        "signature.name" => {
            let evidence = SignatureEvidence::new(text, "lea@exemple.fr", "Bon pour accord");
            Some(of_signature(world, evidence).await?.signed_by_name)
        }
        "signature.email" => Some(
            of_signature(world, SignatureEvidence::new("Léa", text, "Bon pour accord"))
                .await?
                .signed_by_email,
        ),
        "signature.text" => Some(
            of_signature(world, SignatureEvidence::new("Léa", "lea@exemple.fr", text)).await?.accepted_text,
        ),
        "refusal.reason" => {
            let quote = world.sent().await.summary;
            let link = quotes.create_signing_link(quote.id).await?;
            let refusal = Decline::default().reason(text);
            world.invoicing.signing_links().decline(link.reveal(), &refusal).await?;
            let detail = last_change(world).await.detail;
            detail.strip_prefix(&format!("{}: ", quote.number)).map(str::to_owned)
        }
        "payment.reference" => {
            let invoices = company.invoices();
            let invoice = invoices.convert(world.accepted().await.summary.id).await?.summary.id;
            invoices.issue(invoice, None).await?;
            let payment = NewPayment::new(1, PaymentSource::Entered).reference(text);
            invoices.pay(invoice, &payment).await?.payment.reference
        }
        "payment.movementId" => {
            let invoices = company.invoices();
            let invoice = invoices.convert(world.accepted().await.summary.id).await?.summary.id;
            invoices.issue(invoice, None).await?;
            let payment = NewPayment::new(1, PaymentSource::Bank).movement_id(text);
            invoices.pay(invoice, &payment).await?.payment.movement_id
        }
        "credit.reason" => {
            Some(of_credit(world, NewCreditNote::new(text).quantity(0, 1)).await?.summary.reason)
        }
        "credit.description" => {
            let new = NewCreditNote::new("Remise").reduction(text, 10, 1);
            Some(of_credit(world, new).await?.lines.remove(0).description)
        }
        "project.name" => Some(company.projects().create(&NewProject::named(text)).await?.name),
        "key.label" => {
            let key = company.keys().issue(text).await?.record.id;
            company
                .keys()
                .list()
                .await?
                .into_iter()
                .find(|record| record.id == key)
                .map(|record| record.label)
        }
        "actor" => {
            let acting = company.acting_as(text)?;
            acting.clients().create(&named()).await?;
            Some(last_change(world).await.actor)
        }
        field => panic!("no way in for {field}"),
    })
}

fn invalid(entered: Result<Option<String>, Error>, field: &str) -> Invalid {
    match entered {
        Err(Error::Invalid(invalid)) => invalid,
        other => panic!("{field}: {other:?}"),
    }
}

/// A text that the field accepts, with a part in its middle.
fn around(kind: Kind, part: &str) -> String {
    if kind == Email { format!("zoe{part}x@exemple.fr") } else { format!("Zoé{part}x") }
}

/// Rules: WIRE-27
#[on_each_database]
async fn both_ends_of_every_text_lose_what_renders_as_nothing(db: Database) {
    let world = World::new(db).await;
    for (field, kind) in FIELDS {
        let text = around(kind, "");
        let entered = format!("\u{feff} \u{200b}\u{202e}{text}\u{3164}\u{202c} \u{fffc}\u{2800}");
        assert_eq!(enter(&world, field, &entered).await.unwrap(), Some(text), "{field}");
        for nothing in ["\u{200b}", "\u{3164}\u{feff} \u{2800}", "\u{202e}\u{202c}"] {
            match enter(&world, field, nothing).await {
                Ok(stored) => assert_eq!(stored, None, "{field}"),
                Err(Error::Invalid(invalid)) => {
                    assert!(invalid.rule.to_string().starts_with("must have 1 to"), "{invalid}");
                }
                Err(other) => panic!("{field}: {other}"),
            }
        }
    }
}

/// Rules: WIRE-27
#[on_each_database]
async fn what_shapes_a_word_or_a_sign_stays_in_every_text(db: Database) {
    let world = World::new(db).await;
    for (field, kind) in FIELDS.into_iter().filter(|(_, kind)| *kind != Email) {
        // Persian, Devanagari, a profession, a heart in colour, the flag of Scotland.
        for part in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}🔧",
            "❤\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        ] {
            // Signatures are left out: the fonts of documents lack some of these characters.
            if !field.starts_with("signature") {
                let text = around(kind, part);
                assert_eq!(enter(&world, field, &text).await.unwrap(), Some(text), "{field}");
            }
        }
    }
}

/// Rules: WIRE-28, WIRE-29
#[on_each_database]
async fn controls_of_direction_are_in_long_texts_only(db: Database) {
    let world = World::new(db).await;
    for (field, kind) in FIELDS {
        let text = around(kind, "\u{202e}");
        let entered = enter(&world, field, &text).await;
        match kind {
            Short | Email => {
                assert_eq!(
                    invalid(entered, field).rule.to_string(),
                    "must not contain U+202E (character 4)",
                    "{field}"
                );
            }
            Long => assert_eq!(entered.unwrap(), Some(text), "{field}"),
            Freed => assert_eq!(entered.unwrap(), Some(around(kind, "")), "{field}"),
        }
    }
}

/// Rules: WIRE-17, WIRE-29
#[on_each_database]
async fn line_breaks_of_every_kind_are_in_long_texts_only(db: Database) {
    let world = World::new(db).await;
    for (field, kind) in FIELDS {
        for line_break in ["\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
            let entered = enter(&world, field, &format!(" {}", around(kind, line_break))).await;
            match kind {
                Long => assert_eq!(entered.unwrap(), Some(around(kind, "\n")), "{field}"),
                Freed if field == "refusal.reason" => {
                    assert_eq!(entered.unwrap(), Some(around(kind, " ")), "{field}");
                }
                _ => {
                    let code = u32::from(line_break.chars().next().unwrap());
                    let rule = format!("must not contain U+{code:04X} (character 5)");
                    assert_eq!(invalid(entered, field).rule.to_string(), rule, "{field}");
                }
            }
        }
        let refused = invalid(enter(&world, field, &around(kind, "\0")).await, field);
        assert_eq!(refused.rule.to_string(), "must not contain U+0000 (character 4)", "{field}");
    }
}

/// Rules: WIRE-29, WIRE-31
#[on_each_database]
async fn characters_without_a_shared_meaning_are_in_no_text(db: Database) {
    let world = World::new(db).await;
    for (field, kind) in FIELDS {
        for c in ['\u{fffe}', '\u{ffff}', '\u{1fffe}', '\u{fdd0}', '\u{e000}', '\u{10fffd}'] {
            let entered = enter(&world, field, &around(kind, &c.to_string())).await;
            let rule = format!("must not contain U+{:04X} (character 4)", u32::from(c));
            assert_eq!(invalid(entered, field).rule.to_string(), rule, "{field}");
        }
        // Not assigned yet: the emoji of a later year.
        let text = around(kind, "\u{1faff}");
        let entered = enter(&world, field, &text).await;
        if matches!(field, "signature.name" | "signature.email") {
            assert_eq!(
                invalid(entered, field).rule.to_string(),
                "must not contain U+1FAFF (character 4)",
                "{field}"
            );
        } else {
            assert_eq!(entered.unwrap(), Some(text), "{field}");
        }
        // No document of the later fields has the text.
        world.company.set_identity(&legal_identity().e_invoicing(EInvoicing::Off)).await.unwrap();
    }
}

/// Rules: LIST-23, CLIENT-2
#[on_each_database]
async fn an_external_id_is_found_in_the_form_in_which_it_is_stored(db: Database) {
    let world = World::new(db).await;
    let clients = world.company.clients();
    let named = |id: &str| NewClient::named("Durand").external_id(id);
    let create = async |id: &str| clients.find_or_create(&named(id)).await.unwrap();
    for (first, stored, others) in [
        ("\u{feff}crm-42 ", "crm-42", ["crm-42", "\u{200b}crm-42\u{3164}"]),
        ("Lefe\u{300}vre", "Lefèvre", [" Lefèvre", "Lefèvre\u{2800}"]),
        ("cœur ❤\u{fe0f}", "cœur ❤\u{fe0f}", ["cœur ❤\u{fe0f}", " cœur ❤\u{fe0f}\u{200b}"]),
    ] {
        let client = create(first).await.client;
        assert_eq!(client.external_id.as_deref(), Some(stored));
        for sought in others.into_iter().chain([first]) {
            let page = clients.list(&ClientQuery::default().external_id(sought)).await.unwrap();
            let ids: Vec<_> = page.data.iter().map(|client| client.id).collect();
            assert_eq!(ids, [client.id], "{sought:?}");
            let again = create(sought).await;
            assert_eq!((again.client.id, again.created), (client.id, false), "{sought:?}");
            let path = format!("/api/v1/clients?externalId={}", encode(sought));
            assert_eq!(world.get(&path).await.json["data"][0]["id"], json!(client.id), "{sought:?}");
            let changed = clients.change(client.id, &named(sought).phone(sought)).await.unwrap();
            assert_eq!(changed.external_id.as_deref(), Some(stored), "{sought:?}");
        }
    }
    for absent in ["crm-4", "crm", "crm-42\u{301}", "rm-42", "crm\u{202e}42", "crm\0"] {
        let page = clients.list(&ClientQuery::default().external_id(absent)).await.unwrap();
        assert!(page.data.is_empty(), "{absent:?}");
    }
    let answer = world.get(&format!("/api/v1/clients?externalId={}", encode("\u{200b}"))).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"));
    let other = create("crm-7").await.client.id;
    conflict(&world, "taken", clients.change(other, &named("\u{200b}crm-42"))).await;
}

async fn found(world: &World, q: &str) -> Vec<String> {
    let page = world.company.clients().list(&ClientQuery::default().q(q)).await.unwrap();
    let mut names: Vec<String> = page.data.into_iter().map(|client| client.name).collect();
    names.sort();
    names
}

/// Rules: LIST-19, LIST-20
#[on_each_database]
async fn words_are_found_in_any_order_and_by_any_apostrophe_or_hyphen(db: Database) {
    let world = World::new(db).await;
    let clients = world.company.clients();
    for (name, city) in [
        ("L’Atelier", "Saint‑Étienne"),
        ("L'Atelier du Bois", "Lyon"),
        ("Latelier", "Saint Etienne"),
        ("Jean-Luc Martin", "Aix\u{a0}en\u{2013}Provence"),
    ] {
        clients.create(&NewClient::named(name).city(city).email("contact@exemple.fr")).await.unwrap();
    }
    let (atelier, bois, jean) = ("L’Atelier", "L'Atelier du Bois", "Jean-Luc Martin");
    for q in ["l'atelier", "L’ATELIER", "l‘atelier", "lʼatelier", "l＇atelier"] {
        assert_eq!(found(&world, q).await, [bois, atelier], "{q}");
    }
    for q in ["saint etienne", "Saint-Étienne", "etienne saint", "SAINT\u{202f}ÉTIENNE", "tienn ain"] {
        assert_eq!(found(&world, q).await, ["Latelier", atelier], "{q}");
    }
    for q in ["martin jean", "luc jean martin", "jean-luc", "aix-en-provence martin", "martin exemple.fr aix"]
    {
        assert_eq!(found(&world, q).await, [jean], "{q}");
    }
    for q in ["martin lyon", "jeanluc", "atelier etienne lyon"] {
        assert_eq!(found(&world, q).await, [""; 0], "{q}");
    }
    for q in ["-", "\u{200b}", "\u{3164}", "\u{2013} \u{a0}"] {
        let answer = world.get(&format!("/api/v1/clients?q={}", encode(q))).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"), "{q:?}");
        assert_eq!(found(&world, q).await, [""; 0], "{q:?}");
    }
    let quotes = world.company.quotes();
    let quote = world.draft().await.summary;
    quotes.link(quote.id, Some("deal’s end")).await.unwrap();
    for (q, is_found) in [("end deal's", true), ("deal's begin", false), ("end deal‘s", true)] {
        let page = quotes.search(&QuoteSearch::default().q(q), 10).await.unwrap();
        assert_eq!(page.items.len(), usize::from(is_found), "{q}");
    }
}
