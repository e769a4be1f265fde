//! On PostgreSQL: 16 writers of one company, who come one after the other, against as many of a company each, who do not
//! wait for each other. The server writes durably and shares the machine with the service.

use std::sync::Arc;

use invoicing_core::{ClientId, CompanyId};
use invoicing_server::{Invoicing, MemoryStore, PostgresSettings};
use invoicing_tests::bench::{aside, durable_cluster, quantile, report};
use invoicing_tests::new_quote;

use super::{Operation, ROUNDS, Side, WRITERS, open_company, run};

/// Writers that are spread over some companies.
struct Writers {
    invoicing: Invoicing,
    companies: Vec<(CompanyId, ClientId)>,
}

pub(crate) async fn compare() {
    let Some(cluster) = durable_cluster() else { return };
    let settings = PostgresSettings::new(cluster.create_database("invoicing").await);
    let builder = Invoicing::postgres(settings).document_store(Arc::new(MemoryStore::new()));
    let invoicing = builder.open().await.expect("the service opens");
    let mut companies = Vec::new();
    for _ in 0..WRITERS {
        companies.push(open_company(&invoicing).await);
    }
    let one = Arc::new(Writers { invoicing: invoicing.clone(), companies: companies[..1].to_vec() });
    let many = Arc::new(Writers { invoicing: invoicing.clone(), companies });
    println!("writers on postgres: {WRITERS} writers, operations per second, a company each / all of one");
    let mut rates = [(); 2].map(|()| Vec::new());
    let mut tails = rates.clone();
    for round in 0..=ROUNDS {
        for (number, writers) in [&many, &one].into_iter().enumerate() {
            let (rate, p99) = run(writers, Operation::CreateQuote).await;
            // The first round warms both up.
            if round > 0 {
                rates[number].push(rate);
                tails[number].push(p99);
            }
        }
    }
    let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(many, one)| many / one).collect();
    report("CreateQuote", &ratios, "> 1");
    for (number, what) in ["a company each", "all of one company"].into_iter().enumerate() {
        aside(what, &rates[number], "operations/s");
        println!("    {:<54} {:>8.1} ms", format!("{what}, p99"), quantile(&tails[number], 0.5));
    }
    invoicing.close().await;
}

impl Side for Writers {
    async fn operate(&self, writer: usize, _: Operation) {
        let (company, client) = self.companies[writer % self.companies.len()];
        let company = self.invoicing.company(company);
        company.quotes().create(&new_quote(client)).await.expect("a quote");
    }
}
