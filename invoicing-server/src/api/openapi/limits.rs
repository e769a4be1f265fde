//! The numbers of the document. Each stands in the code once, and replaces its name in the
//! descriptions.

use invoicing_core::internal::{LONG_TEXT, SHORT_TEXT, page_limit};
use invoicing_core::{
    DEFAULT_PAGE_LIMIT, DISABLE_AFTER_FAILURES, MAX_LINES, MAX_LINES_BYTES, MAX_PAGE_LIMIT, QUOTA_WINDOW_MS,
    RetryPolicy,
};
use rust_decimal::Decimal;
use serde_json::Value;

use crate::access::IDLE_LIMIT_MS;
use crate::config::{HEAD_BYTES, HEAD_FIELDS, HEAD_TIME_MS, MAX_BODY_BYTES, Settings};
use crate::documents::DOCUMENT_URL_VALID_MS;
use crate::operations::MAX_WEBHOOKS;

const QUOTA_SECONDS: i64 = QUOTA_WINDOW_MS / 1_000;

/// Replaces each `{{name}}` in the texts and the names of a document.
pub(super) fn fill(document: &mut Value, settings: &Settings) {
    fill_with(document, &numbers(settings));
}

/// The value of each name in double braces.
fn numbers(settings: &Settings) -> Vec<(&'static str, String)> {
    let (dispatch, requests) = (&settings.dispatch, &settings.requests);
    vec![
        ("brand", settings.brand.clone()),
        ("base_url", settings.base_url.trim_end_matches('/').to_owned()),
        ("repository", env!("CARGO_PKG_REPOSITORY").to_owned()),
        ("quota", quota(settings.quota)),
        ("quota_rule", quota_rule(settings.quota)),
        ("quota_seconds", QUOTA_SECONDS.to_string()),
        ("default_limit", DEFAULT_PAGE_LIMIT.to_string()),
        ("max_limit", MAX_PAGE_LIMIT.to_string()),
        ("page_mib", (page_limit::MAX_PAGE_BYTES / 1024 / 1024).to_string()),
        ("max_lines", MAX_LINES.to_string()),
        ("lines_mib", (MAX_LINES_BYTES / 1024 / 1024).to_string()),
        ("short_text", SHORT_TEXT.to_string()),
        ("long_text", LONG_TEXT.to_string()),
        ("head_kib", (HEAD_BYTES / 1024).to_string()),
        ("head_fields", HEAD_FIELDS.to_string()),
        ("head_seconds", seconds(HEAD_TIME_MS)),
        ("body_kib", (MAX_BODY_BYTES / 1024).to_string()),
        ("body_seconds", seconds(requests.body_time_ms)),
        ("url_minutes", (DOCUMENT_URL_VALID_MS / 60_000).to_string()),
        ("idle_days", (IDLE_LIMIT_MS / 86_400_000).to_string()),
        ("max_webhooks", MAX_WEBHOOKS.to_string()),
        ("attempts", attempts(dispatch.max_attempts)),
        ("attempts_rule", attempts_rule(dispatch.max_attempts)),
        ("attempt_seconds", seconds(dispatch.attempt_timeout_ms)),
        ("disable_after", DISABLE_AFTER_FAILURES.to_string()),
        ("tolerance_seconds", webhook_verify::TOLERANCE_SECONDS.to_string()),
    ]
}

/// The number of requests that a key may make.
fn quota(requests: u32) -> String {
    match requests {
        0 => "any number".to_owned(),
        requests => format!("{requests} in any {QUOTA_SECONDS} s"),
    }
}

fn quota_rule(requests: u32) -> String {
    match requests {
        0 => "This service has no quota: it accepts any number of requests, answers none with 429 and sends no `RateLimit` headers."
            .to_owned(),
        requests => format!(
            "In no window of {QUOTA_SECONDS} s are more than {requests} requests of one key accepted. Each answer to a valid key says \
             where it stands: `RateLimit-Limit` (requests in any {QUOTA_SECONDS} s), `RateLimit-Remaining` (requests that would pass \
             now), `RateLimit-Reset` (seconds, not an instant, until more would pass). Beyond the quota the answer is 429 with \
             `Retry-After` in seconds. Refused requests (401, 403, 429) do not count, and normally a 503 `overloaded` does not \
             either; one that is refused later, such as a 404, does."
        ),
    }
}

