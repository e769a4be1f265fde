//! Invoices and credit notes to write.

use chrono::NaiveDate;
use invoicing_core::{
    BillingAddress, ClientType, Company, CompanyId, CompanyIdentity, CreditContent, CreditNote,
    CreditNoteDetail, CreditNoteSummary, CreditableBalance, EInvoicing, Invoice, InvoiceId, InvoiceStatus,
    InvoiceSummary, Line, NewCompany, NewCreditNote, NewLine, OperationNature, Percent, Plan, Timestamp,
    percent, price_lines, quantity, unit_price,
};
use uuid::Uuid;

use crate::documents::content::fixtures;
use crate::documents::content::view::DocumentView;
use crate::documents::{Buyer, DocumentFacts, DocumentInput, DocumentRef, Parties, RenderDeadline};

/// An invoice or a credit note with all that it shows.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) record: Record,
    pub(crate) facts: DocumentFacts,
    /// Day of issue of the invoice that a credit note is about.
    pub(crate) credited_on: NaiveDate,
    /// Order number of this invoice.
    pub(crate) credited_order: Option<String>,
}

/// The record of a sample.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    Invoice(Box<Invoice>),
    CreditNote(Box<CreditNote>),
}

impl Sample {
    /// A look at the view of the sample.
    pub(crate) fn with_view<T>(&self, look: impl FnOnce(&DocumentView<'_>) -> T) -> T {
        look(&DocumentView::of(&self.input(None)))
    }

    /// The input of a renderer.
    pub(crate) fn input<'a>(&'a self, factur_x: Option<&'a [u8]>) -> DocumentInput<'a> {
        let record = match &self.record {
            Record::Invoice(invoice) => DocumentRef::Invoice(invoice),
            Record::CreditNote(note) => DocumentRef::CreditNote {
                note,
                invoice_date: self.credited_on,
                supplied_on: self.credited_on,
                order_number: self.credited_order.as_deref(),
            },
        };
        let (facts, deadline) = (&self.facts, RenderDeadline::NONE);
        DocumentInput { record, facts, logo: None, factur_x, deadline }
    }

    /// The XML as text.
    pub(crate) fn xml(&self) -> String {
        let xml = self.with_view(super::super::cross_industry_invoice).unwrap();
        String::from_utf8(xml).unwrap()
    }

    pub(crate) fn identity(&mut self) -> &mut CompanyIdentity {
        &mut self.facts.parties.seller.identity
    }

    pub(crate) fn invoice(&mut self) -> &mut Invoice {
        match &mut self.record {
            Record::Invoice(invoice) => invoice,
            Record::CreditNote(_) => panic!("a credit note"),
        }
    }

    /// The invoice as it is issued and paid at once: due on that day, if nothing is held back.
    pub(crate) fn paid(mut self) -> Self {
        let head = &mut self.invoice().summary;
        if head.retention_amount.is_zero() {
            head.due_date = head.issue_date;
        }
        (head.status, head.amount_paid) = (InvoiceStatus::Paid, head.amount_due);
        head.update_amounts().unwrap();
        self
    }

    /// A credit note of everything.
    pub(crate) fn credited(mut self) -> Self {
        let everything = NewCreditNote::of_remaining("Travaux annulés");
        let content = CreditableBalance::of(self.invoice()).credit(self.invoice(), &everything).unwrap();
        self.credited_with(content)
    }

    /// A credit note of this content.
    pub(crate) fn credited_with(mut self, content: CreditContent) -> Self {
        let invoice = self.invoice().clone();
        self.credited_order.clone_from(&invoice.detail.order_number);
        self.record = Record::CreditNote(Box::new(credit_note(invoice, content)));
        self
    }
}

pub(crate) fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

/// The texts of the elements with a name.
pub(crate) fn texts(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<ram:{name}>"), format!("</ram:{name}>"));
    xml.split(&open).skip(1).map(|rest| rest.split(&close).next().unwrap().to_owned()).collect()
}

pub(crate) fn company() -> Company {
    let identity = CompanyIdentity::default()
        .address("12 rue des Métiers\nBâtiment B")
        .zip_code("44000")
        .city("Nantes")
        .siret("73282932000074")
        .vat_number("FR44732829320")
        .insurance("Assurance du Bâtiment, police 42, France métropolitaine")
        .legal_form("SARL")
        .share_capital("10 000 €")
        .registration("RCS Nantes 732 829 320")
        .iban("FR7630006000011234567890189")
        .bic("AGRIFRPP")
        .e_invoicing(EInvoicing::On);
    let new = NewCompany::named("Atelier Léa Martin", Plan::Team).identity(identity);
    new.create(CompanyId(Uuid::from_u128(1)), Timestamp::from_millis(0)).unwrap()
}

/// A business.
pub(crate) fn business() -> Buyer {
    Buyer {
        r#type: Some(ClientType::Professionnel),
        phone: None,
        address: Some("3 place Royale".into()),
        zip_code: Some("75001".into()),
        city: Some("Paris".into()),
        country: None,
        siren: Some("356000000".into()),
        vat_number: Some("FR39356000000".into()),
        electronic_address: None,
        billing_address: None,
    }
}

/// The address of an accounting office.
pub(crate) fn accounting() -> BillingAddress {
    BillingAddress::default().address("Service comptable\nCS 40102").zip_code("69401").city("Lyon Cedex 03")
}

/// A private person.
pub(crate) fn person() -> Buyer {
    Buyer { r#type: Some(ClientType::Particulier), siren: None, vat_number: None, ..business() }
}

pub(crate) fn new_line(description: &str, rate: Percent) -> NewLine {
    let mut line = NewLine::new(description, quantity!(12.5), unit_price!(1024.4), rate);
    line.unit = Some("m2".into());
    line
}

/// An invoice of these lines to a business.
pub(crate) fn invoice_of(lines: &[NewLine], retention_rate: Percent) -> Sample {
    let lines = price_lines(lines).unwrap().lines;
    let facts = DocumentFacts {
        parties: Parties { seller: company(), buyer: business() },
        quote_date: None,
        quote_number: Some("DEV-2026-0042".into()),
        work_site: None,
        operations: OperationNature::Services,
        reverse_charge: false,
        housing_works: true,
    };
    let record = Record::Invoice(Box::new(record(lines, retention_rate)));
    Sample { record, facts, credited_on: day(2026, 8, 31), credited_order: None }
}

/// An invoice with three rates, a discount and a retention.
pub(crate) fn invoice() -> Sample {
    let mut lines = vec![
        new_line("Peinture des murs\nDeux couches, teinte au choix", percent!(10)),
        new_line("Isolation", percent!(5.5)),
        new_line("Plinthes", percent!(20)),
        NewLine::new("Remise", quantity!(-1), unit_price!(100), percent!(20)),
    ];
    lines[0].lot = Some("Lot 1 Finitions".into());
    lines[0].section = Some("Séjour".into());
    lines[2].unit = Some("rouleau".into());
    invoice_of(&lines, percent!(5))
}

fn record(lines: Vec<Line>, retention_rate: Percent) -> Invoice {
    let invoice = fixtures::invoice_of(lines);
    let mut summary = InvoiceSummary {
        id: InvoiceId(Uuid::from_u128(2)),
        number: Some("FAC-2026-0042".into()),
        client_name: "Bâtir & Fils".into(),
        client_email: Some("compta@batir.example".into()),
        issue_date: Some(day(2026, 9, 14)),
        due_date: Some(day(2026, 10, 14)),
        retention_rate,
        ..invoice.summary
    };
    summary.update_amounts().unwrap();
    Invoice { summary, ..invoice }
}

fn credit_note(invoice: Invoice, content: CreditContent) -> CreditNote {
    let head = invoice.summary;
    let CreditContent { reason, lines, total_ht, total_ttc, vat_breakdown, .. } = content;
    let note = fixtures::credit_note_of(lines);
    CreditNote {
        summary: CreditNoteSummary {
            number: "AVO-2026-0007".into(),
            invoice_id: head.id,
            invoice_number: "FAC-2026-0041".into(),
            client_name: head.client_name,
            client_email: head.client_email,
            issue_date: day(2026, 9, 20),
            reason,
            total_ht,
            total_ttc,
            tva_rate: head.tva_rate,
            currency: head.currency,
            ..note.summary
        },
        detail: CreditNoteDetail { vat_breakdown },
        ..note
    }
}
