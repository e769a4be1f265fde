//! Advice for the owner of a webhook about a failed attempt: the causes, each with a sentence or
//! two in English and French.

use crate::FailureClass;

/// The advice about a failed attempt, for the owner of the webhook.
///
/// ```
/// use invoicing_core::{Advice, FailureClass};
///
/// let advice = Advice::on_status(308);
/// assert!(advice.is_some_and(|advice| advice.english.contains("register the final address")));
/// assert!(Advice::on_status(204).is_none());
/// assert!(FailureClass::TlsExpired.advice().french.contains("certificat"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// The text in English.
    pub english: &'static str,
    /// The text in French.
    pub french: &'static str,
}

const fn advice(english: &'static str, french: &'static str) -> Advice {
    Advice { english, french }
}

impl Advice {
    /// The statuses that have a separate advice. Other statuses share one for each hundred.
    pub const STATUSES: &[u16] =
        &[301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 410, 413, 415, 429, 500, 502, 503, 504];

    /// The advice about an answer with this status; `None` for a 2xx, which is a success.
    pub const fn on_status(status: u16) -> Option<Self> {
        Some(match status {
            200..=299 => return None,
            301 | 308 => MOVED,
            302 | 303 | 307 => REDIRECTED,
            300..=399 => ANY_REDIRECT,
            400 => BAD_REQUEST,
            401 => UNAUTHORIZED,
            403 => FORBIDDEN,
            404 => NOT_FOUND,
            405 => METHOD_NOT_ALLOWED,
            408 => REQUEST_TIMEOUT,
            410 => GONE,
            413 => TOO_LARGE,
            415 => UNSUPPORTED_MEDIA_TYPE,
            429 => TOO_MANY_REQUESTS,
            500 => FAILED,
            502 => BAD_GATEWAY,
            503 => UNAVAILABLE,
            504 => GATEWAY_TIMEOUT,
            501..=599 => ANY_FAILURE,
            _ => ANY_REFUSAL,
        })
    }
}

impl FailureClass {
    /// The advice about an attempt with this failure.
    pub const fn advice(self) -> Advice {
        match self {
            Self::Timeout => TIMEOUT,
            Self::Dns => DNS,
            Self::Network => NETWORK,
            Self::Tls => TLS,
            Self::TlsExpired => TLS_EXPIRED,
            Self::TlsNotYetValid => TLS_NOT_YET_VALID,
            Self::TlsWrongName => TLS_WRONG_NAME,
            Self::TlsUnknownIssuer => TLS_UNKNOWN_ISSUER,
            Self::TlsCaCertificate => TLS_CA_CERTIFICATE,
            Self::TlsBadCertificate => TLS_BAD_CERTIFICATE,
            Self::Proxy => PROXY,
            Self::Protocol => PROTOCOL,
            Self::TargetRefused => TARGET_REFUSED,
            Self::Unsendable => UNSENDABLE,
            Self::Abandoned => ABANDONED,
        }
    }
}

