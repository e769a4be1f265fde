//! The quotes that are made through the operations.

use std::sync::Arc;

use invoicing_core::{ClientId, CompanyId, EventKind, NewClient, NewCompany, Plan};
use invoicing_server::{
    CompanyHandle, Invoicing, MemoryStore, NewWebhook, PostgresSettings, Settings, TargetPolicy,
};
use invoicing_tests::{Receiver, new_quote};

/// How many of them.
pub(crate) const ORIGINALS: i64 = 200;

pub(crate) struct Workload {
    pub(crate) invoicing: Invoicing,
    pub(crate) company: CompanyHandle,
    pub(crate) client: ClientId,
    /// A company whose only webhook is off: its deliveries are claimed and ended, and no attempt is made.
    pub(crate) off: CompanyId,
}

impl Workload {
    /// Opens a service, and makes the quotes and what happens with them.
    pub(crate) async fn open(url: &str) -> Self {
        let settings = Settings {
            target: TargetPolicy { allow_http: true, allow_private: true },
            ..Settings::default()
        };
        let builder = Invoicing::postgres(PostgresSettings::new(url));
        let builder = builder.document_store(Arc::new(MemoryStore::new())).settings(settings);
        let invoicing = builder.open().await.expect("the service opens");
        let receiver = Receiver::start().await;
        let (company, client) = open_company(&invoicing, &receiver.url).await;
        let (off, client_of_off) = open_company(&invoicing, &receiver.url).await;
        // So that an attempt is on record that was prompt: as many are claimed as for a webhook in use.
        off.quotes().create(&new_quote(client_of_off)).await.expect("a quote");
        for number in 0..ORIGINALS {
            let quote = company.quotes().create(&new_quote(client)).await.expect("a quote").summary.id;
            // Two of three are sent, one of three is accepted, one of six is paid for.
            if number % 3 != 0 {
                company.quotes().send(quote, None).await.expect("it is sent");
            }
            if number % 3 == 1 {
                company.quotes().accept(quote).await.expect("it is accepted");
            }
            if number % 6 == 1 {
                let invoice = company.invoices().convert(quote).await.expect("an invoice").summary.id;
                company.invoices().issue(invoice, None).await.expect("it is issued");
                company.invoices().mark_paid(invoice).await.expect("it is paid");
            }
        }
        invoicing.dispatcher().run_once().await.expect("everything is delivered");
        // From now on their events are not delivered.
        for handle in [&company, &invoicing.company(off.id())] {
            let webhooks = handle.webhooks().list().await.expect("the webhooks");
            handle.webhooks().disable(webhooks[0].id).await.expect("it is off");
        }
        let off = off.id();
        Self { invoicing, company, client, off }
    }
}

async fn open_company(invoicing: &Invoicing, receiver: &str) -> (CompanyHandle, ClientId) {
    let new = NewCompany::named("Martin Peinture", Plan::Team);
    let company = invoicing.company(invoicing.companies().create(&new).await.expect("a company").id);
    let events = EventKind::ALL.to_vec();
    company.webhooks().register(&NewWebhook { url: receiver.to_owned(), events }).await.expect("a webhook");
    let new = NewClient { email: Some("lea@exemple.fr".into()), ..NewClient::named("Léa Lefèvre") };
    let client = company.clients().create(&new).await.expect("a client").id;
    (company, client)
}
