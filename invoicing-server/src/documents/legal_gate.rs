//! The legal gate: everything that the law and the platforms ask of a document, whatever its
//! format, as one table of rules.
//!
//! Each rule has its source, the kinds of documents that it is about and those that it refuses, the
//! field with the words about it in both languages, and the place where a person mends it. A rule
//! of the XML is asked for only where XML is made. Rules look rates up in `rates`.

mod case;
mod client;
mod company;
mod document;
mod rates;
#[cfg(test)]
mod tests;
mod vat;

use invoicing_core::internal::has_dotted_domain;
use invoicing_core::{Company, DocumentFormat};

use self::case::{Case, Found};
use super::Buyer;
use super::DocumentKind::{self, CreditNote, Invoice, Quote};
use super::content::view::DocumentView;
use super::facturx::{EMAIL, electronic_address_of_buyer, forbidden_texts};
use crate::records::{GapLevel, GapPlace, ReadinessGap};

/// The currency of electronic invoices.
const EURO: &str = "EUR";
/// Maximum number of characters of an electronic address.
const ADDRESS: usize = 125;

const EVERY: &[DocumentKind] = &[Quote, Invoice, CreditNote];
const INVOICES: &[DocumentKind] = &[Invoice];
const CREDIT_NOTES: &[DocumentKind] = &[CreditNote];
/// Invoices, and the quotes that become invoices with the same lines. A credit note repeats its
/// invoice.
const OFFERED: &[DocumentKind] = &[Quote, Invoice];
const ISSUED: &[DocumentKind] = &[Invoice, CreditNote];
const NONE: &[DocumentKind] = &[];

/// A rule of the gate.
struct LegalRule {
    /// The article of law, the rule of EN 16931 (`BR-…`), or that of French platforms (`BR-FR-…`).
    source: &'static str,
    asked: Asked,
    /// The kinds of documents that the rule is about.
    about: &'static [DocumentKind],
    /// The kinds that are refused; for the others it is advice.
    refused: &'static [DocumentKind],
    place: GapPlace,
    /// The field, in its wire spelling; `[]` stands for the line.
    field: &'static str,
    /// The words; `{}` stands for what was found.
    english: &'static str,
    french: &'static str,
    finds: fn(&Case<'_>) -> Vec<Found>,
}

/// A rule without content: the common part of all rules.
const BLANK: LegalRule = LegalRule {
    source: "",
    asked: Asked::Always,
    about: EVERY,
    refused: INVOICES,
    place: GapPlace::Document,
    field: "",
    english: "",
    french: "",
    finds: |_| Vec::new(),
};

/// The documents for which a rule is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Always,
    /// Only where XML is made.
    InXml,
}

/// All rules, in the order in which a person mends them.
const RULES: [&[LegalRule]; 4] = [company::RULES, client::RULES, document::RULES, vat::RULES];

/// The gaps of a document in this format.
pub(crate) fn gaps(view: &DocumentView<'_>, format: DocumentFormat) -> Vec<ReadinessGap> {
    let is_xml = format == DocumentFormat::FacturX;
    let mut gaps = found(RULES.into_iter().flatten(), &Case::new(view), is_xml);
    if is_xml {
        gaps.extend(forbidden_texts(view));
    }
    gaps
}

/// The gaps that refuse an electronic document.
#[cfg(test)]
pub(crate) fn refusals(view: &DocumentView<'_>) -> Vec<ReadinessGap> {
    let mut gaps = gaps(view, DocumentFormat::FacturX);
    gaps.retain(|gap| gap.level == GapLevel::Refused);
    gaps
}

/// True if an invoice can be an electronic one: in euros, for a client in a place that has them,
/// and, if the client is private, with an address to be sent to (BT-49).
pub(crate) fn can_be_electronic(view: &DocumentView<'_>) -> bool {
    let address = electronic_address_of_buyer(view.buyer, view.client.email);
    let has_address = address.is_some_and(|(scheme, address)| scheme != EMAIL || is_reachable(address));
    view.kind != Quote
        && view.currency == EURO
        && view.territory.has_electronic_invoices()
        && (view.buyer.is_business() || has_address)
}

/// The legal data that a company lacks for any invoice in this format.
pub(crate) fn gaps_of_company(company: &Company, format: DocumentFormat) -> Vec<ReadinessGap> {
    let no_client = Buyer::default();
    found(company::RULES, &Case::of_company(company, &no_client), format == DocumentFormat::FacturX)
}

/// True for an e-mail that an invoice can be sent to (BR-FR-25).
fn is_reachable(email: &str) -> bool {
    has_dotted_domain(email) && email.chars().count() <= ADDRESS
}

fn found<'r>(
    rules: impl IntoIterator<Item = &'r LegalRule>,
    case: &Case<'_>,
    is_xml: bool,
) -> Vec<ReadinessGap> {
    let is_asked =
        |rule: &&LegalRule| (is_xml || rule.asked == Asked::Always) && rule.about.contains(&case.kind);
    let rules = rules.into_iter().filter(is_asked);
    rules.flat_map(|rule| (rule.finds)(case).into_iter().map(|found| rule.gap(case.kind, found))).collect()
}

impl LegalRule {
    fn gap(&self, kind: DocumentKind, Found { line, detail }: Found) -> ReadinessGap {
        // A rate has a decimal comma in French.
        let french = if line.is_some() { detail.replace('.', ",") } else { detail.clone() };
        let index = line.map(|line| format!("[{line}]")).unwrap_or_default();
        let words = |words: &str, detail: &str| words.replace("{}", detail);
        ReadinessGap {
            field: self.field.replace("[]", &index),
            rule: self.source,
            level: if self.refused.contains(&kind) { GapLevel::Refused } else { GapLevel::Advised },
            place: self.place,
            english: words(self.english, &detail),
            french: words(self.french, &french),
        }
    }
}
