//! The notices that the law requires, the company's conditions, and the statements that the client
//! certifies by signing.

#[cfg(test)]
#[cfg(feature = "pdf")]
mod tests;

use invoicing_core::{EInvoicing, OperationNature, Percent};
use rust_decimal::Decimal;

use super::vat_display::VatDisplay;
use super::view::DocumentView;
use super::{Text, french};
use crate::documents::DocumentKind;
use crate::documents::territory::Territory;
use crate::documents::vat_exemption::VatExemption;

/// The heading of the legal notices.
pub(crate) const LEGAL_NOTICES: &str = "Mentions";
/// The heading of the conditions.
pub(crate) const CONDITIONS: &str = "Conditions";

/// The reason for charging no VAT of a company in franchise.
pub(crate) const FRANCHISE: &str = "TVA non applicable, art. 293 B du CGI";
const UNTAXED: &str = "TVA non applicable, art. 294 du CGI";
const REVERSE_CHARGE_ABROAD: &str = "Autoliquidation (directive 2006/112/CE, art. 44 et 196)";
const REVERSE_CHARGE: &str = "Autoliquidation (CGI, art. 283-2 nonies)";
const DEBITS: &str = "Option pour le paiement de la taxe d’après les débits";
const RETENTION: &str = "Retenue de garantie : loi n° 71-584 du 16 juillet 1971. Elle est libérée un an après la \
                         réception des travaux, sauf opposition motivée.";
const PENALTY: &str = "Pénalités de retard : trois fois le taux d’intérêt légal, exigibles sans rappel.";
const RECOVERY: &str = "Indemnité forfaitaire pour frais de recouvrement : 40 €.";
const DISCOUNT: &str = "Pas d’escompte pour paiement anticipé.";

/// The conditions of a late or an early payment (Code de commerce, art. L441-9 and D441-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaymentTerms {
    pub(crate) penalty: String,
    pub(crate) recovery: String,
    pub(crate) discount: String,
}

/// The legal notices of a document, each exactly if it must be there.
pub(crate) fn legal_notices<'a>(view: &DocumentView<'a>) -> Vec<Text<'a>> {
    let terms = business_terms(view).filter(|_| view.issued.is_some());
    general(view).into_iter().chain(terms).collect()
}

/// The legal notices but for the conditions of payment, which have places of their own in the XML.
pub(crate) fn general<'a>(view: &DocumentView<'a>) -> Vec<Text<'a>> {
    let mut notices: Vec<_> = vat(view).map(Text::own).collect();
    if view.kind != DocumentKind::CreditNote {
        notices.extend(certified(view).map(Text::own));
    }
    if view.issued.is_some() {
        notices.extend(operations(view).map(Text::own));
    }
    if !view.retention_rate.is_zero() {
        notices.push(Text::own(RETENTION));
    }
    notices.extend(entered(view));
    notices
}

/// The sentences about the VAT as a whole.
fn vat(view: &DocumentView<'_>) -> impl Iterator<Item = &'static str> {
    let (exemption, display) = (view.exemption, VatDisplay::of(view));
    let is_franchise = exemption == Some(VatExemption::Franchise);
    let on_debits = view.company.identity.vat_on_debits && view.issued.is_some();
    let is_abroad = view.territory.is_foreign();
    // A company may have come into franchise after the quote, or after the invoice that is credited.
    let is_free = display == VatDisplay::NotApplicable;
    let is_owed = exemption == Some(VatExemption::ReverseCharge);
    [
        (is_free && is_franchise, FRANCHISE),
        (is_free && !is_franchise, UNTAXED),
        (is_owed && !is_abroad, REVERSE_CHARGE),
        (is_owed && is_abroad, REVERSE_CHARGE_ABROAD),
        (on_debits && !is_franchise, DEBITS),
    ]
    .into_iter()
    .filter_map(|(applies, text)| applies.then_some(text))
}

/// The nature of the operations, with e-invoicing (CGI, ann. II, art. 242 nonies A, 8° bis).
fn operations(view: &DocumentView<'_>) -> Option<String> {
    let nature = match view.operations {
        OperationNature::Goods => "livraisons de biens",
        OperationNature::Mixed => "livraisons de biens et prestations de services",
        _ => "prestations de services",
    };
    let is_on = view.company.identity.e_invoicing == EInvoicing::On;
    is_on.then(|| format!("Nature des opérations : {nature}"))
}

/// The conditions of payment, which only a business must be given.
fn business_terms<'a>(view: &DocumentView<'a>) -> impl Iterator<Item = Text<'a>> {
    let terms = view.client.is_business().then(|| {
        let PaymentTerms { penalty, recovery, discount } = payment_terms(view);
        [
            Text::of("company.latePenalty", penalty),
            Text::own(recovery),
            Text::of("company.earlyPayment", discount),
        ]
    });
    terms.into_iter().flatten()
}

