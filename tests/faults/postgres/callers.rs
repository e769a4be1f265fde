//! Callers of the API, one per node, who call without end and remember every answer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::{Answer, call};
use crate::process::Node;

/// The operations of the callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    /// They read.
    Reading,
    /// They read and create clients in turn; what was not created is created again.
    Creating,
}

/// The callers. They end when they are asked to.
pub(super) struct Callers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    key: String,
    calls: Calls,
    pace: Duration,
    /// Where each node is at present.
    addresses: Mutex<Vec<String>>,
    answers: Vec<Mutex<Vec<Answer>>>,
    /// Calls that were not answered.
    unanswered: AtomicUsize,
    stop: AtomicBool,
}

impl Callers {
    /// Calls the nodes with one key.
    pub(super) fn start(nodes: &[Node], key: String, calls: Calls, pace: Duration) -> Self {
        let shared = Arc::new(Shared {
            key,
            calls,
            pace,
            addresses: Mutex::new(addresses(nodes)),
            answers: nodes.iter().map(|_| Mutex::default()).collect(),
            unanswered: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let threads = (0..nodes.len()).map(|place| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.call(place))
        });
        Self { threads: threads.collect(), shared }
    }

    /// Says that some nodes are others now.
    pub(super) fn look_again(&self, nodes: &[Node]) {
        *self.shared.addresses.lock().expect("no panic") = addresses(nodes);
    }

    /// Whether every node has answered so after an instant.
    pub(super) fn all_answered(&self, status: u16, since: Instant) -> bool {
        let so = |answer: &Answer| answer.status == status && answer.answered >= since;
        self.shared.answers.iter().all(|answers| answers.lock().expect("no panic").iter().rev().any(so))
    }

    /// All answers, and how many calls had none.
    pub(super) fn stop(self) -> (Vec<Answer>, usize) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("no panic");
        }
        let take = |answers: &Mutex<Vec<Answer>>| std::mem::take(&mut *answers.lock().expect("no panic"));
        (self.shared.answers.iter().flat_map(take).collect(), self.shared.unanswered.load(Ordering::Relaxed))
    }
}

impl Shared {
    fn call(&self, place: usize) {
        let mut done = 0;
        for turn in 0_u64.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let address = self.addresses.lock().expect("no panic")[place].clone();
            let creates = self.calls == Calls::Creating && turn % 2 == 1;
            let answer = if creates {
                let external_id = format!("{place}-{done}");
                let body = json!({ "name": format!("Appel {external_id}"), "externalId": external_id });
                call(&address, &self.key, "POST", "/clients", &body.to_string())
            } else {
                call(&address, &self.key, "GET", "/clients?limit=1", "")
            };
            done += usize::from(creates && answer.as_ref().is_some_and(|answer| answer.status < 300));
            match answer {
                Some(answer) => self.answers[place].lock().expect("no panic").push(answer),
                None => _ = self.unanswered.fetch_add(1, Ordering::Relaxed),
            }
            std::thread::sleep(self.pace);
        }
    }
}

fn addresses(nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(|node| node.started().address).collect()
}
