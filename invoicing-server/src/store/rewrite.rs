//! Rewriting of rows of older versions in today's shape.

use invoicing_core::{ClientId, InvoiceId, QuoteId};
use uuid::Uuid;

use super::company::{CompanyReader, CompanyTx, Tables};
use crate::Error;

/// A table whose JSON is copied into answers, so that its older rows are worth rewriting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Table {
    Clients,
    Quotes,
    Invoices,
}

impl Table {
    pub(crate) const ALL: [Self; 3] = [Self::Clients, Self::Quotes, Self::Invoices];

    /// The statement that finds the next older rows. The version is a constant, so that the index
    /// of older rows serves: it is renewed with `StoredRecord::VERSION`.
    const fn older(self) -> &'static str {
        match self {
            Self::Clients => {
                "SELECT id FROM client WHERE company_id = $1 AND version < 2 AND id > $2 ORDER BY id LIMIT $3"
            }
            Self::Quotes => {
                "SELECT id FROM quote WHERE company_id = $1 AND version < 1 AND id > $2 ORDER BY id LIMIT $3"
            }
            Self::Invoices => {
                "SELECT id FROM invoice WHERE company_id = $1 AND version < 3 AND id > $2 ORDER BY id LIMIT $3"
            }
        }
    }
}

/// Result of a batch of older rows.
#[derive(Debug, Default)]
pub(crate) struct RewrittenBatch {
    pub(crate) rewritten: u64,
    /// Rows that cannot be read, each with the error.
    pub(crate) unreadable: Vec<(Uuid, Error)>,
    /// The id after which the next batch begins; `None` if no older row is left.
    pub(crate) last: Option<Uuid>,
}

impl CompanyReader<'_> {
    /// True if there are rows of older versions after an id.
    pub(crate) async fn has_older(&mut self, table: Table, after: Uuid) -> Result<bool, Error> {
        let next: Option<Uuid> = self.query(table.older(), &[&after, &1_u32]).optional_scalar().await?;
        Ok(next.is_some())
    }
}

impl CompanyTx<'_> {
    /// Rewrites the next rows of older versions after an id, in the order of their ids, in today's
    /// shape. A row that cannot be read keeps no other from being rewritten.
    ///
    /// The rows are found within the transaction: a row found before it may have been rewritten by
    /// a change since.
    pub(crate) async fn rewrite_older(
        &mut self,
        table: Table,
        after: Uuid,
        limit: u32,
    ) -> Result<RewrittenBatch, Error> {
        let ids: Vec<Uuid> = self.scope().query(table.older(), &[&after, &limit]).all_scalars().await?;
        let mut batch = RewrittenBatch { last: ids.last().copied(), ..RewrittenBatch::default() };
        for id in ids {
            let rewritten = match table {
                Table::Clients => self.clients().rewrite(ClientId(id)).await,
                Table::Quotes => self.quotes().rewrite(QuoteId(id)).await,
                Table::Invoices => self.invoices().rewrite(InvoiceId(id)).await,
            };
            match rewritten {
                Ok(()) => batch.rewritten += 1,
                Err(error @ Error::Internal(_)) => batch.unreadable.push((id, error)),
                Err(error) => return Err(error),
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{Client, Invoice, Quote};

    use super::super::migrate;
    use super::super::versions::StoredRecord;
    use super::*;

    /// The version in the last definition of a table's index of older rows.
    fn indexed(migrations: &[&str], table: &str) -> i64 {
        let schema = migrations.concat();
        let start = format!("CREATE INDEX {table}_older ON {table} (company_id, id) WHERE version < ");
        let (_, version) = schema.rsplit_once(&start).expect("an index");
        version.split(';').next().unwrap().parse().unwrap()
    }

    fn check<T: StoredRecord>(table: Table) {
        let older = table.older();
        assert!(older.contains(&format!(" version < {} ", T::VERSION)), "{older}");
        assert_eq!(indexed(migrate::SQLITE, T::TABLE), T::VERSION);
        #[cfg(feature = "postgres")]
        assert_eq!(indexed(migrate::POSTGRES, T::TABLE), T::VERSION);
    }

    #[test]
    fn older_rows_are_found_by_an_index_of_todays_version() {
        check::<Client>(Table::Clients);
        check::<Quote>(Table::Quotes);
        check::<Invoice>(Table::Invoices);
    }
}
