//! Records for the tests of documents: a company, a quote, an invoice, a credit note.

use chrono::NaiveDate;
use invoicing_core::internal::retention_amount;
use invoicing_core::{
    ClientId, ClientType, Company, CompanyId, CompanyIdentity, CreditNote, CreditNoteDetail, CreditNoteId,
    CreditNoteSummary, Invoice, InvoiceDetail, InvoiceId, InvoiceStatus, InvoiceSummary, InvoiceType, Line,
    Money, NewCompany, OperationNature, Percent, Plan, Quote, QuoteDetail, QuoteId, QuoteStatus,
    QuoteSummary, SignatureBlock, Timestamp, Totals,
};
use uuid::Uuid;

use crate::documents::{Buyer, DocumentFacts, DocumentInput, DocumentRef, Parties, RenderDeadline};

const AT: Timestamp = Timestamp::from_millis(1_789_378_867_123);

pub(crate) fn company() -> Company {
    let identity = CompanyIdentity {
        address: Some("12 rue des Métiers".into()),
        zip_code: Some("44000".into()),
        city: Some("Nantes".into()),
        email: Some("contact@atelier.example".into()),
        phone: Some("02 40 00 00 00".into()),
        siret: Some("12345678901234".into()),
        vat_number: Some("FR12345678901".into()),
        insurance: Some("Assurance du Bâtiment, police 42, France métropolitaine".into()),
        terms: Some("Acompte de 30 % à la commande.".into()),
        ..CompanyIdentity::default()
    };
    let new = NewCompany { identity, ..NewCompany::named("Atelier Léa Martin", Plan::Team) };
    new.create(CompanyId(Uuid::from_u128(1)), Timestamp::from_millis(0)).unwrap()
}

pub(crate) fn line(description: &str, place: (Option<&str>, Option<&str>), rate: &str) -> Line {
    let (quantity, unit_price) = ("12.5".parse().unwrap(), "1024.4".parse().unwrap());
    Line {
        description: description.into(),
        quantity,
        unit: Some("m2".into()),
        unit_price,
        total_ht: quantity.times(unit_price).unwrap(),
        tva_rate: rate.parse().unwrap(),
        lot: place.0.map(str::to_owned),
        section: place.1.map(str::to_owned),
    }
}

pub(crate) fn quote_of(lines: Vec<Line>) -> Quote {
    let totals = Totals::of(&lines).unwrap();
    let at = Timestamp::from_millis(1_789_378_867_123);
    let retention_rate = Percent::from(5);
    Quote {
        summary: QuoteSummary {
            id: QuoteId(Uuid::from_u128(2)),
            number: "DEV-2026-0042".into(),
            status: QuoteStatus::Sent,
            external_id: Some("crm-EXTERNAL".into()),
            client_id: ClientId(Uuid::from_u128(3)),
            client_name: "Jean Lefèvre".into(),
            client_email: Some("jean@client.example".into()),
            total_ht: totals.total_ht,
            total_ttc: totals.total_ttc,
            tva_rate: totals.tva_rate,
            currency: "EUR".into(),
            valid_until: NaiveDate::from_ymd_opt(2026, 10, 14),
            created_at: at,
            updated_at: at,
            sent_at: Some(at),
            signed_at: None,
            accepted_at: None,
            signed_by_name: None,
            signed_by_email: None,
        },
        lines,
        detail: QuoteDetail {
            retention_rate,
            retention_amount: retention_amount(totals.total_ttc, retention_rate).unwrap(),
            vat_breakdown: totals.vat_breakdown,
            signature: None,
            order_number: None,
        },
    }
}

pub(crate) fn quote() -> Quote {
    quote_of(vec![
        line("Peinture des murs (deux couches)", (Some("Lot 1 Finitions"), Some("Séjour")), "10"),
        line("Isolation", (Some("Lot 2 Énergie"), None), "5.5"),
        line("Plinthes", (Some("Lot 1 Finitions"), Some("Chambre")), "20"),
        line("Nettoyage", (None, None), "20"),
        line("Enduit", (Some("Lot 1 Finitions"), Some("Séjour")), "10"),
    ])
}

pub(crate) fn signature() -> SignatureBlock {
    SignatureBlock {
        signed_at: Timestamp::from_millis(1_789_378_867_123),
        signed_by_name: "Jean Lefèvre".into(),
        signed_by_email: "jean@client.example".into(),
        accepted_text: "Bon pour accord, sans réserve".into(),
        proof_fingerprint: format!("sha256:{}", "ab".repeat(32)),
    }
}

/// The facts of a quote of this company, for a client of whom little is known.
pub(crate) fn offer_facts(company: Company) -> DocumentFacts {
    let buyer = Buyer {
        phone: Some("06 12 34 56 78".into()),
        address: Some("3 place Royale".into()),
        zip_code: Some("75001".into()),
        city: Some("Paris".into()),
        ..Buyer::default()
    };
    DocumentFacts {
        parties: Parties { seller: company, buyer },
        quote_date: Some(day("2026-09-14")),
        quote_number: None,
        work_site: None,
        operations: OperationNature::Services,
        reverse_charge: false,
        housing_works: true,
    }
}

