//! Every field that takes a number: read as the pages write numbers in the language of the reader.

use std::collections::BTreeSet;

use http::StatusCode;
use invoicing_core::{ClientId, InvoiceId, NewLine, NewQuote, quantity};
use invoicing_server::{ConsoleRole, ConsoleSession, Language, NewPayment, PaymentSource, SignInDecision};
use invoicing_tests::{Database, World, on_each_database};

use super::access::{Records, pages};
use super::{Browser, Shown};

/// A form with fields that take numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Payment,
    Refund,
    Credit,
    Direct,
}

/// A kind of number, with texts for one value in English and in French.
struct Kind {
    /// The value, as it is stored.
    value: &'static str,
    /// As the pages print it, with its groups, without them, and copied from elsewhere.
    english: &'static [&'static str],
    french: &'static [&'static str],
    /// Of two values, or in the notation of the other language.
    english_refused: &'static [&'static str],
    french_refused: &'static [&'static str],
}

const AMOUNT: Kind = Kind {
    value: "1200.00",
    english: &["€1,200.00", "1,200", "1200.00", "1 200"],
    french: &["1\u{202f}200,00\u{a0}€", "1 200", "1200,00", "1200.00"],
    english_refused: &["1,2", "1200,00", "1.200,00", "1,20,000", "1 200,00", "1,200 €"],
    french_refused: &["1.200", "1,200.00", "1.200,00", "1 20", "€1 200"],
};

const QUANTITY: Kind = Kind {
    value: "1200.5",
    english: &["1,200.5", "1200.50", "1 200.5"],
    french: &["1\u{202f}200,5", "1 200,50", "1200,5", "1200.5"],
    english_refused: &["1,5", "1200,5", "1.200,5", "1,2005"],
    french_refused: &["1.200", "1,200.5", "1.200,5"],
};

const PRICE: Kind = Kind {
    value: "1500.125",
    english: &["€1,500.125", "1,500.125", "1500.125", "1 500.125"],
    french: &["1\u{202f}500,125\u{a0}€", "1 500,125", "1500,125"],
    english_refused: &["1500,12", "1.500,125", "1,5"],
    french_refused: &["1.500", "1500.125", "1,500.125"],
};

const RATE: Kind = Kind {
    value: "5.5",
    english: &["5.5%", "5.5", "5.50"],
    french: &["5,5\u{a0}%", "5,5", "5.5", "5,50 %"],
    english_refused: &["5,5", "5,50%"],
    french_refused: &["5.500", "%5,5"],
};

/// Every field of a number, by the path of its form as the page sends it.
const NUMBERS: &[(Form, &str, &Kind)] = &[
    (Form::Payment, "amount", &AMOUNT),
    (Form::Refund, "amount", &AMOUNT),
    (Form::Credit, "lines[0].quantity", &QUANTITY),
    (Form::Credit, "tvaRate", &RATE),
    (Form::Credit, "amount", &AMOUNT),
    (Form::Direct, "lines[0].quantity", &QUANTITY),
    (Form::Direct, "lines[0].unitPrice", &PRICE),
    (Form::Direct, "lines[0].tvaRate", &RATE),
];

/// Every other field of text, by the end of its form's path.
const TEXTS: &[(&str, &str)] = &[
    ("webhooks", "url"),
    ("{id}", "url"),
    ("keys", "label"),
    ("quotes", "q"),
    ("new", "q"),
    ("invoices", "lines[].description"),
    ("invoices", "lines[].unit"),
    ("invoices", "orderNumber"),
    ("issue", "orderNumber"),
    ("pay", "reference"),
    ("refund", "reference"),
    ("credit", "reason"),
    ("credit", "description"),
    ("clients", "q"),
];

/// The texts of the forms of a client and of the company.
const CLIENT: [&str; 16] = [
    "name",
    "email",
    "phone",
    "address",
    "zipCode",
    "city",
    "country",
    "billingAddress.address",
    "billingAddress.zipCode",
    "billingAddress.city",
    "billingAddress.country",
    "siren",
    "vatNumber",
    "electronicAddress",
    "externalId",
    "notes",
];
const COMPANY: [&str; 19] = [
    "address",
    "zipCode",
    "city",
    "email",
    "phone",
    "siret",
    "vatNumber",
    "legalForm",
    "shareCapital",
    "registration",
    "insurance",
    "mediator",
    "wasteTerms",
    "terms",
    "latePenalty",
    "earlyPayment",
    "iban",
    "bic",
    "electronicAddress",
];

