//! The renderer of a host, and the kinds of documents that it names.

use std::sync::Arc;

use invoicing_core::{NewClient, NewCreditNote};
use invoicing_server::{
    DocumentInput, DocumentKind, DocumentRenderer, MemoryStore, OpenError, PdfRenderer, RenderError,
};
use invoicing_tests::{Database, Place, World, on_each_database};
use serde_json::Value;

use super::invoices::content;
use crate::support::refusals;

/// Renders as the service does, and names these kinds.
struct Naming(&'static [DocumentKind]);

impl DocumentRenderer for Naming {
    fn kinds(&self) -> &[DocumentKind] {
        self.0
    }

    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        PdfRenderer::new().render(input)
    }
}

/// Rules: DOCUMENT-23, DOCUMENT-25
#[on_each_database]
async fn a_record_has_a_document_if_the_renderer_names_its_kind(db: Database) {
    use DocumentKind::{CreditNote, Invoice, Quote};
    let cases: [(&'static [DocumentKind], [bool; 2]); 3] = [
        (&[Quote], [false, false]),
        (&[Quote, Invoice], [true, false]),
        (&[Quote, CreditNote], [false, true]),
    ];
    for (kinds, expected) in cases {
        let renderer = Arc::new(Naming(kinds));
        let world = World::new(db).await.reopen_with(|builder| builder.renderer(renderer)).await;
        let invoices = world.company.invoices();
        let content = content(&world, &NewClient::named("Claire")).await;
        let invoice = invoices.create_direct(&content).await.unwrap().summary.id;
        assert_eq!(refusals(invoices.readiness(invoice).await.unwrap()), []);
        invoices.issue(invoice, None).await.unwrap();
        let note = invoices.credit(invoice, &NewCreditNote::of_remaining("Erreur")).await.unwrap().summary.id;
        let paths = [format!("/api/v1/invoices/{invoice}"), format!("/api/v1/credit-notes/{note}")];
        for (path, has_document) in paths.iter().zip(expected) {
            let format = if has_document { Value::from("PDF") } else { Value::Null };
            assert_eq!(world.get(path).await.json["documentFormat"], format, "{kinds:?}: {path}");
            let answer = world.get(&format!("{path}/document")).await;
            assert_eq!(answer.status == 200, has_document, "{kinds:?}: {path}");
            assert!(has_document || answer.code() == "document_unavailable", "{kinds:?}: {path}");
        }
    }
}

#[on_each_database]
async fn a_renderer_without_quotes_is_refused(db: Database) {
    let place = Place::new(db).await;
    let renderer = Arc::new(Naming(&[DocumentKind::Invoice, DocumentKind::CreditNote]));
    let builder = place.builder().renderer(renderer).document_store(Arc::new(MemoryStore::new()));
    let Err(refused) = builder.open().await else { panic!("opened") };
    assert!(matches!(&refused, OpenError::Setting(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "setting renderer: must render quotes");
}
