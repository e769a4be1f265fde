//! The sentences of operations, with their texts for people.

/// A sentence of an operation, and its text for the reader in English and in French. `{}` stands
/// for a part that is taken over unchanged, `{#}` for one that is a number.
pub(super) type Sentence = (&'static str, &'static str, &'static str);

/// The names of fields, by the names that operations use.
pub(super) const FIELDS: &[Sentence] = &[
    ("url", "Address of the receiver", "Adresse du récepteur"),
    ("events", "Events", "Événements"),
    ("label", "Name", "Nom"),
    ("overlap", "Overlap", "Chevauchement"),
    ("since", "Since", "Depuis le"),
    ("last", "Period", "Période"),
    ("from", "From", "Depuis"),
    ("until", "Before", "Avant"),
    ("status", "State", "État"),
    ("kind", "Event", "Événement"),
    ("before", "Page", "Page"),
    ("q", "Search", "Recherche"),
    ("record", "Record", "Enregistrement"),
    ("validUntil", "Valid until", "Valable jusqu’au"),
    ("lines", "Lines", "Lignes"),
    ("client", "Client", "Client"),
    ("clientId", "Client", "Client"),
    ("dueDate", "Due date", "Échéance"),
    ("suppliedOn", "Date of the supply", "Date de la prestation"),
    ("amount", "Amount", "Montant"),
    ("method", "Method", "Moyen de paiement"),
    ("reference", "Reference", "Référence"),
    ("reason", "Reason", "Motif"),
    ("items", "Credit", "Avoir"),
    ("description", "Text of the reduction", "Libellé de la réduction"),
    ("tvaRate", "VAT rate", "Taux de TVA"),
];

/// The parts of a line.
pub(super) const PARTS: &[Sentence] = &[
    ("description", "description", "désignation"),
    ("unit", "unit", "unité"),
    ("lot", "lot", "lot"),
    ("section", "section", "section"),
    ("quantity", "quantity", "quantité"),
    ("unitPrice", "unit price", "prix unitaire"),
    ("tvaRate", "VAT rate", "taux de TVA"),
    ("totalHT", "total excl. VAT", "total HT"),
];

/// The rules of fields.
pub(super) const RULES: &[Sentence] = &[
    (
        "must have at most {} characters",
        "must have at most {} characters",
        "doit avoir au plus {} caractères",
    ),
    ("must have 1 to {} characters", "must have 1 to {} characters", "doit avoir de 1 à {} caractères"),
    (
        "must not contain {} (character {})",
        "must not contain {} (character {})",
        "ne doit pas contenir {} (caractère {})",
    ),
    (
        "must be an absolute URL such as https://example.com/hooks",
        "must be a whole address, such as https://example.com/hooks",
        "doit être une adresse complète, par exemple https://example.com/hooks",
    ),
    ("must start with https://{}", "must begin with https://", "doit commencer par https://"),
    (
        "must name a host, as in https://example.com/hooks",
        "must name a server, as in https://example.com/hooks",
        "doit nommer un serveur, comme dans https://example.com/hooks",
    ),
    (
        "must not contain a user name or password; {}",
        "must not contain a user name or a password",
        "ne doit contenir ni nom d’utilisateur ni mot de passe",
    ),
    (
        "must not contain a fragment {}",
        "must not contain a part behind #",
        "ne doit pas contenir de partie derrière #",
    ),
    (
        "must not use port {}, which {}",
        "must not use port {}, which is not one of the web",
        "ne doit pas utiliser le port {}, qui n’est pas un port du web",
    ),
    (
        "must lead to a public address, {}",
        "must lead to a public address, not to a private or local one",
        "doit mener à une adresse publique, et non privée ou locale",
    ),
    (
        "must name a host on the public internet, {}",
        "must name a server on the public internet, not a local one",
        "doit nommer un serveur public d’Internet, et non un serveur local",
    ),
    ("must name at least one event", "choose at least one", "choisissez-en au moins un"),
    ("must be one of {}", "is none of the choices", "ne figure pas parmi les choix"),
    ("must be 0 to 168 hours", "must be 0 to 168 hours", "doit être de 0 à 168 heures"),
    ("must be at most 7 days", "must be at most 7 days", "doit être de 7 jours au plus"),
    (
        "must be an instant with {}",
        "must be a date and a time, as the page before has sent it",
        "doit être une date et une heure, telles que la page précédente les a envoyées",
    ),
    (
        "must be such as 2026-09-14T09:41",
        "must be a date and a time, such as 2026-09-14T09:41",
        "doit être une date et une heure, par exemple 2026-09-14T09:41",
    ),
    (
        "must be what the page before has named",
        "must be reached from the page before",
        "doit être atteinte depuis la page précédente",
    ),
    ("must be an identifier", "must be an identifier", "doit être un identifiant"),
    (
        "must be a date such as 2026-09-14",
        "must be a date such as 2026-09-14",
        "doit être une date, par exemple 2026-09-14",
    ),
    ("must not be in the past", "must not be in the past", "ne doit pas être passé"),
    (
        "has {}, which no font of the document has",
        "has the character {}, which cannot be printed",
        "contient le caractère {}, qui ne s’imprime pas",
    ),
    ("take too long to print", "take too long to print", "sont trop longues à imprimer"),
    ("fill more than {} pages", "fill more than {} pages", "remplissent plus de {} pages"),
    (
        "must be a number as the language of the page writes it",
        "must be a number such as 1,234.5, with a point before its decimals",
        "doit être un nombre comme 1\u{202f}234,5, avec une virgule avant ses décimales",
    ),
    (
        "must be a decimal number such as 12.5, not {}",
        "must be a number, such as 12.5",
        "doit être un nombre, par exemple 12,5",
    ),
    (
        "must have at most {} decimals, not as in {}",
        "must have at most {} decimals",
        "doit avoir au plus {} décimales",
    ),
    ("must be below {} in size, which {} is not", "is too large", "est trop grand"),
    ("is too large to compute", "is too large", "est trop grand"),
    ("must be above 0", "must be above 0", "doit être supérieur à 0"),
    (
        "must be above 0 and not above what is overpaid, {}",
        "must be above 0 and at most what is overpaid, {#}",
        "doit être supérieur à 0 et ne pas dépasser le trop-perçu, {#}",
    ),
    (
        "must not be before the issue date, {}, which is never before that of the last invoice",
        "must not be before the date of the invoice, {}",
        "ne doit pas précéder la date de la facture, {}",
    ),
    (
        "must be a date between the years 0 and 9999",
        "must be a date between the years 0 and 9999",
        "doit être une date entre les années 0 et 9999",
    ),
    (
        "must have at most 2 MiB of JSON together",
        "must be shorter: its texts have over 2 MiB together",
        "doit être plus court : ses textes dépassent 2 Mio ensemble",
    ),
    (
        "must be empty if all that is left is credited",
        "either all that is left or a part is credited, not both",
        "soit tout le reste, soit une partie, mais pas les deux",
    ),
    ("must name something to credit", "must be more than nothing", "ne doit pas être vide"),
    ("must be at most 5,000", "must have at most 5,000 parts", "doit avoir au plus 5 000 parties"),
    (
        "must not credit more than is left, {}",
        "must not be more than is left of the invoice, {#}",
        "ne doit pas dépasser ce qui reste de la facture, {#}",
    ),
    (
        "must add up to an amount above 0",
        "must add up to an amount above 0",
        "doit former un total supérieur à 0",
    ),
    (
        "must not credit the whole total and leave a part of a rate",
        "takes the whole total but leaves a part of a VAT rate; credit all that is left instead",
        "reprend tout le total mais laisse une partie d’un taux de TVA ; choisissez plutôt tout le reste",
    ),
    (
        "must credit at most {} without VAT at the rate of {} %",
        "must be at most {#} excl. VAT at the rate of {#}%",
        "doit être de {#} HT au plus au taux de {#} %",
    ),
    (
        "must be the index of a line of the invoice",
        "must be a line of the invoice",
        "doit être une ligne de la facture",
    ),
    (
        "must be a part of what is left, {}",
        "must be a part of what is left, {#}",
        "doit être une partie de ce qui reste, {#}",
    ),
    (
        "must be a VAT rate of the invoice",
        "must be a VAT rate of the invoice",
        "doit être un taux de TVA de la facture",
    ),
    (
        "must not be negative; enter a discount as a negative quantity",
        "must not be negative; enter a discount as a negative quantity",
        "ne doit pas être négatif ; saisissez une remise par une quantité négative",
    ),
    // The text of the rule is in English; the page of the issue has it in French.
    ("breaks {}: {}", "breaks {}: {}", "doit d’abord être corrigé : voir « Émettre la facture » ({})"),
    ("must be a client of the company", "choose a client", "choisissez un client"),
    ("must be between 0 and 100", "must be between 0 and 100", "doit être entre 0 et 100"),
    (
        "must not add up to a total below 0",
        "must not add up to a total below 0",
        "ne doivent pas former un total négatif",
    ),
    ("add up to a total that {}", "add up to a total that is too large", "forment un total trop grand"),
];

/// The reasons why the state of a record forbids an operation.
pub(super) const CONFLICTS: &[Sentence] = &[
    (
        "the form was already carried out",
        "The form was sent before, and was carried out.",
        "Le formulaire a déjà été envoyé et traité.",
    ),
    (
        "a company has at most {} webhooks",
        "There are {} webhooks already, which is the most. Remove one first.",
        "Il y a déjà {} webhooks, ce qui est le maximum. Supprimez-en un d’abord.",
    ),
    (
        "the webhook is disabled; enable it first",
        "The webhook is disabled. Enable it first.",
        "Le webhook est désactivé. Activez-le d’abord.",
    ),
    (
        "an overlap is under way already; end it first",
        "The secret was just rotated, and the one before it still signs. End that one first.",
        "Le secret vient d’être renouvelé et le précédent signe encore. Révoquez d’abord celui-ci.",
    ),
    (
        "a webhook gets at most {} tests a minute; try again soon",
        "The webhook got {} tests within a minute, which is the most. Wait a moment, then send another one.",
        "Le webhook a reçu {} tests en une minute, ce qui est le maximum. Patientez un instant avant le suivant.",
    ),
    (
        "a company has at most {} active keys; revoke one first",
        "There are {} active keys already, which is the most. Revoke one first.",
        "Il y a déjà {} clés actives, ce qui est le maximum. Révoquez-en une d’abord.",
    ),
    (
        "a quote has at most {} good signing links; revoke one first",
        "The quote has {} good links already, which is the most. Revoke one first.",
        "Le devis a déjà {} liens valables, ce qui est le maximum. Révoquez-en un d’abord.",
    ),
    (
        "a quote without a document has no signing link; send it first",
        "The quote was not sent yet. Send it first, then make a link.",
        "Le devis n’est pas encore envoyé. Envoyez-le d’abord, puis créez un lien.",
    ),
    (
        "the signing links of the quote have ended",
        "The quote can no longer be signed, so no link can be made.",
        "Le devis ne peut plus être signé : aucun lien ne peut être créé.",
    ),
    (
        "a quote without lines cannot be sent",
        "The quote has no line yet. Add one, then send it.",
        "Le devis n’a pas encore de ligne. Ajoutez-en une, puis envoyez-le.",
    ),
    ("a quote without lines cannot be accepted", "Enter at least one line.", "Saisissez au moins une ligne."),
    (
        "the quote's validity has ended",
        "The validity of the quote has ended.",
        "La validité du devis est dépassée.",
    ),
    (
        "a quote in {} cannot be {}",
        "The quote has changed meanwhile, and its state no longer allows this.",
        "Le devis a changé entre-temps, et son état ne le permet plus.",
    ),
    (
        "the quote was sent again since its document was shown",
        "The quote was sent again meanwhile. Open it again.",
        "Le devis a été renvoyé entre-temps. Rouvrez-le.",
    ),
    (
        "{} was changed meanwhile",
        "It was changed meanwhile. Open it again.",
        "Une modification a été faite entre-temps. Rouvrez la page.",
    ),
    (
        "the record keeps changing; try again",
        "It is being changed at this moment. Try again.",
        "Une modification est en cours. Réessayez.",
    ),
    (
        "the quote has been converted to invoice {}",
        "The quote has an invoice already. Open the quote to see it.",
        "Le devis a déjà une facture. Ouvrez le devis pour la voir.",
    ),
    (
        "an invoice in {} cannot be {}",
        "The state of the invoice does not allow this.",
        "L’état de la facture ne le permet pas.",
    ),
    (
        "an invoice with payments cannot be cancelled; reverse them first",
        "The invoice has payments. Reverse them first, or issue a credit note.",
        "La facture a des paiements. Annulez-les d’abord, ou émettez un avoir.",
    ),
    (
        "the invoice is credited in full; refund what was paid",
        "The invoice is credited in full. Refund what was paid.",
        "La facture est entièrement reprise par des avoirs. Remboursez ce qui a été payé.",
    ),
    (
        "the credit notes would exceed the invoice",
        "The credit notes would exceed the invoice.",
        "Les avoirs dépasseraient la facture.",
    ),
    (
        "an invoice without a number cannot be credited",
        "The invoice was not issued, so it cannot be credited.",
        "La facture n’est pas émise : elle ne peut pas faire l’objet d’un avoir.",
    ),
    (
        "the payment was refunded: its refund must be reversed first",
        "The payment was refunded: reverse the refund first.",
        "Ce paiement a été remboursé : annulez d’abord le remboursement.",
    ),
    (
        "the payment has been reversed already",
        "The payment was reversed already.",
        "Le paiement est déjà annulé.",
    ),
    (
        "the movement {} is that of a payment of {}; a payment of {} needs another one",
        "The movement {} is that of a payment of {}. A payment of {} needs another one.",
        "Le mouvement {} est celui d’un paiement de {}. Un paiement de {} en demande un autre.",
    ),
];
