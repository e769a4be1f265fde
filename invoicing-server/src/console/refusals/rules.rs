//! The rules of inputs, for people.

use invoicing_core::{IdentifierKind, LogoRule, MAX_URL_CHARS, Rule, TargetError};

use super::{fields, told};
use crate::console::Language;

/// The end of a sentence that begins with the name of the field.
#[expect(clippy::too_many_lines, reason = "an arm for each rule")]
pub(super) fn words(language: Language, rule: &Rule) -> String {
    let number = |number: &dyn ToString| number.to_string().replace('.', language.pick(".", ","));
    match rule {
        Rule::AtMostCharacters { max } => {
            told!(language, "must have at most {max} characters", "doit avoir au plus {max} caractères")
        }
        Rule::Characters { max } => {
            told!(language, "must have 1 to {max} characters", "doit avoir de 1 à {max} caractères")
        }
        Rule::Character { code_point, position } => told!(
            language,
            "must not contain U+{code_point:04X} (character {position})",
            "ne doit pas contenir U+{code_point:04X} (caractère {position})"
        ),
        Rule::Email => told!(language, "must be an e-mail address", "doit être une adresse e-mail"),
        Rule::EmailDomain => told!(
            language,
            "must have a domain with a dot, as in marie@example.com",
            "doit avoir un domaine avec un point, comme marie@exemple.fr"
        ),
        Rule::Identifier(kind) => identifier(language, *kind),
        Rule::Siret => told!(language, "must have 14 digits", "doit avoir 14 chiffres"),
        Rule::ElectronicAddress => told!(
            language,
            "must have at most 125 letters, digits, +, -, _ and ., such as a SIREN",
            "doit avoir au plus 125 lettres, chiffres, +, -, _ et ., par exemple un SIREN"
        ),
        Rule::Color => {
            told!(language, "must be a colour such as #16486e", "doit être une couleur, par exemple #16486e")
        }
        Rule::Currency => told!(
            language,
            "must be the code of a currency with two decimals, such as EUR",
            "doit être le code d’une devise à deux décimales, par exemple EUR"
        ),
        Rule::TimeZone => told!(
            language,
            "must be a time zone such as Europe/Paris",
            "doit être un fuseau horaire, par exemple Europe/Paris"
        ),
        Rule::Sha256 => {
            told!(language, "must be the hash of a document", "doit être l’empreinte d’un document")
        }
        Rule::Target(error) => target(language, *error),
        Rule::OneOf { .. } | Rule::Choice => {
            told!(language, "is none of the choices", "ne figure pas parmi les choix")
        }
        Rule::AtLeastOneEvent => told!(language, "choose at least one", "choisissez-en au moins un"),
        Rule::ClientOfCompany => told!(language, "choose a client", "choisissez un client"),
        Rule::QuotesOfCompany => {
            told!(language, "choose quotes of your company", "choisissez des devis de votre entreprise")
        }
        Rule::DecimalNumber { .. } => {
            told!(language, "must be a number, such as 12.5", "doit être un nombre, par exemple 12,5")
        }
        Rule::NumberOfPage => told!(
            language,
            "must be a number such as 1,234.5, with a point before its decimals",
            "doit être un nombre comme 1\u{202f}234,5, avec une virgule avant ses décimales"
        ),
        Rule::AtMostDecimals { max, .. } => {
            told!(language, "must have at most {max} decimals", "doit avoir au plus {max} décimales")
        }
        Rule::NumberSize { .. } | Rule::TooLargeToCompute => {
            told!(language, "is too large", "est trop grand")
        }
        Rule::IntegerFrom { min, max } => told!(
            language,
            "must be a whole number from {min} to {max}",
            "doit être un nombre entier de {min} à {max}"
        ),
        Rule::Above0 => told!(language, "must be above 0", "doit être supérieur à 0"),
        Rule::Not0 => told!(language, "must not be 0", "ne doit pas être 0"),
        Rule::Between0And { max } => {
            told!(language, "must be between 0 and {max}", "doit être entre 0 et {max}")
        }
        Rule::PageTooLarge { limit } => told!(
            language,
            "must be at most {limit} here, as the page would be too large",
            "doit être de {limit} au plus ici : la page serait trop grande"
        ),
        Rule::DateOutOfRange => told!(
            language,
            "must be a date between the years 0 and 9999",
            "doit être une date entre les années 0 et 9999"
        ),
        Rule::Date => {
            told!(language, "must be a date such as 2026-09-14", "doit être une date, par exemple 2026-09-14")
        }
        Rule::LocalTime => told!(
            language,
            "must be a date and a time, such as 2026-09-14T09:41",
            "doit être une date et une heure, par exemple 2026-09-14T09:41"
        ),
        Rule::Instant(_) => told!(
            language,
            "must be a date and a time, as the page before has sent it",
            "doit être une date et une heure, telles que la page précédente les a envoyées"
        ),
        Rule::InThePast => told!(language, "must not be in the past", "ne doit pas être passé"),
        Rule::InTheFuture => told!(language, "must not be in the future", "ne doit pas être à venir"),
        Rule::Before { first } => {
            let first = fields::name(language, first);
            told!(language, "must not be before: {first}", "ne doit pas précéder : {first}")
        }
        Rule::BeforeSent { .. } => told!(
            language,
            "must not be before the sending of the quote",
            "ne doit pas précéder l’envoi du devis"
        ),
        Rule::BeforeIssue { issued } => told!(
            language,
            "must not be before the date of the invoice, {issued}",
            "ne doit pas précéder la date de la facture, {issued}"
        ),
        Rule::Hours { max } => {
            told!(language, "must be 0 to {max} hours", "doit être de 0 à {max} heures")
        }
        Rule::AtMostDays { max } => {
            told!(language, "must be at most {max} days", "doit être de {max} jours au plus")
        }
        Rule::AtMostLines { max } => {
            told!(language, "must be at most {max} lines", "doivent être {max} au plus")
        }
        Rule::LinesTooLong => told!(
            language,
            "must be shorter: its texts have over 2 MiB together",
            "doit être plus court : ses textes dépassent 2 Mio ensemble"
        ),
        Rule::NegativePrice => told!(
            language,
            "must not be negative; enter a discount as a negative quantity",
            "ne doit pas être négatif ; saisissez une remise par une quantité négative"
        ),
        Rule::TotalBelow0 => {
            told!(language, "must not add up to a total below 0", "ne doivent pas former un total négatif")
        }
        Rule::Total(_) => {
            told!(language, "add up to a total that is too large", "forment un total trop grand")
        }
        Rule::BlendedRate => told!(
            language,
            "blend to a VAT rate that is too large",
            "donnent un taux de TVA moyen trop grand"
        ),
        Rule::RateOfReverseCharge => told!(
            language,
            "must be 0, as the client owes the VAT",
            "doit être 0 : la TVA est due par le client (autoliquidation)"
        ),
        Rule::SentDraft => told!(language, "does not go with a draft", "ne va pas avec un brouillon"),
        Rule::AcceptedOnly => {
            told!(language, "goes only with an accepted quote", "ne va qu’avec un devis accepté")
        }
        Rule::LinesOfQuote { .. } => {
            told!(language, "must not be empty in this state", "ne doivent pas être vides dans cet état")
        }
        Rule::AllAndItems => told!(
            language,
            "either all that is left or a part is credited, not both",
            "soit tout le reste, soit une partie, mais pas les deux"
        ),
        Rule::NothingToCredit => told!(language, "must be more than nothing", "ne doit pas être vide"),
        Rule::AtMostItems => {
            told!(language, "must have at most 5,000 parts", "doit avoir au plus 5 000 parties")
        }
        Rule::MoreThanLeft { left } => {
            let left = number(left);
            told!(
                language,
                "must not be more than is left of the invoice, {left}",
                "ne doit pas dépasser ce qui reste de la facture, {left}"
            )
        }
        Rule::CreditAbove0 => {
            told!(language, "must add up to an amount above 0", "doit former un total supérieur à 0")
        }
        Rule::LeavesPartOfRate => told!(
            language,
            "takes the whole total but leaves a part of a VAT rate; credit all that is left instead",
            "reprend tout le total mais laisse une partie d’un taux de TVA ; choisissez plutôt tout le reste"
        ),
        Rule::LineOfInvoice => {
            told!(language, "must be a line of the invoice", "doit être une ligne de la facture")
        }
        Rule::PartOfQuantity { left } => {
            let left = number(left);
            told!(
                language,
                "must be a part of what is left, {left}",
                "doit être une partie de ce qui reste, {left}"
            )
        }
        Rule::RateOfInvoice => {
            told!(language, "must be a VAT rate of the invoice", "doit être un taux de TVA de la facture")
        }
        Rule::MoreThanLeftOfRate { left, rate } => {
            let (left, rate) = (number(left), number(rate));
            told!(
                language,
                "must be at most {left} excl. VAT at the rate of {rate}%",
                "doit être de {left} HT au plus au taux de {rate} %"
            )
        }
        Rule::MoreThanOverpaid { overpaid } => {
            let overpaid = number(overpaid);
            told!(
                language,
                "must be above 0 and at most what is overpaid, {overpaid}",
                "doit être supérieur à 0 et ne pas dépasser le trop-perçu, {overpaid}"
            )
        }
        Rule::NoGlyph { sign, position } => told!(
            language,
            "has the character {sign} (character {position}), which cannot be printed",
            "contient le caractère {sign} (caractère {position}), qui ne s’imprime pas"
        ),
        Rule::TooLongToPrint { .. } => {
            told!(language, "is too long for a page", "est trop long pour une page")
        }
        Rule::ClusterTooLong { max } => told!(
            language,
            "has more than {max} characters in the place of one",
            "contient plus de {max} caractères à la place d’un seul"
        ),
        Rule::Invisible => told!(language, "has nothing that can be seen", "n’a rien de visible"),
        Rule::TooSlowToPrint => told!(language, "take too long to print", "sont trop longues à imprimer"),
        Rule::TooManyPages { max } => {
            told!(language, "fill more than {max} pages", "remplissent plus de {max} pages")
        }
        Rule::Logo(rule) => logo(language, *rule),
        Rule::CharacterOfXml { code_point, .. } => told!(
            language,
            "has the character U+{code_point:04X}, which no electronic invoice can have",
            "contient le caractère U+{code_point:04X}, qu’une facture électronique ne peut pas avoir"
        ),
        Rule::NoEInvoice => {
            told!(language, "must be an invoice or a credit note", "doit être une facture ou un avoir")
        }
        Rule::RateOf0 => {
            told!(language, "must not be 0 without a reason in law", "ne doit pas être 0 sans motif légal")
        }
        Rule::Law { article, english, french } => {
            told!(language, "{english} ({article})", "{french} ({article})")
        }
        Rule::EInvoicingOn { gaps } => told!(
            language,
            "cannot be on, as legal data is missing: {gaps}",
            "ne peut pas être activée : il manque des mentions légales"
        ),
        Rule::Uuid => told!(language, "must be an identifier", "doit être un identifiant"),
        Rule::Cursor => told!(
            language,
            "must be reached from the page before",
            "doit être atteinte depuis la page précédente"
        ),
        Rule::VersionOfNothing => {
            told!(language, "does not go with a creation", "ne va pas avec une création")
        }
        Rule::OfHost(rule) => told!(language, "{rule}", "n’est pas acceptable ; corrigez la saisie"),
    }
}

