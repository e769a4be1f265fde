//! Connections cut in the middle of a commit: whether the transaction was committed is found out, and neither is what
//! was done done again, nor what was not done given up, and no caller is told a guess.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use invoicing_core::{ClientId, NewClient};
use invoicing_server::{CompanyHandle, Error, Invoicing, QuoteQuery};
use invoicing_tests::postgres::{Cluster, Options};
use invoicing_tests::{Receiver, Reply, RunningDispatcher, new_quote};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::in_process::{companies, open};
use super::nodes::{receivers, take, urls};
use super::proxy::{Fate, Fault, Proxy};
use super::{hasty, on_new_database, wait_until};
use crate::process::{PATIENCE, Site};
use crate::workload::{Failure, Say, Writer};
use crate::{checks, tell, times};

/// Writers per company.
const WRITERS: u64 = 2;
/// How many of a thousand commits are cut.
const CUT: u64 = 300;
/// Longer than any operation waits for its database.
const LONG: Duration = Duration::from_mins(2);

#[tokio::test(flavor = "multi_thread")]
async fn cut_in_the_middle_of_a_commit_everything_happens_once() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let cuts = times("FAULTS_CUTS", 150);
    let receivers = receivers(1).await;
    let site = on_new_database(&cluster, urls(&receivers)).await;
    let proxy = Proxy::start(cluster.port()).await;
    // The deliveries of a claim that was cut are free again when its short lease is over.
    let invoicing = open(&site, proxy.url("invoicing"), hasty()).await;
    let companies = companies(&invoicing, &site.hooks).await;
    let said = Arc::new(Mutex::new(Vec::<Value>::new()));
    let (stop, stopped) = watch::channel(false);
    let delivering = RunningDispatcher::start(invoicing.dispatcher());

    proxy.cut(CUT);
    let mut writing = write(&invoicing, &companies, &said, &stopped);
    while proxy.counts().cuts() < cuts {
        assert!(writing.try_join_next().is_none(), "a writer has given up: {:?}", last(&said));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.send_replace(true);
    while let Some(written) = writing.join_next().await {
        written.expect("no panic").expect("no failure but the database's");
    }
    proxy.cut(0);
    site.wait_until_all_ended().await;
    delivering.stop().await;
    invoicing.close().await;

    let counts = proxy.counts();
    let said = vec![std::mem::take(&mut *said.lock().expect("no panic"))];
    let figures = checks::check(&site, &said, &take(&receivers)).await;
    let text = format!(
        "{} of {} commits cut: {} resolved as committed ({} unheard, {} late), {} as not committed ({} lost, {} \
         refused); out of reach {} times",
        counts.cuts(),
        counts.commits,
        counts.unheard + counts.late,
        counts.unheard,
        counts.late,
        counts.lost + counts.refused,
        counts.lost,
        counts.refused,
        counts.away,
    );
    tell("connections cut in the middle of a commit", &format_args!("{figures}; {text}"));
    let kinds = [counts.lost, counts.unheard, counts.late, counts.away];
    assert!(kinds.iter().all(|count| *count > 0), "the proxy has not done it all: {counts:?}");
    // The database was never away for long.
    assert_eq!(checks::said_wrong(&said, "unavailable"), None);
    assert_eq!((figures.lost, figures.doubled, figures.duplicated), (0, 0, 0));
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    assert!(figures.operations > cuts, "too little happened to mean anything");
}

fn last(said: &Mutex<Vec<Value>>) -> Option<Value> {
    said.lock().expect("no panic").last().cloned()
}

