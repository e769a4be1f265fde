//! The fields that a signer enters.

use invoicing_core::internal::{
    RefusedCharacter, SHORT_TEXT, has_dotted_domain, signer_email, signer_name, trim_invisible,
};
use invoicing_core::{Invalid, Quote, Rule};
use maud::{Markup, html};

use super::signing_request::SigningRequest;
use crate::console::form::Form;
use crate::documents::ContentHash;

/// The field of an address with the sealed entries.
pub(super) const SIGNER: &str = "signer";
/// The address of the form if the entries of an address were not kept.
pub(super) const NOT_KEPT: &str = "?signer=";

/// The fields as they were entered, and the hash of the document that was shown.
#[derive(Default)]
pub(super) struct SignatureFields {
    pub(super) name: String,
    pub(super) email: String,
    /// Empty if the form has no hash.
    pub(super) document: String,
    /// The hash of the accepted text that the second form has shown; empty for the first form.
    pub(super) confirmed: String,
    /// The text of the address that the fields come from.
    sealed: Option<String>,
}

impl SignatureFields {
    pub(super) fn read(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            name: text("name"),
            email: text("email"),
            document: document(form),
            confirmed: text("confirmed"),
            sealed: None,
        }
    }

    /// The fields that the address of a page keeps. `None` if it keeps none, or they cannot be
    /// opened.
    pub(super) fn kept(visit: &SigningRequest<'_>) -> Option<Self> {
        let sealed = visit.form.given(SIGNER)?;
        let [name, email, document] = visit.linked.open_entries(sealed)?;
        Some(Self { name, email, document, confirmed: String::new(), sealed: Some(sealed.to_owned()) })
    }

    /// True if the address of a page should keep fields, and they cannot be opened.
    pub(super) fn are_lost(visit: &SigningRequest<'_>) -> bool {
        visit.form.values(SIGNER).next().is_some() && Self::kept(visit).is_none()
    }

    /// A path below the link that keeps the fields, unless they are too long to be good ones. Only
    /// the service can read them in it.
    pub(super) fn keep(&self, visit: &SigningRequest<'_>, path: &str) -> String {
        match self.sealed.clone().or_else(|| self.seal(visit)) {
            Some(sealed) if path.contains('?') => format!("{path}&{SIGNER}={sealed}"),
            Some(sealed) => format!("{path}?{SIGNER}={sealed}"),
            None => path.to_owned(),
        }
    }

    fn seal(&self, visit: &SigningRequest<'_>) -> Option<String> {
        let is_short = |text: &str| text.chars().count() <= SHORT_TEXT;
        let are_entered = !self.name.is_empty() || !self.email.is_empty();
        if !are_entered || !is_short(&self.name) || !is_short(&self.email) {
            return None;
        }
        visit.linked.seal_entries([&self.name, &self.email, &self.document])
    }

    /// The fields as they would be signed. Does not read the store, so that unusable fields are
    /// refused before it is read.
    pub(super) fn checked(&self) -> Result<Self, Invalid> {
        let (name, email) = (signer_name(&self.name)?, signer_email(&self.email)?);
        if !has_dotted_domain(&email) {
            return Err(Invalid::new("signedByEmail", Rule::EmailDomain));
        }
        let [document, confirmed] = [&self.document, &self.confirmed].map(String::clone);
        Ok(Self { name, email, document, confirmed, sealed: self.sealed.clone() })
    }

    /// True if the form has a field that operations call by this name.
    pub(super) fn has(field: &str) -> bool {
        matches!(field, "signedByName" | "signedByEmail")
    }

    /// True if the signature of a quote is the one of these fields, once they are
    /// [checked](Self::checked).
    pub(super) fn are_signed(&self, quote: &Quote) -> bool {
        quote.detail.signature.as_ref().is_some_and(|signature| {
            signature.signed_by_name == self.name && signature.signed_by_email == self.email
        })
    }

    /// `wrong`: the field that was refused.
    pub(super) fn inputs(&self, visit: &SigningRequest<'_>, wrong: Option<&str>) -> Markup {
        let is_wrong = |field| (wrong == Some(field)).then_some("true");
        html! {
            label for="name" { (visit.pick("Your name", "Votre nom")) }
            input #name name="name" type="text" autocomplete="name" required maxlength="255" value=(self.name)
                aria-invalid=[is_wrong("signedByName")] aria-describedby=[is_wrong("signedByName").map(|_| "wrong")];
            label for="email" { (visit.pick("Your e-mail", "Votre e-mail")) }
            // Browsers refuse an address such as `léa@exemple.fr` in an input of the type `email`.
            input #email name="email" type="text" inputmode="email" autocapitalize="none" spellcheck="false"
                autocomplete="email" required maxlength="255" value=(self.email)
                aria-invalid=[is_wrong("signedByEmail")] aria-describedby=[is_wrong("signedByEmail").map(|_| "wrong")];
        }
    }

    /// The input of a field.
    pub(super) fn input(field: &str) -> &'static str {
        if field == "signedByEmail" { "email" } else { "name" }
    }

    /// The error of a field.
    pub(super) fn problem(&self, visit: &SigningRequest<'_>, field: &str) -> String {
        let (text, is_email) = match field {
            "signedByEmail" => (&self.email, true),
            _ => (&self.name, false),
        };
        if let Some(RefusedCharacter { character, position }) = RefusedCharacter::in_signer(text) {
            let code = format!("U+{:04X}", u32::from(character));
            let problem = visit.pick(
                "This character cannot be part of the field:",
                "Ce caractère ne peut pas faire partie du champ :",
            );
            let number = visit.pick("number", "numéro");
            return format!("{problem} {code} ({number} {position}).");
        }
        let problem = match (is_email, trim_invisible(text).is_empty()) {
            (true, true) => visit.pick("The e-mail is missing.", "L’adresse e-mail manque."),
            (true, false) => visit.pick(
                "The e-mail is not an address such as marie@example.com.",
                "L’adresse e-mail n’en est pas une, comme marie@exemple.fr.",
            ),
            (false, true) => visit.pick("The name is missing.", "Le nom manque."),
            (false, false) => visit.pick(
                "The name is too long, or has a character that cannot be printed.",
                "Le nom est trop long ou contient un caractère qui ne s’imprime pas.",
            ),
        };
        problem.to_owned()
    }
}

/// The hash in a form; empty if it is none.
pub(super) fn document(form: &Form) -> String {
    form.text("document").parse::<ContentHash>().map_or_else(|_| String::new(), |hash| hash.to_string())
}