impl Form {
    /// The last segment of the path to which the page sends it.
    fn segment(self) -> &'static str {
        match self {
            Self::Payment => "pay",
            Self::Refund => "refund",
            Self::Credit => "review",
            Self::Direct => "invoices",
        }
    }

    /// Fields that the form needs besides the tried one.
    fn others(self, tried: &str) -> Vec<(&'static str, &'static str)> {
        let all: &[_] = match (self, tried) {
            (Self::Payment | Self::Refund, _) => &[],
            (Self::Credit, "lines[0].quantity") => &[("what", "part")],
            (Self::Credit, _) => &[("what", "part"), ("amount", "3"), ("tvaRate", "5,5")],
            (Self::Direct, _) => &[
                ("lines[0].description", "Pose"),
                ("lines[0].quantity", "1"),
                ("lines[0].unitPrice", "1"),
                ("lines[0].tvaRate", "20"),
            ],
        };
        all.iter().filter(|(name, _)| *name != tried).copied().collect()
    }
}

/// A company with records that each form is about.
struct Bench {
    world: World,
    client: ClientId,
}

impl Bench {
    fn browser(&self, language: Language) -> Browser {
        let session =
            ConsoleSession::new(self.world.company.id(), "Anna", ConsoleRole::Full).language(language);
        Browser::with(&self.world.invoicing, self.world.company.id(), move |_| {
            SignInDecision::Granted(session.clone())
        })
    }

    /// An invoice of 5,000 at 2.00. If it is to be refunded, 10,000.00 are overpaid.
    async fn invoice(&self, form: Form) -> InvoiceId {
        let invoices = self.world.company.invoices();
        let line = NewLine::new("Pose", 5_000, 2, "5.5".parse::<invoicing_core::Percent>().unwrap());
        let invoice = invoices.create_direct(&NewQuote::empty(self.client).line(line)).await.unwrap().summary;
        let id = invoice.id;
        invoices.issue(id, None).await.unwrap();
        if form == Form::Refund {
            let much = invoice.total_ttc.plus(10_000.into()).unwrap();
            invoices.pay(id, &NewPayment::new(much, PaymentSource::Entered)).await.unwrap();
        }
        id
    }

    /// Sends a form with a text in a field. Credits are sent up to their end if their review comes.
    async fn enter(&self, form: Form, id: InvoiceId, field: &str, text: &str, language: Language) -> Shown {
        let browser = self.browser(language);
        let mut fields = form.others(field);
        if language == Language::English {
            for (_, text) in fields.iter_mut().filter(|(_, text)| *text == "5,5") {
                *text = "5.5";
            }
        }
        fields.push((field, text));
        let (page, path) = match form {
            Form::Payment => (format!("/invoices/{id}/pay"), format!("/invoices/{id}/pay")),
            Form::Refund => (format!("/invoices/{id}/refund"), format!("/invoices/{id}/refund")),
            Form::Direct => (format!("/invoices/new?client={}", self.client), "/invoices".to_owned()),
            Form::Credit => {
                let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
                let review = format!("/invoices/{id}/credit/review?{query}");
                let shown = browser.get(&review).await;
                if shown.status != StatusCode::OK {
                    return shown;
                }
                fields = vec![("reason", "Geste"), ("description", "Geste")];
                (review, format!("/invoices/{id}/credit"))
            }
        };
        browser.fill(&page, &path, &fields).await
    }

    /// The value that a form has stored.
    async fn stored(&self, form: Form, id: InvoiceId, field: &str, sent: &Shown) -> String {
        let invoices = self.world.company.invoices();
        let of_location = |path: &str| sent.location()[path.len()..].split('?').next().unwrap().to_owned();
        match form {
            Form::Payment => invoices.payments(id).await.unwrap().last().unwrap().amount.to_string(),
            Form::Refund => {
                let refunded = invoices.payments(id).await.unwrap().last().unwrap().amount.to_string();
                refunded.trim_start_matches('-').to_owned()
            }
            Form::Credit => {
                let note = of_location("/credit-notes/").parse().unwrap();
                let line = self.world.company.credit_notes().get(note).await.unwrap().lines.remove(0);
                match field {
                    "tvaRate" => line.tva_rate.to_string(),
                    "amount" => line.total_ht.to_string(),
                    _ => line.quantity.to_string(),
                }
            }
            Form::Direct => {
                let made: InvoiceId = of_location("/invoices/").parse().unwrap();
                let line = invoices.get(made).await.unwrap().lines.remove(0);
                match field {
                    "lines[0].quantity" => line.quantity.to_string(),
                    "lines[0].unitPrice" => line.unit_price.to_string(),
                    _ => line.tva_rate.to_string(),
                }
            }
        }
    }
}

