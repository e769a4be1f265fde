//! The secrets of the scenario, and the forms in which one might be printed.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shorter secrets would be found by accident.
const SHORTEST: usize = 12;
/// The search uses pieces of this length, as printed texts may be cut. A list of numbers needs more characters per
/// byte.
const PIECE: usize = 14;
const PIECE_OF_LIST: usize = 28;

/// Texts that must not be printed.
#[derive(Default)]
pub(crate) struct Secrets(Vec<(&'static str, Vec<String>)>);

impl Secrets {
    /// A secret text. Its prefix may be shown, the rest may not.
    pub(crate) fn text(&mut self, what: &'static str, secret: &str) {
        let core = ["isk_", "whsec_", "sgn_"].iter().find_map(|prefix| secret.strip_prefix(prefix));
        let core = core.unwrap_or(secret);
        let mut forms = of_bytes(secret.as_bytes());
        forms.extend(of_bytes(core.as_bytes()));
        forms.push(core.to_owned());
        if let Ok(bytes) = URL_SAFE_NO_PAD.decode(core) {
            forms.extend(of_bytes(&bytes));
        }
        self.add(what, &forms);
    }

    /// Secret bytes.
    pub(crate) fn bytes(&mut self, what: &'static str, secret: &[u8]) {
        self.add(what, &of_bytes(secret));
    }

    fn add(&mut self, what: &'static str, forms: &[String]) {
        assert!(forms.iter().all(|form| form.len() >= SHORTEST), "{what} is too short to be told apart");
        let mut pieces: Vec<String> = forms.iter().flat_map(|form| pieces(form)).collect();
        pieces.sort_unstable();
        pieces.dedup();
        self.0.push((what, pieces));
    }

    pub(crate) fn assert_absent(&self, place: &str, text: &str) {
        for (what, forms) in &self.0 {
            for form in forms {
                if let Some(at) = text.find(form.as_str()) {
                    let mut around = (at.saturating_sub(300), (at + form.len() + 100).min(text.len()));
                    while !text.is_char_boundary(around.0) {
                        around.0 -= 1;
                    }
                    while !text.is_char_boundary(around.1) {
                        around.1 += 1;
                    }
                    panic!("{place} shows {what}, as {form}: {}", &text[around.0..around.1]);
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn pieces(&self) -> usize {
        self.0.iter().map(|(_, forms)| forms.len()).sum()
    }
}

/// The pieces of a form to search for: any printed part of the form that is twice as long as a piece contains one.
fn pieces(form: &str) -> Vec<String> {
    let length = if form.contains(", ") { PIECE_OF_LIST } else { PIECE };
    if form.len() < 2 * length {
        return vec![form.to_owned()];
    }
    form.as_bytes().chunks_exact(length).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
}

/// Hexadecimal in both cases, base64 in both alphabets, and the list of numbers that `Debug` prints of bytes.
fn of_bytes(bytes: &[u8]) -> Vec<String> {
    let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    let list = format!("{bytes:?}");
    vec![
        hex.to_uppercase(),
        hex,
        STANDARD_NO_PAD.encode(bytes),
        URL_SAFE_NO_PAD.encode(bytes),
        list.trim_matches(['[', ']']).to_owned(),
    ]
}
