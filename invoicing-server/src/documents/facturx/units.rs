//! The codes of units (UN/ECE Recommendation 20).

/// The code of a piece, and of every unit without a code.
const PIECE: &str = "C62";

/// The code of a unit, and the unit itself if the code does not express it.
pub(super) fn unit_code(unit: Option<&str>) -> (&'static str, Option<&str>) {
    let Some(entered) = unit else { return (PIECE, None) };
    match code(&entered.to_lowercase()) {
        Some(code) => (code, None),
        None => (PIECE, Some(entered)),
    }
}

fn code(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "m2" | "m²" | "m^2" => "MTK",
        "m3" | "m³" | "m^3" => "MTQ",
        // On a building site `ml` is a running metre, not a millilitre.
        "m" | "ml" => "MTR",
        "km" => "KMT",
        "h" | "hr" | "hrs" | "hour" | "hours" | "heure" | "heures" => "HUR",
        "j" | "jour" | "jours" | "day" | "days" => "DAY",
        "kg" => "KGM",
        "t" | "tonne" | "tonnes" => "TNE",
        "l" | "litre" | "litres" => "LTR",
        "forfait" | "ens" | "ens." | "ensemble" => "LS",
        "u" | "unité" | "unités" | "pièce" | "pièces" => PIECE,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_code_of_the_trade() {
        let codes = [
            ("m2", "MTK"),
            ("M²", "MTK"),
            ("m3", "MTQ"),
            ("m", "MTR"),
            ("ml", "MTR"),
            ("Km", "KMT"),
            ("Heures", "HUR"),
            ("jours", "DAY"),
            ("kg", "KGM"),
            ("t", "TNE"),
            ("L", "LTR"),
            ("Forfait", "LS"),
            ("ens", "LS"),
            ("u", "C62"),
        ];
        for (unit, code) in codes {
            assert_eq!(unit_code(Some(unit)), (code, None), "{unit}");
        }
        assert_eq!(unit_code(Some("rouleau")), ("C62", Some("rouleau")));
        assert_eq!(unit_code(None), ("C62", None));
    }
}