/// Rules: PAGE-5, PAGE-6
#[on_each_database]
async fn a_number_is_read_as_it_is_printed_or_refused_by_name(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let bench = Bench { world, client };
    for (form, field, kind) in NUMBERS {
        let languages = [
            (Language::English, kind.english, kind.english_refused),
            (Language::French, kind.french, kind.french_refused),
        ];
        for (language, read, refused) in languages {
            let id = bench.invoice(*form).await;
            let before = bench.world.dump().await;
            for text in refused {
                let shown = bench.enter(*form, id, field, text, language).await;
                assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{form:?} {field} {text}: {}", shown.html);
                let page = shown.page();
                assert!(page.has(&format!("[name='{field}'][aria-invalid=true]")), "{field} {text}");
                assert_eq!(page.attr(&format!("[name='{field}']"), "value"), *text, "{form:?} {field}");
                let how = if language == Language::French { "1\u{202f}234,5" } else { "1,234.5" };
                assert!(page.text("p.wrong").contains(&how.replace('\u{202f}', " ")), "{field} {text}");
            }
            assert_eq!(bench.world.dump().await, before, "{form:?} {field}");
            for text in read {
                let id = bench.invoice(*form).await;
                let sent = bench.enter(*form, id, field, text, language).await;
                assert_eq!(sent.status, StatusCode::SEE_OTHER, "{form:?} {field} {text}: {}", sent.html);
                assert_eq!(
                    bench.stored(*form, id, field, &sent).await,
                    kind.value,
                    "{form:?} {field} {text}"
                );
            }
        }
    }
}

/// The name of a field without the place of its line.
fn unplaced(name: &str) -> String {
    let Some((before, rest)) = name.split_once('[') else { return name.to_owned() };
    format!("{before}[]{}", &rest[rest.find(']').unwrap() + 1..])
}

/// Rules: PAGE-5
#[on_each_database]
async fn every_field_that_takes_a_number_has_a_row(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let fields =
        ["input:not([type])", "input[type=text]", "input[type=number]", "input[type=url]", "textarea"]
            .into_iter()
            .chain(["input[type=email]", "input[type=tel]", "input[type=search]"]);
    let selectors: Vec<_> = fields.map(|field| format!("form[action] {field}")).collect();
    let mut found = BTreeSet::new();
    for path in pages(&records) {
        let page = browser.get(&path).await.page();
        for action in page.attrs("form[action]", "action") {
            let segment = action.rsplit('/').next().unwrap().to_owned();
            for selector in &selectors {
                let selector = selector.replacen("form[action]", &format!("form[action='{action}']"), 1);
                let names = page.attrs(&selector, "name");
                found.extend(names.iter().map(|name| (segment.clone(), unplaced(name))));
            }
        }
    }
    let id = |segment: &str| {
        if segment.contains('-') { "{id}".to_owned() } else { segment.to_owned() }
    };
    let found: BTreeSet<_> = found.into_iter().map(|(segment, name)| (id(&segment), name)).collect();
    let numbers = NUMBERS.iter().map(|(form, field, _)| (form.segment().to_owned(), unplaced(field)));
    let texts = TEXTS.iter().map(|(segment, field)| ((*segment).to_owned(), (*field).to_owned()));
    let records = [("clients", &CLIENT[..]), ("{id}", &CLIENT[..]), ("company", &COMPANY[..])];
    let records = records.into_iter().flat_map(|(segment, fields)| {
        fields.iter().map(move |field| (segment.to_owned(), (*field).to_owned()))
    });
    assert_eq!(found, numbers.chain(texts).chain(records).collect());
}

