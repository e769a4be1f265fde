//! How a world differs from the plain one.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use invoicing_core::Plan;
use invoicing_server::{
    DocumentStore, Env, ManualClock, MemoryStore, Random, SealingKeys, Settings, TargetPolicy,
};

use invoicing_test_databases::Database;

use super::{World, open, open_company};
use crate::database::Place;
use crate::recorder::Recorder;
use crate::release::Release;

/// Receivers are on loopback.
const ANY_TARGET: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

/// A world before it is opened. See [`World`].
#[must_use]
pub struct WorldBuilder<'r> {
    database: Database,
    release: Option<&'r Release>,
    place: Option<Place>,
    listens: bool,
    env: Env,
    clock: Arc<ManualClock>,
    settings: Settings,
    documents: Arc<MemoryStore>,
    store: Arc<dyn DocumentStore>,
}

impl<'r> WorldBuilder<'r> {
    pub(super) fn new(database: Database) -> Self {
        let clock = ManualClock::at("2026-09-14T09:41:07.123Z".parse().expect("an instant"));
        let documents = Arc::new(MemoryStore::new());
        Self {
            database,
            release: None,
            place: None,
            listens: true,
            env: Env::system().with_clock(clock.clone()),
            clock,
            settings: Settings { target: ANY_TARGET, ..Settings::default() },
            store: documents.clone(),
            documents,
        }
    }

    pub(super) fn of_release(release: &'r Release) -> Self {
        let clock = ManualClock::at(release.fact("/now"));
        let env = Env::system().with_clock(clock.clone());
        let plain = Self::new(release.database());
        Self { release: Some(release), env, clock, ..plain }.settings(|settings| settings.quota = 0)
    }

    /// Adjusts the settings.
    pub fn settings(mut self, adjust: impl FnOnce(&mut Settings)) -> Self {
        adjust(&mut self.settings);
        self
    }

    /// Documents go to a store that is made around the one in memory, or instead of it.
    pub fn store<S: DocumentStore + 'static>(
        mut self,
        store: impl FnOnce(Arc<MemoryStore>) -> Arc<S>,
    ) -> Self {
        self.store = store(Arc::clone(&self.documents));
        self
    }

    /// The service is on the system's clock: `clock` and `advance` do not move it.
    pub fn system_clock(mut self) -> Self {
        self.env = Env::system();
        self.clock = ManualClock::at(self.env.now());
        self
    }

    /// Randomness is fixed too, so the answers are the same in each run.
    pub fn reproducible(mut self) -> Self {
        self.env = Env::new(self.clock.clone(), Arc::new(SeededRandom::default()));
        self
    }

    /// The service does not listen for other nodes. A listening one reads each key again soon after its start.
    pub fn without_listener(mut self) -> Self {
        self.listens = false;
        self
    }

    /// The database is this one instead of a new one.
    pub fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Opens the service, with a company unless a release has recorded one.
    pub async fn open(self) -> World {
        let Self { database, release, place, listens, env, clock, settings, documents, store } = self;
        let place = match (place, release) {
            (Some(place), _) => place,
            (None, Some(release)) => Place::of_release(release).await,
            (None, None) => Place::new(database).await,
        };
        let mut builder = match database {
            Database::Postgres if !listens => place.builder_without_listener(),
            _ => place.builder(),
        };
        if let Some(release) = release {
            release.restore_documents(&documents).await;
            builder = builder.sealing_keys(SealingKeys::new(release.sealing_key()));
        }
        let metrics = Recorder::default();
        let invoicing = open(builder, &metrics, env, &store, settings).await;
        let (company, key) = match release {
            Some(release) => (invoicing.company(release.fact("/company")), release.fact("/key")),
            None => open_company(&invoicing, "Martin Peinture", Plan::Team).await,
        };
        let (service, kept, has_foreign_rows) =
            (invoicing.service(), tokio::sync::Mutex::default(), AtomicBool::default());
        World {
            invoicing,
            clock,
            documents,
            store,
            company,
            key,
            service,
            place,
            kept,
            has_foreign_rows,
            metrics,
        }
    }
}

/// The same bytes in each run (`SplitMix64`).
#[derive(Default)]
struct SeededRandom(Mutex<u64>);

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().expect("no panic");
        for chunk in bytes.chunks_mut(8) {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}
