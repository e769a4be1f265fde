//! Quotes to render, without a service: what golden documents and benchmarks are made from.

use chrono::NaiveDate;
use invoicing_core::internal::retention_amount;
use invoicing_core::{
    ClientId, Company, CompanyId, CompanyIdentity, Line, NewCompany, OperationNature, Percent, Plan,
    ProofParts, Quote, QuoteDetail, QuoteId, QuoteStatus, QuoteSummary, SignatureBlock, Timestamp, Totals,
    proof_fingerprint,
};
use invoicing_server::{
    Buyer, ContentHash, DocumentFacts, DocumentInput, DocumentRef, Parties, RenderDeadline, SentCopy,
};
use uuid::Uuid;

/// 14 September 2026, 9:41:07 UTC.
const SENT: Timestamp = Timestamp::from_millis(1_789_378_867_123);
/// Name of the copy that was sent.
const SENT_COPY: &str = "DEV-2026-0042.pdf";

/// Everything that a document is rendered from.
#[derive(Debug, Clone)]
pub struct Paper {
    /// The offer.
    pub quote: Quote,
    /// The data besides it: who makes the offer, and to whom.
    pub facts: DocumentFacts,
    /// The document that was signed.
    pub sent_copy: Option<Vec<u8>>,
}

impl Paper {
    /// A quote of these lines, as a house painter in Nantes sends it.
    pub fn of(lines: Vec<Line>) -> Self {
        let address = Some("3 place Royale\n44000 Nantes".to_owned());
        let facts = DocumentFacts {
            parties: Parties { seller: company(), buyer: Buyer { address, ..Buyer::default() } },
            quote_date: NaiveDate::from_ymd_opt(2026, 9, 14),
            quote_number: None,
            work_site: None,
            operations: OperationNature::Services,
            reverse_charge: false,
            housing_works: true,
        };
        Self { quote: quote(lines), facts, sent_copy: None }
    }

    /// With a retention of some percent.
    #[must_use]
    pub fn retained(mut self, rate: i32) -> Self {
        let rate = Percent::from(rate);
        self.quote.detail.retention_rate = rate;
        self.quote.detail.retention_amount =
            retention_amount(self.quote.summary.total_ttc, rate).expect("a rate that is allowed");
        self
    }

    /// As it is once the client has signed the copy that was sent.
    #[must_use]
    pub fn signed(mut self, sent_copy: Vec<u8>) -> Self {
        let sha256 = ContentHash::of(&sent_copy).to_string();
        let head = &mut self.quote.summary;
        let signed_at = Timestamp::from_millis(SENT.as_millis() + 86_400_000);
        let parts = ProofParts {
            accepted_text: "Bon pour accord, devis reçu avant l’exécution des travaux",
            document_sha256: &sha256,
            number: &head.number,
            quote_id: head.id,
            signed_at,
            signed_by_email: "jeanne.lefevre@client.example",
            signed_by_name: "Jeanne Lefèvre",
        };
        self.quote.detail.signature = Some(SignatureBlock {
            signed_at,
            signed_by_name: parts.signed_by_name.to_owned(),
            signed_by_email: parts.signed_by_email.to_owned(),
            accepted_text: parts.accepted_text.to_owned(),
            proof_fingerprint: proof_fingerprint(&parts),
        });
        (head.status, head.signed_at) = (QuoteStatus::Accepted, Some(signed_at));
        self.sent_copy = Some(sent_copy);
        self
    }

    /// The inputs of a renderer.
    pub fn input(&self) -> DocumentInput<'_> {
        let copy = |bytes| SentCopy { file_name: SENT_COPY, sha256: ContentHash::of(bytes), bytes };
        let record =
            DocumentRef::Quote { quote: &self.quote, sent_copy: self.sent_copy.as_deref().map(copy) };
        let (facts, deadline) = (&self.facts, RenderDeadline::NONE);
        DocumentInput { record, facts, logo: None, factur_x: None, deadline }
    }
}

