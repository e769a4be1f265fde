//! The names of fields on the pages.

use crate::console::Language;

/// The name of a field for programs, and its name on the pages in English and in French.
type Name = (&'static str, &'static str, &'static str);

/// The names of fields, by the names that operations use.
const FIELDS: &[Name] = &[
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
    ("orderNumber", "Order number", "Numéro de commande"),
    ("amount", "Amount", "Montant"),
    ("method", "Method", "Moyen de paiement"),
    ("reference", "Reference", "Référence"),
    ("reason", "Reason", "Motif"),
    ("items", "Credit", "Avoir"),
    ("description", "Text of the reduction", "Libellé de la réduction"),
    ("tvaRate", "VAT rate", "Taux de TVA"),
    ("clientName", "Name of the client", "Nom du client"),
    ("clientEmail", "E-mail of the client", "E-mail du client"),
    ("name", "Name", "Nom"),
    ("type", "Kind", "Type"),
    ("email", "E-mail", "E-mail"),
    ("phone", "Telephone", "Téléphone"),
    ("address", "Street address", "Adresse"),
    ("zipCode", "Postal code", "Code postal"),
    ("city", "Town", "Ville"),
    ("country", "Country", "Pays"),
    ("billingAddress.address", "Billing address, street", "Adresse de facturation, rue"),
    ("billingAddress.zipCode", "Billing address, postal code", "Adresse de facturation, code postal"),
    ("billingAddress.city", "Billing address, town", "Adresse de facturation, ville"),
    ("billingAddress.country", "Billing address, country", "Adresse de facturation, pays"),
    ("siren", "SIREN", "SIREN"),
    ("siret", "SIRET", "SIRET"),
    ("vatNumber", "VAT number", "Numéro de TVA"),
    ("electronicAddress", "Electronic address", "Adresse électronique"),
    ("externalId", "Number in another system", "Numéro dans un autre système"),
    ("notes", "Notes", "Notes"),
    ("legalForm", "Legal form", "Forme juridique"),
    ("shareCapital", "Share capital", "Capital social"),
    ("registration", "Register", "Immatriculation"),
    ("insurance", "Ten-year insurance", "Assurance décennale"),
    ("mediator", "Mediator", "Médiateur"),
    ("wasteTerms", "Handling of waste", "Gestion des déchets"),
    ("terms", "Conditions", "Conditions"),
    ("latePenalty", "Late payment", "Retard de paiement"),
    ("earlyPayment", "Early payment", "Paiement anticipé"),
    ("iban", "IBAN", "IBAN"),
    ("bic", "BIC", "BIC"),
    ("eInvoicing", "Electronic invoices", "Factures électroniques"),
];

/// The records of which a document shows fields.
const RECORDS: &[Name] = &[("company", "Company", "Entreprise"), ("client", "Client", "Client")];

/// The parts of a line.
const PARTS: &[Name] = &[
    ("description", "description", "désignation"),
    ("unit", "unit", "unité"),
    ("lot", "lot", "lot"),
    ("section", "section", "section"),
    ("quantity", "quantity", "quantité"),
    ("unitPrice", "unit price", "prix unitaire"),
    ("tvaRate", "VAT rate", "taux de TVA"),
    ("totalHT", "total excl. VAT", "total HT"),
];

/// The name of a field, as the pages have it: `lines[2].unit` is the unit of line 3, and
/// `client.siren` the client's SIREN.
pub(super) fn name(language: Language, field: &str) -> String {
    if let Some(name) = find(language, FIELDS, field) {
        return name.to_owned();
    }
    let of_line = || {
        let (index, part) = field.strip_prefix("lines[")?.split_once("].")?;
        let number = index.parse::<usize>().ok()? + 1;
        let part = find(language, PARTS, part)?;
        Some(format!("{} {number}, {part}", language.pick("Line", "Ligne")))
    };
    let of_record = || {
        let (record, field) = field.split_once('.')?;
        Some(format!("{}, {}", find(language, RECORDS, record)?, find(language, FIELDS, field)?))
    };
    of_line().or_else(of_record).unwrap_or_else(|| field.to_owned())
}

fn find(language: Language, names: &[Name], field: &str) -> Option<&'static str> {
    let (_, english, french) = names.iter().find(|(name, ..)| *name == field)?;
    Some(language.pick(english, french))
}
