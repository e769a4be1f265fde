//! The sender: a queue of steps by their time, worked off in simulated time.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use futures_util::future::join_all;

use super::rng::Rng;
use super::{Forgery, ManualClock, Report};
use crate::Signer;

/// Attempts of one delivery, and the pauses between them in milliseconds.
const ATTEMPTS: u32 = 3;
const PAUSES: [i64; 2] = [1_000, 5_000];
/// Longest wait of the sender for an answer, in milliseconds.
const LIMIT: i64 = 5_000;
/// Largest error of the sender's clock while its deliveries stay genuine, in seconds; together with
/// [`LATEST`] it stays within the tolerance.
const SKEW: i64 = 50;
/// Longest delay of an attempt, in milliseconds.
const LATEST: i64 = 240_000;
/// The events happen within this time, in milliseconds.
const SPAN: i64 = 60_000;
/// Time of a replay, in milliseconds after its signature: the tolerance and the skew are over.
const REPLAY: i64 = 352_000;
/// 2026-09-14T09:41:07Z.
const START: i64 = 1_789_378_867_000;

/// The frequency of each fault, in percent of the attempts.
///
/// Later versions may add fields, so begin with one of the constants:
///
/// ```
/// # use webhook_verify::testing::Faults;
/// let lossy = Faults { drop: 30, lose_answer: 20, ..Faults::NONE };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The attempt gets lost.
    pub drop: u8,
    /// The attempt arrives up to four minutes late, after the sender has stopped waiting.
    pub delay: u8,
    /// The attempt arrives twice at the same time.
    pub double: u8,
    /// The attempt arrives, and the answer gets lost.
    pub lose_answer: u8,
    /// The sender's clock is off, within the tolerance.
    pub skew: u8,
    /// A forgery arrives beside the attempt: see [`Forgery`].
    pub forge: u8,
    /// The attempt is captured, and sent again once its signature is too old.
    pub replay: u8,
}

impl Faults {
    /// No faults; only the order is random.
    pub const NONE: Self =
        Self { drop: 0, delay: 0, double: 0, lose_answer: 0, skew: 0, forge: 0, replay: 0 };
    /// Every fault, often.
    pub const FREQUENT: Self =
        Self { drop: 15, delay: 15, double: 30, lose_answer: 20, skew: 30, forge: 40, replay: 15 };
}

/// Delivers bodies as the service does, over a network with these [`Faults`].
pub struct FakeSender {
    signers: Vec<Signer>,
    rng: Rng,
    faults: Faults,
    clock: ManualClock,
}

/// A request on its way to the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// The index of its body.
    pub event: usize,
    /// The values of the signature header: one, unless the attempt is forged.
    pub signatures: Vec<String>,
    /// The raw body.
    pub body: Bytes,
    /// The kind of the forgery; `None` if the attempt is genuine.
    pub forgery: Option<Forgery>,
}

/// A step of the simulation.
enum Step {
    /// The sender makes an attempt, and acts on the answer.
    Attempt { event: usize, number: u32 },
    /// A request arrives after the sender has stopped waiting for its answer.
    Late(Attempt),
}

/// The steps by time, then in random order.
type Queue = BTreeMap<(i64, u64), Step>;

impl FakeSender {
    /// A sender with one secret, without [`Faults`], whose clock starts in September 2026.
    ///
    /// # Panics
    ///
    /// If the secret is empty.
    pub fn new(secret: impl AsRef<[u8]>, seed: u64) -> Self {
        Self::rotating([secret], seed)
    }

    /// A sender in the middle of a rotation: each header has a `v1` for every secret.
    ///
    /// # Panics
    ///
    /// If a secret is empty, or there is none.
    pub fn rotating(secrets: impl IntoIterator<Item: AsRef<[u8]>>, seed: u64) -> Self {
        let signers: Result<Vec<_>, _> = secrets.into_iter().map(Signer::new).collect();
        let signers = signers.expect("a secret that is not empty");
        assert!(!signers.is_empty(), "a sender needs a secret");
        Self { signers, rng: Rng::new(seed), faults: Faults::NONE, clock: ManualClock::at(START) }
    }

    /// Sets the faults.
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// The clock of the simulation, which the receiver must also use.
    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    /// Delivers each body until it is accepted or given up, and every late or forged request.
    ///
    /// `receiver` answers with a status, or `None` for no answer. Failed bodies can be delivered
    /// again, as by a replay. The clock ends a day later than the last request.
    pub async fn deliver(
        &mut self,
        bodies: &[Bytes],
        receiver: impl AsyncFn(Attempt) -> Option<u16>,
    ) -> Report {
        let mut report = Report { outcomes: vec![<_>::default(); bodies.len()], ..Report::default() };
        let mut queue = Queue::new();
        for event in 0..bodies.len() {
            let at = self.clock.millis() + self.rng.between(0, SPAN);
            self.plan(&mut queue, at, Step::Attempt { event, number: 1 });
        }
        while let Some(((at, _), step)) = queue.pop_first() {
            self.clock.set(at);
            match step {
                Step::Late(attempt) => drop(send(&receiver, &mut report, vec![attempt]).await),
                Step::Attempt { event, number } => {
                    report.outcomes[event].attempts = number;
                    let answer =
                        self.attempt(&mut queue, &mut report, event, &bodies[event], &receiver).await;
                    self.conclude(&mut queue, &mut report, (event, number), answer);
                }
            }
        }
        self.clock.advance(86_400_000);
        report
    }

