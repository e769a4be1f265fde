//! Secrets at rest: the bytes in the database's files, the keys that open them, and changing keys while a service runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use invoicing_core::{CompanyId, EventKind, FailureClass, NewClient, NewCompany, Plan, WebhookId};
use invoicing_server::{
    CompanyHandle, Error, Invoicing, MemoryStore, NewWebhook, OpenError, RegisteredWebhook, SealingError,
    SealingKey, SealingKeys, SealingStats, Secret, Settings, TargetPolicy,
};
use invoicing_tests::{Database, Place, Received, Receiver, RunningDispatcher, on_each_database};
use proptest::prelude::*;
use tokio::task::JoinSet;
use webhook_verify::Verifier;

use crate::support::proptest_runner::{for_all, runtime};
use crate::support::taxed_quote_at;

/// The place of a service that is opened more than once, with other keys.
struct House {
    place: Place,
    documents: Arc<MemoryStore>,
}

impl House {
    async fn new(db: Database) -> Self {
        Self { place: Place::new(db).await, documents: Arc::default() }
    }

    async fn try_open(&self, keys: impl Into<Option<SealingKeys>>) -> Result<Invoicing, OpenError> {
        let target = TargetPolicy { allow_http: true, allow_private: true };
        let settings = Settings { target, ..Settings::default() };
        let builder = self.place.builder().settings(settings).document_store(self.documents.clone());
        match keys.into() {
            Some(keys) => builder.sealing_keys(keys),
            None => builder,
        }
        .open()
        .await
    }

    async fn open(&self, keys: impl Into<Option<SealingKeys>>) -> Invoicing {
        self.try_open(keys).await.unwrap()
    }

    async fn refused(&self, keys: impl Into<Option<SealingKeys>>) -> SealingError {
        match self.try_open(keys).await {
            Err(OpenError::Sealing(error)) => error,
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("opened"),
        }
    }

    /// The stored secret of a webhook.
    async fn stored(&self, id: WebhookId) -> String {
        self.place.behind().await.one("SELECT secret FROM webhook WHERE id = $1", &[id.0.into()]).await
    }

    async fn store(&self, id: WebhookId, secret: &str) {
        let update = "UPDATE webhook SET secret = $2 WHERE id = $1";
        assert_eq!(self.place.behind().await.run(update, &[id.0.into(), secret.into()]).await, 1);
    }

    async fn url_key(&self) -> Vec<u8> {
        self.place.behind().await.one("SELECT value FROM setting WHERE name = 'document_url_key'", &[]).await
    }

    /// True if any file of the database, or any row, holds these bytes: a file's journal counts.
    async fn holds(&self, bytes: &[u8]) -> bool {
        if self.place.database() == Database::Sqlite {
            assert!(self.place.file().with_extension("db-wal").is_file(), "a journal to look into");
        }
        self.place.holds(bytes).await
    }
}

fn key(id: &str, byte: u8) -> SealingKey {
    SealingKey::new(id, [byte; 32]).unwrap()
}

fn keys(id: &str, byte: u8) -> SealingKeys {
    SealingKeys::new(key(id, byte))
}

fn sealed_with(clear: u64, keys: &[(&str, u64)]) -> impl Fn(&SealingStats) -> bool {
    let keys: BTreeMap<String, u64> = keys.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect();
    move |found| found.clear == clear && found.keys == keys && found.damaged == 0
}

async fn company(invoicing: &Invoicing) -> CompanyHandle {
    let company = invoicing.companies().create(&NewCompany::named("A", Plan::Team)).await.unwrap();
    invoicing.company(company.id)
}

async fn hook(company: &CompanyHandle, url: &str) -> RegisteredWebhook {
    let new = NewWebhook { url: url.to_owned(), events: EventKind::ALL.to_vec() };
    company.webhooks().register(&new).await.unwrap()
}

