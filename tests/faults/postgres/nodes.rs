//! Several nodes on one database, and receivers that never fail: if a delivery comes twice, the reason lies in the
//! nodes.

use std::time::Duration;

use invoicing_tests::{Received, Receiver, Reply};
use serde_json::Value;

use crate::checks::{self, Figures};
use crate::process::{CLAIMED, Node, Site};

/// Nodes, and what those have said that are no more.
pub(super) struct Nodes {
    pub(super) site: Site,
    pub(super) running: Vec<Node>,
    said: Vec<Value>,
}

impl Nodes {
    /// Starts working nodes, the first one by itself: it makes the companies.
    pub(super) fn start(site: Site, count: usize) -> Self {
        let mut nodes = Self { running: Vec::with_capacity(count), said: Vec::new(), site };
        let first = nodes.site.start("work");
        first.started();
        nodes.running.push(first);
        nodes.running.extend((1..count).map(|_| nodes.site.start("work")));
        for node in &nodes.running {
            node.started();
        }
        nodes
    }

    /// Waits until each node has announced so many more operations of each company.
    pub(super) fn wait_for_operations(&self, more: usize) {
        for node in &self.running {
            node.wait_for_operations(more);
        }
    }

    /// Kills a node and starts another in its place.
    pub(super) fn kill(&mut self, place: usize) {
        let node = self.running.remove(place);
        self.said.extend(node.kill());
        self.running.insert(place, self.site.start("work"));
    }

    /// Stops all nodes in good order, lets a last one deliver what is left, and checks everything. Also what was said.
    pub(super) async fn finish(
        mut self,
        received: impl FnOnce() -> Vec<Received>,
    ) -> (Figures, Vec<Vec<Value>>) {
        for node in self.running.drain(..) {
            self.said.extend(node.stop_well());
        }
        let last = self.site.start("rest");
        last.started();
        self.site.wait_until_all_ended().await;
        self.said.extend(last.stop_well());
        assert_eq!(self.site.count(CLAIMED).await, 0);
        let said = vec![self.said];
        let figures = checks::check(&self.site, &said, &received()).await;
        assert_eq!(figures.lost, 0, "{figures}");
        (figures, said)
    }
}

/// So many receivers that are well.
pub(super) async fn receivers(count: usize) -> Vec<Receiver> {
    let mut receivers = Vec::with_capacity(count);
    for _ in 0..count {
        receivers.push(Receiver::start().await);
    }
    receivers
}

/// So many receivers that are well and take their time, so that something is held at any moment.
pub(super) async fn slow_receivers(count: usize) -> Vec<Receiver> {
    let receivers = receivers(count).await;
    for receiver in &receivers {
        receiver.reply_always(Reply::Slow(Duration::from_millis(250), 200));
    }
    receivers
}

pub(super) fn urls(receivers: &[Receiver]) -> Vec<String> {
    receivers.iter().map(|receiver| receiver.url.clone()).collect()
}

/// Everything that came.
pub(super) fn take(receivers: &[Receiver]) -> Vec<Received> {
    receivers.iter().flat_map(Receiver::take).collect()
}
