//! Totals of a document: VAT per rate, the sums, the blended rate, the retention.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::{Invalid, Line, Money, Percent, Rule};

/// The share of one VAT rate in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VatShare {
    /// The rate in percent.
    #[serde(rename = "tvaRate")]
    pub tva_rate: Percent,
    /// Sum of the lines at this rate, without VAT.
    #[serde(rename = "baseHT")]
    pub base_ht: Money,
    /// VAT on that sum, rounded half away from zero (EN 16931, BR-CO-17).
    #[serde(rename = "amountTVA")]
    pub amount_tva: Money,
}

/// The totals of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Sum of the lines without VAT, never negative.
    pub total_ht: Money,
    /// Sum with VAT, never negative.
    pub total_ttc: Money,
    /// The lines' rate if they share one, else the blended rate; 0 if there is no rate to blend.
    pub tva_rate: Percent,
    /// One share per rate, lowest rate first.
    pub vat_breakdown: Vec<VatShare>,
}

impl Totals {
    /// Adds up the lines.
    ///
    /// # Errors
    /// [`Invalid`] if a total is below zero or too large.
    pub fn of(lines: &[Line]) -> Result<Self, Invalid> {
        let mut bases = BTreeMap::<Percent, Money>::new();
        for line in lines {
            let base = bases.entry(line.tva_rate).or_default();
            *base = named(base.plus(line.total_ht))?;
        }
        let (mut total_ht, mut tva) = (Money::ZERO, Money::ZERO);
        let mut vat_breakdown = Vec::with_capacity(bases.len());
        for (tva_rate, base_ht) in bases {
            let amount_tva = named(base_ht.percent(tva_rate))?;
            total_ht = named(total_ht.plus(base_ht))?;
            tva = named(tva.plus(amount_tva))?;
            vat_breakdown.push(VatShare { tva_rate, base_ht, amount_tva });
        }
        let total_ttc = named(total_ht.plus(tva))?;
        if total_ht.is_negative() || total_ttc.is_negative() {
            return Err(Invalid::new("lines", Rule::TotalBelow0));
        }
        let tva_rate = document_rate(&vat_breakdown, total_ht, tva)?;
        Ok(Self { total_ht, total_ttc, tva_rate, vat_breakdown })
    }
}

fn named(result: Result<Money, Invalid>) -> Result<Money, Invalid> {
    result.map_err(|invalid| Invalid::new("lines", Rule::Total(Box::new(invalid.rule))))
}

pub(crate) fn document_rate(shares: &[VatShare], total_ht: Money, tva: Money) -> Result<Percent, Invalid> {
    match shares {
        [only] => Ok(only.tva_rate),
        _ if total_ht.is_zero() => Ok(Percent::ZERO),
        _ => {
            let blended = tva.get() / total_ht.get() * Decimal::ONE_HUNDRED;
            Percent::round(blended).map_err(|_| Invalid::new("lines", Rule::BlendedRate))
        }
    }
}