/// True if a delivery was signed with one of these secrets.
fn signed_with(received: &Received, secrets: &[Secret]) -> bool {
    let header = received.headers["x-service-signature"].as_bytes();
    let timestamp = header[2..].split(|byte| *byte == b',').next().unwrap();
    let now = std::str::from_utf8(timestamp).unwrap().parse().unwrap();
    secrets
        .iter()
        .any(|secret| Verifier::new(secret.reveal()).unwrap().verify(header, &received.body, now).is_ok())
}

/// A ping to a webhook and all deliveries that waited for it arrive, signed with this secret.
async fn assert_signs(invoicing: &Invoicing, company: &CompanyHandle, id: WebhookId, secret: &Secret) {
    let receiver = Receiver::start().await;
    let url = Some(receiver.url.clone());
    let change = invoicing_server::WebhookChange { url, events: None };
    company.webhooks().change(id, &change).await.unwrap();
    company.webhooks().ping(id).await.unwrap();
    invoicing.dispatcher().run_once().await.unwrap();
    let received = receiver.received();
    assert!(received.iter().any(|delivery| delivery.json["event"] == "ping"));
    assert!(received.iter().all(|delivery| signed_with(delivery, std::slice::from_ref(secret))));
}

#[on_each_database]
async fn with_a_key_no_file_of_the_database_ever_holds_a_secret(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(keys("k1", 1)).await;
    let company = company(&invoicing).await;
    let first = hook(&company, "https://example.com/a").await;
    let overlap = Duration::from_hours(1);
    let rotated = company.webhooks().rotate_with_overlap(first.webhook.id, overlap).await.unwrap();
    let api_key = company.keys().issue("CRM").await.unwrap().key;
    let client = company.clients().create(&NewClient::named("A")).await.unwrap().id;
    let quote = company.quotes().create(&taxed_quote_at(client, "10")).await.unwrap();
    company.quotes().send(quote.summary.id, None).await.unwrap();
    let link = company.quotes().create_signing_link(quote.summary.id).await.unwrap();
    assert!(house.stored(first.webhook.id).await.starts_with("v1.k1."));
    assert!(house.url_key().await.starts_with(b"v1.k1."));
    for secret in [&first.secret, &rotated.secret, &api_key, &link] {
        assert!(!house.holds(secret.reveal().as_bytes()).await);
        assert!(!house.holds(&secret.reveal().as_bytes()[6..]).await, "nor without its prefix");
    }
    assert!(!house.holds(&[1; 32]).await, "the key itself is not stored");
    assert!(house.holds(b"CRM").await, "the search finds what is there");
    assert!(sealed_with(0, &[("k1", 3)])(&invoicing.sealed_with().await.unwrap()));
    let id = company.id();
    drop((company, invoicing));
    let invoicing = house.open(keys("k1", 1)).await;
    for secret in [&first.secret, &rotated.secret] {
        assert_signs(&invoicing, &invoicing.company(id), first.webhook.id, secret).await;
    }
}

#[on_each_database]
async fn clear_secrets_stay_readable_and_resealing_wipes_them_from_the_files(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(None).await;
    let owner = company(&invoicing).await;
    let registered = hook(&owner, "https://example.com/a").await;
    let (id, secret) = (registered.webhook.id, registered.secret);
    let url_key = house.url_key().await;
    assert!(
        house.holds(secret.reveal().as_bytes()).await && house.holds(&url_key).await && url_key.len() == 32
    );
    assert!(matches!(invoicing.reseal().await, Err(Error::Conflict(_))), "there is no key");
    let company_id = owner.id();
    drop((owner, invoicing));
    let invoicing = house.open(keys("k1", 1)).await;
    let owner = invoicing.company(company_id);
    assert_signs(&invoicing, &owner, id, &secret).await;
    assert!(sealed_with(2, &[])(&invoicing.sealed_with().await.unwrap()));
    let report = invoicing.reseal().await.unwrap();
    // The operator of a server is responsible for old rows that it keeps.
    let cut = house.place.database().either(true, false);
    assert_eq!((report.resealed, report.unreadable, report.log_cut), (2, 0, cut));
    assert!(!house.holds(secret.reveal().as_bytes()).await && !house.holds(&url_key).await);
    assert!(sealed_with(0, &[("k1", 2)])(&invoicing.sealed_with().await.unwrap()));
    assert_signs(&invoicing, &owner, id, &secret).await;
    assert_eq!(invoicing.reseal().await.unwrap().resealed, 0, "again is nothing");
}

