//! Records for the host and the pages, without the statements that read them.

mod day_counts;
mod delivery;
mod event;
mod frozen_file;
mod history;
mod key;
mod payment;
mod quote_page;
mod readiness_gap;
mod sealing;
mod signing;
mod stored_json;
mod version;
mod webhook;

pub use self::day_counts::{DayCounts, WebhookDayStats};
pub use self::delivery::{
    AttemptRecord, DeliveryDetail, DeliveryItem, DeliveryPage, DeliveryRecord, NextAttempt,
};
pub use self::event::{DeliveryCounts, EventItem, EventPage, EventRecord, EventSubject};
pub use self::frozen_file::FrozenFile;
pub use self::history::{HistoryAction, HistoryPage, HistoryRecord};
pub use self::key::KeyRecord;
pub use self::payment::Payment;
pub use self::quote_page::QuotePage;
pub use self::readiness_gap::{GapLevel, GapPlace, ReadinessGap};
pub use self::sealing::SealingStats;
pub use self::signing::{ProofRecord, SigningLinkRecord};
pub(crate) use self::stored_json::{Lines, MAX_PAGE_READS, StoredJson, StoredPage};
pub use self::version::Version;
pub use self::webhook::Webhook;
