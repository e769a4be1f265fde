//! The examples of code, on the reference page and in the console: regions of the programs in
//! `reference/`, which the tests run.

/// A language that examples are written in.
pub(crate) struct Language {
    /// Part of the ids of the page.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// A program with each request.
    #[cfg(feature = "reference")]
    requests: &'static str,
    /// A program that verifies a delivery.
    verify: &'static str,
}

macro_rules! language {
    ($id:literal, $name:literal) => {
        Language {
            id: $id,
            name: $name,
            #[cfg(feature = "reference")]
            requests: include_str!(concat!("../reference/requests.", $id)),
            verify: include_str!(concat!("../reference/verify.", $id)),
        }
    };
}

/// All languages, in the order in which they are offered.
pub(crate) const LANGUAGES: [Language; 5] = [
    language!("sh", "curl"),
    language!("py", "Python"),
    language!("ts", "TypeScript"),
    language!("php", "PHP"),
    language!("rs", "Rust"),
];

impl Language {
    /// A request, by the id of its operation.
    #[cfg(feature = "reference")]
    pub(crate) fn request(&self, operation: &str) -> Option<String> {
        region(self.requests, operation)
    }

    /// The code that every request needs first.
    #[cfg(feature = "reference")]
    pub(crate) fn setup(&self) -> Option<String> {
        region(self.requests, "setup")
    }

    /// The verification of a delivery.
    pub(crate) fn verification(&self) -> Option<String> {
        region(self.verify, "verify")
    }
}

/// The lines between the comments `region NAME` and `endregion`, without the indentation that they
/// share.
fn region(source: &str, name: &str) -> Option<String> {
    let mark = |line: &str| line.trim_start().trim_start_matches(['#', '/']).trim().to_owned();
    let begin = format!("region {name}");
    let mut lines = source.lines().skip_while(|line| mark(line) != begin);
    lines.next()?;
    let lines: Vec<_> = lines.take_while(|line| mark(line) != "endregion").collect();
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min()?;
    let dedented: Vec<_> = lines.iter().map(|line| line.get(shared..).unwrap_or_default()).collect();
    Some(dedented.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_loses_its_indentation_and_nothing_else() {
        let source = "a\n  # region one\n  if x:\n\n      y\n  # endregion\n// region two\nz\n// endregion\n";
        assert_eq!(region(source, "one").unwrap(), "if x:\n\n    y");
        assert_eq!(region(source, "two").unwrap(), "z");
        assert_eq!(region(source, "three"), None);
    }

    #[test]
    fn every_language_has_a_verification() {
        for language in &LANGUAGES {
            assert!(language.verification().is_some(), "{}", language.name);
        }
    }

    #[cfg(feature = "reference")]
    #[test]
    fn every_language_has_what_is_common_to_all_requests() {
        for language in &LANGUAGES {
            assert!(language.setup().is_some(), "{}", language.name);
        }
    }
}
