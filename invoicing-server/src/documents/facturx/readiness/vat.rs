//! The gaps of VAT: rates, categories, and the numbers that these need.

use invoicing_core::Percent;
use rust_decimal::Decimal;

use crate::documents::facturx::einvoice::EInvoice;
use crate::records::ReadinessGap;

/// The rates that French platforms take, in hundredths of a percent (BR-FR-16).
const RATES: [i64; 15] = [0, 90, 105, 175, 210, 550, 700, 850, 920, 960, 1_000, 1_300, 1_960, 2_000, 2_060];

pub(super) fn gaps(invoice: EInvoice<'_>) -> impl Iterator<Item = ReadinessGap> {
    let rates = invoice.view.lines.iter().enumerate().filter_map(move |(index, line)| {
        let gap = rate(invoice, line.tva_rate)?;
        Some(ReadinessGap { field: format!("lines[{index}].tvaRate"), ..gap })
    });
    buyer(invoice).into_iter().chain(rates)
}

/// The gap of a rate.
fn rate(invoice: EInvoice<'_>, rate: Percent) -> Option<ReadinessGap> {
    let gap = |rule, english, french| Some(ReadinessGap::new("tvaRate", rule, english, french));
    match (invoice.is_franchise(), invoice.view.reverse_charge) {
        _ if !is_known(rate) => {
            let english = format!("{rate} % is no rate that French platforms take.");
            let french = format!("{rate} % n’est pas un taux accepté par les plateformes françaises.");
            gap("BR-FR-16", english, french)
        }
        (true, _) if !rate.is_zero() => {
            let french = "Une entreprise en franchise ne facture pas de TVA : le taux doit être 0.";
            let english = "A company in franchise charges no VAT: the rate must be 0.";
            gap("BR-E-05", english.to_owned(), french.to_owned())
        }
        (false, true) if !rate.is_zero() => {
            let french = "En autoliquidation, le taux doit être 0.";
            gap("BR-AE-05", "Under reverse charge the rate must be 0.".to_owned(), french.to_owned())
        }
        (false, false) if rate.is_zero() => {
            let english = "A rate of 0 needs a reason: franchise or reverse charge.";
            let french = "Un taux de 0 demande un motif : franchise ou autoliquidation.";
            gap("BR-FR-15", english.to_owned(), french.to_owned())
        }
        _ => None,
    }
}

fn is_known(rate: Percent) -> bool {
    RATES.iter().any(|hundredths| rate.get() == Decimal::new(*hundredths, 2))
}

/// Under reverse charge the invoice names a number of the client, which only a business has. The
/// one of the company is among the company's gaps.
fn buyer(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let owes = invoice.view.reverse_charge && !invoice.is_franchise();
    let has_number =
        invoice.business().is_some_and(|client| client.vat_number.is_some() || client.siren.is_some());
    (owes && !has_number).then(|| {
        let english = "Reverse charge needs the VAT number or the SIREN of a business client.";
        let french = "L’autoliquidation demande le numéro de TVA ou le SIREN d’un client professionnel.";
        ReadinessGap::new("client.vatNumber", "BR-AE-02", english, french)
    })
}
