//! Failures of attempts, in words.

use invoicing_core::FailureClass;

use crate::console::Language;
use crate::store::deliveries::AttemptRecord;

/// What an attempt came to: the status of the answer, or why there was none.
pub(super) fn outcome(language: Language, attempt: &AttemptRecord) -> String {
    match (attempt.failure, attempt.status) {
        (Some(class), _) => words(language, class).to_owned(),
        (None, Some(status)) => format!("HTTP {status}"),
        (None, None) => String::new(),
    }
}

fn words(language: Language, class: FailureClass) -> &'static str {
    match class {
        FailureClass::Timeout => language.pick("no answer within 5 s", "pas de réponse en 5 s"),
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
