//! The actions of the history, in words.

use crate::console::Language;
use crate::records::{HistoryAction, HistoryRecord};

/// The words of a row of the history.
pub(super) struct Entry {
    pub(super) what: String,
    /// The detail of the action, such as the number of deliveries that were sent again.
    pub(super) more: Option<String>,
    /// The name that the record had.
    pub(super) name: Option<String>,
}

impl Entry {
    pub(super) fn of(language: Language, record: &HistoryRecord) -> Self {
        let detail = record.detail.clone();
        let Some(action) = record.action.known() else {
            // Recorded by a later version, which has more actions.
            return Self { what: record.action.to_string(), more: None, name: Some(detail) };
        };
        let (english, french) = texts(action);
        let what = language.pick(english, french).to_owned();
        match action {
            HistoryAction::QuoteDeclined => {
                let (number, reason) = detail.split_once(": ").unwrap_or((&detail, ""));
                let more = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
                Self { what, more, name: Some(number.to_owned()) }
            }
            HistoryAction::WebhookRotated => Self { what, more: overlap(language, &detail), name: None },
            action if says_more(action) => {
                Self { what, more: Some(detail).filter(|more| !more.is_empty()), name: None }
            }
            _ => Self { what, more: None, name: Some(detail).filter(|name| !name.is_empty()) },
        }
    }
}

/// True if the detail of the action is something else than the record's name.
fn says_more(action: HistoryAction) -> bool {
    matches!(
        action,
        HistoryAction::CompanyPlanSet
            | HistoryAction::CompanyAutomaticInvoicingSet
            | HistoryAction::InvoiceCreated
            | HistoryAction::InvoiceCredited
            | HistoryAction::InvoiceRefunded
            | HistoryAction::InvoiceCanceled
            | HistoryAction::InvoicePaymentEntered
            | HistoryAction::InvoicePaymentReversed
            | HistoryAction::ProjectMoved
            | HistoryAction::WebhookRegistered
            | HistoryAction::WebhookChanged
            | HistoryAction::WebhookRemoved
            | HistoryAction::DeliveriesReplayed
    )
}

/// The time for which both secrets sign, from the seconds of a detail.
fn overlap(language: Language, detail: &str) -> Option<String> {
    let seconds: u64 = detail.parse().ok()?;
    let name = language.pick("overlap:", "chevauchement :");
    Some(match seconds {
        0 => language.pick("without an overlap", "sans chevauchement").to_owned(),
        seconds if seconds % 3_600 == 0 => format!("{name} {} h", seconds / 3_600),
        seconds => format!("{name} {seconds} s"),
    })
}

