//! What a signer enters.

use invoicing_core::Quote;
use maud::{Markup, html};

use super::visit::Visit;
use crate::console::form::Form;

/// The fields as they were entered, and the hash of the document that was shown.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) document: String,
}

impl Fields {
    pub(super) fn empty() -> Self {
        Self::default()
    }

    pub(super) fn read(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        Self { name: text("name"), email: text("email"), document: text("document") }
    }

    /// Whether it is a field of the form that an operation calls by this name.
    pub(super) fn has(field: &str) -> bool {
        matches!(field, "signedByName" | "signedByEmail")
    }

    /// Whether the signature of a quote is what these fields ask for.
    pub(super) fn are_signed(&self, quote: &Quote) -> bool {
        quote.detail.signature.as_ref().is_some_and(|signature| {
            !self.name.is_empty()
                && signature.signed_by_name == self.name
                && signature.signed_by_email == self.email
        })
    }

    /// `wrong`: the field that was refused.
    pub(super) fn inputs(&self, visit: &Visit<'_>, wrong: Option<&str>) -> Markup {
        let is_wrong = |field| (wrong == Some(field)).then_some("true");
        html! {
            label for="name" { (visit.pick("Your name", "Votre nom")) }
            input #name name="name" type="text" autocomplete="name" required maxlength="255" value=(self.name)
                aria-invalid=[is_wrong("signedByName")] aria-describedby=[is_wrong("signedByName").map(|_| "wrong")];
            label for="email" { (visit.pick("Your e-mail", "Votre e-mail")) }
            input #email name="email" type="email" autocomplete="email" required maxlength="255" value=(self.email)
                aria-invalid=[is_wrong("signedByEmail")] aria-describedby=[is_wrong("signedByEmail").map(|_| "wrong")];
        }
    }

    /// The input of a field.
    pub(super) fn input(field: &str) -> &'static str {
        if field == "signedByEmail" { "email" } else { "name" }
    }

    /// What is wrong with a field.
    pub(super) fn problem(visit: &Visit<'_>, field: &str) -> &'static str {
        match field {
            "signedByEmail" => visit.language.pick(
                "The e-mail is missing or is not an address.",
                "L’adresse e-mail manque ou n’en est pas une.",
            ),
            _ => visit.language.pick(
                "The name is missing, too long, or has a character that cannot be printed.",
                "Le nom manque, est trop long ou contient un caractère qui ne s’imprime pas.",
            ),
        }
    }
}
