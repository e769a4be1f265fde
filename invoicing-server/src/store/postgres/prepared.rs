//! The statements of a begin. They go to the server together, in a call that can have no arguments beside its text.
//!
//! Planning them takes longer than running them. So each connection prepares them under their names as it is made. A pooler
//! hands out its connections by the transaction, so behind one the text itself is sent.

use super::super::companies::LOCK;
use super::super::prefetch::Find;
use super::super::series::LAST_NUMBERS;
use super::super::webhooks::SUBSCRIBERS;

/// A statement of a begin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Prepared {
    /// Notes the transaction `$1`, at `$2`, and takes a block of the row ids of deliveries.
    Note,
    /// Locks the companies `$1`.
    Lock,
    /// As [`Self::Lock`], but only those that are free.
    LockFree,
    /// The webhooks of the companies `$1`.
    Subscribers,
    /// The last numbers of the companies `$1`.
    LastNumbers,
    /// Brings a record along.
    Find(&'static Find),
}

impl Prepared {
    const OF_EACH: [Self; 5] = [Self::Note, Self::Lock, Self::LockFree, Self::Subscribers, Self::LastNumbers];

    /// Prepares all of them.
    pub(super) fn prepare() -> String {
        let all = Self::OF_EACH.into_iter().chain(Find::ALL.map(Self::Find));
        let all: Vec<_> = all.map(|this| format!("PREPARE {} AS {}", this.name(), this.text())).collect();
        all.join("; ")
    }

    fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Lock => "lock",
            Self::LockFree => "lock_free",
            Self::Subscribers => "subscribers",
            Self::LastNumbers => "last_numbers",
            Self::Find(find) => find.name,
        }
    }

    fn text(self) -> String {
        let of_several = |statement: &str| statement.replace("$1", "ANY($1)");
        match self {
            Self::Note => "INSERT INTO commit_status (id, at, given_up) VALUES ($1, $2, false) \
                RETURNING nextval('delivery_id_block')"
                .to_owned(),
            Self::Lock => of_several(LOCK.postgres),
            Self::LockFree => of_several(LOCK.postgres) + " SKIP LOCKED",
            Self::Subscribers => of_several(SUBSCRIBERS),
            Self::LastNumbers => of_several(LAST_NUMBERS),
            Self::Find(find) => format!("{}{}", find.sql.postgres, find.comes_along),
        }
    }

    /// As it is sent. `arguments`: numbers, UUIDs, or arrays of these.
    pub(super) fn with(self, arguments: &[&str], by_name: bool) -> String {
        let literals = arguments.iter().map(|argument| format!("'{argument}'"));
        if by_name {
            return format!("EXECUTE {} ({})", self.name(), literals.collect::<Vec<_>>().join(", "));
        }
        literals
            .zip(1..)
            .fold(self.text(), |text, (literal, number)| text.replace(&format!("${number}"), &literal))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::prefetch;
    use super::*;

    #[test]
    fn a_statement_is_sent_by_its_name_or_as_its_text() {
        let find = Prepared::Find(&prefetch::CLIENT);
        assert_eq!(find.with(&["c", "7"], true), "EXECUTE find_client ('c', '7')");
        assert_eq!(
            find.with(&["c", "7"], false),
            "SELECT record, version FROM client WHERE company_id = 'c' AND id = '7'"
        );
        let lock = Prepared::LockFree.with(&["{c,d}"], false);
        assert!(lock.ends_with("FROM company WHERE id = ANY('{c,d}') FOR UPDATE SKIP LOCKED"), "{lock}");
    }

    #[test]
    fn every_record_that_an_operation_reads_first_has_its_statement() {
        let all = Prepared::prepare();
        assert_eq!(all.matches("PREPARE ").count(), Prepared::OF_EACH.len() + Find::ALL.len());
        for find in Find::ALL {
            assert!(all.contains(&format!("PREPARE {} AS ", find.name)), "{all}");
        }
    }
}
