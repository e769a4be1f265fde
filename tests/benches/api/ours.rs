//! Our side: the service as a host serves it, with authentication, plan, quota and headers.
//!
//! On PostgreSQL there is no quota: it is kept in the row of its key, and no key is made for thousands a second.

use std::net::SocketAddr;
use std::sync::Arc;

use invoicing_core::{ClientId, NewClient, NewCompany, NewQuote, Plan};
use invoicing_server::{Invoicing, MemoryStore, PostgresSettings, ServeLimits, Settings, serve};
use invoicing_tests::bench::{Questions, answer, durable_cluster, postmaster};
use serde_json::json;
use tokio::net::TcpListener;

use super::{Data, LINES, POSTGRES, QUOTES};

/// So high that the load never reaches it; it is counted exactly all the same.
const QUOTA: u32 = 100_000_000;

/// Serves until the benchmark ends.
pub(crate) async fn run() {
    let mut questions = Questions::default();
    let database = questions.next().await.expect("which database");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
    let cluster = (database == POSTGRES).then(|| durable_cluster().expect("the programs are there"));
    let (builder, quota) = match &cluster {
        None => (Invoicing::sqlite(folder.path().join("invoicing.db")), QUOTA),
        Some(cluster) => {
            let settings = PostgresSettings::new(cluster.create_database("ours").await);
            (Invoicing::postgres(settings).document_store(Arc::new(MemoryStore::new())), 0)
        }
    };
    let settings = Settings { quota, ..Settings::default() };
    let invoicing = builder.settings(settings).open().await.expect("the service opens");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let mut data = fill(&invoicing, address).await;
    if let Some(cluster) = &cluster {
        data.url_of_rival = Some(cluster.create_database("rival").await);
        data.postmaster = Some(postmaster(cluster));
    }
    let over = async {
        answer(&json!(data));
        questions.next().await;
    };
    serve(listener, invoicing.service(), ServeLimits::default(), over).await.expect("it serves");
}

async fn fill(invoicing: &Invoicing, address: SocketAddr) -> Data {
    let new = NewCompany::named("Martin Peinture", Plan::Team);
    let company = invoicing.companies().create(&new).await.expect("a company");
    let company = invoicing.company(company.id);
    let key = company.keys().issue("load").await.expect("a key").key.reveal().to_owned();
    let new = NewClient { email: Some("lea@exemple.fr".into()), ..NewClient::named("Léa Lefèvre") };
    let client = company.clients().create(&new).await.expect("a client").id;
    let mut quotes = Vec::with_capacity(QUOTES);
    for _ in 0..QUOTES {
        quotes.push(company.quotes().create(&new_quote(client)).await.expect("a quote"));
    }
    Data { address, key, company: company.id(), quotes, url_of_rival: None, postmaster: None }
}

/// A quote as a painter writes it: a dozen lines, two VAT rates.
fn new_quote(client: ClientId) -> NewQuote {
    let of_test = invoicing_tests::new_quote(client);
    let lines = of_test.lines.iter().cycle().take(LINES).cloned().collect();
    NewQuote { lines, ..of_test }
}