const MOVED: Advice = advice(
    "The address has moved. Redirects are not followed: register the final address, which often differs by www or by a slash at \
     the end.",
    "L’adresse a changé. Les redirections ne sont pas suivies : indiquez l’adresse finale, qui diffère souvent par www ou par une \
     barre oblique à la fin.",
);
const REDIRECTED: Advice = advice(
    "The receiver redirects. Redirects are not followed: register the final address, without a sign-in in front of it. Google Apps \
     Script redirects every POST: put a receiver in front of it that answers 2xx itself.",
    "Le récepteur redirige. Les redirections ne sont pas suivies : indiquez l’adresse finale, sans page de connexion devant elle. \
     Google Apps Script redirige chaque POST : placez devant lui un récepteur qui répond lui-même 2xx.",
);
const ANY_REDIRECT: Advice = advice(
    "The receiver answers with a redirect. Redirects are not followed: register the address that answers 2xx itself.",
    "Le récepteur répond par une redirection. Les redirections ne sont pas suivies : indiquez l’adresse qui répond elle-même 2xx.",
);
const BAD_REQUEST: Advice = advice(
    "The receiver could not read the delivery. The body is JSON, not a form; the log of the receiver has the reason.",
    "Le récepteur n’a pas su lire l’envoi. Le corps est du JSON, et non un formulaire ; le journal du récepteur en donne la raison.",
);
const UNAUTHORIZED: Advice = advice(
    "The receiver asks for a sign-in, or refuses the signature. A delivery carries a signature and no password: exempt its address \
     from the sign-in, and verify the signature there, with the secret of this webhook.",
    "Le récepteur demande une connexion ou refuse la signature. Un envoi porte une signature et aucun mot de passe : dispensez son \
     adresse de connexion et vérifiez-y la signature, avec le secret de ce webhook.",
);
const FORBIDDEN: Advice = advice(
    "The receiver, or a firewall in front of it, refuses the delivery. Allow POST at this address, without a check for browsers and \
     without a CSRF token.",
    "Le récepteur, ou un pare-feu devant lui, refuse l’envoi. Autorisez POST à cette adresse, sans contrôle de navigateur ni jeton \
     CSRF.",
);
const NOT_FOUND: Advice = advice(
    "There is nothing at this address. Check its path. A workflow tool answers so until the workflow is active, and its test \
     address works only while its editor waits for a call.",
    "Il n’y a rien à cette adresse. Vérifiez son chemin. Un outil d’automatisation répond ainsi tant que le scénario n’est pas \
     actif, et son adresse de test ne marche que pendant que l’éditeur attend un appel.",
);
const METHOD_NOT_ALLOWED: Advice = advice(
    "This address does not take POST. Register the address of the receiver itself, not of a page.",
    "Cette adresse n’accepte pas POST. Indiquez l’adresse du récepteur lui-même, et non celle d’une page.",
);
const REQUEST_TIMEOUT: Advice = advice(
    "The receiver did not get the whole delivery in time. Check the proxies in front of it.",
    "Le récepteur n’a pas reçu tout l’envoi à temps. Vérifiez les serveurs mandataires placés devant lui.",
);
const GONE: Advice = advice(
    "The receiver is gone for good. Register its new address, or remove the webhook.",
    "Le récepteur n’existe plus. Indiquez sa nouvelle adresse, ou supprimez le webhook.",
);
const TOO_LARGE: Advice = advice(
    "The receiver refuses a body of this size. Raise its limit, or that of the proxy in front of it.",
    "Le récepteur refuse un corps de cette taille. Relevez sa limite, ou celle du serveur mandataire placé devant lui.",
);
const UNSUPPORTED_MEDIA_TYPE: Advice = advice(
    "The receiver does not take JSON. Let it accept Content-Type: application/json.",
    "Le récepteur n’accepte pas le JSON. Faites-lui accepter Content-Type: application/json.",
);
const TOO_MANY_REQUESTS: Advice = advice(
    "The receiver gets more than it accepts. Raise its limit; with Retry-After it can ask for a wait of up to 30 s.",
    "Le récepteur reçoit plus qu’il n’accepte. Relevez sa limite ; avec Retry-After, il peut demander jusqu’à 30 s d’attente.",
);
const FAILED: Advice = advice(
    "The receiver has failed. Its log has the reason.",
    "Le récepteur a échoué. Son journal en donne la raison.",
);
const BAD_GATEWAY: Advice = advice(
    "A proxy in front of the receiver got no usable answer from it. Check that the receiver is running.",
    "Un serveur mandataire placé devant le récepteur n’en a pas obtenu de réponse valable. Vérifiez que le récepteur fonctionne.",
);
const UNAVAILABLE: Advice = advice(
    "The receiver is not available: it is stopped or starting, or has too much to do. Check that it is running.",
    "Le récepteur n’est pas disponible : il est arrêté, démarre ou a trop à faire. Vérifiez qu’il fonctionne.",
);
const GATEWAY_TIMEOUT: Advice = advice(
    "A proxy in front of the receiver got no answer from it in time. Let the receiver store the delivery, answer 2xx at once, and \
     do its work afterwards.",
    "Un serveur mandataire placé devant le récepteur n’en a pas eu de réponse à temps. Le récepteur doit enregistrer l’envoi, \
     répondre 2xx aussitôt, puis faire son travail.",
);
const ANY_FAILURE: Advice = advice(
    "The receiver, or a proxy in front of it, has failed. Its log has the reason.",
    "Le récepteur, ou un serveur mandataire placé devant lui, a échoué. Son journal en donne la raison.",
);
const ANY_REFUSAL: Advice = advice(
    "The receiver does not take the delivery. Its log has the reason; only a 2xx accepts.",
    "Le récepteur ne prend pas l’envoi. Son journal en donne la raison ; seul un 2xx vaut acceptation.",
);

