//! The reasons why a URL cannot be the target of a webhook.

use crate::FailureClass;

/// Longest URL of a webhook in characters, both as given and as normalised.
pub const MAX_URL_CHARS: usize = 2_048;

/// The reason why a URL cannot be the target of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// More than [`MAX_URL_CHARS`].
    #[error("must have at most {MAX_URL_CHARS} characters")]
    TooLong,
    /// Not readable as a URL, or one with spaces, control characters or backslashes.
    #[error("must be an absolute URL such as https://example.com/hooks")]
    Malformed,
    /// No scheme, or another one than `https`.
    #[error(
        "must start with https://, as in https://example.com/hooks; a host allows http:// with \
         TargetPolicy::allow_http"
    )]
    NotHttps,
    /// No scheme, or another one than `https` and `http`, if both are allowed.
    #[error("must start with https:// or http://, as in https://example.com/hooks")]
    NotHttp,
    /// No host after the scheme.
    #[error("must name a host, as in https://example.com/hooks")]
    NoHost,
    /// `user:password@`.
    #[error(
        "must not contain a user name or password; put a token in the path or check the signature instead"
    )]
    UserInfo,
    /// `#…`, which is never sent.
    #[error("must not contain a fragment (the part from #)")]
    Fragment,
    /// A port that browsers connect to for no web page: 0, and those of other services.
    #[error(
        "must not use port {0}, which belongs to a service other than the web's; no setting of a host allows it, and \
         443 is usual"
    )]
    Port(u16),
    /// An address literal that is not public, however it was spelled.
    #[error(
        "must lead to a public address, not to a private, local or reserved one; a host allows these with \
         TargetPolicy::allow_private"
    )]
    PrivateAddress,
    /// `localhost`, a name without a dot, or one that exists in private networks only.
    #[error(
        "must name a host on the public internet, not a local name; a host allows these with \
         TargetPolicy::allow_private"
    )]
    LocalName,
}

impl TargetError {
    /// The failure class of an attempt whose stored URL the policy does not accept, or no longer.
    pub const fn failure_class(self) -> FailureClass {
        match self {
            Self::NotHttps | Self::NotHttp | Self::Port(_) | Self::PrivateAddress | Self::LocalName => {
                FailureClass::TargetRefused
            }
            Self::TooLong | Self::Malformed | Self::NoHost | Self::UserInfo | Self::Fragment => {
                FailureClass::Unsendable
            }
        }
    }
}
