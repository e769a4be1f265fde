//! The certificate authorities that are trusted before a host adds its own.
//!
//! Mozilla's list is compiled in and the same on every machine. With the feature `platform-roots` a
//! host may choose the operating system's list instead, which its administrators maintain.
//!
//! webpki verifies certificates either way, so failures are classified alike on every system. The
//! verifier of the system (`rustls-platform-verifier`) names them differently on Windows and macOS;
//! on Linux it is this same list.

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

    use crate::dispatch::transport::TransportSetupError;

    /// The operating system's list, read from its files. Unreadable certificates are logged and
    /// left out: systems carry odd ones that no receiver needs.
    ///
    /// # Errors
    /// No certificate can be read.
    pub(in crate::dispatch::transport) fn load() -> Result<RootCertStore, TransportSetupError> {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "certificate authorities not read, so they are left out"
            );
        }
        store(found.certs)
    }

    /// Refuses an empty list: every attempt would fail, and no outcome would show the reason.
    fn store(certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, TransportSetupError> {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates);
        if added == 0 { Err(TransportSetupError::PlatformRoots) } else { Ok(roots) }
    }

    #[cfg(test)]
    mod tests {
        use rcgen::{CertificateParams, KeyPair};

        use super::*;

        #[test]
        fn readable_certificates_are_trusted_and_an_empty_list_is_an_error() {
            let key = KeyPair::generate().unwrap();
            let good = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
            let odd = CertificateDer::from(b"odd".to_vec());
            assert_eq!(store(vec![odd.clone(), good.into()]).unwrap().len(), 1);
            assert!(matches!(store(vec![odd]), Err(TransportSetupError::PlatformRoots)));
            assert!(matches!(store(Vec::new()), Err(TransportSetupError::PlatformRoots)));
        }
    }
}
