use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::{NewCompany, Plan};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use uuid::Uuid;

use super::*;
use crate::documents::{DocumentFile, DocumentStore};
use crate::{Env, Invoicing, ManualClock, MemoryStore};

/// What can happen next. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    /// A document is rendered and its upload written down: which company, which of three documents.
    Begin(usize, u8),
    /// Its bytes arrive in the store.
    Put(usize),
    /// A record refers to it, if it may.
    Commit(usize),
    /// The process that was freezing it dies, or its caller goes away.
    Crash(usize),
    /// A sweep claims the orphans of a company.
    Claim(usize),
    /// It deletes them.
    Delete(usize),
    /// It forgets what it has deleted.
    End(usize),
    /// It dies.
    CrashSweep(usize),
    /// Seconds go by.
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<prop::sample::Index>().prop_map(|index| index.index(1_000));
    prop_oneof![
        6 => (0..2_usize, 0..3_u8).prop_map(|(company, document)| Step::Begin(company, document)),
        6 => any.clone().prop_map(Step::Put),
        4 => any.clone().prop_map(Step::Commit),
        2 => any.clone().prop_map(Step::Crash),
        4 => (0..2_usize).prop_map(Step::Claim),
        4 => any.clone().prop_map(Step::Delete),
        3 => any.clone().prop_map(Step::End),
        1 => any.prop_map(Step::CrashSweep),
        6 => prop_oneof![Just(5), Just(20), Just(61), Just(3_601)].prop_map(Step::Wait),
    ]
}

struct Freeze {
    key: DocumentKey,
    bytes: Bytes,
    upload: Uuid,
    began: Timestamp,
    put: bool,
}

struct Model {
    inner: Arc<Inner>,
    clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    companies: [CompanyId; 2],
    freezes: Vec<Freeze>,
    sweeps: Vec<(Claimed, Outcome)>,
    referenced: BTreeSet<DocumentKey>,
}

impl Model {
    async fn new(invoicing: &Invoicing, clock: &Arc<ManualClock>, store: &Arc<MemoryStore>) -> Self {
        let company =
            async || invoicing.companies().create(&NewCompany::named("Martin", Plan::Team)).await.unwrap().id;
        Self {
            inner: Arc::clone(invoicing.inner()),
            clock: Arc::clone(clock),
            store: Arc::clone(store),
            companies: [company().await, company().await],
            freezes: Vec::new(),
            sweeps: Vec::new(),
            referenced: BTreeSet::new(),
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Begin(company, document) => self.begin(self.companies[company], document).await,
            Step::Put(which) => {
                let (count, now) = (self.freezes.len().max(1), self.inner.env.now());
                // A put has 5 s. Bytes that arrive an hour after their upload do not happen.
                let in_time = |freeze: &&mut Freeze| now <= freeze.began.plus_millis(UPLOAD_LIMIT_MS);
                if let Some(freeze) = self.freezes.get_mut(which % count).filter(in_time) {
                    let file = DocumentFile { bytes: freeze.bytes.clone(), file_name: "a.pdf".to_owned() };
                    self.store.put(freeze.key, file).await.unwrap();
                    freeze.put = true;
                }
            }
            Step::Commit(which) => {
                if let Some(freeze) = take_one(&mut self.freezes, which) {
                    self.commit(&freeze).await;
                }
            }
            Step::Crash(which) => drop(take_one(&mut self.freezes, which)),
            Step::Claim(company) => {
                let claimed = self.inner.claim_orphans(self.companies[company]).await.unwrap();
                self.sweeps.push((claimed, Outcome::default()));
            }
            Step::Delete(which) => {
                let count = self.sweeps.len().max(1);
                if let Some((claimed, outcome)) = self.sweeps.get_mut(which % count) {
                    *outcome = self.inner.delete_orphans(claimed).await;
                }
            }
            Step::End(which) => {
                if let Some((claimed, outcome)) = take_one(&mut self.sweeps, which) {
                    self.inner.end_claim(&claimed, outcome).await.unwrap();
                }
            }
            Step::CrashSweep(which) => drop(take_one(&mut self.sweeps, which)),
            Step::Wait(seconds) => self.clock.advance(Duration::from_secs(seconds.into())),
        }
    }

    async fn begin(&mut self, company: CompanyId, document: u8) {
        // The same bytes in both companies: they are two documents all the same.
        let bytes = Bytes::from(vec![document; 9]);
        let key = DocumentKey { company, sha256: ContentHash::of(&bytes) };
        let (id, at) = (self.inner.env.uuid(), self.inner.env.now());
        let began =
            self.inner.store.write(move |tx| Box::pin(uploads::begin(tx.connection(), id, key, at))).await;
        if let Some(upload) = began.unwrap() {
            self.freezes.push(Freeze { key, bytes, upload, began: at, put: false });
        }
    }

    async fn commit(&mut self, freeze: &Freeze) {
        if !freeze.put {
            return;
        }
        let (key, upload, quote) = (freeze.key, freeze.upload, self.inner.env.uuid());
        let settled = self.inner.store.write(move |tx| {
            Box::pin(async move {
                if !uploads::settle(tx.connection(), key.company, upload).await? {
                    return Ok(false);
                }
                let insert = "INSERT INTO document \
                    (company_id, quote_id, number, sha256, size_bytes, file_name, created_at) \
                    VALUES ($1, $2, 1, $3, 9, 'a.pdf', 0)";
                let sha256 = key.sha256.to_string();
                sqlx::query(insert)
                    .bind(key.company.0)
                    .bind(quote)
                    .bind(sha256)
                    .execute(tx.connection().sqlite())
                    .await?;
                Ok(true)
            })
        });
        if settled.await.unwrap() {
            self.referenced.insert(key);
        } else {
            let age = self.inner.env.now().as_millis() - freeze.began.as_millis();
            assert!(age > UPLOAD_LIMIT_MS, "an upload was given up after {age} ms");
        }
    }