fn seconds(millis: u64) -> String {
    Decimal::new(i64::try_from(millis).unwrap_or(i64::MAX), 3).normalize().to_string()
}

/// The number of attempts of a delivery.
fn attempts(max: u32) -> String {
    match max {
        1 => "1 attempt".to_owned(),
        max => format!("at most {max} attempts"),
    }
}

/// The rule for the times of further attempts.
fn attempts_rule(max: u32) -> String {
    if max <= 1 {
        return "A delivery has a single attempt: none follows, whatever you answer.".to_owned();
    }
    format!(
        "A delivery has at most {max} attempts, with {}; up to {} % is added. A `Retry-After` on your 429 or 503 lengthens the gap, \
         up to {} s.",
        gaps(max),
        RetryPolicy::JITTER_PERCENT,
        RetryPolicy::RETRY_AFTER_LIMIT_MS / 1_000
    )
}

/// The gaps between `attempts` attempts: `gaps of 1 s and 5 s`. The last one repeats.
fn gaps(attempts: u32) -> String {
    let different = (1..attempts).take(RetryPolicy::GAPS_MS.len());
    let gaps: Vec<_> =
        different.map(|attempt| format!("{} s", RetryPolicy::gap_ms(attempt) / 1_000)).collect();
    let rest = if (1..attempts).len() > gaps.len() { " from then on" } else { "" };
    match gaps.split_last() {
        Some((only, [])) => format!("a gap of {only}"),
        Some((last, others)) => format!("gaps of {} and {last}{rest}", others.join(", ")),
        None => String::new(),
    }
}

fn fill_with(value: &mut Value, numbers: &[(&str, String)]) {
    match value {
        Value::String(text) => *text = filled(text, numbers),
        Value::Array(values) => values.iter_mut().for_each(|value| fill_with(value, numbers)),
        Value::Object(members) => {
            let filled_members = std::mem::take(members).into_iter().map(|(name, mut value)| {
                fill_with(&mut value, numbers);
                (filled(&name, numbers), value)
            });
            *members = filled_members.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn filled(text: &str, numbers: &[(&str, String)]) -> String {
    numbers
        .iter()
        .fold(text.to_owned(), |text, (name, number)| text.replace(&format!("{{{{{name}}}}}"), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi::compose;

    /// The introduction of a service whose settings differ from the default.
    fn guide(adjust: impl FnOnce(&mut Settings)) -> String {
        let mut settings = Settings::default();
        adjust(&mut settings);
        compose(&settings)["info"]["description"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_service_without_a_quota_promises_none() {
        let text = guide(|settings| settings.quota = 0);
        assert!(text.contains("This service has no quota"), "{text}");
        assert!(text.contains("| Requests of one key | any number |"), "{text}");
        assert!(!text.contains("more than 0") && !text.contains("`RateLimit-Remaining`"), "{text}");
        let text = guide(|settings| settings.quota = 1);
        assert!(text.contains("more than 1 requests") && text.contains("`RateLimit-Remaining`"), "{text}");
    }

    #[test]
    fn each_gap_between_attempts_is_said() {
        let text = |max| guide(|settings| settings.dispatch.max_attempts = max);
        for (max, expected) in [
            (2, "at most 2 attempts, with a gap of 1 s;"),
            (3, "at most 3 attempts, with gaps of 1 s and 5 s; up to 10 % is added."),
            (4, "at most 4 attempts, with gaps of 1 s, 5 s and 30 s;"),
            (5, "at most 5 attempts, with gaps of 1 s, 5 s and 30 s from then on;"),
            (u32::MAX, "with gaps of 1 s, 5 s and 30 s from then on;"),
        ] {
            assert!(text(max).contains(expected), "{}", text(max));
        }
        let single = text(1);
        assert!(single.contains("A delivery has a single attempt"), "{single}");
        assert!(single.contains("| Delivery | 1 attempt, each within 5 s |"), "{single}");
        assert!(!single.contains("gap") && !single.contains("`Retry-After` on your"), "{single}");
    }

    #[test]
    fn every_name_is_filled_in() {
        assert!(!compose(&Settings::default()).to_string().contains("{{"));
    }
}
