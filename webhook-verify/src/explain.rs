//! Finds the reason, during development, why a delivery does not verify.
//!
//! It repeats the verification with common faults undone, one at a time, and reports the fault
//! without which a signature matches. It is never needed for the verdict, and it reveals neither
//! the secret nor the expected MAC; but it is slow and allocates, so do not call it for real
//! deliveries, and do not send its answer to the sender.

mod body;
mod diagnosis;
mod secret;

pub use body::BodyChange;
pub use diagnosis::{Diagnosis, Scheme};
pub use secret::SecretChange;

use alloc::vec::Vec;
use core::slice;

use crate::error::{HeaderError, SecretError, VerifyError};
use crate::header::{Header, elements};
use crate::key::{HEX_LENGTH, Key};
use crate::verifier::{TOLERANCE_SECONDS, is_genuine, judge};

/// Finds the likely fault of a delivery that does not verify, for development.
///
/// `headers` are all received values of the signature header: none, one, or several that a proxy
/// made of it. With exactly one, the answer is [`Diagnosis::Valid`] if and only if a
/// [`Verifier`](crate::Verifier) of these secrets accepts it.
///
/// ```
/// use webhook_verify::{BodyChange, Diagnosis, explain, sign};
///
/// let header = sign("whsec_example", 1_000, br#"{"event":"ping"}"#)?;
/// let printed_again = b"{\n  \"event\": \"ping\"\n}";
/// let diagnosis = explain(["whsec_example"], Some(header), printed_again, 1_000);
/// assert_eq!(diagnosis, Diagnosis::BodyChanged(BodyChange::Reprinted));
/// println!("{diagnosis}");
/// # Ok::<(), webhook_verify::SecretError>(())
/// ```
pub fn explain(
    secrets: impl IntoIterator<Item: AsRef<[u8]>>,
    headers: impl IntoIterator<Item: AsRef<[u8]>>,
    body: &[u8],
    now: i64,
) -> Diagnosis {
    explain_within(TOLERANCE_SECONDS, secrets, headers, body, now)
}

/// Like [`explain()`], for a verifier with another tolerance.
pub fn explain_within(
    tolerance_seconds: u64,
    secrets: impl IntoIterator<Item: AsRef<[u8]>>,
    headers: impl IntoIterator<Item: AsRef<[u8]>>,
    body: &[u8],
    now: i64,
) -> Diagnosis {
    let secrets: Vec<_> = secrets.into_iter().collect();
    let secrets: Vec<&[u8]> = secrets.iter().map(AsRef::as_ref).collect();
    let keys: Result<Vec<_>, _> = secrets.iter().map(|secret| Key::new(secret)).collect();
    let keys = match keys {
        Ok(keys) if !keys.is_empty() => keys,
        Err(SecretError::ApiKey) => return Diagnosis::SecretIsApiKey,
        Err(SecretError::WhiteSpace) => return Diagnosis::SecretHasWhiteSpace,
        _ => return Diagnosis::SecretEmpty,
    };
    let headers: Vec<_> = headers.into_iter().collect();
    let verdict = |header: &[u8]| judge(&keys, header, body, now, tolerance_seconds);
    let header = match headers.as_slice() {
        [] => return Diagnosis::HeaderMissing,
        [header] => header.as_ref(),
        many => {
            let valid = many.iter().filter(|header| verdict(header.as_ref()).is_ok()).count();
            return Diagnosis::HeaderRepeated { count: many.len(), valid };
        }
    };
    match verdict(header) {
        Ok(_) => Diagnosis::Valid,
        Err(VerifyError::Secret(SecretError::ApiKey)) => Diagnosis::SecretIsApiKey,
        Err(VerifyError::Secret(SecretError::WhiteSpace)) => Diagnosis::SecretHasWhiteSpace,
        Err(VerifyError::Secret(SecretError::Empty)) => Diagnosis::SecretEmpty,
        Err(VerifyError::Malformed(reason)) => malformed(header, reason),
        Err(VerifyError::NoMatch { candidates, secrets: tried }) => no_match(&keys, &secrets, header, body)
            .unwrap_or(Diagnosis::Unexplained { candidates, secrets: tried }),
        Err(VerifyError::TooOld { age_seconds, tolerance_seconds }) => {
            let signed = now.saturating_sub_unsigned(age_seconds);
            if (now / 1000).abs_diff(signed) <= tolerance_seconds {
                return Diagnosis::NowInMilliseconds;
            }
            Diagnosis::TooOld { age_seconds, tolerance_seconds }
        }
        Err(VerifyError::TooNew { ahead_seconds, tolerance_seconds }) => {
            Diagnosis::TooNew { ahead_seconds, tolerance_seconds }
        }
    }
}

fn malformed(header: &[u8], reason: HeaderError) -> Diagnosis {
    if let Some(scheme) = Scheme::recognise(header) {
        return Diagnosis::OtherScheme(scheme);
    }
    if Header::parse(&without_spaces(header)).is_ok() {
        return Diagnosis::HeaderSpaced;
    }
    Diagnosis::HeaderMalformed(reason)
}

/// The first fault that makes a signature match when it is undone.
fn no_match(keys: &[Key], secrets: &[&[u8]], header: &[u8], body: &[u8]) -> Option<Diagnosis> {
    let genuine = |keys: &[Key], header: &[u8], body: &[u8]| {
        Header::parse(header).is_ok_and(|header| is_genuine(keys, &header, body))
    };
    if genuine(keys, &without_spaces(header), body) {
        return Some(Diagnosis::HeaderSpaced);
    }
    if genuine(keys, &header.to_ascii_lowercase(), body) {
        return Some(Diagnosis::SignatureUpperCase);
    }
    let v1 = || elements(header).filter_map(|element| element.strip_prefix(b"v1="));
    if v1().all(|v1| v1.len() != HEX_LENGTH) {
        return v1().next().map(|v1| Diagnosis::SignatureLength { characters: v1.len() });
    }
    if let Some(change) =
        body::undone(body).find_map(|(change, body)| genuine(keys, header, &body).then_some(change))
    {
        return Some(Diagnosis::BodyChanged(change));
    }
    for (index, secret) in secrets.iter().enumerate() {
        let matches =
            |secret: &[u8]| Key::new(secret).is_ok_and(|key| genuine(slice::from_ref(&key), header, body));
        if let Some(change) =
            secret::undone(secret).find_map(|(change, secret)| matches(&secret).then_some(change))
        {
            return Some(Diagnosis::SecretChanged { index, change });
        }
    }
    if body.is_empty() {
        return Some(Diagnosis::BodyEmpty);
    }
    body::has_replacement_character(body).then_some(Diagnosis::BodyDecoded)
}

/// The header with the white space around its elements taken away.
fn without_spaces(header: &[u8]) -> Vec<u8> {
    elements(header).map(<[u8]>::trim_ascii).collect::<Vec<_>>().join(&b',')
}

#[cfg(test)]
mod tests;