#[on_each_database]
async fn a_document_url_outlives_a_restart_and_a_new_sealing_key(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(None).await;
    let owner = company(&invoicing).await;
    let client = owner.clients().create(&NewClient::named("A")).await.unwrap().id;
    let quote = owner.quotes().create(&taxed_quote_at(client, "10")).await.unwrap();
    owner.quotes().send(quote.summary.id, None).await.unwrap();
    let url = owner.quotes().document(quote.summary.id).await.unwrap().url;
    drop((owner, invoicing));
    for keys in [keys("k1", 1), keys("k2", 2).older(key("k1", 1))] {
        let invoicing = house.open(keys).await;
        invoicing.reseal().await.unwrap();
        let service = invoicing.service();
        let uri = &url[url.find("/api/").unwrap()..];
        let request = http::Request::get(uri).body(http_body_util::Full::new(bytes::Bytes::new())).unwrap();
        assert_eq!(service.answer(request).await.status(), 200);
    }
}

#[on_each_database]
async fn a_service_whose_keys_are_missing_or_wrong_does_not_open_and_names_them(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(keys("k1", 1)).await;
    let company = company(&invoicing).await;
    let old = hook(&company, "https://example.com/a").await;
    let both = SealingKeys::new(key("k2", 2)).older(key("k1", 1));
    invoicing.use_sealing_keys(both.clone()).await.unwrap();
    let new = hook(&company, "https://example.com/b").await;
    let company_id = company.id();
    drop((company, invoicing));
    let missing = |error: SealingError| match error {
        SealingError::Missing(ids) => ids.join(" "),
        error => panic!("{error}"),
    };
    assert_eq!(missing(house.refused(None).await), "k1 k2");
    assert_eq!(missing(house.refused(keys("k2", 2)).await), "k1");
    assert_eq!(missing(house.refused(keys("k1", 1)).await), "k2");
    let error = house.refused(keys("k3", 3)).await.to_string();
    assert_eq!(error, "secrets are sealed with keys that were not given: k1, k2");
    for (wrong, id) in [
        (SealingKeys::new(key("k2", 9)).older(key("k1", 1)), "k2"),
        (SealingKeys::new(key("k2", 2)).older(key("k1", 9)), "k1"),
        (SealingKeys::new(key("k2", 1)).older(key("k1", 2)), "k2"),
    ] {
        let error = house.refused(wrong).await;
        assert!(matches!(&error, SealingError::WrongKey(found) if found == id), "{error}");
    }
    let twice = both.clone().older(key("k2", 2));
    assert!(matches!(house.refused(twice).await, SealingError::SameId(id) if id == "k2"));
    // None of these attempts has changed the stored secrets.
    let invoicing = house.open(both).await;
    let company = invoicing.company(company_id);
    for hook in [old, new] {
        assert_signs(&invoicing, &company, hook.webhook.id, &hook.secret).await;
    }
    // A running service refuses to drop a key that is still needed, too.
    let error = invoicing.use_sealing_keys(SealingKeys::new(key("k2", 2))).await.unwrap_err();
    assert_eq!(missing(error), "k1");
    let error = invoicing.use_sealing_keys(SealingKeys::new(key("k1", 1))).await.unwrap_err();
    assert_eq!(missing(error), "k2");
    invoicing.reseal().await.unwrap();
    assert!(sealed_with(0, &[("k2", 3)])(&invoicing.sealed_with().await.unwrap()));
    invoicing.use_sealing_keys(SealingKeys::new(key("k2", 2))).await.unwrap();
    drop((company, invoicing));
    // Once no secret is sealed with the key, its id is free again.
    let reused = SealingKeys::new(key("k1", 7)).older(key("k2", 2));
    house.open(reused).await.reseal().await.unwrap();
    house.open(keys("k1", 7)).await;
}