    /// One attempt with its faults. Returns the answer that the sender sees.
    async fn attempt(
        &mut self,
        queue: &mut Queue,
        report: &mut Report,
        event: usize,
        body: &Bytes,
        receiver: &impl AsyncFn(Attempt) -> Option<u16>,
    ) -> Option<u16> {
        let now = self.clock.millis();
        let attempt = Attempt { event, signatures: vec![self.sign(body)], body: body.clone(), forgery: None };
        if self.rng.percent(self.faults.forge) {
            let forged = self.forge(event, body);
            let at = now + self.rng.between(0, LIMIT);
            self.plan(queue, at, Step::Late(forged));
        }
        if self.rng.percent(self.faults.replay) {
            let replay = Attempt { forgery: Some(Forgery::Replay), ..attempt.clone() };
            self.plan(queue, now + REPLAY, Step::Late(replay));
        }
        if self.rng.percent(self.faults.drop) {
            return None;
        }
        if self.rng.percent(self.faults.delay) {
            let at = now + self.rng.between(LIMIT, LATEST);
            self.plan(queue, at, Step::Late(attempt));
            return None;
        }
        let copies = if self.rng.percent(self.faults.double) { 2 } else { 1 };
        let answer = send(receiver, report, vec![attempt; copies]).await;
        answer.filter(|_| !self.rng.percent(self.faults.lose_answer))
    }

    /// The retry policy: retries after 429, 5xx and no answer; any other status ends the delivery.
    fn conclude(
        &mut self,
        queue: &mut Queue,
        report: &mut Report,
        (event, number): (usize, u32),
        answer: Option<u16>,
    ) {
        match answer {
            Some(200..=299) => report.outcomes[event].is_delivered = true,
            None | Some(429 | 500..=599) if number < ATTEMPTS => {
                let waited = if answer.is_none() { LIMIT } else { 0 };
                let pause = PAUSES[usize::try_from(number - 1).unwrap_or(0).min(1)];
                let at = self.clock.millis() + waited + pause;
                self.plan(queue, at, Step::Attempt { event, number: number + 1 });
            }
            _ => {}
        }
    }

    /// A genuine header for the current time of the sender, which may be skewed.
    fn sign(&mut self, body: &Bytes) -> String {
        let is_off = self.rng.percent(self.faults.skew);
        let t = self.seconds() + if is_off { self.rng.between(-SKEW, SKEW) } else { 0 };
        let mut header = format!("t={t}");
        for signer in &self.signers {
            header += ",v1=";
            header += signer.sign(t, body).v1();
        }
        header
    }

    fn forge(&mut self, event: usize, body: &Bytes) -> Attempt {
        let forgery = Forgery::any(&mut self.rng);
        let (signatures, body) = forgery.of(&self.signers[0], body, self.seconds(), &mut self.rng);
        Attempt { event, signatures, body, forgery: Some(forgery) }
    }

    fn seconds(&self) -> i64 {
        self.clock.millis().div_euclid(1000)
    }

    fn plan(&mut self, queue: &mut Queue, at: i64, step: Step) {
        queue.insert((at, self.rng.next()), step);
    }
}

/// Sends the copies of a request concurrently. Returns the answer to the first.
async fn send(
    receiver: &impl AsyncFn(Attempt) -> Option<u16>,
    report: &mut Report,
    copies: Vec<Attempt>,
) -> Option<u16> {
    let of: Vec<_> = copies.iter().map(|attempt| (attempt.event, attempt.forgery)).collect();
    let answers = join_all(copies.into_iter().map(|attempt| receiver(attempt))).await;
    for ((event, forgery), answer) in of.into_iter().zip(&answers) {
        report.requests += 1;
        report.forged += usize::from(forgery.is_some());
        if let Some(status) = answer {
            report.note(event, forgery, *status);
        }
    }
    answers.into_iter().next().flatten()
}

#[cfg(feature = "tower")]
impl Attempt {
    /// The request, with the headers that the service sends.
    ///
    /// # Panics
    ///
    /// If a signature is not fit for a header. The signatures of a [`FakeSender`] are.
    pub fn request<B: From<Bytes>>(&self) -> http::Request<B> {
        let mut request = http::Request::post("/hook")
            .header("content-type", "application/json")
            .header("user-agent", "Service-Webhook/1.0")
            .header("x-service-webhook-id", "0199f3a2-7c1e-7d10-8f00-5a4b3c2d1e0f")
            .header("x-service-event-id", format!("0199f3a2-7c1e-7d10-8f01-{:012x}", self.event));
        for signature in &self.signatures {
            request = request.header("x-service-signature", signature);
        }
        request.body(self.body.clone().into()).expect("a request")
    }
}

/// Leaves out the secret.
impl fmt::Debug for FakeSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeSender")
            .field("secrets", &self.signers.len())
            .field("faults", &self.faults)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
