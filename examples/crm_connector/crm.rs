//! The CRM: deals in a file. A real one has an API of its own; what matters is that a quote always gets the same deal.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use invoicing_client::{QuoteId, QuoteItem, Timestamp};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// A deal, under the quote that it is about.
#[derive(Clone, Serialize, Deserialize)]
struct Deal {
    id: String,
    number: String,
    status: String,
    total: String,
    updated_at: Timestamp,
}

type Deals = BTreeMap<QuoteId, Deal>;

pub(crate) struct Crm {
    path: PathBuf,
    deals: Mutex<Deals>,
}

impl Crm {
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let deals = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Deals::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, deals: Mutex::new(deals) })
    }

    /// Brings the quote's deal up to date; its id. An older version than the one that is known changes nothing.
    pub(crate) fn upsert(&self, quote: &QuoteItem) -> io::Result<String> {
        let mut deals = self.deals();
        let next = deals.len() + 1;
        let known = deals.get(&quote.summary.id);
        let id = known.map_or_else(|| format!("deal-{next}"), |deal| deal.id.clone());
        if known.is_none_or(|deal| deal.updated_at < quote.summary.updated_at) {
            let deal = Deal {
                id: id.clone(),
                number: quote.summary.number.clone(),
                status: quote.summary.status.to_string(),
                total: quote.summary.total_ttc.to_string(),
                updated_at: quote.summary.updated_at,
            };
            // An event that could not be written must not count as known: it would be acknowledged when it comes again.
            let mut changed = deals.clone();
            changed.insert(quote.summary.id, deal);
            write(&self.path, &changed)?;
            *deals = changed;
        }
        Ok(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.deals().len()
    }

    fn deals(&self) -> MutexGuard<'_, Deals> {
        self.deals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces the file as a whole.
fn write(path: &Path, deals: &Deals) -> io::Result<()> {
    let file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    serde_json::to_writer_pretty(&file, deals)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
