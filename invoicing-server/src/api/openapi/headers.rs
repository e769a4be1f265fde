//! The headers of responses.

use invoicing_core::ErrorCode;
use serde_json::{Map, Value, json};

use super::schema::component;

/// A header of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    RequestId,
    NoStore,
    NoCache,
    RateLimitLimit,
    RateLimitRemaining,
    RateLimitReset,
    RetryAfter,
    WwwAuthenticate,
    ETag,
    AcceptRanges,
    ContentRange,
    ContentDisposition,
    NoSniff,
    SecurityPolicy,
    NoReferrer,
    Vary,
    ContentEncoding,
    AnyOrigin,
}

use Header::{
    AcceptRanges, AnyOrigin, ContentDisposition, ContentEncoding, ContentRange, ETag, NoCache, NoReferrer,
    NoSniff, NoStore, RateLimitLimit, RateLimitRemaining, RateLimitReset, RequestId, RetryAfter,
    SecurityPolicy, Vary, WwwAuthenticate,
};

/// The quota of the key, on each answer to a request with a valid key.
pub(super) const RATE_LIMIT: [Header; 3] = [RateLimitLimit, RateLimitRemaining, RateLimitReset];

impl Header {
    const ALL: [Self; 18] = [
        RequestId,
        NoStore,
        NoCache,
        RateLimitLimit,
        RateLimitRemaining,
        RateLimitReset,
        RetryAfter,
        WwwAuthenticate,
        ETag,
        AcceptRanges,
        ContentRange,
        ContentDisposition,
        NoSniff,
        SecurityPolicy,
        NoReferrer,
        Vary,
        ContentEncoding,
        AnyOrigin,
    ];

    /// The name as a response shows it.
    const fn name(self) -> &'static str {
        match self {
            RequestId => "X-Request-Id",
            NoStore | NoCache => "Cache-Control",
            RateLimitLimit => "RateLimit-Limit",
            RateLimitRemaining => "RateLimit-Remaining",
            RateLimitReset => "RateLimit-Reset",
            RetryAfter => "Retry-After",
            WwwAuthenticate => "WWW-Authenticate",
            ETag => "ETag",
            AcceptRanges => "Accept-Ranges",
            ContentRange => "Content-Range",
            ContentDisposition => "Content-Disposition",
            NoSniff => "X-Content-Type-Options",
            SecurityPolicy => "Content-Security-Policy",
            NoReferrer => "Referrer-Policy",
            Vary => "Vary",
            ContentEncoding => "Content-Encoding",
            AnyOrigin => "Access-Control-Allow-Origin",
        }
    }

    /// The name of its component.
    const fn component(self) -> &'static str {
        match self {
            NoStore => "Cache-Control-No-Store",
            NoCache => "Cache-Control-No-Cache",
            other => other.name(),
        }
    }

    fn describe(self) -> (&'static str, Value) {
        match self {
            RequestId => (
                "Identifies the request in the service's log: name it when you report a problem. It is the one that you sent, if \
                 that has 1 to 128 letters, digits, `.`, `_` and `-`; otherwise a new UUID.",
                json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"}),
            ),
            NoStore => ("No cache may keep the answer.", json!({"type": "string", "const": "no-store"})),
            NoCache => (
                "A cache asks with `If-None-Match` before it uses the answer again.",
                json!({"type": "string", "const": "no-cache"}),
            ),
            RateLimitLimit => (
                "Requests that the key may make in any {{quota_seconds}} s.",
                json!({"type": "integer", "minimum": 1}),
            ),
            RateLimitRemaining => ("Requests that would pass now.", json!({"type": "integer", "minimum": 0})),
            RateLimitReset => (
                "Seconds until more requests would pass, rounded up. Not an instant.",
                json!({"type": "integer", "minimum": 0}),
            ),
            RetryAfter => ("Seconds to wait before the next try.", json!({"type": "integer", "minimum": 1})),
            WwwAuthenticate => ("How to authenticate.", json!({"type": "string", "const": "Bearer"})),
            ETag => (
                "Names these bytes, for `If-None-Match`.",
                json!({"type": "string", "pattern": "^\"[0-9a-f]{64}\"$"}),
            ),
            AcceptRanges => {
                ("Parts can be asked for with `Range`.", json!({"type": "string", "const": "bytes"}))
            }
            ContentRange => (
                "Which part of the document it is.",
                json!({"type": "string", "pattern": "^bytes ([0-9]+-[0-9]+|\\*)/[0-9]+$"}),
            ),
            ContentDisposition => ("A name for the file.", json!({"type": "string"})),
            NoSniff => ("The type is as it is said.", json!({"type": "string", "const": "nosniff"})),
            SecurityPolicy => {
                ("A browser loads and runs nothing but the page's own style.", json!({"type": "string"}))
            }
            NoReferrer => (
                "A browser does not tell other sites where their links stood.",
                json!({"type": "string", "const": "no-referrer"}),
            ),
            Vary => (
                "The request header that the bytes depend on.",
                json!({"type": "string", "const": "accept-encoding"}),
            ),
            ContentEncoding => (
                "Sent where the bytes are compressed, to a caller that takes this.",
                json!({"type": "string", "const": "gzip"}),
            ),
            AnyOrigin => ("Pages of any site may read it.", json!({"type": "string", "const": "*"})),
        }
    }

    /// True if each answer that lists the header has it. Without a quota there are no `RateLimit`
    /// headers, and not every caller takes compressed bytes.
    fn is_always_sent(self) -> bool {
        !RATE_LIMIT.contains(&self) && self != ContentEncoding
    }
}

/// References to headers, beside those of every response.
pub(super) fn of(own: &[Header], cache: Header) -> Map<String, Value> {
    let all = [RequestId, cache].into_iter().chain(own.iter().copied());
    all.map(|header| (header.name().to_owned(), component("headers", header.component()))).collect()
}

/// The headers of an error response with these codes. A request without a key has no quota.
pub(super) fn of_errors(codes: &[ErrorCode], has_key: bool) -> Map<String, Value> {
    let retry = codes.iter().any(|code| matches!(code.status(), Some(429 | 503)));
    let unauthorized = codes.contains(&ErrorCode::Unauthorized);
    let mut own = Vec::new();
    own.extend(unauthorized.then_some(WwwAuthenticate));
    own.extend(retry.then_some(RetryAfter));
    if has_key && !unauthorized {
        own.extend(RATE_LIMIT);
    }
    of(&own, NoStore)
}

/// Every header, by the name of its component.
pub(super) fn components() -> Map<String, Value> {
    let header = |header: Header| {
        let (text, schema) = header.describe();
        let described = json!({"description": text, "required": header.is_always_sent(), "schema": schema});
        (header.component().to_owned(), described)
    };
    Header::ALL.map(header).into_iter().collect()
}
