//! What all pages share: the head, the bar with the chapters, and small components.

use maud::{Markup, html};

use super::Language;
use super::assets::{Asset, Assets};
use super::settings::Theme;
use crate::Error;

/// A chapter of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chapter {
    Home,
    Webhooks,
    Quotes,
    Keys,
    Events,
    History,
}

/// What the frame of a page needs.
pub(super) struct Frame<'f> {
    pub(super) language: Language,
    pub(super) prefix: &'f str,
    pub(super) theme: &'f Theme,
    pub(super) assets: &'f Assets,
    /// Whether the name in the bar leads to the first page of the console.
    pub(super) has_home: bool,
    /// Name of the company and of the person; `None` on pages without a session.
    pub(super) signed_in: Option<(&'f str, &'f str)>,
}

/// A page without its frame.
pub(super) struct Content {
    pub(super) title: String,
    pub(super) chapter: Option<Chapter>,
    /// Seconds after which the browser loads the page again, while something is under way.
    pub(super) refresh: Option<u32>,
    pub(super) body: Markup,
}

impl Content {
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
    pub(super) fn around(&self, content: &Content) -> Markup {
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
                        @if let Some((company, person)) = self.signed_in {
                            span.who { (company) " · " (person) }
                        }
                    }
                    @if self.signed_in.is_some() { (self.chapters(content.chapter)) }
                    main #content tabindex="-1" data-refresh=[content.refresh] { (content.body) }
                }
            }
        }
    }

    fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.prefix)
    }

    /// What a tab shows: the host's logo, if there is one.
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

/// A message at the top of a page.
pub(super) fn notice(kind: &'static str, body: &Markup) -> Markup {
    html! { div class={ "notice " (kind) } role=(if kind == "error" { "alert" } else { "status" }) { (body) } }
}

/// What is wrong in a form.
pub(super) fn problem(error: Option<&Error>) -> Markup {
    html! { @if let Some(error) = error { (notice("error", &html! { p { (error) } })) } }
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