/// Writers at work until they are told to stop.
fn write(
    invoicing: &Invoicing,
    companies: &[(CompanyHandle, bool)],
    said: &Arc<Mutex<Vec<Value>>>,
    stopped: &watch::Receiver<bool>,
) -> JoinSet<Result<(), Failure>> {
    let said = Arc::clone(said);
    let say: Say = Arc::new(move |line: &Value| said.lock().expect("no panic").push(line.clone()));
    let mut writing = JoinSet::new();
    for (handle, automatic) in companies {
        for first in 0..WRITERS {
            let writer = Writer::new(invoicing, handle, *automatic, &say);
            let (say, stopped) = (Arc::clone(&say), stopped.clone());
            writing.spawn(async move {
                let mut turn = first;
                while !*stopped.borrow() {
                    let dealt = writer.try_deal(turn).await;
                    dealt.inspect_err(|error| say(&json!({ "failed": format!("{error:?}") })))?;
                    turn += 1;
                }
                Ok(())
            });
        }
    }
    writing
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unresolved_commit_is_unavailable_and_applies_at_most_once() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let site = on_new_database(&cluster, Vec::new()).await;
    let proxy = Proxy::start(cluster.port()).await;
    let invoicing = open(&site, proxy.url("invoicing"), hasty()).await;
    let (company, _) = companies(&invoicing, &site.hooks).await.remove(0);
    let mut longest = Duration::ZERO;
    for (fate, happened) in [(Fate::Unheard, 1), (Fate::Lost, 0)] {
        let client = NewClient::named(format!("{fate:?} {}", proxy.counts().commits));
        let client = company.clients().create(&client).await.expect("a client").id;
        proxy.cut_next(Fault { fate, away: Some(LONG) });
        let begun = Instant::now();
        let created = company.quotes().create(&new_quote(client)).await;
        longest = longest.max(begun.elapsed());
        assert!(matches!(created, Err(Error::StorageUnavailable(_))), "{fate:?}: {created:?}");
        proxy.come_back();
        assert_eq!(quotes_of(&company, client).await, happened, "{fate:?}");
    }
    let counts = proxy.counts();
    assert_eq!((counts.unheard, counts.lost, counts.away), (1, 1, 2));
    invoicing.close().await;
    let figures = checks::check(&site, &[], &[]).await;
    tell("database away in the middle of a commit", &format_args!("{figures}; told after {longest:.1?}"));
    assert_eq!(figures.events, 1);
}

/// Longer than any call waits for the end of its commit.
const PAST_ALL_CALLS: Duration = Duration::from_secs(23);

const NOTED: &str = "SELECT count(*) FROM setting WHERE name = 'dispatcher_ran_at'";

/// The dispatcher records an attempt, is not told for long whether that was committed, and records it again.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_record_is_in_doubt_is_recorded_again_and_counts_once() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let in_doubt = async |database: &'static str, fate: Fate, counted: u64| {
        let receiver = Receiver::start().await;
        // Time enough to choose the commit that follows the answer.
        receiver.reply_always(Reply::Slow(Duration::from_secs(2), 200));
        let url = cluster.create_database(database).await;
        let site = Site::on_postgres(url, hasty(), vec![receiver.url.clone()]);
        let proxy = Proxy::start(cluster.port()).await;
        let invoicing = open(&site, proxy.url(database), json!({})).await;
        let (company, _) = companies(&invoicing, &site.hooks).await.remove(0);
        let delivering = RunningDispatcher::start(invoicing.dispatcher());
        let client = company.clients().create(&NewClient::named("Lefèvre")).await.expect("a client").id;
        // A commit of its own, which is not the one to be cut.
        wait_until("a note of its run", async || site.count(NOTED).await == 1).await;
        company.quotes().create(&new_quote(client)).await.expect("a quote");
        assert!(receiver.wait_for(1, PATIENCE).await, "nothing is being delivered");
        proxy.cut_next(Fault { fate, away: Some(LONG) });
        wait_until("a cut", async || proxy.counts().away == 1).await;
        tokio::time::sleep(PAST_ALL_CALLS).await;
        proxy.come_back();
        site.wait_until_all_ended().await;
        let report = delivering.stop().await;
        invoicing.close().await;
        assert_eq!((report.attempts, report.delivered), (counted, counted), "{fate:?}: {report:?}");
        let figures = checks::check(&site, &[], &receiver.take()).await;
        assert_eq!((figures.delivered, figures.received, figures.doubled), (1, 1, 0), "{fate:?}: {figures}");
    };
    tokio::join!(in_doubt("unheard", Fate::Unheard, 0), in_doubt("lost", Fate::Lost, 1));
}

async fn quotes_of(company: &CompanyHandle, client: ClientId) -> usize {
    let page = company.quotes().list(&QuoteQuery::default()).await.expect("the database is there again");
    page.data.iter().filter(|quote| quote.summary.client_id == client).count()
}
