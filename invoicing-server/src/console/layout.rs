//! The layout of all pages: the head, the bar with the chapters, and small components.

use maud::{Markup, html};

use super::assets::{Asset, Assets};
use super::settings::Theme;
use super::{Language, refusals};
use crate::documents::content::visible;
use crate::error::Error;

/// Characters from which a word fits no column of a phone, and is broken like an address.
const LONG_WORD: usize = 30;

/// A chapter of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chapter {
    Home,
    Webhooks,
    Quotes,
    Invoices,
    CreditNotes,
    Clients,
    Company,
    Keys,
    Events,
    History,
}

/// The frame of a page: its reader, chapter and look.
pub(super) struct Frame<'f> {
    pub(super) language: Language,
    pub(super) prefix: &'f str,
    pub(super) theme: &'f Theme,
    pub(super) assets: &'f Assets,
    /// True if the name in the bar leads to the first page of the console.
    pub(super) has_home: bool,
    /// The person who is signed in; `None` on pages without a session.
    pub(super) signed_in: Option<SignedIn<'f>>,
    /// A message above the content.
    pub(super) notice: Option<Markup>,
}

/// The person and the company of a page behind the sign-in.
#[derive(Clone, Copy)]
pub(super) struct SignedIn<'f> {
    /// The name of the company; `None` if an error came before it was read.
    pub(super) company: Option<&'f str>,
    pub(super) person: &'f str,
}

/// A page without its frame.
pub(super) struct PageContent {
    pub(super) title: String,
    pub(super) chapter: Option<Chapter>,
    /// Seconds after which the browser loads the page again, while something is under way.
    pub(super) refresh: Option<u32>,
    pub(super) body: Markup,
}

impl PageContent {
    pub(super) fn new(title: impl Into<String>, chapter: Chapter, body: Markup) -> Self {
        Self { title: title.into(), chapter: Some(chapter), refresh: None, body }
    }

    /// A page outside of the chapters.
    pub(super) fn alone(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), chapter: None, refresh: None, body }
    }
}

impl Frame<'_> {
    /// The whole page.
    pub(super) fn around(&self, content: &PageContent) -> Markup {
        html! {
            html lang=(self.language.tag()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="robots" content="noindex";
                    title { (content.title) " · " (self.theme.name) }
                    link rel="icon" href=(self.asset(&self.icon().name));
                    link rel="stylesheet" href=(self.asset(&self.assets.style.name));
                    script src=(self.asset(&self.assets.script.name)) defer {}
                }
                body {
                    a.skip href="#content" { (self.language.pick("Skip to the content", "Aller au contenu")) }
                    header.bar {
                        @if self.has_home {
                            a.brand href={ (self.prefix) "/" } { (self.brand()) }
                        } @else {
                            span.brand { (self.brand()) }
                        }
                        @if let Some(SignedIn { company, person }) = self.signed_in {
                            span.who { @if let Some(company) = company { (entered(company)) " · " } (entered(person)) }
                        }
                    }
                    @if self.signed_in.is_some() { (self.chapters(content.chapter)) }
                    main #content tabindex="-1" data-refresh=[content.refresh] {
                        @if let Some(notice) = &self.notice { (notice) }
                        (content.body)
                    }
                }
            }
        }
    }

    fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.prefix)
    }

    /// The icon of the tab: the host's logo, if there is one.
    fn icon(&self) -> &Asset {
        self.assets.logo.as_ref().unwrap_or(&self.assets.icon)
    }

    fn brand(&self) -> Markup {
        html! {
            @if let Some(logo) = &self.assets.logo { img src=(self.asset(&logo.name)) alt="" height="28"; }
            (self.theme.name)
        }
    }

    fn chapters(&self, current: Option<Chapter>) -> Markup {
        let pick = |english, french| self.language.pick(english, french);
        let chapters = [
            (Chapter::Home, "/", pick("Overview", "Aperçu")),
            (Chapter::Webhooks, "/webhooks", pick("Webhooks", "Webhooks")),
            (Chapter::Quotes, "/quotes", pick("Quotes", "Devis")),
            (Chapter::Invoices, "/invoices", pick("Invoices", "Factures")),
            (Chapter::CreditNotes, "/credit-notes", pick("Credit notes", "Avoirs")),
            (Chapter::Clients, "/clients", pick("Clients", "Clients")),
            (Chapter::Company, "/company", pick("Company", "Entreprise")),
            (Chapter::Events, "/events", pick("Events", "Événements")),
            (Chapter::Keys, "/keys", pick("API keys", "Clés d’API")),
            (Chapter::History, "/history", pick("History", "Historique")),
        ];
        html! {
            nav.chapters aria-label=(pick("Chapters", "Rubriques")) {
                ul {
                    @for (chapter, path, name) in chapters {
                        li {
                            a href={ (self.prefix) (path) } aria-current=[(current == Some(chapter)).then_some("page")] { (name) }
                        }
                    }
                }
            }
        }
    }
}

/// A text that someone has entered. It changes neither the direction nor the order of the text
/// around it, and has no invisible characters, as in documents.
pub(super) fn entered(text: &str) -> Markup {
    let text = visible(text);
    let has_long_word = text.split_whitespace().any(|word| word.chars().count() > LONG_WORD);
    html! { @if has_long_word { bdi.address { (text) } } @else { bdi { (text) } } }
}

/// A message at the top of a page.
pub(super) fn notice(kind: &'static str, body: &Markup) -> Markup {
    html! { div class={ "notice " (kind) } role=(if kind == "error" { "alert" } else { "status" }) { (body) } }
}

/// The error of a form, above it. `fields`: the inputs of the form that show errors of their
/// fields, by the names that operations use.
pub(super) fn problem(language: Language, error: Option<&Error>, fields: &[(&str, &str)]) -> Markup {
    let Some(error) = error else { return Markup::default() };
    let input = fields.iter().find(|(field, _)| is_about(Some(error), field)).map(|(_, input)| input);
    notice(
        "error",
        &html! {
            p {
                (refusals::error(language, error))
                @if let Some(input) = input { " " a href={ "#" (input) } { (language.pick("Correct it", "Corriger")) } }
            }
        },
    )
}

/// True if an error is about a field.
pub(super) fn is_about(error: Option<&Error>, field: &str) -> bool {
    matches!(error, Some(Error::Invalid(invalid)) if invalid.field == field)
}

/// The error of a field, below its input, whose id is given.
pub(super) fn wrong(language: Language, error: Option<&Error>, field: &str, input: &str) -> Markup {
    html! {
        @if let Some(error) = error.filter(|error| is_about(Some(error), field)) {
            p.wrong id={ (input) "-wrong" } { (refusals::error(language, error)) }
        }
    }
}

/// The ids of the texts that describe an input: of its [error](wrong), if it has one, and of its
/// hint.
pub(super) fn described_by(error: Option<&Error>, field: &str, input: &str) -> String {
    if is_about(error, field) { format!("{input}-wrong {input}-hint") } else { format!("{input}-hint") }
}

/// A secret that is shown this once, behind a reveal that needs no script.
pub(super) fn secret(language: Language, id: &str, text: &str) -> Markup {
    revealed(language, id, language.pick("Show the secret", "Afficher le secret"), text)
}

/// As [`secret`], with another summary.
pub(super) fn revealed(language: Language, id: &str, summary: &str, text: &str) -> Markup {
    html! {
        details.secret {
            summary { (summary) }
            code #(id) { (text) }
            button.copy.plain type="button" hidden data-copy=(id) data-done=(language.pick("Copied", "Copié")) {
                (language.pick("Copy", "Copier"))
            }
        }
    }
}
