use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{self, BoxFuture, FutureExt};
use invoicing_core::{NewCompany, Plan, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::documents::{DocumentFile, DocumentStore};
use crate::store::{Store, UNAUDITED};
use crate::{Env, Invoicing, ManualClock, MemoryStore};

/// One step of a history. Numbers choose among the existing uploads, documents and sweeps.
#[derive(Debug, Clone)]
enum Step {
    /// An upload of a company begins.
    Begin(usize),
    /// Its bytes arrive in the store.
    Put(usize),
    /// A transaction refers to the document and finishes the upload.
    Commit(usize),
    /// The process that freezes the document ends.
    Crash(usize),
    /// A sweep marks the old uploads of a company abandoned.
    Abandon(usize),
    /// A sweep lists the documents that it is going to delete.
    List(usize),
    /// The sweep deletes the documents.
    Delete(usize),
    /// The sweep deletes the rows of the deleted documents.
    Forget(usize),
    /// The sweep ends.
    CrashSweep(usize),
    /// Seconds pass.
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<prop::sample::Index>().prop_map(|index| index.index(1_000));
    prop_oneof![
        6 => (0..2_usize).prop_map(Step::Begin),
        6 => any.clone().prop_map(Step::Put),
        4 => any.clone().prop_map(Step::Commit),
        2 => any.clone().prop_map(Step::Crash),
        4 => (0..2_usize).prop_map(Step::Abandon),
        4 => (0..2_usize).prop_map(Step::List),
        4 => any.clone().prop_map(Step::Delete),
        3 => any.clone().prop_map(Step::Forget),
        1 => any.prop_map(Step::CrashSweep),
        6 => prop_oneof![Just(5), Just(61), Just(1_800), Just(3_601)].prop_map(Step::Wait),
    ]
}

struct Freeze {
    key: DocumentKey,
    began: Timestamp,
    put: bool,
}

/// A sweep of a company: the documents that it has listed, then those that it has deleted.
struct Sweep {
    company: CompanyId,
    listed: Vec<Uuid>,
    deleted: Vec<Uuid>,
}

struct Model {
    invoicing: Invoicing,
    clock: Arc<ManualClock>,
    document_store: Arc<MemoryStore>,
    companies: [CompanyId; 2],
    freezes: Vec<Freeze>,
    sweeps: Vec<Sweep>,
    referenced: BTreeSet<DocumentKey>,
}

fn file() -> DocumentFile {
    DocumentFile { bytes: Bytes::from_static(b"the same"), file_name: "a.pdf".to_owned() }
}

impl Model {
    async fn new(invoicing: &Invoicing, clock: &Arc<ManualClock>, store: &Arc<MemoryStore>) -> Self {
        let company =
            async || invoicing.companies().create(&NewCompany::named("Martin", Plan::Team)).await.unwrap().id;
        Self {
            invoicing: invoicing.clone(),
            clock: Arc::clone(clock),
            document_store: Arc::clone(store),
            companies: [company().await, company().await],
            freezes: Vec::new(),
            sweeps: Vec::new(),
            referenced: BTreeSet::new(),
        }
    }

    fn sweeper(&self) -> &Sweeper {
        self.invoicing.sweeper()
    }

    fn store(&self) -> &Store {
        &self.sweeper().services.store
    }

    /// Sweeps the orphans of a company. Returns the number of deletions, and the result.
    async fn sweep(&self, company: CompanyId) -> (u64, Result<(), Error>) {
        let mut progress = Progress::begin(self.store()).await.unwrap().unwrap();
        let ended = self.sweeper().sweep_orphans(company, &mut progress).await;
        (progress.report.swept_documents, ended)
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Begin(company) => self.begin(self.companies[company]).await,
            Step::Put(which) => self.put(which).await,
            Step::Commit(which) => self.commit(which).await,
            Step::Crash(which) => drop(take_one(&mut self.freezes, which)),
            Step::Abandon(company) => self.sweeper().abandon_uploads(self.companies[company]).await.unwrap(),
            Step::List(company) => self.list(self.companies[company]).await,
            Step::Delete(which) => {
                if let Some(sweep) = choose(&mut self.sweeps, which) {
                    let listed = std::mem::take(&mut sweep.listed);
                    let deletions = self.invoicing.sweeper().delete_documents(sweep.company, listed).await;
                    sweep.deleted.extend(deletions.deleted);
                }
            }
            Step::Forget(which) => {
                if let Some(sweep) = take_one(&mut self.sweeps, which) {
                    self.sweeper().forget_uploads(sweep.company, sweep.deleted).await.unwrap();
                }
            }
            Step::CrashSweep(which) => drop(take_one(&mut self.sweeps, which)),
            Step::Wait(seconds) => self.clock.advance(Duration::from_secs(seconds.into())),
        }
    }

    async fn begin(&mut self, company: CompanyId) {
        let env = self.invoicing.env();
        let (key, at) = (DocumentKey { company, upload: env.uuid() }, env.now());
        let begin = self
            .store()
            .write(company, UNAUDITED, [], async move |mut tx| tx.uploads().begin(key.upload, at).await);
        begin.await.unwrap();
        self.freezes.push(Freeze { key, began: at, put: false });
    }

    async fn put(&mut self, which: usize) {
        let now = self.invoicing.env().now();
        // A put has 5 s: none arrives an hour after its upload began.
        let in_time = |freeze: &&mut Freeze| now <= freeze.began.plus_millis(UPLOAD_LIMIT_MS);
        if let Some(freeze) = choose(&mut self.freezes, which).filter(in_time) {
            self.document_store.put(freeze.key, file()).await.unwrap();
            freeze.put = true;
        }
    }

    async fn commit(&mut self, which: usize) {
        let Some(Freeze { key, began, put: true }) = take_one(&mut self.freezes, which) else { return };
        let finish = self
            .store()
            .write(key.company, UNAUDITED, [], async move |mut tx| tx.uploads().finish(key.upload).await);
        if finish.await.unwrap() {
            self.referenced.insert(key);
        } else {
            let age = self.invoicing.env().now().as_millis() - began.as_millis();
            assert!(age > UPLOAD_LIMIT_MS, "an upload was abandoned after {age} ms");
        }
    }

    async fn list(&mut self, company: CompanyId) {
        let listed =
            self.store().read(company, async |mut tx| tx.uploads().abandoned(Uuid::nil(), BATCH).await).await;
        self.sweeps.push(Sweep { company, listed: listed.unwrap(), deleted: Vec::new() });
    }

    fn stored(&self) -> BTreeSet<DocumentKey> {
        self.document_store.keys().into_iter().filter(|key| self.companies.contains(&key.company)).collect()
    }

    /// Ends everything under way. Then a sweep leaves exactly the documents that are referred to,
    /// and no upload.
    async fn check_end(mut self) -> Result<(), TestCaseError> {
        self.freezes.clear();
        self.sweeps.clear();
        self.clock.advance(Duration::from_secs(3_700));
        for company in self.companies {
            self.sweep(company).await.1.unwrap();
        }
        prop_assert_eq!(&self.stored(), &self.referenced);
        for company in self.companies {
            let left = self.store().read(company, async |mut tx| tx.uploads().count().await).await;
            prop_assert_eq!(left.unwrap(), 0);
        }
        Ok(())
    }

    /// Documents that were stored and never referred to, old enough for a sweep.
    async fn orphans(&mut self, count: usize) -> Vec<DocumentKey> {
        for which in 0..count {
            self.begin(self.companies[0]).await;
            self.put(which).await;
        }
        self.clock.advance(Duration::from_secs(3_601));
        self.freezes.iter().map(|freeze| freeze.key).collect()
    }
}

