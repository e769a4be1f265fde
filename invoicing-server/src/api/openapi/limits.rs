//! The numbers of the document: each stands in the code once, and is filled in where a description names it.

use invoicing_core::{
    DEFAULT_PAGE_LIMIT, DISABLE_AFTER_FAILURES, LONG_TEXT, MAX_LINES, MAX_PAGE_LIMIT, QUOTA_WINDOW_MS,
    RetryPolicy, SHORT_TEXT, page_limit,
};
use rust_decimal::Decimal;
use serde_json::Value;

use crate::access::IDLE_LIMIT_MS;
use crate::config::{MAX_BODY_BYTES, Settings};
use crate::documents::DOCUMENT_URL_VALID_MS;
use crate::operations::MAX_WEBHOOKS;

const QUOTA_SECONDS: i64 = QUOTA_WINDOW_MS / 1_000;

/// Replaces each `{{name}}` in the texts and the names of a document.
pub(super) fn fill(document: &mut Value, settings: &Settings) {
    fill_with(document, &numbers(settings));
}

/// What each name in double braces stands for.
fn numbers(settings: &Settings) -> Vec<(&'static str, String)> {
    let (dispatch, requests) = (&settings.dispatch, &settings.requests);
    vec![
        ("brand", settings.brand.clone()),
        ("base_url", settings.base_url.trim_end_matches('/').to_owned()),
        ("quota", quota(settings.quota)),
        ("quota_rule", quota_rule(settings.quota)),
        ("quota_seconds", QUOTA_SECONDS.to_string()),
        ("default_limit", DEFAULT_PAGE_LIMIT.to_string()),
        ("max_limit", MAX_PAGE_LIMIT.to_string()),
        ("page_mib", (page_limit::MAX_PAGE_BYTES / 1024 / 1024).to_string()),
        ("max_lines", MAX_LINES.to_string()),
        ("short_text", SHORT_TEXT.to_string()),
        ("long_text", LONG_TEXT.to_string()),
        ("body_kib", (MAX_BODY_BYTES / 1024).to_string()),
        ("body_seconds", seconds(requests.body_time_ms)),
        ("url_minutes", (DOCUMENT_URL_VALID_MS / 60_000).to_string()),
        ("idle_days", (IDLE_LIMIT_MS / 86_400_000).to_string()),
        ("max_webhooks", MAX_WEBHOOKS.to_string()),
        ("attempts", dispatch.max_attempts.to_string()),
        ("gaps", gaps(dispatch.max_attempts)),
        ("attempt_seconds", seconds(dispatch.attempt_timeout_ms)),
        ("disable_after", DISABLE_AFTER_FAILURES.to_string()),
        ("tolerance_seconds", webhook_verify::TOLERANCE_SECONDS.to_string()),
    ]
}

/// How many requests a key may make.
fn quota(requests: u32) -> String {
    match requests {
        0 => "any number".to_owned(),
        requests => format!("{requests} in any {QUOTA_SECONDS} s"),
    }
}

fn quota_rule(requests: u32) -> String {
    match requests {
        0 => "This service has no quota: it accepts any number of requests and sends no `RateLimit` headers. Where there is one: \
              beyond it the answer is 429."
            .to_owned(),
        requests => format!("In no window of {QUOTA_SECONDS} s are more than {requests} requests of one key accepted."),
    }
}

fn seconds(millis: u64) -> String {
    Decimal::new(i64::try_from(millis).unwrap_or(i64::MAX), 3).normalize().to_string()
}

/// The gaps between so many attempts: `1 s and 5 s`.
fn gaps(attempts: u32) -> String {
    let gaps = RetryPolicy::GAPS_MS.iter().take(attempts.saturating_sub(1) as usize);
    let gaps: Vec<_> = gaps.map(|gap| format!("{} s", gap / 1_000)).collect();
    gaps.join(" and ")
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
