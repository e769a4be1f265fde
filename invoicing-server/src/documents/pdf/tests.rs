//! What a document says, that nothing a customer may enter breaks it, and where its pages break.

use chrono::NaiveDate;
use invoicing_core::{
    ClientId, Company, CompanyId, CompanyIdentity, Line, NewCompany, Percent, Plan, Quote, QuoteHead,
    QuoteId, QuoteStatus, QuoteTerms, SignatureBlock, Timestamp, Totals, retention_amount,
};
use uuid::Uuid;

use super::*;
use crate::documents::{ContentHash, SignedCopy};

pub(in crate::documents) fn company() -> Company {
    let identity = CompanyIdentity {
        address: Some("12 rue des Métiers\n44000 Nantes".into()),
        email: Some("contact@atelier.example".into()),
        phone: Some("02 40 00 00 00".into()),
        siret: Some("12345678901234".into()),
        vat_number: Some("FR12345678901".into()),
        insurance: Some("Assurance du Bâtiment, police 42, France métropolitaine".into()),
        terms: Some("Acompte de 30 % à la commande.".into()),
    };
    let new = NewCompany { identity, ..NewCompany::named("Atelier Léa Martin", Plan::Team) };
    new.create(CompanyId(Uuid::from_u128(1)), Timestamp::from_millis(0)).unwrap()
}

pub(in crate::documents) fn line(description: &str, place: (Option<&str>, Option<&str>), rate: &str) -> Line {
    let (quantity, unit_price) = ("12.5".parse().unwrap(), "1024.4".parse().unwrap());
    Line {
        description: description.into(),
        quantity,
        unit: Some("m²".into()),
        unit_price,
        total_ht: quantity.at(unit_price).unwrap(),
        tva_rate: rate.parse().unwrap(),
        lot: place.0.map(str::to_owned),
        section: place.1.map(str::to_owned),
    }
}

pub(in crate::documents) fn quote_of(lines: Vec<Line>) -> Quote {
    let totals = Totals::of(&lines).unwrap();
    let at = Timestamp::from_millis(1_789_378_867_123);
    let retention_rate = Percent::from(5);
    Quote {
        head: QuoteHead {
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
        terms: QuoteTerms {
            retention_rate,
            retention_amount: retention_amount(totals.total_ttc, retention_rate).unwrap(),
            vat_breakdown: totals.vat_breakdown,
            signature: None,
        },
    }
}

pub(in crate::documents) fn quote() -> Quote {
    quote_of(vec![
        line("Peinture des murs (deux couches)", (Some("Lot 1 Finitions"), Some("Séjour")), "10"),
        line("Isolation", (Some("Lot 2 Énergie"), None), "5.5"),
        line("Plinthes", (Some("Lot 1 Finitions"), Some("Chambre")), "20"),
        line("Nettoyage", (None, None), "20"),
        line("Enduit", (Some("Lot 1 Finitions"), Some("Séjour")), "10"),
    ])
}

fn signature() -> SignatureBlock {
    SignatureBlock {
        signed_at: Timestamp::from_millis(1_789_378_867_123),
        signed_by_name: "Jean Lefèvre".into(),
        signed_by_email: "jean@client.example".into(),
        accepted_text: "Bon pour accord, sans réserve".into(),
        proof_fingerprint: format!("sha256:{}", "ab".repeat(32)),
    }
}

fn input<'a>(company: &'a Company, quote: &'a Quote) -> DocumentInput<'a> {
    DocumentInput {
        company,
        quote,
        client_address: Some("3 place Royale\n75001 Paris"),
        work_site: None,
        issued_on: NaiveDate::from_ymd_opt(2026, 9, 14).unwrap(),
        signed_copy: None,
    }
}

fn try_render(company: &Company, quote: &Quote) -> Result<Vec<u8>, RenderError> {
    PdfRenderer::new().render(&input(company, quote))
}

#[test]
fn a_quote_is_rendered() {
    let pdf = try_render(&company(), &quote()).unwrap();
    assert!(pdf.starts_with(b"%PDF-1.7"));
}
