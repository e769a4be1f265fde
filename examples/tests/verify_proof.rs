//! `verify_proof` on what the service made, and on altered copies of it.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::path::PathBuf;

use invoicing_core::{
    NewClient, NewCompany, NewLine, NewQuote, OperationNature, Plan, SignatureEvidence, quantity,
};
use invoicing_server::{
    Buyer, ContentHash, DocumentFacts, DocumentInput, DocumentRef, DocumentRenderer, Invoicing, Parties,
    PdfRenderer, RenderDeadline, SentCopy, Signature,
};
use serde_json::Value;

/// A signed quote: its documents and its detail, as files.
struct Signed {
    folder: tempfile::TempDir,
    sha256: String,
}

impl Signed {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await.unwrap();
        let issuer = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await;
        let issuer = issuer.unwrap();
        let company = invoicing.company(issuer.id);
        let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await.unwrap().id;
        let new = NewQuote::empty(client).line(NewLine::new("Peinture", quantity!(12.5), 40, 10));
        let quotes = company.quotes();
        let id = quotes.create(&new).await.unwrap().summary.id;
        quotes.send(id, None).await.unwrap();
        let sent = quotes.open_document(id).await.unwrap();
        let token = quotes.create_signing_link(id).await.unwrap();
        let evidence = SignatureEvidence::new("Claire Lefèvre", "claire@exemple.fr", "Bon pour accord");
        let signature = Signature::new(evidence);
        invoicing.signing_links().sign(token.reveal(), &signature).await.unwrap();
        let signed = quotes.open_document(id).await.unwrap();
        let files = Self { folder, sha256: signed.sha256 };
        files.write("sent.pdf", &sent.bytes);
        files.write("signed.pdf", &signed.bytes);
        files.write("detail.json", &quotes.get_json(id).await.unwrap());
        let answer = quotes.document(id).await.unwrap();
        files.write("document.json", &serde_json::to_vec(&answer).unwrap());
        // Other pages around the genuine copy and its proof.
        let mut quote = quotes.get(id).await.unwrap();
        quote.lines[0].description = "Peinture, ravalement et toiture".into();
        let facts = DocumentFacts {
            parties: Parties { seller: issuer, buyer: Buyer::default() },
            quote_date: Some(quote.summary.created_at.to_chrono().date_naive()),
            quote_number: None,
            work_site: None,
            operations: OperationNature::Services,
            reverse_charge: false,
            housing_works: true,
        };
        let copy =
            SentCopy { file_name: &sent.file_name, sha256: ContentHash::of(&sent.bytes), bytes: &sent.bytes };
        let repainted = DocumentInput {
            record: DocumentRef::Quote { quote: &quote, sent_copy: Some(copy) },
            facts: &facts,
            logo: None,
            factur_x: None,
            deadline: RenderDeadline::NONE,
        };
        files.write("repainted.pdf", &PdfRenderer::new().render(&repainted).unwrap());
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The detail with one value changed.
    fn forge(&self, pointer: &str, value: impl Into<Value>) {
        let mut detail: Value = serde_json::from_slice(&self.read("detail.json")).unwrap();
        *detail.pointer_mut(pointer).unwrap() = value.into();
        self.write("forged.json", detail.to_string().as_bytes());
    }

    fn verify(&self, pdf: &str, detail: &str, options: &[&str]) -> (Option<i32>, String) {
        let files = [self.path(pdf), self.path(detail)];
        let files = files.iter().map(|file| file.to_str().unwrap());
        let args: Vec<&str> = files.chain(options.iter().copied()).collect();
        let output = super::run("verify_proof", &args);
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }
}

#[tokio::test]
async fn verify_proof_tells_what_belongs_together_from_what_does_not() {
    let (ours, other) = (Signed::new().await, Signed::new().await);
    let extracted = ours.path("extracted.pdf");
    let extract = ["--extract", extracted.to_str().unwrap(), "--sha256", &ours.sha256.to_uppercase()];
    let (code, said) = ours.verify("signed.pdf", "detail.json", &extract);
    assert_eq!(code, Some(0), "{said}");
    assert!(ours.read("extracted.pdf") == ours.read("sent.pdf"), "the carried copy is the one that was sent");

    let (code, said) = ours.verify("signed.pdf", "detail.json", &["--sha256", &other.sha256]);
    assert_eq!(code, Some(1), "{said}");
    for (pointer, value) in [
        ("/number", "DEV-2026-9999"),
        ("/id", "0192abcd-0000-7000-8000-000000000001"),
        ("/signature/acceptedText", "Bon pour un autre accord"),
        ("/signature/signedByName", "Claire Lefevre"),
        ("/signature/signedByEmail", "claire@exemple.com"),
        ("/signature/signedAt", "2026-09-14T09:41:07.123Z"),
        ("/signature/proofFingerprint", &*format!("sha256:{}", "0".repeat(64))),
    ] {
        ours.forge(pointer, value);
        let (code, said) = ours.verify("signed.pdf", "forged.json", &[]);
        assert_eq!(code, Some(1), "{pointer}: {said}");
        assert!(said.contains("do NOT belong together"), "{pointer}: {said}");
    }
    ours.forge("/signature", Value::Null);
    assert_eq!(ours.verify("signed.pdf", "forged.json", &[]).0, Some(1));
    assert_eq!(ours.verify("sent.pdf", "detail.json", &[]).0, Some(1), "a copy that is not signed");
    ours.write("other.json", &other.read("detail.json"));
    assert_eq!(ours.verify("signed.pdf", "other.json", &[]).0, Some(1), "the detail of another quote");
}

#[tokio::test]
async fn verify_proof_does_not_vouch_for_pages_that_it_has_not_checked() {
    let signed = Signed::new().await;
    for pdf in ["signed.pdf", "repainted.pdf"] {
        let (code, said) = signed.verify(pdf, "detail.json", &[]);
        assert_eq!(code, Some(3), "{pdf}: {said}");
        assert!(said.contains("The pages shown were NOT checked"), "{pdf}: {said}");
        assert!(!said.contains("The PDF and the detail"), "{pdf}: {said}");
    }
    let document = signed.path("document.json");
    let by_hash = ["--sha256", &signed.sha256];
    let by_answer = ["--document", document.to_str().unwrap()];
    for options in [by_hash, by_answer] {
        let (code, said) = signed.verify("signed.pdf", "detail.json", &options);
        assert_eq!(code, Some(0), "{options:?}: {said}");
        let (code, said) = signed.verify("repainted.pdf", "detail.json", &options);
        assert_eq!(code, Some(1), "{options:?}: {said}");
        assert!(said.contains("do NOT belong together"), "{options:?}: {said}");
    }
    assert_eq!(signed.verify("signed.pdf", "detail.json", &["--document", "none.json"]).0, Some(2));
}

#[tokio::test]
async fn verify_proof_says_when_it_cannot_tell() {
    let signed = Signed::new().await;
    signed.write("text.pdf", b"not a PDF");
    signed.write("half.json", &signed.read("detail.json")[..40]);
    for (pdf, detail) in
        [("text.pdf", "detail.json"), ("signed.pdf", "half.json"), ("none.pdf", "detail.json")]
    {
        let (code, said) = signed.verify(pdf, detail, &[]);
        assert_eq!(code, Some(2), "{pdf} {detail}: {said}");
    }
    for args in
        [&[][..], &["a.pdf"], &["a.pdf", "b.json", "c"], &["--wrong"], &["a.pdf", "b.json", "--sha256"]]
    {
        let output = super::run("verify_proof", args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: verify_proof"), "{args:?}");
    }
    assert!(super::run("verify_proof", &["--help"]).status.success());
}
