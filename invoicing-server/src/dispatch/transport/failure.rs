//! From an error of the HTTP client to a failure class.
//!
//! What went wrong while connecting was named on the spot, by a [`ConnectFailure`], which is looked for among the
//! error's causes. Types of other crates are consulted only for what happens on an open connection.

use std::error::Error;
use std::{io, iter};

use invoicing_core::FailureClass;

use super::connector::ConnectFailure;

/// The class of a failure. What nobody has named is the network's.
pub(super) fn classify(error: &(dyn Error + 'static)) -> FailureClass {
    causes(error).find_map(class_of).unwrap_or(FailureClass::Network)
}

/// The error and what caused it, outermost first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

fn class_of(cause: &(dyn Error + 'static)) -> Option<FailureClass> {
    if let Some(failure) = cause.downcast_ref::<ConnectFailure>() {
        return Some(failure.class);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_parse().then_some(FailureClass::Protocol);
    }
    class_of_io(cause.downcast_ref::<io::Error>()?)
}

/// With TLS 1.3 a server may refuse the client only after the handshake, so that the alert arrives as a read that
/// failed. An invalid chunk of a body is hyper's `InvalidInput` or `InvalidData`.
fn class_of_io(error: &io::Error) -> Option<FailureClass> {
    if let Some(inner) = error.get_ref()
        && inner.is::<rustls::Error>()
    {
        return Some(FailureClass::Tls);
    }
    match error.kind() {
        io::ErrorKind::TimedOut => Some(FailureClass::Timeout),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Some(FailureClass::Protocol),
        _ => None,
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
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired);
        let read = io::Error::new(io::ErrorKind::InvalidData, alert);
        assert_eq!(classify(&Outer(read.into())), FailureClass::Tls);
        assert_eq!(classify(&Outer("unheard of".into())), FailureClass::Network);
    }
}
