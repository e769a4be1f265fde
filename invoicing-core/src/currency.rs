//! Currencies of documents.

/// The codes of ISO 4217 whose currency has two decimals, as amounts here do, in order. List one of
/// 1 January 2026.
const TWO_DECIMALS: &str = "\
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY \
    COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS \
    INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR \
    MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP \
    STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG";

/// True if a text is the ISO 4217 code of a currency with two decimals.
pub(crate) fn has_two_decimals(code: &str) -> bool {
    TWO_DECIMALS.split(' ').any(|known| known == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_in_order_and_have_three_capitals() {
        let codes: Vec<_> = TWO_DECIMALS.split(' ').collect();
        assert!(codes.is_sorted_by(|one, next| one < next));
        assert!(
            codes.iter().all(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()))
        );
    }

    #[test]
    fn currencies_with_other_decimals_and_withdrawn_ones_are_left_out() {
        for code in ["EUR", "USD", "CHF", "GBP", "MAD", "DZD", "CAD", "XCD", "AED", "ZWG"] {
            assert!(has_two_decimals(code), "{code}");
        }
        for code in [
            "JPY", "XPF", "XOF", "KRW", "TND", "BHD", "CLF", "UYW", "FRF", "HRK", "XAU", "XXX", "ZZZ", "",
            "EUR USD",
        ] {
            assert!(!has_two_decimals(code), "{code}");
        }
    }
}