/// Rules: PAGE-7
#[on_each_database]
async fn a_credit_note_is_shown_as_it_was_read_before_it_is_issued(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let bench = Bench { world, client };
    let id = bench.invoice(Form::Credit).await;
    for (language, query, texts) in [
        (
            Language::English,
            "what=part&lines[0].quantity=1,200.5&tvaRate=5.5&amount=1,500",
            ["1,200.5", "€2,401.00", "€1,500.00", "€214.56", "€4,115.56"],
        ),
        (
            Language::French,
            "what=part&lines[0].quantity=1 200,5&tvaRate=5,5&amount=1 500,00 €",
            [
                "1\u{202f}200,5",
                "2\u{202f}401,00\u{a0}€",
                "1\u{202f}500,00\u{a0}€",
                "214,56\u{a0}€",
                "4\u{202f}115,56\u{a0}€",
            ],
        ),
        // All that is left.
        (Language::English, "what=rest", ["All that is left", "€10,000.00", "€550.00", "€10,550.00", ""]),
    ] {
        let query =
            query.replace(' ', "%20").replace('€', "%E2%82%AC").replace('[', "%5B").replace(']', "%5D");
        let review = format!("/invoices/{id}/credit/review?{query}");
        let shown = bench.browser(language).get(&review).await;
        assert_eq!(shown.status, StatusCode::OK, "{}", shown.html);
        for text in texts {
            assert!(shown.html.contains(text), "{text}: {}", shown.html);
        }
    }
    // A shown credit note is issued for what was shown, with its texts.
    let (review, credit) = (
        format!("/invoices/{id}/credit/review?what=part&lines%5B0%5D.quantity=1,200"),
        format!("/invoices/{id}/credit"),
    );
    let browser = bench.browser(Language::English);
    let unnamed = browser.fill(&review, &credit, &[]).await;
    assert_eq!(unnamed.status, StatusCode::BAD_REQUEST);
    assert!(unnamed.html.contains("Reason: must have 1 to 2000 characters."), "{}", unnamed.html);
    assert!(unnamed.html.contains("€2,532.00"), "{}", unnamed.html);
    let issued = browser.fill(&review, &credit, &[("reason", "Geste")]).await;
    let note = issued.location()["/credit-notes/".len()..].split('?').next().unwrap().parse().unwrap();
    let note = bench.world.company.credit_notes().get(note).await.unwrap();
    assert_eq!(note.lines[0].quantity, quantity!(1_200));
}

/// Rules: PAGE-7
#[on_each_database]
async fn a_payment_and_a_refund_are_shown_as_they_were_recorded(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let bench = Bench { world, client };
    for (form, language, text, notice) in [
        (Form::Payment, Language::English, "1,200", "Entered: a payment of €1,200.00."),
        (Form::Payment, Language::French, "1 200", "Saisi : un paiement de 1 200,00 €."),
        (Form::Refund, Language::English, "1,200", "Entered: a refund of €1,200.00."),
        (Form::Refund, Language::French, "1 200", "Saisi : un remboursement de 1 200,00 €."),
    ] {
        let id = bench.invoice(form).await;
        let sent = bench.enter(form, id, "amount", text, language).await;
        let path = sent.location().split('#').next().unwrap();
        let shown = bench.browser(language).get(path).await;
        assert_eq!(shown.page().text("[role=status]"), notice, "{path}");
    }
}

/// A page stays open while its reader chooses the other language, in which `1,200` is another number.
///
/// Rules: PAGE-5
#[on_each_database]
async fn a_form_of_the_other_language_comes_again(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let bench = Bench { world, client };
    let id = bench.invoice(Form::Payment).await;
    let path = format!("/invoices/{id}/pay");
    let opened = bench.browser(Language::English).get(&path).await;
    let mut fields = opened.hidden(&path);
    fields.push(("amount".to_owned(), "1,200".to_owned()));
    let french = bench.browser(Language::French);
    let again = french.post_bare(&path, &fields).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.html);
    assert_eq!(again.page().attr("[name=amount]", "value"), "1,200");
    assert!(again.html.contains("rempli en anglais"), "{}", again.html);
    assert!(bench.world.company.invoices().payments(id).await.unwrap().is_empty());
    // The page that came again is French, and so is its number.
    let mut fields = again.hidden(&path);
    fields.push(("amount".to_owned(), "1 200".to_owned()));
    assert_eq!(french.post_bare(&path, &fields).await.status, StatusCode::SEE_OTHER);
}
