//! The corpus of webhook targets, `tests/data/target_addresses.txt`: registration and attempt decide every URL and
//! every answer of a lookup as its row demands.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use invoicing_core::{EventKind, FailureClass, NewCompany, Plan, WebhookId};
use invoicing_server::{
    CompanyHandle, Error, Invoicing, NewWebhook, Settings, TargetError, TargetPolicy, WebhookChange,
    is_public,
};
use invoicing_tests::{Database, Place, World, on_each_database};

use super::support::{Names, PUBLIC, Proxy, open};
use crate::support::{emit_for, hook_for};

const STRICT: TargetPolicy = TargetPolicy { allow_http: false, allow_private: false };
const PRIVATE: TargetPolicy = TargetPolicy { allow_http: false, allow_private: true };

/// A URL, the default policy's verdict, and its reason.
type UrlRow = (&'static str, &'static str, &'static str);

/// The rows with three columns.
fn rows() -> impl Iterator<Item = UrlRow> {
    include_str!("../../data/target_addresses.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# ") && *line != "#")
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let [case, verdict, why] = columns[..] else { panic!("three columns: {line}") };
            assert!(!why.is_empty(), "{line}");
            (case, verdict, why)
        })
}

fn urls() -> impl Iterator<Item = UrlRow> {
    rows().filter(|(case, ..)| !case.starts_with("answer "))
}

/// The addresses of a name, and true if connecting to it is allowed.
fn answers() -> impl Iterator<Item = (Vec<IpAddr>, bool)> {
    rows().filter_map(|(case, verdict, _)| {
        let addresses = case.strip_prefix("answer ")?.split(' ');
        Some((addresses.map(|address| address.parse().unwrap()).collect(), verdict == "ok"))
    })
}

fn verdict(policy: TargetPolicy, url: &str) -> &'static str {
    match policy.parse(url) {
        Ok(_) => "ok",
        Err(TargetError::TooLong) => "too_long",
        Err(TargetError::Malformed) => "malformed",
        Err(TargetError::NotHttps) => "not_https",
        Err(TargetError::NotHttp) => "not_http",
        Err(TargetError::NoHost) => "no_host",
        Err(TargetError::UserInfo) => "user_info",
        Err(TargetError::Fragment) => "fragment",
        Err(TargetError::Port(_)) => "port",
        Err(TargetError::PrivateAddress) => "private",
        Err(TargetError::LocalName) => "local",
    }
}

/// Rules: TARGET-1, TARGET-3
#[test]
fn every_case_is_decided_as_it_says() {
    let wrong: Vec<_> = urls()
        .map(|(url, expected, why)| (url, expected, verdict(STRICT, url), why))
        .filter(|(_, expected, found, _)| expected != found)
        .collect();
    assert!(wrong.is_empty(), "URL, expected, found, why: {wrong:#?}");
    for (addresses, permitted) in answers() {
        assert_eq!(STRICT.permits_all(&addresses), permitted, "{addresses:?}");
        assert!(PRIVATE.permits_all(&addresses), "{addresses:?}");
    }
}

#[test]
fn the_corpus_is_large_and_every_case_is_in_it_once() {
    let mut count: HashMap<_, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for (case, verdict, _) in rows() {
        *count.entry(verdict).or_default() += 1;
        assert!(seen.insert(case), "twice: {case}");
    }
    assert!(count["ok"] >= 100 && count["private"] >= 250 && count["local"] >= 40, "{count:?}");
    assert!(count["malformed"] >= 70 && count["port"] >= 30 && count["user_info"] >= 15, "{count:?}");
}

/// Rules: TARGET-5
#[test]
fn allowing_private_targets_lifts_the_rules_on_hosts_and_no_other() {
    for (url, strict, _) in urls() {
        let expected = if matches!(strict, "private" | "local") { "ok" } else { strict };
        assert_eq!(verdict(PRIVATE, url), expected, "{url}");
    }
}

#[test]
fn what_is_accepted_is_read_alike_the_second_time() {
    for (url, ..) in urls().filter(|(_, verdict, _)| *verdict == "ok") {
        let once = STRICT.parse(url).unwrap();
        assert_eq!(STRICT.parse(once.as_str()), Ok(once), "{url}");
    }
}

#[on_each_database]
async fn registration_decides_as_the_corpus_says_and_its_errors_name_no_address(db: Database) {
    let world = World::on(db).settings(|settings| settings.target = STRICT).open().await;
    let webhooks = world.company.webhooks();
    let id = hook_for(&world.company, "https://example.com/first", EventKind::ALL).await.webhook.id;
    let mut texts: HashMap<_, HashSet<String>> = HashMap::new();
    for (url, verdict, why) in urls() {
        let new = NewWebhook { url: url.to_owned(), events: vec![EventKind::QuoteCreated] };
        let change = WebhookChange { url: Some(url.to_owned()), events: None };
        if verdict == "ok" {
            let changed = webhooks.change(id, &change).await;
            assert_eq!(changed.unwrap().url, STRICT.parse(url).unwrap().as_str(), "{url}: {why}");
            continue;
        }
        let before = webhooks.list().await.unwrap();
        for refused in [webhooks.register(&new).await.err(), webhooks.change(id, &change).await.err()] {
            let Some(Error::Invalid(invalid)) = refused else { panic!("{url} ({why}): {refused:?}") };
            assert_eq!(invalid.field, "url");
            // Two messages may differ only in the port that was entered.
            texts.entry(verdict).or_default().insert(invalid.to_string().replace(char::is_numeric, ""));
        }
        assert_eq!(webhooks.list().await.unwrap(), before, "{url}");
    }
    for (verdict, texts) in texts {
        assert_eq!(texts.len(), 1, "{verdict}: one text, for anything that lies behind it: {texts:?}");
    }
}

