//! Two nodes on one PostgreSQL database against one, with everything committed beforehand.
//!
//! Receivers that answer at once keep the one core busy that all share here, so a second node can only show what sharing
//! costs. Receivers far away take a place of the dispatcher for a while, and there a second node brings as many again.

use std::time::Instant;

use invoicing_tests::bench::{Peer, aside, rate, report};
use serde_json::{Value, json};

use super::sink::Sink;
use super::{DELIVERIES, FAR, TWENTY, create};

const ROUNDS: usize = 5;

pub(crate) async fn compare(one: &mut Peer, sink: &Sink, url: &Value) {
    println!("nodes: deliveries per second of two nodes against one, on one core");
    let mut two = Peer::start("service");
    two.ask(&json!({"do": "open", "sink": sink.address(), "database": url})).await;
    for (company, target) in [(FAR, "> 1"), (TWENTY, "(one core for all)")] {
        let (mut ratios, mut alone, mut together) = (vec![], vec![], vec![]);
        for round in 0..=ROUNDS {
            let a = backlog(&mut [one], sink, company).await;
            let b = backlog(&mut [one, &mut two], sink, company).await;
            // The first round warms everything up.
            if round > 0 {
                ratios.push(b / a);
                alone.push(a);
                together.push(b);
            }
        }
        report(&format!("{company}, two nodes / one"), &ratios, target);
        aside("one node", &alone, "deliveries/s");
        aside("two nodes", &together, "deliveries/s");
    }
}

async fn backlog(nodes: &mut [&mut Peer], sink: &Sink, company: &str) -> f64 {
    sink.reset();
    nodes[0].ask(&create(company, DELIVERIES / 20)).await;
    let begun = Instant::now();
    for node in &mut *nodes {
        node.ask(&json!({"do": "start"})).await;
    }
    sink.wait_for(DELIVERIES).await;
    for node in nodes {
        node.ask(&json!({"do": "stop"})).await;
    }
    rate(DELIVERIES, begun.elapsed())
}
