//! From an error of the HTTP client to a failure class.
//!
//! A failure to connect is classified at once, by a [`ConnectError`], which is then found among the
//! causes of the client's error. TLS failures and those on an open connection are recognised by the
//! types of other crates.

use std::error::Error;
use std::{io, iter};

use invoicing_core::FailureClass;
use rustls::{CertificateError, OtherError};

/// The error of any layer below a connection.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// No connection could be made. The text names no address: companies must not learn any.
#[derive(Debug, thiserror::Error)]
#[error("no connection ({class})")]
pub(super) struct ConnectError {
    pub(super) class: FailureClass,
    source: BoxError,
}

impl ConnectError {
    pub(super) fn new(class: FailureClass, source: impl Into<BoxError>) -> Self {
        Self { class, source: source.into() }
    }

    /// The policy forbids the target. The text is the same for every reason, so that it reveals
    /// nothing about the network.
    pub(super) fn refused() -> Self {
        Self::new(FailureClass::TargetRefused, "the policy does not permit this target")
    }
}

/// The class of a failure. Anything unrecognised is `Network`.
pub(super) fn classify(error: &(dyn Error + 'static)) -> FailureClass {
    let connect_class = |cause: &(dyn Error + 'static)| Some(cause.downcast_ref::<ConnectError>()?.class);
    causes(error)
        // First: the class of a `ConnectError` is more exact than the cause below it.
        .find_map(connect_class)
        .or_else(|| tls_class(error))
        .or_else(|| causes(error).find_map(connection_class))
        .unwrap_or(FailureClass::Network)
}

/// The class of a TLS failure; `None` for other errors. With TLS 1.3 a server may refuse the client
/// only after the handshake, so its alert may arrive as a failed read.
pub(super) fn tls_class(error: &(dyn Error + 'static)) -> Option<FailureClass> {
    match causes(error).find_map(|cause| cause.downcast_ref())? {
        rustls::Error::InvalidCertificate(error) => Some(certificate_class(error)),
        _ => Some(FailureClass::Tls),
    }
}

fn certificate_class(error: &CertificateError) -> FailureClass {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => FailureClass::TlsExpired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            FailureClass::TlsNotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            FailureClass::TlsWrongName
        }
        CertificateError::UnknownIssuer => FailureClass::TlsUnknownIssuer,
        CertificateError::Other(OtherError(error))
            if matches!(error.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity)) =>
        {
            FailureClass::TlsCaCertificate
        }
        _ => FailureClass::TlsBadCertificate,
    }
}

/// The class of a failure on an open connection. hyper reports an invalid chunk of a body as
/// `InvalidInput` or `InvalidData`.
fn connection_class(cause: &(dyn Error + 'static)) -> Option<FailureClass> {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_parse().then_some(FailureClass::Protocol);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(FailureClass::Timeout),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Some(FailureClass::Protocol),
        _ => None,
    }
}

/// The error and its causes, outermost first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| cause_of(error))
}

/// The next cause. `io::Error::source` skips the error that it wraps, hence `get_ref`.
fn cause_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A wrapper like those of other crates.
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Box<dyn Error + Send + Sync>);

    #[test]
    fn the_class_of_a_connect_error_is_found_at_any_depth() {
        let connect_error = |class| ConnectError::new(class, io::Error::from(io::ErrorKind::TimedOut));
        for class in
            [FailureClass::Dns, FailureClass::Tls, FailureClass::TargetRefused, FailureClass::Network]
        {
            let error = Outer(Box::new(Outer(connect_error(class).into())));
            assert_eq!(classify(&error), class, "the class counts, not the cause below it");
        }
        for (kind, class) in [
            (io::ErrorKind::TimedOut, FailureClass::Timeout),
            (io::ErrorKind::ConnectionRefused, FailureClass::Network),
            (io::ErrorKind::HostUnreachable, FailureClass::Network),
            (io::ErrorKind::UnexpectedEof, FailureClass::Network),
            (io::ErrorKind::InvalidInput, FailureClass::Protocol),
        ] {
            assert_eq!(classify(&Outer(io::Error::from(kind).into())), class);
        }
        assert_eq!(classify(&Outer("unknown".into())), FailureClass::Network);
    }

    #[test]
    fn tls_errors_are_found_behind_io_errors() {
        for (error, class) in [
            (rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired), FailureClass::Tls),
            (rustls::Error::DecryptError, FailureClass::Tls),
            (CertificateError::Expired.into(), FailureClass::TlsExpired),
            (CertificateError::NotValidYet.into(), FailureClass::TlsNotYetValid),
            (CertificateError::NotValidForName.into(), FailureClass::TlsWrongName),
            (CertificateError::UnknownIssuer.into(), FailureClass::TlsUnknownIssuer),
            (
                CertificateError::Other(OtherError(Arc::new(webpki::Error::CaUsedAsEndEntity))).into(),
                FailureClass::TlsCaCertificate,
            ),
            (
                CertificateError::Other(OtherError(Arc::new(webpki::Error::BadDer))).into(),
                FailureClass::TlsBadCertificate,
            ),
            (CertificateError::BadSignature.into(), FailureClass::TlsBadCertificate),
            (CertificateError::Revoked.into(), FailureClass::TlsBadCertificate),
        ] {
            let read = io::Error::new(io::ErrorKind::InvalidData, error);
            assert_eq!(classify(&Outer(io::Error::other(read).into())), class);
        }
    }

    #[test]
    fn a_bad_certificate_of_the_proxy_is_a_proxy_failure() {
        let tls = io::Error::other(rustls::Error::from(CertificateError::Expired));
        let error = Outer(ConnectError::new(FailureClass::Proxy, tls).into());
        assert_eq!(classify(&error), FailureClass::Proxy);
    }
}