#[on_each_database]
async fn a_lost_key_costs_the_secrets_sealed_with_it_and_nothing_else(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(keys("k1", 1)).await;
    let owner = company(&invoicing).await;
    let hook = hook(&owner, "https://example.com/a").await.webhook.id;
    let owner_id = owner.id();
    drop((owner, invoicing));
    let with_loss = SealingKeys::new(key("k2", 2)).lost("k1");
    let invoicing = house.open(with_loss).await;
    let owner = invoicing.company(owner_id);
    owner.webhooks().ping(hook).await.unwrap();
    assert_eq!(invoicing.dispatcher().run_once().await.unwrap().failed, 1);
    let report = invoicing.reseal().await.unwrap();
    assert_eq!((report.resealed, report.unreadable), (0, 1), "the document URL key is a new one already");
    let rotated = owner.webhooks().rotate(hook).await.unwrap();
    assert_signs(&invoicing, &owner, hook, &rotated.secret).await;
    assert!(sealed_with(0, &[("k2", 2)])(&invoicing.sealed_with().await.unwrap()));
}

#[on_each_database]
async fn a_damaged_secret_fails_its_own_webhook_until_it_is_rotated(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(keys("k1", 1)).await;
    let owner = company(&invoicing).await;
    let receiver = Receiver::start().await;
    let good = hook(&owner, &receiver.url).await;
    let sealed = house.stored(good.webhook.id).await;
    let mut flipped = sealed.clone().into_bytes();
    *flipped.last_mut().unwrap() ^= 2;
    let damages = [
        String::from_utf8(flipped).unwrap(),
        sealed.clone(),
        sealed[..sealed.len() - 4].to_owned(),
        "v1.k1.".to_owned(),
        "v1.k1".to_owned(),
        "v1.".to_owned(),
        "v1.é%&.AAAA".to_owned(),
        "v1.k1.not base64".to_owned(),
    ];
    let mut bad = Vec::new();
    for damage in &damages {
        let id = hook(&owner, &receiver.url).await.webhook.id;
        house.store(id, damage).await;
        bad.push(id);
    }
    let owner_id = owner.id();
    drop((owner, invoicing));
    let invoicing = house.open(keys("k1", 1)).await;
    let owner = invoicing.company(owner_id);
    let client = owner.clients().create(&NewClient::named("A")).await.unwrap().id;
    owner.quotes().create(&taxed_quote_at(client, "10")).await.unwrap();
    let report = invoicing.dispatcher().run_once().await.unwrap();
    assert_eq!((report.delivered, report.failed), (1, bad.len() as u64));
    assert!(signed_with(&receiver.received()[0], std::slice::from_ref(&good.secret)));
    for id in &bad {
        let log = owner.webhooks().log(*id, 10).await.unwrap();
        assert_eq!((log.len(), log[0].failure), (1, Some(FailureClass::Unsendable)));
    }
    let both = SealingKeys::new(key("k2", 2)).older(key("k1", 1));
    invoicing.use_sealing_keys(both).await.unwrap();
    let report = invoicing.reseal().await.unwrap();
    assert_eq!((report.resealed, report.unreadable), (2, bad.len() as u64));
    for id in bad {
        let rotated = owner.webhooks().rotate(id).await.unwrap();
        assert_signs(&invoicing, &owner, id, &rotated.secret).await;
    }
    let all = damages.len() as u64 + 2;
    assert!(sealed_with(0, &[("k2", all)])(&invoicing.sealed_with().await.unwrap()));
}