/// A line in the order in which a document shows it.
pub fn line(
    description: &str,
    (quantity, unit): (&str, &str),
    (unit_price, rate): (&str, &str),
    (lot, section): (&str, &str),
) -> Line {
    let (quantity, unit_price) = (quantity.parse().expect("a quantity"), parsed(unit_price));
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Line {
        description: description.to_owned(),
        quantity,
        unit: text(unit),
        unit_price,
        total_ht: quantity.times(unit_price).expect("a moderate amount"),
        tva_rate: parsed(rate),
        lot: text(lot),
        section: text(section),
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a number")
}

/// The lines of a quote that fills a page.
pub fn few_lines() -> Vec<Line> {
    let (none, living) = (("", ""), ("", "Séjour"));
    vec![
        line("Installation de chantier, protection des sols", ("1", "forfait"), ("180", "10"), none),
        line("Remise commerciale", ("-1", "forfait"), ("60", "10"), none),
        line(
            "Peinture acrylique mate, deux couches, teinte au choix",
            ("42.5", "m2"),
            ("14.9", "10"),
            living,
        ),
        line("Fourniture d’un pot de retouche de 0,5 l par teinte", ("2", "u"), ("14", "20"), living),
    ]
}

/// As many lines as asked for, in lots and sections.
pub fn many_lines(count: usize) -> Vec<Line> {
    const WORKS: [(&str, &str, &str); 7] = [
        ("Dépose et évacuation de l’existant", "forfait", "340"),
        ("Préparation des supports : lessivage, rebouchage, ponçage et dépoussiérage soigné", "m²", "11.35"),
        ("Fourniture et pose, y compris fixations, joints et raccords", "u", "128.9"),
        ("Application en deux couches, séchage de douze heures entre les couches", "m²", "16.2"),
        ("Finitions et reprises", "h", "48"),
        ("Nettoyage de fin de chantier", "forfait", "95.5"),
        (
            "Isolation thermique par l’intérieur : panneaux de laine de bois de 120 mm, pare-vapeur hygrovariable, \
             ossature et plaques de plâtre, jointoiement compris, selon le DTU 25.41",
            "m²",
            "74.6",
        ),
    ];
    const LOTS: [&str; 4] =
        ["Lot 1 – Démolition", "Lot 2 – Plâtrerie et isolation", "Lot 3 – Peinture", "Lot 4 – Sols"];
    const SECTIONS: [&str; 3] = ["Rez-de-chaussée", "Premier étage", "Combles aménagés"];
    let parts = LOTS.len() * SECTIONS.len();
    let made = |index: usize| {
        let part = index * parts / count;
        let (description, unit, price) = WORKS[index % WORKS.len()];
        let quantity = format!("{}.{}", index * 7 % 60 + 1, index % 2 * 5);
        let rate = ["10", "10", "20", "5.5"][index % 4];
        let place = (LOTS[part / SECTIONS.len()], SECTIONS[part % SECTIONS.len()]);
        line(description, (&quantity, unit), (price, rate), place)
    };
    (0..count).map(made).collect()
}

fn company() -> Company {
    let identity = CompanyIdentity {
        address: Some("12 rue des Métiers".into()),
        zip_code: Some("44000".into()),
        city: Some("Nantes".into()),
        email: Some("contact@martin-peinture.example".into()),
        phone: Some("02 40 00 00 00".into()),
        siret: Some("73282932000074".into()),
        vat_number: Some("FR44732829320".into()),
        insurance: Some("Assurance du Bâtiment, police 4 210 337, France métropolitaine".into()),
        terms: Some(
            "Acompte de 30 % à la commande, solde à la réception des travaux par virement sous 30 jours.\n\
             Tout retard de paiement entraîne des pénalités au taux de trois fois l’intérêt légal."
                .into(),
        ),
        ..CompanyIdentity::default()
    };
    let new = NewCompany { identity, ..NewCompany::named("Martin Peinture", Plan::Team) };
    new.create(CompanyId(Uuid::from_u128(1)), Timestamp::from_millis(0)).expect("a company")
}

fn quote(lines: Vec<Line>) -> Quote {
    let totals = Totals::of(&lines).expect("moderate amounts");
    Quote {
        summary: QuoteSummary {
            id: QuoteId(Uuid::from_u128(2)),
            number: "DEV-2026-0042".into(),
            status: QuoteStatus::Sent,
            external_id: None,
            client_id: ClientId(Uuid::from_u128(3)),
            client_name: "Jeanne Lefèvre".into(),
            client_email: Some("jeanne.lefevre@client.example".into()),
            total_ht: totals.total_ht,
            total_ttc: totals.total_ttc,
            tva_rate: totals.tva_rate,
            currency: "EUR".into(),
            valid_until: NaiveDate::from_ymd_opt(2026, 10, 14),
            created_at: SENT,
            updated_at: SENT,
            sent_at: Some(SENT),
            signed_at: None,
            accepted_at: None,
            signed_by_name: None,
            signed_by_email: None,
        },
        lines,
        detail: QuoteDetail {
            retention_rate: Percent::ZERO,
            retention_amount: retention_amount(totals.total_ttc, Percent::ZERO).expect("nothing"),
            vat_breakdown: totals.vat_breakdown,
            signature: None,
            order_number: None,
        },
    }
}
