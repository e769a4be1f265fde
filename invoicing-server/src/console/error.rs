//! The reason why a page is not shown, and the page of that reason.

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use maud::html;

use super::layout::PageContent;
use super::paths::SIGN;
use super::{Language, refusals};
use crate::error::Error;
use crate::error::status_of;
use crate::http::error::ApiError;
use crate::http::exchange::HttpError;
use crate::telemetry::spans;

/// The reason why a page is not shown.
#[derive(Debug)]
pub(crate) enum PageError {
    /// The form comes from another site.
    CrossSite,
    /// The host lets this person see no page, or not change this.
    Forbidden,
    /// A form came after its session had ended. The sign-in page may be at another origin, to which
    /// browsers follow no redirect after a form; so a page links to the address.
    SignedOut(String),
    /// The error of the API for the same case.
    Api(ApiError),
}

impl<E: Into<ApiError>> From<E> for PageError {
    fn from(error: E) -> Self {
        Self::Api(error.into())
    }
}

impl HttpError for PageError {
    fn as_api(&self) -> Option<&ApiError> {
        if let Self::Api(error) = self { Some(error) } else { None }
    }

    /// Leaves out of the path of a signing link all that may be a part of its token.
    fn log(&self, head: &Parts, request_id: &HeaderValue) {
        match self {
            Self::Api(error) => {
                let path = head.uri.path();
                let path = path.find(SIGN).map_or(path, |at| &path[..at + SIGN.len()]);
                error.log_at(&head.method, path, request_id);
            }
            Self::CrossSite => refused(head, request_id, "cross-site"),
            Self::Forbidden => refused(head, request_id, "forbidden"),
            Self::SignedOut(_) => refused(head, request_id, "signed out"),
        }
    }
}

impl PageError {
    pub(super) const NOT_FOUND: Self = Self::Api(ApiError::NOT_FOUND);

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::CrossSite | Self::Forbidden | Self::SignedOut(_) => StatusCode::FORBIDDEN,
            Self::Api(error) => status_of(&error.code()),
        }
    }

    /// The page with the reason and a link that leads on.
    pub(super) fn content(&self, language: Language, way_back: Option<&str>) -> PageContent {
        let (title, text) = self.texts(language);
        let body = html! {
            h1 { (title) }
            p { (text) }
            @if let Self::SignedOut(address) = self {
                p { a href=(address) { (language.pick("Sign in again", "Se reconnecter")) } }
            }
            @if let Some(address) = way_back {
                p.actions { a.button.plain href=(address) { (self.way_back_text(language)) } }
            }
        };
        PageContent::alone(title, body)
    }

    fn way_back_text(&self, language: Language) -> &'static str {
        if self.status().is_server_error() {
            language.pick("Try again", "Réessayer")
        } else {
            language.pick("Back", "Retour")
        }
    }

    fn texts(&self, language: Language) -> (&'static str, String) {
        let pick = |english, french| language.pick(english, french);
        let (title, text) = match self {
            Self::CrossSite => (
                pick("Not sent from this page", "Envoi refusé"),
                pick(
                    "The form did not come from a page of this site. Open the page again and send it from there.",
                    "Le formulaire ne venait pas d’une page de ce site. Rouvrez la page et envoyez-le depuis celle-ci.",
                ),
            ),
            Self::Forbidden => (
                pick("Not permitted", "Accès refusé"),
                pick("Your role does not include this.", "Votre rôle ne le permet pas."),
            ),
            Self::SignedOut(_) => (
                pick("You are signed out", "Vous êtes déconnecté"),
                pick(
                    "Your session has ended, so nothing was changed. Sign in, then send the form again.",
                    "Votre session a pris fin et rien n’a été modifié. Reconnectez-vous, puis renvoyez le formulaire.",
                ),
            ),
            Self::Api(error) => return of_api(language, error),
        };
        (title, text.to_owned())
    }
}

/// Title and text of an error that the API words for programs.
fn of_api(language: Language, error: &ApiError) -> (&'static str, String) {
    let pick = |english, french| language.pick(english, french);
    let refused = pick("Not accepted", "Saisie refusée");
    let (title, text) = match error {
        ApiError::Operation(Error::Invalid(invalid)) => {
            return (refused, refusals::invalid(language, invalid));
        }
        ApiError::Operation(Error::Conflict(conflict)) => {
            return (
                pick("Not possible now", "Impossible pour le moment"),
                refusals::conflict(language, conflict),
            );
        }
        ApiError::Operation(Error::NotFound) => (
            pick("Not found", "Page introuvable"),
            pick("There is no such page, or it has ended.", "Cette page n’existe pas ou n’existe plus."),
        ),
        ApiError::Operation(Error::DocumentUnavailable) => (
            pick("Not possible now", "Impossible pour le moment"),
            pick(
                "There is no document yet: it is frozen when a quote is sent or an invoice is issued.",
                "Il n’y a pas encore de document : il est figé à l’envoi d’un devis ou à l’émission d’une facture.",
            ),
        ),
        ApiError::MethodNotAllowed { .. } => (
            pick("Nothing to show here", "Rien à afficher ici"),
            pick(
                "This address belongs to a form. Go back and send the form from its page.",
                "Cette adresse est celle d’un formulaire. Revenez à sa page et envoyez-le depuis celle-ci.",
            ),
        ),
        ApiError::PayloadTooLarge => (
            refused,
            pick("The form holds too much. Shorten it.", "Le formulaire est trop volumineux. Abrégez-le."),
        ),
        ApiError::EncodedBody => (
            refused,
            pick(
                "The form came with a Content-Encoding, which is not understood. Nothing was changed.",
                "Le formulaire est arrivé avec un en-tête Content-Encoding, qui n’est pas pris en charge. Rien n’a été modifié.",
            ),
        ),
        ApiError::RequestTimeout => (
            pick("Please try again", "Veuillez réessayer"),
            pick(
                "The form did not arrive in time. Nothing was changed.",
                "Le formulaire n’est pas arrivé à temps. Rien n’a été modifié.",
            ),
        ),
        ApiError::Overloaded | ApiError::Operation(Error::Overloaded | Error::StorageUnavailable(_)) => (
            pick("Please try again", "Veuillez réessayer"),
            pick(
                "The service is busy. Try again in a moment.",
                "Le service est occupé. Réessayez dans un instant.",
            ),
        ),
        ApiError::Operation(Error::Internal(_)) | ApiError::Panicked => (
            pick("Something went wrong", "Une erreur est survenue"),
            pick(
                "The service could not show this page. Its log has the details.",
                "Le service n’a pas pu afficher cette page. Son journal contient les détails.",
            ),
        ),
        ApiError::BadRequest(_)
        | ApiError::Unreadable { .. }
        | ApiError::ExpectationFailed
        | ApiError::Unauthorized
        | ApiError::PlanRequired
        | ApiError::QuotaUsedUp { .. } => (
            refused,
            pick(
                "The form cannot be read. Open its page again and send it from there.",
                "Le formulaire est illisible. Rouvrez sa page et envoyez-le depuis celle-ci.",
            ),
        ),
    };
    (title, text.to_owned())
}

fn refused(head: &Parts, request_id: &HeaderValue, reason: &'static str) {
    let request_id = request_id.to_str().unwrap_or_default();
    tracing::debug!(method = spans::known(&head.method), request_id, reason, "page refused");
}