#[on_each_database]
async fn a_webhook_that_is_removed_leaves_no_secret(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(None).await;
    let company = company(&invoicing).await;
    let hook = hook(&company, "https://example.com/a").await;
    company.webhooks().remove(hook.webhook.id).await.unwrap();
    assert_eq!(house.stored(hook.webhook.id).await, "");
    assert!(sealed_with(1, &[])(&invoicing.sealed_with().await.unwrap()), "only the key of document URLs");
}

#[on_each_database]
async fn resealing_that_is_broken_off_goes_on_where_it_was(db: Database) {
    const ROWS: u64 = 3_000;
    let house = House::new(db).await;
    let invoicing = house.open(keys("k1", 1)).await;
    let owner = company(&invoicing).await.id();
    let statement = house.place.database().either(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $2) \
        INSERT INTO webhook (company_id, id, url, kinds, secret, failures, created_at) \
        SELECT $1, randomblob(16), 'https://example.com/', 1, 'whsec_' || hex(randomblob(16)), 0, 0 FROM n",
        "INSERT INTO webhook (company_id, id, url, kinds, secret, failures, created_at) \
        SELECT $1, gen_random_uuid(), 'https://example.com/', 1, 'whsec_' || gen_random_uuid(), 0, 0 \
        FROM generate_series(1, $2)",
    );
    let rows = i64::try_from(ROWS).unwrap();
    assert_eq!(house.place.behind().await.run(statement, &[owner.0.into(), rows.into()]).await, ROWS);
    let mut broken_off = 0;
    let mut limit = Duration::from_millis(1);
    let mut before = 0;
    loop {
        match tokio::time::timeout(limit, invoicing.reseal()).await {
            Ok(report) => break assert_eq!(report.unwrap().unreadable, 0),
            Err(_elapsed) => {}
        }
        broken_off += 1;
        limit *= 2;
        let sealed = invoicing.sealed_with().await.unwrap();
        let done = sealed.keys["k1"];
        assert_eq!(sealed.clear + done, ROWS + 1);
        assert!(done >= before);
        before = done;
    }
    assert!(broken_off > 0, "the test has broken nothing off");
    assert!(sealed_with(0, &[("k1", ROWS + 1)])(&invoicing.sealed_with().await.unwrap()));
    assert!(!house.holds(b"whsec_").await);
}