    fn stored(&self) -> BTreeSet<DocumentKey> {
        self.store.keys().into_iter().filter(|key| self.companies.contains(&key.company)).collect()
    }

    /// Whatever is under way ends; then sweeps leave exactly what is referred to, and no upload.
    async fn settle(mut self) -> Result<(), TestCaseError> {
        self.freezes.clear();
        self.sweeps.clear();
        self.clock.advance(Duration::from_secs(3_700));
        for company in self.companies {
            self.inner.sweep_orphans(company).await.unwrap();
        }
        prop_assert_eq!(self.stored(), self.referenced);
        for company in self.companies {
            let left: i64 = sqlx::query_scalar("SELECT count(*) FROM upload WHERE company_id = $1")
                .bind(company.0)
                .fetch_one(self.inner.store.reading().connection().await.unwrap().sqlite())
                .await
                .unwrap();
            prop_assert_eq!(left, 0);
        }
        Ok(())
    }
}

fn take_one<T>(all: &mut Vec<T>, which: usize) -> Option<T> {
    if all.is_empty() { None } else { Some(all.swap_remove(which % all.len())) }
}

async fn open(folder: &tempfile::TempDir) -> (Invoicing, Arc<ManualClock>, Arc<MemoryStore>) {
    let clock = ManualClock::at("2026-09-14T09:41:07.123Z".parse().unwrap());
    let store = Arc::new(MemoryStore::new());
    let invoicing = Invoicing::builder(folder.path().join("invoicing.db"))
        .env(Env::system().with_clock(clock.clone()))
        .document_store(store.clone())
        .open()
        .await
        .unwrap();
    (invoicing, clock, store)
}

#[test]
fn in_any_order_of_steps_nothing_that_is_referred_to_is_deleted_and_no_orphan_stays() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = runtime.block_on(open(&folder));
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config { cases: asked.unwrap_or(48), failure_persistence: None, ..Config::default() };
    let steps = prop::collection::vec(step(), 1..60);
    let law = TestRunner::new(config).run(&steps, |steps| {
        runtime.block_on(async {
            let mut model = Model::new(&invoicing, &clock, &store).await;
            for step in steps {
                model.take(step).await;
                let stored = model.stored();
                prop_assert!(model.referenced.is_subset(&stored), "{:?} of {stored:?}", model.referenced);
            }
            model.settle().await
        })
    });
    if let Err(error) = law {
        panic!("{error}");
    }
}

async fn orphan(model: &mut Model) -> DocumentKey {
    model.begin(model.companies[0], 1).await;
    model.take(Step::Put(0)).await;
    let key = model.freezes[0].key;
    model.take(Step::Crash(0)).await;
    key
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_sweep_has_claimed_nobody_can_begin_with_until_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    let key = orphan(&mut model).await;
    model.take(Step::Wait(3_601)).await;
    model.take(Step::Claim(0)).await;
    assert_eq!(model.sweeps[0].0.hashes, [key.sha256]);
    model.take(Step::Begin(0, 1)).await;
    assert!(model.freezes.is_empty(), "the object is about to be deleted");
    // The same bytes of another company are another object.
    model.take(Step::Begin(1, 1)).await;
    assert_eq!(model.freezes.len(), 1);
    // A sweep that came to nothing is taken up by another, but not at once.
    model.take(Step::CrashSweep(0)).await;
    model.take(Step::Wait(59)).await;
    assert_eq!(model.inner.sweep_orphans(key.company).await.unwrap(), 0);
    assert_eq!(store.keys(), [key]);
    model.take(Step::Wait(1)).await;
    assert_eq!(model.inner.sweep_orphans(key.company).await.unwrap(), 1);
    assert!(store.keys().is_empty());
    model.take(Step::Begin(0, 1)).await;
    assert_eq!(model.freezes.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_keeps_its_orphans_for_a_later_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    let key = orphan(&mut model).await;
    model.take(Step::Wait(3_601)).await;
    store.fail(true);
    let failed = model.inner.sweep_orphans(key.company).await;
    assert!(matches!(failed, Err(Error::StorageUnavailable(_))), "{failed:?}");
    store.fail(false);
    model.take(Step::Wait(60)).await;
    assert_eq!(model.inner.sweep_orphans(key.company).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_refuses_to_delete_can_be_begun_with_and_swept_again() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    let key = orphan(&mut model).await;
    model.take(Step::Wait(3_601)).await;
    model.take(Step::Claim(0)).await;
    let (claimed, _) = model.sweeps.pop().unwrap();
    let outcome = Outcome { refused: claimed.hashes.clone(), ..Outcome::default() };
    assert!(model.inner.end_claim(&claimed, outcome).await.unwrap().is_none());
    model.take(Step::Begin(0, 1)).await;
    assert_eq!(model.freezes.len(), 1);
    model.take(Step::Wait(3_601)).await;
    assert_eq!(model.inner.sweep_orphans(key.company).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_orphans_are_swept_in_several_claims() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    for document in 0..40 {
        model.begin(model.companies[0], document).await;
    }
    for which in 0..40 {
        model.take(Step::Put(which)).await;
    }
    model.take(Step::Wait(3_601)).await;
    assert_eq!(store.count(), 40);
    assert_eq!(model.inner.sweep_orphans(model.companies[0]).await.unwrap(), 40);
    assert_eq!(store.count(), 0);
    // Whoever was still at it an hour later finds his upload gone, and begins again.
    model.take(Step::Commit(0)).await;
    assert!(model.referenced.is_empty());
}
