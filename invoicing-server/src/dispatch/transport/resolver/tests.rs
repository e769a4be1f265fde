use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::*;

/// Long enough never to run out in a test that passes.
const AMPLE: Duration = Duration::from_secs(30);

/// A resolver whose lookups of `hangs…` return when this is dropped.
struct Hanging {
    _release: mpsc::Sender<()>,
    resolver: SystemResolver,
    /// Lookups of such names that were started.
    started: Arc<AtomicUsize>,
    attempts: JoinSet<io::Result<Vec<IpAddr>>>,
}

impl Hanging {
    fn new() -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (released, started) = (Mutex::new(released), Arc::<AtomicUsize>::default());
        let counted = Arc::clone(&started);
        let resolver = SystemResolver::new(move |host| {
            if host.starts_with("hangs") {
                counted.fetch_add(1, Ordering::SeqCst);
                released.lock().recv().unwrap_err();
            }
            Ok(vec![[192, 0, 2, 1].into()])
        });
        Self { _release: release, resolver, started, attempts: JoinSet::new() }
    }

    /// Starts lookups of a name, and lets them run until they hang or wait.
    async fn ask(&mut self, host: &str, times: usize) {
        for _ in 0..times {
            self.attempts.spawn(self.resolver.resolve(host));
        }
        tokio::task::yield_now().await;
    }

    /// Other names are still resolved.
    async fn assert_others_are_found(&self) {
        for host in ["one.example", "two.example", "three.example"] {
            let found = tokio::time::timeout(AMPLE, self.resolver.resolve(host)).await;
            found.expect("slow names delay others").unwrap();
        }
    }
}

#[tokio::test]
async fn a_slow_name_takes_one_permit_however_many_callers_ask() {
    let mut hanging = Hanging::new();
    for n in 0..25 {
        hanging.ask(&format!("hangs{n}.example"), 8).await;
    }
    hanging.assert_others_are_found().await;
    assert!(hanging.started.load(Ordering::SeqCst) <= 25);
    // The lookups outlive the attempts, and the next attempts join them.
    hanging.attempts.shutdown().await;
    for n in 0..25 {
        hanging.ask(&format!("hangs{n}.example"), 8).await;
    }
    hanging.assert_others_are_found().await;
    assert!(hanging.started.load(Ordering::SeqCst) <= 25);
}

#[tokio::test]
async fn more_slow_names_than_permits_delay_other_lookups_only_briefly() {
    let mut hanging = Hanging::new();
    for n in 0..200 {
        hanging.ask(&format!("hangs{n}.example"), 1).await;
    }
    hanging.assert_others_are_found().await;
}

#[tokio::test]
async fn concurrent_callers_share_a_lookup_and_a_later_caller_starts_another() {
    let lookups = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&lookups);
    let resolver = SystemResolver::new(move |_| {
        let octet = counted.fetch_add(1, Ordering::SeqCst);
        Ok(vec![[192, 0, 2, u8::try_from(octet).unwrap()].into()])
    });
    for last in 0..3_u8 {
        let answers = join_all((0..8).map(|_| resolver.resolve("hooks.example"))).await;
        for answer in answers {
            assert_eq!(answer.unwrap(), [IpAddr::from([192, 0, 2, last])]);
        }
    }
    assert_eq!(lookups.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_failed_or_panicked_lookup_fails_all_its_callers_and_is_forgotten() {
    let resolver = SystemResolver::new(|host| match host {
        "panics.example" => panic!("expected"),
        _ => Err(io::ErrorKind::NotFound.into()),
    });
    for host in ["fails.example", "panics.example"] {
        for _ in 0..2 {
            let answers = join_all((0..8).map(|_| resolver.resolve(host))).await;
            assert!(answers.iter().all(Result::is_err), "{host}: {answers:?}");
        }
    }
    assert!(resolver.0.in_progress.lock().is_empty());
    assert_eq!(resolver.0.permits.available_permits(), MAX_LOOKUPS);
}
