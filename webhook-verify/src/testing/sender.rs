//! The sender: a queue of what happens when, worked off in simulated time.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use futures_util::future::join_all;

use super::chance::Chance;
use super::{Forgery, ManualClock, Report};
use crate::Signer;

/// Attempts of one delivery, and the pauses between them in milliseconds.
const ATTEMPTS: u32 = 3;
const PAUSES: [i64; 2] = [1_000, 5_000];
/// How long the sender waits for an answer, in milliseconds.
const LIMIT: i64 = 5_000;
/// Furthest that the sender's clock is off while its deliveries stay genuine, in seconds; together with [`LATEST`] it
/// stays within the tolerance.
const SKEW: i64 = 50;
/// Latest that a delayed attempt arrives, in milliseconds.
const LATEST: i64 = 240_000;
/// Within this time the events happen, in milliseconds.
const SPAN: i64 = 60_000;
/// When a replay comes, in milliseconds after it was signed: the tolerance and the skew are over.
const REPLAY: i64 = 352_000;
/// 2026-09-14T09:41:07Z.
const START: i64 = 1_789_378_867_000;

/// How often, in percent of the attempts, what goes wrong.
///
/// Later versions may know more of it, so begin with one of the constants:
///
/// ```
/// # use webhook_verify::testing::Mischief;
/// let lossy = Mischief { drop: 30, lose_answer: 20, ..Mischief::NONE };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mischief {
    /// The attempt gets lost.
    pub drop: u8,
    /// The attempt arrives up to four minutes late, when the sender has given it up.
    pub delay: u8,
    /// The attempt arrives twice at the same time.
    pub double: u8,
    /// The attempt arrives, and the answer gets lost.
    pub lose_answer: u8,
    /// The sender's clock is off, within the tolerance.
    pub skew: u8,
    /// A forgery arrives beside the attempt: see [`Forgery`].
    pub forge: u8,
    /// The attempt is caught, and sent again when its time is over.
    pub replay: u8,
}

impl Mischief {
    /// Nothing goes wrong but the order.
    pub const NONE: Self =
        Self { drop: 0, delay: 0, double: 0, lose_answer: 0, skew: 0, forge: 0, replay: 0 };
    /// Everything goes wrong, often.
    pub const WILD: Self =
        Self { drop: 15, delay: 15, double: 30, lose_answer: 20, skew: 30, forge: 40, replay: 15 };
}

/// Delivers bodies as the service does, over a network that does what [`Mischief`] says.
pub struct FakeSender {
    signers: Vec<Signer>,
    chance: Chance,
    mischief: Mischief,
    clock: ManualClock,
}

/// A request on its way to the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Which body it carries, by its place.
    pub event: usize,
    /// The values of the signature header: one, unless the attempt is forged.
    pub signatures: Vec<String>,
    /// The raw body.
    pub body: Bytes,
    /// What is wrong with it, if it is not genuine.
    pub forgery: Option<Forgery>,
}

/// What happens at some time.
enum Step {
    /// The sender makes an attempt, and acts on the answer.
    Attempt { event: usize, number: u32 },
    /// A request arrives whose answer nobody waits for.
    Stray(Attempt),
}

/// By time, then by the order in which they came up.
type Queue = BTreeMap<(i64, u64), Step>;

