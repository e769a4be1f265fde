//! A proxy of our own on loopback in front of PostgreSQL, which cuts connections: at any message, or in the middle of
//! a commit, the one moment at which a client cannot know what has become of its transaction.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use invoicing_tests::postgres::protocol::{ClientSide, ServerSide, connect};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::commit_messages::{Commits, committed};
use crate::random;

/// Longest time for the server's answer to a COMMIT.
const ANSWER: Duration = Duration::from_secs(10);
/// How long no connection is admitted after a [`Fault`] by chance, and how long there is none of the kind after that.
const AWAY: Duration = Duration::from_secs(1);
const BACK: Duration = Duration::from_secs(5);
/// Longest time by which a COMMIT is late, in milliseconds.
const LATE_MS: u64 = 300;
/// Asks the server to finish what it was told one by one.
const SYNC: &[u8] = b"S\0\0\0\x04";

/// The fates of a COMMIT whose connection is cut.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    /// It never reaches the server.
    Lost,
    /// The server does it, and the client does not hear of it.
    Unheard,
    /// It reaches the server after a while, when the client is asking already.
    Late(Duration),
}

/// The faults of a COMMIT.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) fate: Fate,
    /// Cuts all other connections too, and admits none for so long.
    pub(super) away: Option<Duration>,
}

/// The faults so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    /// Commits that came by, with or without a fault.
    pub(super) commits: usize,
    /// Messages of clients that came by.
    pub(super) messages: u64,
    /// Connections that were cut at a message.
    pub(super) between: usize,
    pub(super) lost: usize,
    /// Done by the server, and cut before the answer.
    pub(super) unheard: usize,
    /// Late, and done all the same.
    pub(super) late: usize,
    /// Refused by the server, which the client did not hear.
    pub(super) refused: usize,
    /// Periods in which no connection was admitted.
    pub(super) away: usize,
}

impl Counts {
    pub(super) fn cuts(&self) -> usize {
        let Self { lost, unheard, late, refused, .. } = self;
        lost + unheard + late + refused
    }
}

/// The proxy. Ends, and cuts all connections, when it is dropped.
pub(super) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    target: AtomicU16,
    /// How many of a thousand commits meet a fault.
    per_mille: AtomicU64,
    /// The faults of the next commits, or `None` for none, instead of random ones.
    next: Mutex<VecDeque<Option<Fault>>>,
    /// Messages of clients up to the one that is not passed on, at which its connection is cut; 0 for none.
    messages_left: AtomicU64,
    away_until: Mutex<Option<Instant>>,
    counts: Mutex<Counts>,
    /// All connections are cut when it changes.
    cut: watch::Sender<()>,
}

impl Proxy {
    /// In front of the server on a port.
    pub(super) async fn start(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port on loopback");
        let port = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared {
            target: target.into(),
            per_mille: 0.into(),
            next: Mutex::default(),
            messages_left: 0.into(),
            away_until: Mutex::default(),
            counts: Mutex::default(),
            cut: watch::Sender::new(()),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Self { port, shared, _tasks: tasks }
    }

    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// From now on leads to the server on another port.
    pub(super) fn lead_to(&self, target: u16) {
        self.shared.target.store(target, Ordering::Relaxed);
    }

    /// From now on so many of a thousand commits meet a fault.
    pub(super) fn cut(&self, per_mille: u64) {
        self.shared.per_mille.store(per_mille, Ordering::Relaxed);
    }

    /// The next commit meets this fault.
    pub(super) fn cut_next(&self, fault: Fault) {
        self.cut_commit(1, fault);
    }

    /// So many commits from now, one meets this fault.
    pub(super) fn cut_commit(&self, commits: usize, fault: Fault) {
        let mut next = self.shared.next.lock().expect("no panic");
        next.extend(std::iter::repeat_n(None, commits - 1));
        next.push_back(Some(fault));
    }

    /// So many messages of clients from now, a connection is cut.
    pub(super) fn cut_message(&self, messages: u64) {
        self.shared.messages_left.store(messages, Ordering::Relaxed);
    }

    /// From now on nothing is cut.
    pub(super) fn calm_down(&self) {
        self.cut(0);
        self.cut_message(0);
        self.shared.next.lock().expect("no panic").clear();
    }

    /// Cuts all connections, and admits none for so long.
    pub(super) fn go_away(&self, away: Duration) {
        self.shared.go_away(Some(away));
    }

    /// Admits connections again.
    pub(super) fn come_back(&self) {
        *self.shared.away_until.lock().expect("no panic") = None;
    }

    pub(super) fn counts(&self) -> Counts {
        *self.shared.counts.lock().expect("no panic")
    }
}

impl Shared {
    fn is_away(&self) -> bool {
        self.away_until.lock().expect("no panic").is_some_and(|until| Instant::now() < until)
    }

