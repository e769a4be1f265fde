//! The receivers of the test's process: one that is well, one that answers anything, one that is slow, and one that is
//! not always there.

use std::time::Duration;

use invoicing_tests::{Received, Receiver, Reply, postgres};

/// More replies than one round needs.
const MANY: usize = 5_000;
/// Until everything that a receiver was answering is answered.
const SETTLE: Duration = Duration::from_millis(60);

/// The receivers, and everything that they have got.
pub(crate) struct UnreliableReceivers {
    receivers: [Receiver; 3],
    sometimes: Option<Receiver>,
    address: String,
    received: Vec<Received>,
}

impl UnreliableReceivers {
    pub(crate) async fn start() -> Self {
        let receivers = [Receiver::start().await, Receiver::start().await, Receiver::start().await];
        // Its port stays free while it is away: no other program is given one of this range.
        let port = (0..100).find_map(|_| postgres::free_port()).expect("a free port");
        let sometimes = Receiver::start_at(&format!("127.0.0.1:{port}")).await;
        let address = sometimes.url.trim_start_matches("http://").trim_end_matches("/hook").to_owned();
        Self { receivers, sometimes: Some(sometimes), address, received: Vec::new() }
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        let mut urls: Vec<String> = self.receivers.iter().map(|receiver| receiver.url.clone()).collect();
        urls.push(format!("http://{}/hook", self.address));
        urls
    }

    /// The worst receivers; `round` chooses their faults.
    pub(crate) async fn worsen(&mut self, round: usize) {
        let [_, moody, slow] = &self.receivers;
        let replies = [200, 500, 200, 429, 200, 503, 500, 500, 404].into_iter().cycle().skip(round);
        moody.reply_next(replies.take(MANY).map(Reply::status));
        let slowly = Reply::Slow(Duration::from_millis(40 * (round as u64 % 4)), 200);
        slow.reply_next((0..round % 3).map(|_| Reply::Hang));
        slow.reply_next((0..MANY).map(|_| slowly.clone()));
        if round % 2 == 1 {
            self.go_away().await;
        } else {
            self.come_back().await;
        }
    }

    /// Well, all of them.
    pub(crate) async fn recover(&mut self) {
        self.come_back().await;
        for receiver in self.receivers.iter().chain(&self.sometimes) {
            receiver.reply_always(Reply::status(200));
        }
    }

    async fn go_away(&mut self) {
        if let Some(receiver) = self.sometimes.take() {
            // Nothing that it gets between being emptied and ending may count as delivered.
            receiver.reply_always(Reply::status(500));
            tokio::time::sleep(SETTLE).await;
            self.received.extend(receiver.take());
        }
    }

    async fn come_back(&mut self) {
        if self.sometimes.is_none() {
            self.sometimes = Some(Receiver::start_at(&self.address).await);
        }
    }

    /// Everything that came, and from now on is forgotten.
    pub(crate) fn take(&mut self) -> Vec<Received> {
        let mut received = std::mem::take(&mut self.received);
        for receiver in self.receivers.iter().chain(&self.sometimes) {
            received.extend(receiver.take());
        }
        received
    }
}