fn choose<T>(all: &mut [T], which: usize) -> Option<&mut T> {
    let count = all.len().max(1);
    all.get_mut(which % count)
}

fn take_one<T>(all: &mut Vec<T>, which: usize) -> Option<T> {
    if all.is_empty() { None } else { Some(all.swap_remove(which % all.len())) }
}

async fn open(folder: &tempfile::TempDir) -> (Invoicing, Arc<ManualClock>, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let (invoicing, clock) = open_with(folder, store.clone()).await;
    (invoicing, clock, store)
}

async fn open_with(
    folder: &tempfile::TempDir,
    store: Arc<dyn DocumentStore>,
) -> (Invoicing, Arc<ManualClock>) {
    let clock = ManualClock::at("2026-09-14T09:41:07.123Z".parse().unwrap());
    let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db"))
        .env(Env::system().with_clock(clock.clone()))
        .document_store(store)
        .open()
        .await
        .unwrap();
    (invoicing, clock)
}

#[test]
fn any_order_of_steps_deletes_every_orphan_and_no_referenced_document() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = runtime.block_on(open(&folder));
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config { cases: asked.unwrap_or(48), failure_persistence: None, ..Config::default() };
    let steps = prop::collection::vec(step(), 1..60);
    let rule = TestRunner::new(config).run(&steps, |steps| {
        runtime.block_on(async {
            let mut model = Model::new(&invoicing, &clock, &store).await;
            for step in steps {
                model.take(step).await;
                let stored = model.stored();
                prop_assert!(model.referenced.is_subset(&stored), "{:?} of {stored:?}", model.referenced);
            }
            model.check_end().await
        })
    });
    if let Err(error) = rule {
        panic!("{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_upload_was_abandoned_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    model.orphans(2).await;
    model.take(Step::Abandon(0)).await;
    model.take(Step::Commit(0)).await;
    assert_eq!(model.sweep(model.companies[0]).await.0, 2);
    model.take(Step::Commit(0)).await;
    assert!(model.referenced.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_keeps_its_orphans_for_the_next_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    model.orphans(1).await;
    store.fail(true);
    let failed = model.sweep(model.companies[0]).await;
    assert!(matches!(failed, (0, Err(Error::StorageUnavailable(_)))), "{failed:?}");
    store.fail(false);
    assert_eq!(model.sweep(model.companies[0]).await.0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_orphans_are_swept_in_several_batches() {
    let folder = tempfile::tempdir().unwrap();
    let (invoicing, clock, store) = open(&folder).await;
    let mut model = Model::new(&invoicing, &clock, &store).await;
    let count = usize::try_from(BATCH).unwrap() * 2 + 1;
    model.orphans(count).await;
    assert_eq!(store.count(), count);
    assert_eq!(model.sweep(model.companies[0]).await.0, count as u64);
    assert_eq!(store.count(), 0);
}

/// Deletes only documents whose id is even. The others fail, or are refused.
struct Picky {
    memory: Arc<MemoryStore>,
    refuses: bool,
}

impl DocumentStore for Picky {
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.memory.put(key, file)
    }

    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, DocumentStoreError>> {
        self.memory.get(key)
    }

    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, DocumentStoreError>> {
        self.memory.size(key)
    }

    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        match (key.upload.as_u128() % 2, self.refuses) {
            (0, _) => self.memory.delete(key),
            (_, true) => future::ready(Err(DocumentStoreError::Refused("no".into()))).boxed(),
            (_, false) => future::ready(Err(DocumentStoreError::TimedOut)).boxed(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_not_deleted_keeps_no_other_from_being_deleted() {
    for refuses in [true, false] {
        let (folder, memory) = (tempfile::tempdir().unwrap(), Arc::new(MemoryStore::new()));
        let store = Picky { memory: Arc::clone(&memory), refuses };
        let (invoicing, clock) = open_with(&folder, Arc::new(store)).await;
        let mut model = Model::new(&invoicing, &clock, &memory).await;
        let orphans = model.orphans(100).await;
        let odd: Vec<_> = orphans.into_iter().filter(|key| key.upload.as_u128() % 2 == 1).collect();
        for swept in [100 - odd.len() as u64, 0] {
            let (deleted, ended) = model.sweep(model.companies[0]).await;
            assert_eq!((deleted, ended.is_ok()), (swept, refuses), "{ended:?}");
            assert_eq!(BTreeSet::from_iter(memory.keys()), BTreeSet::from_iter(odd.clone()));
        }
    }
}
