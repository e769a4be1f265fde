//! Failures of attempts, in words.

use invoicing_core::FailureClass;

use crate::console::Language;
use crate::console::request::PageRequest;
use crate::records::AttemptRecord;

/// The outcome of an attempt: the status of the answer, or the reason why there was none.
pub(super) fn outcome(request: &PageRequest<'_>, attempt: &AttemptRecord) -> String {
    let language = request.language;
    match (attempt.failure, attempt.status) {
        (Some(FailureClass::Timeout), _) => {
            let limit = seconds(language, request.attempt_timeout_ms);
            format!("{} {limit}", language.pick("no answer within", "pas de réponse en"))
        }
        (Some(class), _) => words(language, class).to_owned(),
        (None, Some(status)) => format!("HTTP {status}"),
        (None, None) => String::new(),
    }
}

/// `5 s`, `0.25 s`.
fn seconds(language: Language, ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} s", text.replace('.', language.pick(".", ",")))
}

/// The advice about a failure.
pub(super) fn advice(request: &PageRequest<'_>, attempt: &AttemptRecord) -> Option<&'static str> {
    attempt.advice().map(|advice| request.language.pick(advice.english, advice.french))
}

fn words(language: Language, class: FailureClass) -> &'static str {
    match class {
        FailureClass::Dns => language.pick("the name does not resolve", "le nom de domaine est introuvable"),
        FailureClass::Network => language.pick("the connection failed", "la connexion a échoué"),
        FailureClass::Tls => language.pick("no TLS connection", "la connexion TLS a échoué"),
        FailureClass::TlsExpired => language.pick("the certificate has expired", "le certificat a expiré"),
        FailureClass::TlsNotYetValid => {
            language.pick("the certificate is not valid yet", "le certificat n’est pas encore valable")
        }
        FailureClass::TlsWrongName => {
            language.pick("the certificate is for another name", "le certificat est émis pour un autre nom")
        }
        FailureClass::TlsUnknownIssuer => language
            .pick("the certificate's issuer is not trusted", "l’émetteur du certificat n’est pas reconnu"),
        FailureClass::TlsCaCertificate => {
            language.pick("the certificate is that of an authority", "le certificat est celui d’une autorité")
        }
        FailureClass::TlsBadCertificate => {
            language.pick("the certificate is not acceptable", "le certificat n’est pas acceptable")
        }
        FailureClass::Proxy => {
            language.pick("the proxy made no connection", "le serveur mandataire n’a pas établi la connexion")
        }
        FailureClass::Protocol => language.pick("the answer is not HTTP", "la réponse n’est pas du HTTP"),
        FailureClass::TargetRefused => {
            language.pick("the address may not be reached", "l’adresse n’est pas autorisée")
        }
        FailureClass::Unsendable => language
            .pick("the delivery cannot be sent as it is stored", "l’envoi enregistré est inutilisable"),
        FailureClass::Abandoned => {
            language.pick("it was interrupted too often", "l’envoi a été interrompu trop souvent")
        }
        other => other.as_str(),
    }
}