pub(crate) fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// A company with all that an invoice shows.
pub(crate) fn invoicing_company() -> Company {
    let company = company();
    let identity = company
        .identity
        .clone()
        .legal_form("SARL")
        .share_capital("10 000 €")
        .registration("RCS Nantes 123 456 789")
        .iban("FR1420041010050500013M02606")
        .bic("PSSTFRPPNTE");
    Company { identity, ..company }
}

/// The facts of an invoice to a business.
pub(crate) fn invoice_facts() -> DocumentFacts {
    let mut facts = offer_facts(invoicing_company());
    let buyer = &mut facts.parties.buyer;
    buyer.r#type = Some(ClientType::Professionnel);
    (buyer.siren, buyer.vat_number) = (Some("732829320".into()), Some("FR44732829320".into()));
    (facts.quote_date, facts.quote_number) = (None, Some("DEV-2026-0042".into()));
    facts
}

pub(crate) fn invoice_of(lines: Vec<Line>) -> Invoice {
    let totals = Totals::of(&lines).unwrap();
    let retention_rate = Percent::from(5);
    let mut summary = InvoiceSummary {
        id: InvoiceId(Uuid::from_u128(4)),
        number: Some("FAC-2026-0007".into()),
        status: InvoiceStatus::Sent,
        r#type: InvoiceType::Standard.into(),
        quote_id: Some(QuoteId(Uuid::from_u128(2))),
        client_id: ClientId(Uuid::from_u128(3)),
        client_name: "SCI des Lilas".into(),
        client_email: Some("gerance@lilas.example".into()),
        issue_date: Some(day("2026-10-01")),
        due_date: Some(day("2026-10-31")),
        supplied_on: None,
        period_start: None,
        period_end: None,
        document_format: None,
        position: None,
        progress_rate: None,
        total_ht: totals.total_ht,
        total_ttc: totals.total_ttc,
        tva_rate: totals.tva_rate,
        currency: "EUR".into(),
        amount_credited: Money::ZERO,
        amount_written_off: Money::ZERO,
        retention_rate,
        retention_amount: Money::ZERO,
        retention_release_date: None,
        retention_due: Money::ZERO,
        amount_paid: Money::ZERO,
        amount_due: Money::ZERO,
        amount_overpaid: Money::ZERO,
        paid_at: None,
        canceled_at: None,
        created_at: AT,
        updated_at: AT,
    };
    summary.update_amounts().unwrap();
    let detail = InvoiceDetail {
        vat_breakdown: totals.vat_breakdown,
        deductions: Vec::new(),
        credit_notes: Vec::new(),
        order_number: None,
    };
    Invoice { summary, lines, detail }
}

pub(crate) fn invoice() -> Invoice {
    invoice_of(quote().lines)
}

pub(crate) fn credit_note_of(lines: Vec<Line>) -> CreditNote {
    let totals = Totals::of(&lines).unwrap();
    CreditNote {
        summary: CreditNoteSummary {
            id: CreditNoteId(Uuid::from_u128(5)),
            number: "AVO-2026-0003".into(),
            invoice_id: InvoiceId(Uuid::from_u128(4)),
            invoice_number: "FAC-2026-0007".into(),
            quote_id: Some(QuoteId(Uuid::from_u128(2))),
            client_id: ClientId(Uuid::from_u128(3)),
            client_name: "SCI des Lilas".into(),
            client_email: Some("gerance@lilas.example".into()),
            issue_date: day("2026-10-12"),
            reason: "Plinthes non posées".into(),
            document_format: None,
            total_ht: totals.total_ht,
            total_ttc: totals.total_ttc,
            tva_rate: totals.tva_rate,
            currency: "EUR".into(),
            created_at: AT,
            updated_at: AT,
        },
        lines,
        detail: CreditNoteDetail { vat_breakdown: totals.vat_breakdown },
    }
}

pub(crate) fn credit_note() -> CreditNote {
    credit_note_of(vec![
        line("Plinthes", (Some("Lot 1 Finitions"), Some("Chambre")), "20"),
        line("Enduit", (Some("Lot 1 Finitions"), Some("Chambre")), "10"),
    ])
}

pub(crate) fn input<'a>(facts: &'a DocumentFacts, record: DocumentRef<'a>) -> DocumentInput<'a> {
    DocumentInput { record, facts, logo: None, factur_x: None, deadline: RenderDeadline::NONE }
}

/// The record of a quote without a sent copy.
pub(crate) fn offered(quote: &Quote) -> DocumentRef<'_> {
    DocumentRef::Quote { quote, sent_copy: None }
}

/// The record of a credit note on [`invoice`].
pub(crate) fn credited(note: &CreditNote) -> DocumentRef<'_> {
    let invoice_date = day("2026-10-01");
    DocumentRef::CreditNote { note, invoice_date, supplied_on: invoice_date, order_number: None }
}