/// The amount that the client holds back until the works are accepted for good.
///
/// # Errors
/// [`Invalid`] if the rate is outside 0 to 5 % (loi 71-584, art. 1).
pub fn retention_amount(total_ttc: Money, rate: Percent) -> Result<Money, Invalid> {
    if rate.is_negative() || rate > Percent::from(5) {
        return Err(Invalid::new("retentionRate", Rule::Between0And { max: 5 }));
    }
    total_ttc.percent(rate)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{NewLine, Quantity, UnitPrice, price_lines};

    fn line(quantity: i64, price: i64, rate: i64) -> NewLine {
        let quantity = Quantity::new(Decimal::new(quantity, 4)).unwrap();
        let price = UnitPrice::new(Decimal::new(price, 4)).unwrap();
        NewLine::new("x", quantity, price, Percent::new(Decimal::new(rate, 2)).unwrap())
    }

    fn totals(lines: &[NewLine]) -> Result<Totals, Invalid> {
        Totals::of(&price_lines(lines)?.lines)
    }

    /// Rules: MONEY-3
    #[test]
    fn vat_is_rounded_per_rate_and_not_per_line() {
        // Three lines of 0.33 at 5.5 %: per line 0.02 each, per rate round2(0.99 * 5.5 %) = 0.05.
        let lines = vec![line(10_000, 3_300, 550); 3];
        assert_eq!(totals(&lines).unwrap().total_ttc.to_string(), "1.04");
    }

    /// Rules: MONEY-8
    #[test]
    fn a_document_rate_is_uniform_blended_or_zero() {
        assert_eq!(totals(&[line(10_000, 1_000_000, 2_000)]).unwrap().tva_rate, Percent::from(20));
        let mixed = [line(10_000, 1_000_000, 2_000), line(20_000, 1_000_000, 1_000)];
        assert_eq!(totals(&mixed).unwrap().tva_rate.to_string(), "13.33");
        assert_eq!(totals(&[]).unwrap().tva_rate, Percent::ZERO);
        assert_eq!(totals(&[line(0, 1_000_000, 550)]).unwrap().tva_rate.to_string(), "5.5");
        let nothing = [line(10_000, 1_000_000, 2_000), line(-10_000, 1_000_000, 1_000)];
        assert_eq!(totals(&nothing).unwrap().tva_rate, Percent::ZERO);
    }

    /// Rules: MONEY-6
    #[test]
    fn a_total_below_zero_is_refused() {
        assert!(totals(&[line(-10_000, 1, 0), line(-10_000, 10_000, 0)]).is_err());
        assert!(totals(&[line(10_000, 1_000_000, 0), line(-10_000, 1_000_000, 2_000)]).is_err());
    }

    /// Rules: MONEY-9
    #[test]
    fn retention_is_at_most_five_percent() {
        let amount = Money::from(1_000);
        assert_eq!(retention_amount(amount, Percent::from(5)).unwrap(), Money::from(50));
        assert!(retention_amount(amount, "5.01".parse().unwrap()).is_err());
        assert!(retention_amount(amount, "-1".parse().unwrap()).is_err());
    }

    /// Rules: MONEY-7
    #[test]
    fn overflow_of_a_sum_is_an_error() {
        let big = vec![line(10_000, 999_999_999_999_999, 2_000); 200];
        assert!(totals(&big).unwrap_err().to_string().starts_with("lines"));
    }

    proptest! {
        /// Rules: MONEY-4
        #[test]
        fn the_breakdown_adds_up_to_the_totals(
            lines in proptest::collection::vec((-50_000_i64..500_000, 0_i64..5_000_000, prop_oneof![Just(0_i64), Just(550), Just(1_000), Just(2_000), 0..10_000_i64]), 0..20)
        ) {
            let lines: Vec<_> = lines.into_iter().map(|(q, p, r)| line(q, p, r)).collect();
            let priced = price_lines(&lines).unwrap().lines;
            let ht: Decimal = priced.iter().map(|l| l.total_ht.get()).sum();
            if let Ok(totals) = Totals::of(&priced) {
                prop_assert_eq!(totals.total_ht.get(), ht);
                let tva: Decimal = totals.vat_breakdown.iter().map(|s| s.amount_tva.get()).sum();
                prop_assert_eq!(totals.total_ttc.get(), ht + tva);
                for share in &totals.vat_breakdown {
                    let exact = share.base_ht.get() * share.tva_rate.get() / Decimal::ONE_HUNDRED;
                    prop_assert!((share.amount_tva.get() - exact).abs() <= Decimal::new(5, 3));
                }
            } else {
                let vat = |l: &Line| l.total_ht.get() * l.tva_rate.get() / Decimal::ONE_HUNDRED;
                let tva: Decimal = priced.iter().map(vat).sum();
                prop_assert!(ht < Decimal::ZERO || ht + tva < Decimal::ONE);
            }
        }
    }
}