/// The action in English and in French.
const fn texts(action: HistoryAction) -> (&'static str, &'static str) {
    match action {
        HistoryAction::CompanyPlanSet => ("Set the plan", "A changé la formule"),
        HistoryAction::CompanyIdentitySet => {
            ("Changed the particulars of the company", "A modifié les mentions de l’entreprise")
        }
        HistoryAction::CompanyAutomaticInvoicingSet => {
            ("Switched the automatic conversion", "A réglé la conversion automatique")
        }
        HistoryAction::ClientCreated => ("Created a client", "A créé un client"),
        HistoryAction::ClientChanged => ("Changed a client", "A modifié un client"),
        HistoryAction::QuoteCreated => ("Created a quote", "A créé un devis"),
        HistoryAction::QuoteImported => ("Imported a quote", "A importé un devis"),
        HistoryAction::QuoteEdited => ("Edited a quote", "A modifié un devis"),
        HistoryAction::QuoteSent => ("Sent a quote", "A envoyé un devis"),
        HistoryAction::QuoteAccepted => ("Marked a quote accepted", "A marqué un devis comme accepté"),
        HistoryAction::QuoteRejected => ("Rejected or discarded a quote", "A refusé ou abandonné un devis"),
        HistoryAction::QuoteDeclined => {
            ("Declined a quote through its signing link", "A refusé un devis par son lien de signature")
        }
        HistoryAction::QuoteSigned => {
            ("Signed a quote through its signing link", "A signé un devis par son lien de signature")
        }
        HistoryAction::QuoteLinked => (
            "Linked a quote to another system, or unlinked it",
            "A lié un devis à un autre système, ou l’en a délié",
        ),
        HistoryAction::SigningLinkMade => ("Made a signing link", "A créé un lien de signature"),
        HistoryAction::SigningLinkRevoked => ("Revoked a signing link", "A révoqué un lien de signature"),
        HistoryAction::InvoiceCreated => {
            ("Converted a quote to an invoice", "A converti un devis en facture")
        }
        HistoryAction::InvoiceIssued => ("Issued an invoice", "A émis une facture"),
        HistoryAction::InvoicePaymentEntered => ("Entered a payment", "A saisi un paiement"),
        HistoryAction::InvoicePaymentReversed => ("Reversed a payment", "A annulé un paiement"),
        HistoryAction::InvoiceMarkedPaid => ("Marked an invoice paid", "A marqué une facture payée"),
        HistoryAction::InvoiceCredited => ("Issued a credit note", "A émis un avoir"),
        HistoryAction::InvoiceRefunded => ("Entered a refund", "A saisi un remboursement"),
        HistoryAction::CompanyLogoSet => ("Set the logo", "A réglé le logo"),
        HistoryAction::InvoiceCanceled => ("Cancelled an invoice", "A annulé une facture"),
        HistoryAction::ProjectCreated => ("Opened a project", "A ouvert un chantier"),
        HistoryAction::ProjectMoved => ("Moved a project", "A fait avancer un chantier"),
        HistoryAction::WebhookRegistered => ("Registered a webhook", "A enregistré un webhook"),
        HistoryAction::WebhookChanged => ("Changed a webhook", "A modifié un webhook"),
        HistoryAction::WebhookDisabled => ("Disabled a webhook", "A désactivé un webhook"),
        HistoryAction::WebhookEnabled => ("Enabled a webhook", "A activé un webhook"),
        HistoryAction::WebhookRotated => {
            ("Rotated the secret of a webhook", "A renouvelé le secret d’un webhook")
        }
        HistoryAction::WebhookOverlapEnded => {
            ("Ended the old secret of a webhook", "A révoqué l’ancien secret d’un webhook")
        }
        HistoryAction::WebhookRemoved => ("Removed a webhook", "A supprimé un webhook"),
        HistoryAction::WebhookPinged => ("Sent a test", "A envoyé un test"),
        HistoryAction::DeliveriesReplayed => {
            ("Sent deliveries again, how many:", "A renvoyé des envois, au nombre de :")
        }
        HistoryAction::KeyIssued => ("Issued an API key", "A émis une clé d’API"),
        HistoryAction::KeyRevoked => ("Revoked an API key", "A révoqué une clé d’API"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_actions_read_alike() {
        for text in [|action: HistoryAction| texts(action).0, |action: HistoryAction| texts(action).1] {
            let mut all: Vec<_> = HistoryAction::ALL.iter().map(|action| text(*action)).collect();
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        }
    }

    #[test]
    fn a_refusal_has_the_number_apart_from_the_reason() {
        let of = |detail: &str| {
            let record = HistoryRecord {
                number: 1,
                at: invoicing_core::Timestamp::EARLIEST,
                actor: "signing link".to_owned(),
                action: HistoryAction::QuoteDeclined.into(),
                subject: uuid::Uuid::nil(),
                detail: detail.to_owned(),
            };
            let entry = Entry::of(Language::English, &record);
            (entry.name.unwrap(), entry.more)
        };
        assert_eq!(of("DEV-2026-0001: no: yes"), ("DEV-2026-0001".to_owned(), Some("no: yes".to_owned())));
        assert_eq!(of("DEV-2026-0001"), ("DEV-2026-0001".to_owned(), None));
    }

    #[test]
    fn an_overlap_is_given_in_hours() {
        assert_eq!(overlap(Language::English, "86400").unwrap(), "overlap: 24 h");
        assert_eq!(overlap(Language::English, "5400").unwrap(), "overlap: 5400 s");
        assert_eq!(overlap(Language::French, "0").unwrap(), "sans chevauchement");
        assert_eq!(overlap(Language::English, "x"), None);
    }
}
