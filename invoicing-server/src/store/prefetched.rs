//! [Prefetches](super::prefetch) as statements without arguments, and the rows that come along.

use std::collections::BTreeSet;

use invoicing_core::CompanyId;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::deferred::Reads;
use super::prefetch::{Find, Prefetch};

/// The condition of each [`Find`].
const BY_ID: &str = "company_id = $1 AND id = $2";

/// Records that are found by one statement, each with its company.
pub(super) struct Wanted {
    find: &'static Find,
    ids: BTreeSet<(Uuid, Uuid)>,
}

impl Wanted {
    /// What some operations read first.
    pub(super) fn of(operations: impl Iterator<Item = (CompanyId, Prefetch)>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (company, prefetch) in operations {
            let (find, id) = prefetch.find();
            let place = all.iter().position(|wanted| std::ptr::eq(wanted.find, find));
            let place = place.unwrap_or_else(|| {
                all.push(Self { find, ids: BTreeSet::new() });
                all.len() - 1
            });
            all[place].ids.insert((company.0, id));
        }
        all
    }

    /// The statement, without arguments.
    pub(super) fn statement(&self) -> String {
        let condition = match self.ids.first() {
            Some((company, id)) if self.ids.len() == 1 => {
                format!("company_id = '{company}' AND id = '{id}'")
            }
            _ => {
                let (companies, ids): (Vec<_>, Vec<_>) =
                    self.ids.iter().map(|(company, id)| (company.to_string(), id.to_string())).unzip();
                let rows = [companies, ids].map(|ids| format!("unnest('{{{}}}'::uuid[])", ids.join(",")));
                format!("(company_id, id) IN (SELECT {})", rows.join(", "))
            }
        };
        self.find.sql.postgres.replace(BY_ID, &condition) + self.find.prefetched_if
    }

    /// What it has returned.
    pub(super) fn prefetched(
        &self,
        rows: Vec<PgRow>,
    ) -> impl Iterator<Item = Result<Prefetched, sqlx::Error>> {
        let find = self.find;
        rows.into_iter().map(move |row| {
            let (company, id) = (CompanyId(row.try_get("company_id")?), row.try_get("id")?);
            Ok(Prefetched { find, company, id, row })
        })
    }
}

/// The row of a record, as it came along.
pub(super) struct Prefetched {
    find: &'static Find,
    company: CompanyId,
    id: Uuid,
    row: PgRow,
}

impl Prefetched {
    pub(super) fn is_of(&self, table: &str) -> bool {
        self.find.table == table
    }

    pub(super) fn reads(&self) -> Reads {
        Reads::Record(self.find.table, self.id)
    }

    /// The row, where it is that of this record, found so.
    pub(super) fn of(&self, find: &Find, company: CompanyId, id: Uuid) -> Option<&PgRow> {
        let is_it = std::ptr::eq(self.find, find) && (self.company, self.id) == (company, id);
        is_it.then_some(&self.row)
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{ClientId, QuoteId};

    use super::*;
    use crate::store::{clients, invoices, quotes};

    const COMPANY: CompanyId = CompanyId(Uuid::nil());

    fn statements(prefetched: &[Prefetch]) -> Vec<String> {
        let wanted = Wanted::of(prefetched.iter().map(|prefetch| (COMPANY, *prefetch)));
        wanted.iter().map(Wanted::statement).collect()
    }

    #[test]
    fn each_statement_finds_by_company_and_id_and_returns_both() {
        for find in [&clients::FIND, &invoices::FIND, &quotes::FIND, &quotes::FIND_SUMMARY] {
            let statement = find.sql.postgres.trim();
            assert!(statement.starts_with("SELECT company_id, id, "), "{statement}");
            assert!(statement.ends_with(&format!("FROM {} WHERE {BY_ID}", find.table)), "{statement}");
        }
    }

    #[test]
    fn records_of_a_kind_are_found_by_one_statement() {
        let [client, other] = [1, 2].map(|id| Prefetch::Client(ClientId(Uuid::from_u128(id))));
        let company = "00000000-0000-0000-0000-000000000000";
        let one = format!(
            "SELECT company_id, id, record, version FROM client WHERE company_id = '{company}' AND id = \
             '00000000-0000-0000-0000-000000000001'"
        );
        assert_eq!(statements(&[client]), [one.as_str()]);
        assert_eq!(statements(&[client, client]), [one.as_str()]);
        let two = format!(
            "SELECT company_id, id, record, version FROM client WHERE (company_id, id) IN (SELECT \
             unnest('{{{company},{company}}}'::uuid[]), unnest('{{00000000-0000-0000-0000-000000000001,\
             00000000-0000-0000-0000-000000000002}}'::uuid[]))"
        );
        assert_eq!(statements(&[client, other]), [two]);
        let quote = Prefetch::Quote(QuoteId(Uuid::nil()));
        let statements = statements(&[quote, client]);
        assert_eq!(statements.len(), 2);
        assert!(statements[0].ends_with(" AND octet_length(lines) <= 8192"), "{statements:?}");
    }
}
