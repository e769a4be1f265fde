//! From an error of the HTTP client to a failure class.
//!
//! What went wrong while connecting was named on the spot, by a [`ConnectFailure`], which is looked for among the
//! error's causes. Types of other crates are consulted for TLS, and for what happens on an open connection.

use std::error::Error;
use std::{io, iter};

use invoicing_core::FailureClass;
use rustls::CertificateError;

use super::connector::ConnectFailure;

/// The class of a failure. What nobody has named is the network's.
pub(super) fn classify(error: &(dyn Error + 'static)) -> FailureClass {
    let named = |cause: &(dyn Error + 'static)| Some(cause.downcast_ref::<ConnectFailure>()?.class);
    causes(error)
        .find_map(named)
        .or_else(|| of_tls(error))
        .or_else(|| causes(error).find_map(of_connection))
        .unwrap_or(FailureClass::Network)
}

/// The class of a failure in TLS, if that is what it was. With TLS 1.3 a server may refuse the client only after the
/// handshake, so that its alert arrives as a read that failed.
pub(super) fn of_tls(error: &(dyn Error + 'static)) -> Option<FailureClass> {
    match causes(error).find_map(|cause| cause.downcast_ref())? {
        rustls::Error::InvalidCertificate(error) => Some(of_certificate(error)),
        _ => Some(FailureClass::Tls),
    }
}

fn of_certificate(error: &CertificateError) -> FailureClass {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => FailureClass::TlsExpired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            FailureClass::TlsNotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            FailureClass::TlsWrongName
        }
        CertificateError::UnknownIssuer => FailureClass::TlsUnknownIssuer,
        _ => FailureClass::TlsBadCertificate,
    }
}

/// What happened on an open connection. An invalid chunk of a body is hyper's `InvalidInput` or `InvalidData`.
fn of_connection(cause: &(dyn Error + 'static)) -> Option<FailureClass> {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_parse().then_some(FailureClass::Protocol);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(FailureClass::Timeout),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Some(FailureClass::Protocol),
        _ => None,
    }
}

/// The error and what caused it, outermost first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| cause_of(error))
}

/// `io::Error` passes over what it wraps: its source is the source of that.
fn cause_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error as other crates wrap theirs.
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Box<dyn Error + Send + Sync>);

    #[test]
    fn the_class_is_found_at_any_depth() {
        let named = |class| ConnectFailure::new(class, io::Error::from(io::ErrorKind::TimedOut));
        for class in
            [FailureClass::Dns, FailureClass::Tls, FailureClass::TargetRefused, FailureClass::Network]
        {
            let error = Outer(Box::new(Outer(named(class).into())));
            assert_eq!(classify(&error), class, "the outermost name counts, not the cause below it");
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
        assert_eq!(classify(&Outer("unheard of".into())), FailureClass::Network);
    }

    #[test]
    fn what_tls_says_is_found_behind_io_errors() {
        for (error, class) in [
            (rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired), FailureClass::Tls),
            (rustls::Error::DecryptError, FailureClass::Tls),
            (CertificateError::Expired.into(), FailureClass::TlsExpired),
            (CertificateError::NotValidYet.into(), FailureClass::TlsNotYetValid),
            (CertificateError::NotValidForName.into(), FailureClass::TlsWrongName),
            (CertificateError::UnknownIssuer.into(), FailureClass::TlsUnknownIssuer),
            (CertificateError::BadSignature.into(), FailureClass::TlsBadCertificate),
            (CertificateError::Revoked.into(), FailureClass::TlsBadCertificate),
        ] {
            let read = io::Error::new(io::ErrorKind::InvalidData, error);
            assert_eq!(classify(&Outer(io::Error::other(read).into())), class);
        }
    }

    #[test]
    fn a_proxy_whose_certificate_is_bad_is_a_failure_of_the_proxy() {
        let tls = io::Error::other(rustls::Error::from(CertificateError::Expired));
        let error = Outer(ConnectFailure::new(FailureClass::Proxy, tls).into());
        assert_eq!(classify(&error), FailureClass::Proxy);
    }
}
