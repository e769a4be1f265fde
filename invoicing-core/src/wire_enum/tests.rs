use super::*;

fn words_survive<T>(all: &[T], as_str: fn(T) -> &'static str, expected: &[&str])
where
    T: Copy + fmt::Debug + fmt::Display + PartialEq + FromStr + Serialize + serde::de::DeserializeOwned,
{
    assert_eq!(all.iter().copied().map(as_str).collect::<Vec<_>>(), expected);
    for &value in all {
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, format!("\"{value}\""));
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
        assert!(value.to_string().parse::<T>().is_ok_and(|parsed| parsed == value));
        assert!(value.to_string().swapcase().parse::<T>().is_err(), "{value}: case counts");
    }
}

/// Swaps the case of a word, so that a reader that ignores case is found.
trait SwapCase {
    fn swapcase(&self) -> String;
}

impl SwapCase for String {
    fn swapcase(&self) -> String {
        let swap =
            |c: char| if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() };
        self.chars().map(swap).collect()
    }
}

/// Rules: RECORD-10, EVENT-3, DELIVERY-1, PLAN-1
#[test]
fn the_words_are_those_of_the_contract() {
    let quote = ["DRAFT", "SENT", "ACCEPTED", "REJECTED", "EXPIRED"];
    words_survive(QuoteStatus::ALL, QuoteStatus::as_str, &quote);
    let invoice = ["DRAFT", "SENT", "PAID", "OVERDUE", "CANCELED"];
    words_survive(InvoiceStatus::ALL, InvoiceStatus::as_str, &invoice);
    words_survive(ProjectStatus::ALL, ProjectStatus::as_str, &["OPEN", "COMPLETED", "CANCELED"]);
    words_survive(ClientType::ALL, ClientType::as_str, &["PARTICULIER", "PROFESSIONNEL"]);
    words_survive(Plan::ALL, Plan::as_str, &["Starter", "Pro", "Team"]);
    let methods = ["transfer", "card", "cheque", "cash", "directDebit", "other"];
    words_survive(PaymentMethod::ALL, PaymentMethod::as_str, &methods);
    words_survive(PaymentSource::ALL, PaymentSource::as_str, &["manual", "entered", "online", "bank"]);
    let disabled = ["manual", "consecutive_failures"];
    words_survive(DisabledReason::ALL, DisabledReason::as_str, &disabled);
    let delivery = ["pending", "delivered", "failed", "skipped"];
    words_survive(DeliveryStatus::ALL, DeliveryStatus::as_str, &delivery);
    let events = [
        "quote.created",
        "quote.signed",
        "quote.accepted",
        "invoice.created",
        "invoice.paid",
        "project.completed",
        "invoice.issued",
        "credit_note.issued",
    ];
    words_survive(EventKind::ALL, EventKind::as_str, &events);
    let classes = [
        "timeout",
        "dns",
        "network",
        "tls",
        "tls_expired",
        "tls_not_yet_valid",
        "tls_wrong_name",
        "tls_unknown_issuer",
        "tls_ca_certificate",
        "tls_bad_certificate",
        "proxy",
        "protocol",
        "target_refused",
        "unsendable",
        "abandoned",
    ];
    words_survive(FailureClass::ALL, FailureClass::as_str, &classes);
}

/// Rules: RECORD-13
#[test]
fn the_words_about_documents_and_vat_are_those_of_the_contract() {
    words_survive(InvoiceType::ALL, InvoiceType::as_str, &["STANDARD", "DEPOSIT", "PROGRESS"]);
    words_survive(DocumentFormat::ALL, DocumentFormat::as_str, &["PDF", "FACTUR_X"]);
    words_survive(VatRegime::ALL, VatRegime::as_str, &["STANDARD", "FRANCHISE"]);
    words_survive(OperationNature::ALL, OperationNature::as_str, &["SERVICES", "GOODS", "MIXED"]);
    words_survive(EInvoicing::ALL, EInvoicing::as_str, &["OFF", "ON"]);
}

#[test]
fn an_unknown_word_is_refused_with_the_list_of_known_ones() {
    let refusal = "DRAFTS".parse::<QuoteStatus>().unwrap_err();
    assert_eq!(refusal.rule.to_string(), "must be one of DRAFT SENT ACCEPTED REJECTED EXPIRED");
    assert!(serde_json::from_str::<QuoteStatus>("\"DRAFTS\"").unwrap_err().to_string().contains("EXPIRED"));
}