impl FakeSender {
    /// A sender with one secret, whose clock starts in September 2026 and who does no [`Mischief`].
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
        Self { signers, chance: Chance::new(seed), mischief: Mischief::NONE, clock: ManualClock::at(START) }
    }

    /// The same with other manners.
    #[must_use]
    pub fn mischief(self, mischief: Mischief) -> Self {
        Self { mischief, ..self }
    }

    /// The clock of the simulation, which the receiver must use, too.
    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    /// Delivers each body until it is accepted or given up, and all strays until they are gone.
    ///
    /// `receiver` answers with a status, or with `None` where it does not answer at all. What failed can be delivered
    /// once more, as after a replay by hand. The clock ends a day later than the last request.
    pub async fn deliver(
        &mut self,
        bodies: &[Bytes],
        receiver: impl AsyncFn(Attempt) -> Option<u16>,
    ) -> Report {
        let mut report = Report { fates: vec![<_>::default(); bodies.len()], ..Report::default() };
        let mut queue = Queue::new();
        for event in 0..bodies.len() {
            let at = self.clock.millis() + self.chance.between(0, SPAN);
            self.plan(&mut queue, at, Step::Attempt { event, number: 1 });
        }
        while let Some(((at, _), step)) = queue.pop_first() {
            self.clock.set(at);
            match step {
                Step::Stray(attempt) => drop(send(&receiver, &mut report, vec![attempt]).await),
                Step::Attempt { event, number } => {
                    report.fates[event].attempts = number;
                    let answer =
                        self.attempt(&mut queue, &mut report, event, &bodies[event], &receiver).await;
                    self.conclude(&mut queue, &mut report, (event, number), answer);
                }
            }
        }
        self.clock.advance(86_400_000);
        report
    }

    /// One attempt and what the network makes of it; the answer that the sender sees.
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
        if self.chance.percent(self.mischief.forge) {
            let forged = self.forge(event, body);
            let at = now + self.chance.between(0, LIMIT);
            self.plan(queue, at, Step::Stray(forged));
        }
        if self.chance.percent(self.mischief.replay) {
            let replay = Attempt { forgery: Some(Forgery::Replay), ..attempt.clone() };
            self.plan(queue, now + REPLAY, Step::Stray(replay));
        }
        if self.chance.percent(self.mischief.drop) {
            return None;
        }
        if self.chance.percent(self.mischief.delay) {
            let at = now + self.chance.between(LIMIT, LATEST);
            self.plan(queue, at, Step::Stray(attempt));
            return None;
        }
        let copies = if self.chance.percent(self.mischief.double) { 2 } else { 1 };
        let answer = send(receiver, report, vec![attempt; copies]).await;
        answer.filter(|_| !self.chance.percent(self.mischief.lose_answer))
    }

    /// The retry policy: a 2xx ends it, 429, 5xx and silence are tried again, everything else ends it, too.
    fn conclude(
        &mut self,
        queue: &mut Queue,
        report: &mut Report,
        (event, number): (usize, u32),
        answer: Option<u16>,
    ) {
        match answer {
            Some(200..=299) => report.fates[event].is_delivered = true,
            None | Some(429 | 500..=599) if number < ATTEMPTS => {
                let waited = if answer.is_none() { LIMIT } else { 0 };
                let pause = PAUSES[usize::try_from(number - 1).unwrap_or(0).min(1)];
                let at = self.clock.millis() + waited + pause;
                self.plan(queue, at, Step::Attempt { event, number: number + 1 });
            }
            _ => {}
        }
    }

    /// A genuine header for now, or for what the sender takes for now.
    fn sign(&mut self, body: &Bytes) -> String {
        let is_off = self.chance.percent(self.mischief.skew);
        let t = self.seconds() + if is_off { self.chance.between(-SKEW, SKEW) } else { 0 };
        let mut header = format!("t={t}");
        for signer in &self.signers {
            let signature = signer.sign(t, body);
            header += signature.as_str().trim_start_matches(|c| c != ',');
        }
        header
    }

    fn forge(&mut self, event: usize, body: &Bytes) -> Attempt {
        let forgery = Forgery::any(&mut self.chance);
        let (signatures, body) = forgery.of(&self.signers[0], body, self.seconds(), &mut self.chance);
        Attempt { event, signatures, body, forgery: Some(forgery) }
    }

    fn seconds(&self) -> i64 {
        self.clock.millis().div_euclid(1000)
    }

    fn plan(&mut self, queue: &mut Queue, at: i64, step: Step) {
        queue.insert((at, self.chance.next()), step);
    }
}

/// Sends the same request as often as it is given, at the same time; the answer to the first.
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
    /// If a signature is not fit for a header; those of a [`FakeSender`] are.
    pub fn request<B: From<Bytes>>(&self) -> http::Request<B> {
        let mut request = http::Request::post("/hook")
            .header("content-type", "application/json")
            .header("user-agent", "Service-Webhook/1.0")
            .header("x-service-webhook-id", "0199f3a2-7c1e-7d10-8f00-5a4b3c2d1e0f");
        for signature in &self.signatures {
            request = request.header("x-service-signature", signature);
        }
        request.body(self.body.clone().into()).expect("a request")
    }
}

/// Shows no secret.
impl fmt::Debug for FakeSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeSender")
            .field("secrets", &self.signers.len())
            .field("mischief", &self.mischief)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
