//! Certificate authorities that receivers may have besides the public ones, such as one of a developer's own.

use std::path::Path;

use invoicing_examples::Failure;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The certificates in a file, as DER.
///
/// # Errors
/// The file cannot be read, is no PEM, or has no certificate.
pub(crate) fn read(file: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let named = |problem: String| Failure::from(format!("--webhook-ca {}: {problem}", file.display()));
    let text = std::fs::read(file).map_err(|error| named(error.to_string()))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|error| named(error.to_string()))?;
    if certificates.is_empty() { Err(named("no certificate in PEM".into())) } else { Ok(certificates) }
}
