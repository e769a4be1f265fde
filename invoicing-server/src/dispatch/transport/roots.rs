//! Which certificate authorities are trusted before a host adds its own.
//!
//! Mozilla's list is compiled in and the same on every machine. With the feature `platform-roots` a host may choose the
//! operating system's instead, which its administrators maintain. Only the list is the system's: certificates are
//! verified by webpki either way, so that failures are classified alike on every system. (A verifier of the system,
//! such as `rustls-platform-verifier`, names them otherwise on Windows and macOS, and on Linux is this very list.)

use rustls::RootCertStore;

/// Mozilla's list.
pub(super) fn mozilla() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

#[cfg(feature = "platform-roots")]
pub(super) use platform::load as platform;

#[cfg(feature = "platform-roots")]
mod platform {
    use rustls::RootCertStore;
    use rustls::pki_types::CertificateDer;

    use crate::dispatch::transport::TransportError;

    /// The operating system's list. Reads files. What cannot be read is logged and left out: systems carry odd
    /// certificates that nobody needs.
    ///
    /// # Errors
    /// The system has none.
    pub(in crate::dispatch::transport) fn load() -> Result<RootCertStore, TransportError> {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(error = error as &dyn std::error::Error, "certificate authorities not read");
        }
        store(found.certs)
    }

    /// At least one: an empty list would make every attempt fail, for a reason that no attempt shows.
    fn store(certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, TransportError> {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates);
        if added == 0 { Err(TransportError::PlatformRoots) } else { Ok(roots) }
    }

    #[cfg(test)]
    mod tests {
        use rcgen::{CertificateParams, KeyPair};

        use super::*;

        #[test]
        fn what_can_be_read_is_trusted_and_nothing_at_all_is_an_error() {
            let key = KeyPair::generate().unwrap();
            let good = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
            let odd = CertificateDer::from(b"odd".to_vec());
            assert_eq!(store(vec![odd.clone(), good.into()]).unwrap().len(), 1);
            assert!(matches!(store(vec![odd]), Err(TransportError::PlatformRoots)));
            assert!(matches!(store(Vec::new()), Err(TransportError::PlatformRoots)));
        }
    }
}
