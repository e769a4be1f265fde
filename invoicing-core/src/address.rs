//! Postal addresses as documents print them.

/// The lines below the name, in the order of a French envelope: the address as it was entered, then
/// postal code and town. `None` if all three are missing.
pub fn postal_address(address: Option<&str>, zip_code: Option<&str>, city: Option<&str>) -> Option<String> {
    let town: Vec<&str> = zip_code.into_iter().chain(city).collect();
    let town = town.join(" ");
    let last_line = address.and_then(|address| address.lines().last());
    // Some addresses were entered with the town as their last line, or with code and town at its
    // end. A town alone at its end may be the name of the street.
    let is_said = last_line.is_some_and(|line| {
        let (line, town) = (line.trim().to_lowercase(), town.to_lowercase());
        line == town || zip_code.is_some() && ends_with_words(&line, &town)
    });
    let town = (!town.is_empty() && !is_said).then_some(town.as_str());
    let lines: Vec<&str> = address.into_iter().chain(town).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn ends_with_words(line: &str, words: &str) -> bool {
    line.strip_suffix(words).is_some_and(|before| !before.ends_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules: DOCUMENT-18
    #[test]
    fn an_address_is_printed_in_the_order_of_a_french_envelope() {
        let street = Some("Bâtiment B\n3 place Royale");
        let whole = "Bâtiment B\n3 place Royale\n44000 Nantes";
        for (parts, printed) in [
            ((street, Some("44000"), Some("Nantes")), Some(whole)),
            ((Some(whole), None, None), Some(whole)),
            ((Some(whole), Some("44000"), Some("NANTES")), Some(whole)),
            (
                (Some("3 place Royale, 44000 Nantes"), Some("44000"), Some("NANTES")),
                Some("3 place Royale, 44000 Nantes"),
            ),
            ((Some("3 route de Vern"), None, Some("Vern")), Some("3 route de Vern\nVern")),
            ((Some("3 rue de Nantes"), Some("44000"), Some("Nantes")), Some("3 rue de Nantes\n44000 Nantes")),
            (
                (Some("BP 144000 Nantes"), Some("44000"), Some("Nantes")),
                Some("BP 144000 Nantes\n44000 Nantes"),
            ),
            ((street, None, Some("Nantes")), Some("Bâtiment B\n3 place Royale\nNantes")),
            ((None, Some("44000"), None), Some("44000")),
            ((None, None, None), None),
        ] {
            let (address, zip_code, city) = parts;
            assert_eq!(postal_address(address, zip_code, city).as_deref(), printed, "{parts:?}");
        }
    }
}