    /// The fault of the next commit.
    fn fault(&self) -> Option<Fault> {
        self.count(|counts| counts.commits += 1);
        let next = self.next.lock().expect("no panic").pop_front();
        next.unwrap_or_else(|| {
            (random(1_000) < self.per_mille.load(Ordering::Relaxed)).then(|| self.by_chance())
        })
    }

    /// Whether the connection is cut at a message of its client.
    fn cuts_message(&self) -> bool {
        self.count(|counts| counts.messages += 1);
        let counted_down = |left: u64| left.checked_sub(1);
        let left = self.messages_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted_down);
        let cuts = left == Ok(1);
        self.count(|counts| counts.between += usize::from(cuts));
        cuts
    }

    fn by_chance(&self) -> Fault {
        let fate = match random(3) {
            0 => Fate::Lost,
            1 => Fate::Unheard,
            _ => Fate::Late(Duration::from_millis(random(LATE_MS))),
        };
        let until = *self.away_until.lock().expect("no panic");
        let is_long_back = until.is_none_or(|until| until.elapsed() > BACK);
        Fault { fate, away: (is_long_back && random(4) == 0).then_some(AWAY) }
    }

    fn go_away(&self, away: Option<Duration>) {
        if let Some(away) = away {
            *self.away_until.lock().expect("no panic") = Some(Instant::now() + away);
            self.count(|counts| counts.away += 1);
            self.cut.send_replace(());
        }
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().expect("no panic"));
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if shared.is_away() {
            continue;
        }
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // Both sides are closed, for any reason.
            let _ = carry(client, &shared).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut cut = shared.cut.subscribe();
    let target = (Ipv4Addr::LOCALHOST, shared.target.load(Ordering::Relaxed));
    let (mut client, mut server) = connect(client, target).await?;
    let mut seen = Commits::default();
    loop {
        tokio::select! {
            message = client.requests.next() => {
                let message = message?;
                if shared.cuts_message() {
                    return Ok(());
                }
                if seen.in_message(&message)
                    && let Some(fault) = shared.fault()
                {
                    return meet(fault, &message, client, server, shared).await;
                }
                server.requests.write_all(&message).await?;
            }
            answers = server.answers.several() => client.answers.write_all(&answers?).await?,
            _ = cut.changed() => return Ok(()),
        }
    }
}

/// The end of a connection with a COMMIT on the way.
async fn meet(
    fault: Fault,
    commit: &[u8],
    client: ClientSide,
    server: ServerSide,
    shared: &Shared,
) -> io::Result<()> {
    match fault.fate {
        Fate::Lost => {
            shared.count(|counts| counts.lost += 1);
            shared.go_away(fault.away);
        }
        Fate::Unheard => {
            let done = ask(server, commit).await?;
            shared.count(|counts| *if done { &mut counts.unheard } else { &mut counts.refused } += 1);
            shared.go_away(fault.away);
        }
        Fate::Late(by) => {
            shared.go_away(fault.away);
            drop(client);
            tokio::time::sleep(by).await;
            let done = ask(server, commit).await?;
            shared.count(|counts| *if done { &mut counts.late } else { &mut counts.refused } += 1);
        }
    }
    Ok(())
}

/// Whether the server commits when it is asked to.
async fn ask(mut server: ServerSide, commit: &[u8]) -> io::Result<bool> {
    server.requests.write_all(commit).await?;
    if commit[0] != b'Q' {
        server.requests.write_all(SYNC).await?;
    }
    let answer = async {
        loop {
            if let Some(done) = committed(&server.answers.next().await?) {
                return Ok(done);
            }
        }
    };
    tokio::time::timeout(ANSWER, answer).await.map_err(io::Error::other)?
}