fn identifier(language: Language, kind: IdentifierKind) -> String {
    match kind {
        IdentifierKind::Siren => told!(
            language,
            "must be a SIREN: 9 digits, the last one a check digit",
            "doit être un SIREN : 9 chiffres, dont une clé"
        ),
        IdentifierKind::VatNumber => told!(
            language,
            "must be a VAT number such as FR44732829320",
            "doit être un numéro de TVA, par exemple FR44732829320"
        ),
        IdentifierKind::Iban => told!(
            language,
            "must be an IBAN with valid check digits",
            "doit être un IBAN dont la clé est juste"
        ),
        IdentifierKind::Bic => {
            told!(language, "must be a BIC of 8 or 11 characters", "doit être un BIC de 8 ou 11 caractères")
        }
        IdentifierKind::Country => told!(
            language,
            "must be a country code of two letters, such as FR",
            "doit être un code de pays de deux lettres, par exemple FR"
        ),
    }
}

fn target(language: Language, error: TargetError) -> String {
    match error {
        TargetError::TooLong => told!(
            language,
            "must have at most {MAX_URL_CHARS} characters",
            "doit avoir au plus {MAX_URL_CHARS} caractères"
        ),
        TargetError::Malformed => told!(
            language,
            "must be a whole address, such as https://example.com/hooks",
            "doit être une adresse complète, par exemple https://example.com/hooks"
        ),
        TargetError::NotHttps | TargetError::NotHttp => {
            told!(language, "must begin with https://", "doit commencer par https://")
        }
        TargetError::NoHost => told!(
            language,
            "must name a server, as in https://example.com/hooks",
            "doit nommer un serveur, comme dans https://example.com/hooks"
        ),
        TargetError::UserInfo => told!(
            language,
            "must not contain a user name or a password",
            "ne doit contenir ni nom d’utilisateur ni mot de passe"
        ),
        TargetError::Fragment => {
            told!(language, "must not contain a part behind #", "ne doit pas contenir de partie derrière #")
        }
        TargetError::Port(port) => told!(
            language,
            "must not use port {port}, which is not one of the web",
            "ne doit pas utiliser le port {port}, qui n’est pas un port du web"
        ),
        TargetError::PrivateAddress => told!(
            language,
            "must lead to a public address, not to a private or local one",
            "doit mener à une adresse publique, et non privée ou locale"
        ),
        TargetError::LocalName => told!(
            language,
            "must name a server on the public internet, not a local one",
            "doit nommer un serveur public d’Internet, et non un serveur local"
        ),
    }
}

