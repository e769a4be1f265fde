//! The state of a delivery, and how its attempts can end.

use strum::{Display, IntoStaticStr, VariantArray};

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DeliveryStatus {
    /// Waits for an attempt, or an attempt is being made.
    Pending,
    /// A receiver answered 2xx.
    Delivered,
    /// No attempt succeeded.
    Failed,
    /// Not attempted because the webhook is disabled; can be replayed.
    Skipped,
}

/// Why an attempt got no usable answer.
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
    /// The TLS handshake failed for another reason than the certificate: no TLS there, no version in common, an alert.
    Tls,
    /// A certificate of the peer's chain has expired.
    TlsExpired,
    /// A certificate of the peer's chain is not valid yet.
    TlsNotYetValid,
    /// The certificate is for other names than the URL's.
    TlsWrongName,
    /// The certificate leads to no authority that is trusted: self-signed, or an intermediate is missing.
    TlsUnknownIssuer,
    /// The certificate is that of an authority, and not of a server: often a self-signed one.
    TlsCaCertificate,
    /// The certificate cannot be accepted for another reason: signature, purpose, encoding.
    TlsBadCertificate,
    /// The forward proxy, through which the host sends its webhooks, made no connection.
    Proxy,
    /// The peer does not speak HTTP.
    Protocol,
    /// The address is not one that webhooks may reach.
    TargetRefused,
    /// The delivery cannot be sent as it is stored (URL or secret unreadable).
    Unsendable,
    /// Claimed repeatedly by processes that ended before they recorded an outcome.
    Abandoned,
}

impl FailureClass {
    /// Whether another attempt may succeed.
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

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// `Retry-After` in seconds, where the answer carried one.
        retry_after: Option<u64>,
    },
    /// There was no usable answer.
    Failed(FailureClass),
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// With a 2xx.
    Delivered,
    /// After the last attempt.
    Failed,
}
