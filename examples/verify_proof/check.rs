//! The checks that a signed PDF and a detail belong together.

use invoicing_core::{OpenEnum, Quote, QuoteStatus, proof_fingerprint, sha256_hex};
use serde_json::Value;

use crate::pdf::Attachment;

/// Name of the file in which the PDF says what was signed.
const PROOF: &str = "proof.json";

/// Something that must hold, and whether it does.
pub(crate) struct Finding {
    pub(crate) holds: bool,
    pub(crate) what: String,
}

/// The files that are checked.
pub(crate) struct Subject {
    pub(crate) pdf_sha256: String,
    pub(crate) files: Vec<Attachment>,
    pub(crate) quote: Quote<OpenEnum<QuoteStatus>>,
}

impl Subject {
    /// Everything that must hold, the PDF's own hash being each of these too. After something without which the rest has
    /// no meaning, the list ends.
    pub(crate) fn findings(&self, hashes: &[String]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut note = |holds: bool, what: String| {
            findings.push(Finding { holds, what });
            holds
        };
        for expected in hashes {
            note(self.pdf_sha256 == *expected, format!("the PDF's own SHA-256 is {expected}"));
        }
        let Some(signature) = &self.quote.detail.signature else {
            note(false, format!("the detail of {} has a signature", self.quote.summary.number));
            return findings;
        };
        let Some(proof) = self.proof() else {
            note(false, format!("the PDF carries one {PROOF} that can be read"));
            return findings;
        };
        let claimed = proof["documentSha256"].as_str().unwrap_or_default();
        let carried = self.files.len() == 2 && self.copy(claimed).is_some();
        note(carried, format!("the PDF carries one other file: the copy that was signed, SHA-256 {claimed}"));
        let computed = self.quote.proof_parts(claimed).map(|parts| proof_fingerprint(&parts));
        let expected = &signature.proof_fingerprint;
        note(
            computed.as_ref() == Some(expected),
            format!(
                "that copy, {}, the accepted text, the signer and the instant give {expected}",
                self.quote.summary.number
            ),
        );
        let said = self.quote.proof_parts(claimed).and_then(|parts| serde_json::to_value(parts).ok());
        let said = said.is_some_and(|mut said| {
            said["proofFingerprint"] = expected.as_str().into();
            said == proof
        });
        note(said, format!("{PROOF} says the same as the detail, word for word"));
        findings
    }

    /// The copy that was signed, if the PDF carries it.
    pub(crate) fn sent_copy(&self) -> Option<&[u8]> {
        self.copy(self.proof()?["documentSha256"].as_str()?)
    }

    /// The signed data in the PDF.
    fn proof(&self) -> Option<Value> {
        let mut proofs = self.files.iter().filter(|file| file.name == PROOF);
        match (proofs.next(), proofs.next()) {
            (Some(proof), None) => serde_json::from_slice(&proof.bytes).ok(),
            _ => None,
        }
    }

    fn copy(&self, sha256: &str) -> Option<&[u8]> {
        let bytes = self.files.iter().map(|file| &*file.bytes);
        bytes.into_iter().find(|bytes| sha256_hex(bytes) == sha256)
    }
}