/// The conditions of payment of the company, or those of the law.
pub(crate) fn payment_terms(view: &DocumentView<'_>) -> PaymentTerms {
    let identity = &view.company.identity;
    PaymentTerms {
        penalty: identity.late_penalty.as_deref().unwrap_or(PENALTY).to_owned(),
        recovery: RECOVERY.to_owned(),
        discount: identity.early_payment.as_deref().unwrap_or(DISCOUNT).to_owned(),
    }
}

/// The legal notices that the company has entered.
fn entered<'a>(view: &DocumentView<'a>) -> impl Iterator<Item = Text<'a>> {
    let identity = &view.company.identity;
    let mediator = identity.mediator.as_deref().filter(|_| !view.client.is_business());
    let waste = identity.waste_terms.as_deref().filter(|_| view.kind == DocumentKind::Quote);
    let labelled = |field, label, text: Option<&str>| text.map(|text| Text::labelled(field, label, text));
    [
        labelled("company.insurance", "Assurance décennale : ", identity.insurance.as_deref()),
        labelled("company.mediator", "Médiateur de la consommation : ", mediator),
        labelled("company.wasteTerms", "Gestion des déchets : ", waste),
    ]
    .into_iter()
    .flatten()
}

/// The company's conditions. A credit note takes back, and so has none.
pub(crate) fn conditions<'a>(view: &DocumentView<'a>) -> Option<Text<'a>> {
    let terms = view.company.identity.terms.as_deref().filter(|_| view.kind != DocumentKind::CreditNote);
    terms.map(|terms| Text::of("company.terms", terms))
}

/// The statements that the client certifies: one for each reduced rate that works in housing have.
pub(crate) fn certified(view: &DocumentView<'_>) -> impl Iterator<Item = String> {
    let are_works = view.housing_works && view.operations != OperationNature::Goods;
    let shares = if are_works { view.vat_breakdown } else { &[] };
    shares.iter().filter_map(|share| reduced_rate(view, share.tva_rate))
}

/// The statement for a reduced rate, in place of a separate attestation (loi 2025-127, art. 41).
/// Another wording is allowed only with all the elements of BOI-LETTRE-000280. The client of an
/// invoice without a quote has agreed to nothing, so the statement is no certificate there.
fn reduced_rate(view: &DocumentView<'_>, rate: Percent) -> Option<String> {
    let is_overseas = view.territory == Territory::Overseas;
    let (nature, article) = match rate {
        _ if rate == Percent::from(10) => ("", "279-0\u{a0}bis"),
        _ if rate.get() == Decimal::new(55, 1) => {
            ("ont la nature de travaux de rénovation énergétique, ", "278-0\u{a0}bis\u{a0}A")
        }
        _ if rate.get() == Decimal::new(21, 1) && is_overseas => ("", "279-0\u{a0}bis et 296"),
        _ => return None,
    };
    let has_agreed = view.issued.as_ref().is_none_or(|issued| issued.quote_number.is_some());
    let statement = if has_agreed { "le client certifie que" } else { "selon les indications du client," };
    Some(format!(
        "TVA à {} (CGI, art. {article}) : {statement} les travaux {nature}portent sur des locaux à usage \
         d’habitation achevés depuis plus de deux ans et n’ont pas pour effet, sur une période de deux ans au plus, \
         de concourir à la production d’un immeuble neuf au sens du 2° du 2 du I de l’article 257 du CGI, ni \
         d’augmenter de plus de 10\u{a0}% la surface de plancher des locaux existants.",
        french::percent(rate),
    ))
}

/// The text that the client agrees to, with the statements that this certifies.
#[cfg(feature = "console")]
pub(crate) fn accepted_text(view: &DocumentView<'_>) -> String {
    let total = french::amount(view.total_ttc.get(), view.currency);
    let with_vat = VatDisplay::of(view).of_total();
    let agreed = format!("Bon pour accord sur le devis {}, d’un montant de {total}{with_vat}.", view.number);
    [agreed].into_iter().chain(certified(view)).collect::<Vec<_>>().join("\n")
}
