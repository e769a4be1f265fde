//! The reasons why the state of a record forbids an operation, for people.

use invoicing_core::ConflictReason;

use super::told;
use crate::console::Language;

/// A whole sentence.
#[expect(clippy::too_many_lines, reason = "an arm for each reason")]
pub(super) fn words(language: Language, reason: &ConflictReason) -> String {
    match reason {
        ConflictReason::QuoteStatus { .. } | ConflictReason::NotAccepted { .. } => told!(
            language,
            "The quote has changed meanwhile, and its state no longer allows this.",
            "Le devis a changé entre-temps, et son état ne le permet plus."
        ),
        ConflictReason::NoLinesToSend => told!(
            language,
            "The quote has no line yet. Add one, then send it.",
            "Le devis n’a pas encore de ligne. Ajoutez-en une, puis envoyez-le."
        ),
        ConflictReason::NoLinesToAccept => {
            told!(language, "Enter at least one line.", "Saisissez au moins une ligne.")
        }
        ConflictReason::ValidityEnded => {
            told!(language, "The validity of the quote has ended.", "La validité du devis est dépassée.")
        }
        ConflictReason::Converted { .. } => told!(
            language,
            "The quote has an invoice already. Open the quote to see it.",
            "Le devis a déjà une facture. Ouvrez le devis pour la voir."
        ),
        ConflictReason::SentAgain => told!(
            language,
            "The quote was sent again meanwhile. Open it again.",
            "Le devis a été renvoyé entre-temps. Rouvrez-le."
        ),
        ConflictReason::NoSigningLink => told!(
            language,
            "The quote was not sent yet. Send it first, then make a link.",
            "Le devis n’est pas encore envoyé. Envoyez-le d’abord, puis créez un lien."
        ),
        ConflictReason::SigningLinksEnded => told!(
            language,
            "The quote can no longer be signed, so no link can be made.",
            "Le devis ne peut plus être signé : aucun lien ne peut être créé."
        ),
        ConflictReason::TooManySigningLinks { max } => told!(
            language,
            "The quote has {max} good links already, which is the most. Revoke one first.",
            "Le devis a déjà {max} liens valables, ce qui est le maximum. Révoquez-en un d’abord."
        ),
        ConflictReason::InvoiceStatus { .. } => told!(
            language,
            "The state of the invoice does not allow this.",
            "L’état de la facture ne le permet pas."
        ),
        ConflictReason::HasPayments => told!(
            language,
            "The invoice has payments. Reverse them first, or issue a credit note.",
            "La facture a des paiements. Annulez-les d’abord, ou émettez un avoir."
        ),
        ConflictReason::CreditedInFull => told!(
            language,
            "The invoice is credited in full. Refund what was paid.",
            "La facture est entièrement reprise par des avoirs. Remboursez ce qui a été payé."
        ),
        ConflictReason::CreditedTooMuch => told!(
            language,
            "The credit notes would exceed the invoice.",
            "Les avoirs dépasseraient la facture."
        ),
        ConflictReason::NoNumber => told!(
            language,
            "The invoice was not issued, so it cannot be credited.",
            "La facture n’est pas émise : elle ne peut pas faire l’objet d’un avoir."
        ),
        ConflictReason::Refunded => told!(
            language,
            "The payment was refunded: reverse the refund first.",
            "Ce paiement a été remboursé : annulez d’abord le remboursement."
        ),
        ConflictReason::Reversed => {
            told!(language, "The payment was reversed already.", "Le paiement est déjà annulé.")
        }
        ConflictReason::KnownMovement { movement, known, amount } => told!(
            language,
            "The movement {movement:?} is that of a payment of {known}. A payment of {amount} needs another one.",
            "Le mouvement {movement:?} est celui d’un paiement de {known}. Un paiement de {amount} en demande un autre."
        ),
        ConflictReason::TooManyWebhooks { max } => told!(
            language,
            "There are {max} webhooks already, which is the most. Remove one first.",
            "Il y a déjà {max} webhooks, ce qui est le maximum. Supprimez-en un d’abord."
        ),
        ConflictReason::WebhookDisabled => told!(
            language,
            "The webhook is disabled. Enable it first.",
            "Le webhook est désactivé. Activez-le d’abord."
        ),
        ConflictReason::OverlapUnderWay => told!(
            language,
            "The secret was just rotated, and the one before it still signs. End that one first.",
            "Le secret vient d’être renouvelé et le précédent signe encore. Révoquez d’abord celui-ci."
        ),
        ConflictReason::TooManyTests { max } => told!(
            language,
            "The webhook got {max} tests within a minute, which is the most. Wait a moment, then send another one.",
            "Le webhook a reçu {max} tests en une minute, ce qui est le maximum. Patientez un instant avant le suivant."
        ),
        ConflictReason::TooManyKeys { max } => told!(
            language,
            "There are {max} active keys already, which is the most. Revoke one first.",
            "Il y a déjà {max} clés actives, ce qui est le maximum. Révoquez-en une d’abord."
        ),
        ConflictReason::AutomaticInvoicing { plan } => told!(
            language,
            "Automatic conversion is not part of the plan {plan}.",
            "La conversion automatique ne fait pas partie de la formule {plan}."
        ),
        ConflictReason::ExternalIdTaken => told!(
            language,
            "Another client has this reference of the other system.",
            "Un autre client a déjà cette référence externe."
        ),
        ConflictReason::CompletedProject => told!(
            language,
            "The project is completed. Open it again first.",
            "Le projet est terminé. Rouvrez-le d’abord."
        ),
        ConflictReason::Changed { .. } => told!(
            language,
            "It was changed meanwhile. Open it again.",
            "Une modification a été faite entre-temps. Rouvrez la page."
        ),
        ConflictReason::KeepsChanging => told!(
            language,
            "It is being changed at this moment. Try again.",
            "Une modification est en cours. Réessayez."
        ),
        ConflictReason::CarriedOut => told!(
            language,
            "The form was sent before, and was carried out.",
            "Le formulaire a déjà été envoyé et traité."
        ),
        // Only calls of the host are refused for these.
        ConflictReason::DispatcherRuns | ConflictReason::NoSealingKey => told!(
            language,
            "The service is not set up for this.",
            "Le service n’est pas configuré pour cela."
        ),
    }
}