fn logo(language: Language, rule: LogoRule) -> String {
    match rule {
        LogoRule::Bytes => told!(language, "must have at most 256 KiB", "doit avoir au plus 256 Kio"),
        LogoRule::Format => told!(language, "must be a PNG or a JPEG", "doit être une image PNG ou JPEG"),
        LogoRule::Damaged => told!(language, "is damaged", "est endommagée"),
        LogoRule::Depth => {
            told!(language, "must have at most 8 bits per channel", "doit avoir au plus 8 bits par canal")
        }
        LogoRule::Colors => told!(language, "must be in grey or RGB", "doit être en gris ou en RVB"),
        LogoRule::Pixels => {
            told!(language, "must have at most 1 megapixel", "doit avoir au plus 1 mégapixel")
        }
        LogoRule::Incompressible => told!(
            language,
            "must have at most 256 KiB of pixels once they are compressed",
            "doit avoir au plus 256 Kio de pixels une fois compressés"
        ),
        LogoRule::Side => told!(
            language,
            "must have at most 65,535 pixels on a side",
            "doit avoir au plus 65 535 pixels de côté"
        ),
        LogoRule::Turned => told!(
            language,
            "must be saved upright: its metadata (Exif) turn it, and documents keep none",
            "doit être enregistrée à l’endroit : ses métadonnées (Exif) la tournent, et les documents n’en gardent aucune"
        ),
    }
}
