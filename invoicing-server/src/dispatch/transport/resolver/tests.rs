use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::*;

/// Long enough never to run out in a test that passes.
const AMPLE: Duration = Duration::from_secs(30);

/// Names that begin with `hangs` are answered when it is dropped.
struct Hanging {
    _release: mpsc::Sender<()>,
    resolver: SystemResolver,
    /// Lookups of them that were begun.
    begun: Arc<AtomicUsize>,
    attempts: JoinSet<io::Result<Vec<IpAddr>>>,
}

impl Hanging {
    fn new() -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (released, begun) = (Mutex::new(released), Arc::<AtomicUsize>::default());
        let counted = Arc::clone(&begun);
        let resolver = SystemResolver::new(move |host| {
            if host.starts_with("hangs") {
                counted.fetch_add(1, Ordering::SeqCst);
                released.lock().recv().unwrap_err();
            }
            Ok(vec![[192, 0, 2, 1].into()])
        });
        Self { _release: release, resolver, begun, attempts: JoinSet::new() }
    }

    /// Begins so many lookups of a name, and lets them come to where they hang or wait.
    async fn ask(&mut self, host: &str, times: usize) {
        for _ in 0..times {
            self.attempts.spawn(self.resolver.resolve(host));
        }
        tokio::task::yield_now().await;
    }

    /// Names that do not hang are found.
    async fn assert_others_are_found(&self) {
        for host in ["one.example", "two.example", "three.example"] {
            let found = tokio::time::timeout(AMPLE, self.resolver.resolve(host)).await;
            found.expect("names that hang keep others waiting").unwrap();
        }
    }
}

#[tokio::test]
async fn many_lookups_of_names_that_hang_take_one_place_each() {
    let mut hanging = Hanging::new();
    for n in 0..25 {
        hanging.ask(&format!("hangs{n}.example"), 8).await;
    }
    hanging.assert_others_are_found().await;
    assert!(hanging.begun.load(Ordering::SeqCst) <= 25);
    // Attempts that end leave their lookups behind; those that follow begin no others.
    hanging.attempts.shutdown().await;
    for n in 0..25 {
        hanging.ask(&format!("hangs{n}.example"), 8).await;
    }
    hanging.assert_others_are_found().await;
    assert!(hanging.begun.load(Ordering::SeqCst) <= 25);
}

#[tokio::test]
async fn more_names_that_hang_than_there_are_places_keep_others_waiting_for_a_moment_only() {
    let mut hanging = Hanging::new();
    for n in 0..200 {
        hanging.ask(&format!("hangs{n}.example"), 1).await;
    }
    hanging.assert_others_are_found().await;
}

#[tokio::test]
async fn a_name_is_looked_up_once_for_all_who_wait_and_again_for_who_comes_later() {
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
async fn a_lookup_that_fails_or_panics_fails_for_all_who_wait_and_leaves_nothing_behind() {
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
    assert!(resolver.0.under_way().is_empty());
    assert_eq!(resolver.0.places.available_permits(), MAX_LOOKUPS);
}