#[on_each_database]
async fn rotating_and_changing_keys_under_load_never_breaks_a_signature(db: Database) {
    let house = House::new(db).await;
    let invoicing = house.open(None).await;
    let owner = company(&invoicing).await;
    let receiver = Receiver::start().await;
    let mut secrets: BTreeMap<String, Vec<Secret>> = BTreeMap::new();
    let mut ids = Vec::new();
    for _ in 0..6 {
        let hook = hook(&owner, &receiver.url).await;
        ids.push(hook.webhook.id);
        secrets.entry(hook.webhook.id.to_string()).or_default().push(hook.secret);
    }
    let running = RunningDispatcher::start(invoicing.dispatcher());
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = JoinSet::new();
    for _ in 0..2 {
        let (owner, stop) = (owner.clone(), Arc::clone(&stop));
        load.spawn(async move {
            let client = owner.clients().create(&NewClient::named("A")).await.unwrap().id;
            let mut events = 0;
            while !stop.load(Ordering::Relaxed) {
                owner.quotes().create(&taxed_quote_at(client, "10")).await.unwrap();
                events += 1;
            }
            events
        });
    }
    for round in 0..30_u8 {
        let current = key(&format!("k{round}"), round);
        let keys = SealingKeys::new(current);
        let keys = if round > 0 { keys.older(key(&format!("k{}", round - 1), round - 1)) } else { keys };
        invoicing.use_sealing_keys(keys).await.unwrap();
        let rotated = owner.webhooks().rotate(ids[usize::from(round) % 3]).await.unwrap();
        secrets.get_mut(&rotated.webhook.id.to_string()).unwrap().push(rotated.secret);
        let report = invoicing.reseal().await.unwrap();
        assert_eq!((report.resealed, report.unreadable), (6, 0), "five webhooks and the document URL key");
        // The older key is dropped at once, even if deliveries are under way.
        invoicing.use_sealing_keys(SealingKeys::new(key(&format!("k{round}"), round))).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let events: usize = load.join_all().await.into_iter().sum();
    assert!(receiver.wait_for(events * ids.len(), Duration::from_mins(2)).await, "a delivery is missing");
    running.stop().await;
    let received = receiver.take();
    assert_eq!(received.len(), events * ids.len(), "each was delivered by its first attempt");
    for delivery in &received {
        let id = delivery.headers["x-service-webhook-id"].to_str().unwrap();
        assert!(signed_with(delivery, &secrets[id]), "{id}");
    }
    for id in ids {
        let latest = secrets[&id.to_string()].last().unwrap();
        assert_signs(&invoicing, &owner, id, latest).await;
    }
}

#[derive(Debug, Clone)]
enum Step {
    Register,
    /// With an overlap, or without.
    Rotate(prop::sample::Index, bool),
    EndOverlap(prop::sample::Index),
    Remove(prop::sample::Index),
    /// A new current key; keys that are needed stay as older ones.
    NewKey,
    Reseal,
    /// Drops all keys but the current one.
    Drop,
    Reopen,
}

/// The model's state of a webhook: its secret and the key that seals it, and the same of the previous secret.
struct Known {
    id: WebhookId,
    secret: Secret,
    sealed: Option<u8>,
    previous: Option<(Secret, Option<u8>)>,
}

impl Known {
    fn sealed(&self) -> impl Iterator<Item = Option<u8>> {
        [self.sealed].into_iter().chain(self.previous.as_ref().map(|(_, sealed)| *sealed))
    }
}

struct Model {
    house: House,
    invoicing: Option<Invoicing>,
    company: CompanyId,
    /// The last key is the current one.
    keys: Vec<u8>,
    url_key: Option<u8>,
    hooks: Vec<Known>,
}

impl Model {
    async fn new(db: Database) -> Self {
        let house = House::new(db).await;
        let invoicing = house.open(None).await;
        let company = company(&invoicing).await.id();
        Self { house, invoicing: Some(invoicing), company, keys: vec![], url_key: None, hooks: vec![] }
    }

    fn invoicing(&self) -> &Invoicing {
        self.invoicing.as_ref().unwrap()
    }

    fn given(keys: &[u8]) -> Option<SealingKeys> {
        let key = |number: &u8| key(&format!("k{number}"), *number);
        let (current, older) = keys.split_last()?;
        Some(older.iter().fold(SealingKeys::new(key(current)), |keys, number| keys.older(key(number))))
    }

    fn current(&self) -> Option<u8> {
        self.keys.last().copied()
    }

    async fn step(&mut self, step: Step) {
        let company = self.invoicing().company(self.company);
        let webhooks = company.webhooks();
        let current = self.current();
        match step {
            Step::Register if self.hooks.len() < 20 => {
                let RegisteredWebhook { webhook, secret, .. } = hook(&company, "https://example.com/a").await;
                self.hooks.push(Known { id: webhook.id, secret, sealed: current, previous: None });
            }
            Step::Rotate(which, overlaps) if !self.hooks.is_empty() => {
                let which = which.index(self.hooks.len());
                let known = &mut self.hooks[which];
                let overlap = Duration::from_hours(u64::from(overlaps));
                let rotated = webhooks.rotate_with_overlap(known.id, overlap).await;
                if overlaps && known.previous.is_some() {
                    assert!(matches!(rotated, Err(Error::Conflict(_))), "one overlap at a time");
                } else {
                    let old = std::mem::replace(&mut known.secret, rotated.unwrap().secret);
                    known.sealed = current;
                    known.previous = overlaps.then_some((old, current));
                }
            }
            Step::EndOverlap(which) if !self.hooks.is_empty() => {
                let which = which.index(self.hooks.len());
                let known = &mut self.hooks[which];
                webhooks.end_overlap(known.id).await.unwrap();
                known.previous = None;
            }
            Step::Remove(which) if !self.hooks.is_empty() => {
                let which = which.index(self.hooks.len());
                let known = self.hooks.remove(which);
                webhooks.remove(known.id).await.unwrap();
            }
            Step::NewKey => {
                self.keys.push(self.current().map_or(0, |number| number + 1));
                let keys = Self::given(&self.keys).unwrap();
                self.invoicing().use_sealing_keys(keys).await.unwrap();
            }
            Step::Reseal if current.is_some() => {
                let sealed = self.hooks.iter().flat_map(Known::sealed);
                let others = sealed.filter(|sealed| *sealed != current).count();
                let expected = others as u64 + u64::from(self.url_key != current);
                let report = self.invoicing().reseal().await.unwrap();
                assert_eq!((report.resealed, report.unreadable), (expected, 0));
                for known in &mut self.hooks {
                    known.sealed = current;
                    if let Some((_, sealed)) = &mut known.previous {
                        *sealed = current;
                    }
                }
                self.url_key = current;
            }
            Step::Drop if current.is_some() => {
                let keys = Self::given(&self.keys[self.keys.len() - 1..]).unwrap();
                let all = self.hooks.iter().flat_map(Known::sealed).chain([self.url_key]);
                let needed = all.flatten().any(|key| Some(key) != current);
                let dropped = self.invoicing().use_sealing_keys(keys).await;
                assert_eq!(dropped.is_err(), needed);
                if dropped.is_ok() {
                    self.keys.drain(..self.keys.len() - 1);
                }
            }
            Step::Reopen => {
                drop(company);
                self.invoicing.take();
                self.invoicing = Some(self.house.open(Self::given(&self.keys)).await);
            }
            _ => {}
        }
    }

    async fn check(&self) {
        let sealed = self.invoicing().sealed_with().await.unwrap();
        let mut expected = SealingStats::default();
        for key in self.hooks.iter().flat_map(Known::sealed).chain([self.url_key]) {
            match key {
                None => expected.clear += 1,
                Some(number) => *expected.keys.entry(format!("k{number}")).or_default() += 1,
            }
        }
        assert_eq!(sealed, expected);
        for known in &self.hooks {
            assert_eq!(known.sealed.is_none(), self.house.stored(known.id).await == known.secret.reveal());
        }
    }
}

#[on_each_database]
fn any_changes_of_keys_and_webhooks_keep_counts_and_signatures_right(db: Database) {
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        4 => Just(Step::Register),
        3 => (index(), any::<bool>()).prop_map(|(which, overlaps)| Step::Rotate(which, overlaps)),
        1 => index().prop_map(Step::EndOverlap),
        1 => index().prop_map(Step::Remove),
        2 => Just(Step::NewKey),
        2 => Just(Step::Reseal),
        2 => Just(Step::Drop),
        2 => Just(Step::Reopen),
    ];
    let runtime = runtime();
    for_all(db, 12, &proptest::collection::vec(step, 1..25), |steps| {
        runtime.block_on(async {
            let mut model = Model::new(db).await;
            for step in steps {
                model.step(step).await;
                model.check().await;
            }
            let company = model.invoicing().company(model.company);
            for known in &model.hooks {
                assert_signs(model.invoicing(), &company, known.id, &known.secret).await;
                if let Some((previous, _)) = &known.previous {
                    assert_signs(model.invoicing(), &company, known.id, previous).await;
                }
            }
            Ok(())
        })
    });
}
