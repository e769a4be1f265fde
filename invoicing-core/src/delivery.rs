//! The state of a delivery, and the outcomes of its attempts.

use strum::{Display, IntoStaticStr, VariantArray};

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DeliveryStatus {
    /// The delivery waits for an attempt, or an attempt is under way.
    Pending,
    /// A receiver answered 2xx.
    Delivered,
    /// No attempt succeeded.
    Failed,
    /// The delivery was not attempted, because the webhook is disabled. It can be replayed.
    Skipped,
}

/// The reason why an attempt got no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum FailureClass {
    /// The attempt exceeded its time limit.
    Timeout,
    /// The name did not resolve.
    Dns,
    /// The connection failed or was lost.
    Network,
    /// The TLS handshake failed for another reason than the certificate: a peer without TLS, no
    /// version in common, an alert.
    Tls,
    /// A certificate of the peer's chain has expired.
    TlsExpired,
    /// A certificate of the peer's chain is not valid yet.
    TlsNotYetValid,
    /// The certificate is for other names than the URL's.
    TlsWrongName,
    /// The certificate leads to no authority that is trusted: self-signed, or an intermediate is
    /// missing.
    TlsUnknownIssuer,
    /// The certificate is that of an authority, not of a server: often a self-signed one.
    TlsCaCertificate,
    /// The certificate cannot be accepted for another reason: signature, purpose, encoding.
    TlsBadCertificate,
    /// The forward proxy, through which the host sends its webhooks, made no connection.
    Proxy,
    /// The peer does not answer in HTTP.
    Protocol,
    /// Webhooks may not reach the address.
    TargetRefused,
    /// The stored delivery cannot be sent (URL or secret unreadable).
    Unsendable,
    /// The delivery was claimed repeatedly by processes that ended before they recorded an outcome.
    Abandoned,
}

impl FailureClass {
    /// True if another attempt may succeed.
    pub const fn is_transient(self) -> bool {
        match self {
            Self::Timeout
            | Self::Dns
            | Self::Network
            | Self::Protocol
            | Self::Proxy
            | Self::Tls
            | Self::TlsExpired
            | Self::TlsNotYetValid
            | Self::TlsWrongName
            | Self::TlsUnknownIssuer
            | Self::TlsCaCertificate
            | Self::TlsBadCertificate => true,
            Self::TargetRefused | Self::Unsendable | Self::Abandoned => false,
        }
    }
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// `Retry-After` in seconds, if the answer carried one.
        retry_after: Option<u64>,
    },
    /// There was no usable answer.
    Failed(FailureClass),
}

/// The outcome of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// An attempt got a 2xx.
    Delivered,
    /// The last attempt has failed.
    Failed,
}