/// Registers URLs, twenty per company, and makes an event for each.
async fn register_all(invoicing: &Invoicing, urls: &[String]) -> Vec<(CompanyHandle, WebhookId, String)> {
    let mut registered = Vec::new();
    for some in urls.chunks(20) {
        let company = invoicing.companies().create(&NewCompany::named("x", Plan::Pro)).await.unwrap().id;
        let company = invoicing.company(company);
        for url in some {
            let id = hook_for(&company, url, EventKind::ALL).await.webhook.id;
            registered.push((company.clone(), id, url.clone()));
        }
        emit_for(&company, 1).await;
    }
    registered
}

/// The outcome of the only attempt for a webhook.
async fn outcome((company, id, url): &(CompanyHandle, WebhookId, String)) -> Option<FailureClass> {
    let log = company.webhooks().log(*id, 10).await.unwrap();
    let [attempt] = &log[..] else { panic!("one attempt: {url}: {log:?}") };
    assert_eq!(attempt.status, None, "{url}");
    attempt.failure
}

/// Rules: TARGET-2
#[on_each_database]
async fn what_was_registered_under_a_laxer_policy_is_refused_by_the_attempt(db: Database) {
    let refused = urls().filter(|(_, verdict, _)| matches!(*verdict, "private" | "local"));
    let refused: Vec<String> = refused.map(|(url, ..)| url.to_owned()).collect();
    let (place, names) = (Place::new(db).await, Names::default());
    let lax = open(&place, Settings { target: PRIVATE, ..Settings::default() }, &names).await;
    let registered = register_all(&lax, &refused).await;
    lax.close().await;
    drop(lax);
    let strict = open(&place, Settings { target: STRICT, ..Settings::default() }, &names).await;
    let report = strict.dispatcher().run_once().await.unwrap();
    assert_eq!((report.attempts, report.failed), (refused.len() as u64, refused.len() as u64));
    for (company, id, url) in registered {
        let hook = (strict.company(company.id()), id, url);
        assert_eq!(outcome(&hook).await, Some(FailureClass::TargetRefused), "{}", hook.2);
    }
    assert_eq!(names.asked(), 0, "a name was looked up");
}

/// The proxy takes every connection and records its address: the addresses are public, and no others.
#[on_each_database]
async fn the_attempt_connects_to_what_the_corpus_accepts_and_to_nothing_else(db: Database) {
    let accepted = urls().filter(|(_, verdict, _)| *verdict == "ok").map(|(url, ..)| url.to_owned());
    let answers: Vec<_> = answers().collect();
    let name = |index: usize| format!("answer-{index}.example.com");
    let names = answers.iter().enumerate().map(|(index, (answer, _))| (name(index), vec![answer.clone()]));
    let (place, names, proxy) = (Place::new(db).await, Names::new(names), Proxy::start(None).await);
    let mut settings = Settings { target: STRICT, ..Settings::default() };
    settings.dispatch.proxy = Some(proxy.setting());
    let invoicing = open(&place, settings, &names).await;
    let accepted: Vec<String> = accepted.collect();
    let named: Vec<String> = (0..answers.len()).map(|index| format!("https://{}/", name(index))).collect();
    let direct = register_all(&invoicing, &accepted).await;
    let named = register_all(&invoicing, &named).await;
    invoicing.dispatcher().run_once().await.unwrap();
    for hook in &direct {
        assert_eq!(outcome(hook).await, Some(FailureClass::Proxy), "{}", hook.2);
    }
    let mut may_be_asked: HashSet<IpAddr> = accepted.iter().filter_map(|url| literal(url)).collect();
    may_be_asked.insert(PUBLIC.parse().unwrap());
    for (hook, (answer, permitted)) in named.iter().zip(&answers) {
        let expected = if *permitted { FailureClass::Proxy } else { FailureClass::TargetRefused };
        assert_eq!(outcome(hook).await, Some(expected), "{answer:?}");
        may_be_asked.extend(answer.iter().filter(|_| *permitted));
    }
    let asked: HashSet<IpAddr> =
        proxy.asked().iter().map(|asked| asked.parse::<SocketAddr>().unwrap().ip()).collect();
    assert_eq!(asked, may_be_asked);
    assert!(asked.iter().all(|address| is_public(*address)), "{asked:?}");
}

/// The address in a URL, as normalised.
fn literal(url: &str) -> Option<IpAddr> {
    let uri: http::Uri = STRICT.parse(url).unwrap().as_str().parse().unwrap();
    uri.host().unwrap().trim_matches(['[', ']']).parse().ok()
}