const TIMEOUT: Advice = advice(
    "The receiver did not answer in time. Let it store the delivery, answer 2xx at once, and do its work afterwards.",
    "Le récepteur n’a pas répondu à temps. Il doit enregistrer l’envoi, répondre 2xx aussitôt, puis faire son travail.",
);
const DNS: Advice = advice(
    "The name in the address was not found. Check its spelling, and that its DNS record is public.",
    "Le nom de domaine de l’adresse est introuvable. Vérifiez son orthographe, et que son enregistrement DNS est public.",
);
const NETWORK: Advice = advice(
    "The connection was refused, or lost before the answer. Check that the receiver is running, and that its port is open to the \
     internet.",
    "La connexion a été refusée, ou perdue avant la réponse. Vérifiez que le récepteur fonctionne, et que son port est ouvert à \
     Internet.",
);
const TLS: Advice = advice(
    "No TLS connection came about. Check that the port of the address speaks HTTPS, with TLS 1.2 or later and without asking for a \
     client certificate.",
    "La connexion TLS n’a pas abouti. Vérifiez que le port de l’adresse parle HTTPS, en TLS 1.2 ou plus récent et sans exiger de \
     certificat client.",
);
const TLS_EXPIRED: Advice = advice(
    "A certificate of the receiver has expired. Renew it, and restart the server so that it uses the new one.",
    "Un certificat du récepteur a expiré. Renouvelez-le, puis redémarrez le serveur pour qu’il utilise le nouveau.",
);
const TLS_NOT_YET_VALID: Advice = advice(
    "A certificate of the receiver is not valid yet. Check from when it holds, and install one that holds today.",
    "Un certificat du récepteur n’est pas encore valable. Vérifiez sa date de début, et installez-en un valable aujourd’hui.",
);
const TLS_WRONG_NAME: Advice = advice(
    "The certificate of the receiver is for another name. Register the address with a name of the certificate, or get one for this \
     name.",
    "Le certificat du récepteur est émis pour un autre nom. Indiquez l’adresse avec un nom du certificat, ou obtenez-en un pour ce \
     nom.",
);
const TLS_UNKNOWN_ISSUER: Advice = advice(
    "The certificate of the receiver leads to no trusted authority. Let the server send the whole chain (fullchain.pem) and not its \
     own certificate alone; replace a self-signed one by one of a public authority.",
    "Le certificat du récepteur ne remonte à aucune autorité reconnue. Faites envoyer au serveur toute la chaîne (fullchain.pem) et \
     non son seul certificat ; remplacez un certificat autosigné par celui d’une autorité publique.",
);
const TLS_CA_CERTIFICATE: Advice = advice(
    "The receiver shows the certificate of an authority as its own, as self-signed ones often are. Install a server certificate of \
     a public authority.",
    "Le récepteur présente comme sien un certificat d’autorité, ce que sont souvent les certificats autosignés. Installez un \
     certificat de serveur émis par une autorité publique.",
);
const TLS_BAD_CERTIFICATE: Advice = advice(
    "The certificate of the receiver is not acceptable: its signature, purpose or encoding is wrong. Install a server certificate \
     of a public authority.",
    "Le certificat du récepteur n’est pas acceptable : sa signature, son usage ou son codage est incorrect. Installez un certificat \
     de serveur émis par une autorité publique.",
);
const PROXY: Advice = advice(
    "The proxy that webhooks are sent through made no connection. Check that the receiver can be reached from the internet; if so, \
     turn to the operator of this service.",
    "Le serveur mandataire par lequel passent les envois n’a pas établi la connexion. Vérifiez que le récepteur est joignable depuis \
     Internet ; si c’est le cas, adressez-vous à l’exploitant de ce service.",
);
const PROTOCOL: Advice = advice(
    "The answer is not HTTP. Check that the port of the address is that of a web server.",
    "La réponse n’est pas du HTTP. Vérifiez que le port de l’adresse est celui d’un serveur web.",
);
const TARGET_REFUSED: Advice = advice(
    "Webhooks may not reach this address, as it is not public. Register an address that leads to public ones, with https.",
    "Les webhooks ne peuvent atteindre cette adresse, car elle n’est pas publique. Indiquez une adresse publique, en https.",
);
const UNSENDABLE: Advice = advice(
    "The stored address or secret of the webhook cannot be read. Register the webhook anew; if that does not help, turn to the \
     operator of this service.",
    "L’adresse ou le secret enregistré du webhook est illisible. Enregistrez le webhook à nouveau ; si cela ne suffit pas, \
     adressez-vous à l’exploitant de ce service.",
);
const ABANDONED: Advice = advice(
    "The service was interrupted each time while it sent the delivery. Send it again.",
    "Le service a été interrompu chaque fois qu’il faisait cet envoi. Renvoyez-le.",
);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn is_complete(advice: Advice) {
        for text in [advice.english, advice.french] {
            assert!(text.ends_with('.') && (40..300).contains(&text.chars().count()), "{text}");
            assert!(!text.contains("  "), "{text}");
        }
        assert_ne!(advice.english, advice.french);
    }

    /// Rules: LOG-4
    #[test]
    fn every_failure_class_has_an_advice_of_its_own() {
        let all: BTreeSet<_> = FailureClass::ALL.iter().map(|class| class.advice().english).collect();
        assert_eq!(all.len(), FailureClass::ALL.len());
        for class in FailureClass::ALL {
            is_complete(class.advice());
        }
    }

    /// Rules: LOG-4
    #[test]
    fn every_status_but_a_2xx_has_an_advice_and_common_ones_their_own() {
        for status in 100..600 {
            let advice = Advice::on_status(status);
            assert_eq!(advice.is_none(), (200..300).contains(&status), "{status}");
            advice.into_iter().for_each(is_complete);
        }
        for status in [301, 302, 307, 308, 400, 401, 403, 404, 405, 410, 413, 415, 429, 500, 502, 503, 504] {
            assert!(Advice::STATUSES.contains(&status), "{status}");
        }
        let general = [Advice::on_status(399), Advice::on_status(499), Advice::on_status(599)];
        for status in Advice::STATUSES {
            assert!(!general.contains(&Advice::on_status(*status)), "{status}");
        }
        for status in [301, 302, 307, 308] {
            let Some(advice) = Advice::on_status(status) else { panic!("{status}") };
            assert!(advice.english.contains("Redirects are not followed"), "{status}");
            assert!(advice.french.contains("ne sont pas suivies"), "{status}");
        }
    }
}
