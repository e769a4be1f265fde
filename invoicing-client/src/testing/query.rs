//! The query of a list: its check, and the page that it selects.

use std::cmp::{Ordering, Reverse};

use http::Uri;
use invoicing_core::{DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, Page, Pagination, Timestamp};
use url::form_urlencoded;
use uuid::Uuid;

/// The properties of a record that lists are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SortKey {
    /// Id of the record.
    pub id: Uuid,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last modification.
    pub updated_at: Timestamp,
}

/// An order of lists other than the contract's.
pub(super) type ListOrder = dyn FnMut(&SortKey, &SortKey) -> Ordering + Send;

/// The checked parameters of a list.
#[derive(Debug, Default)]
pub(super) struct Query {
    limit: Option<u32>,
    offset: u64,
    since: Option<Timestamp>,
    pub(super) lines: bool,
    pub(super) status: Option<String>,
    pub(super) text: Option<String>,
    pub(super) external_id: Option<String>,
}

pub(super) fn pairs(uri: &Uri) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
}

impl Query {
    /// Parses the query of a list with these parameters and the common ones. The error names the parameter.
    pub(super) fn read(uri: &Uri, own: &[&str], statuses: &[&str]) -> Result<Self, String> {
        let mut query = Self::default();
        let mut seen = Vec::new();
        for (name, value) in pairs(uri) {
            if seen.contains(&name) {
                return Err(format!("{name}: must not be repeated"));
            }
            if !["limit", "offset", "since"].contains(&&*name) && !own.contains(&&*name) {
                return Err(format!("{name}: unknown parameter"));
            }
            query.take(&name, &value, statuses).ok_or_else(|| format!("{name}: invalid value: {value}"))?;
            seen.push(name);
        }
        Ok(query)
    }

    fn take(&mut self, name: &str, value: &str, statuses: &[&str]) -> Option<()> {
        match name {
            "limit" => {
                self.limit = Some(value.parse().ok().filter(|limit| (1..=MAX_PAGE_LIMIT).contains(limit))?);
            }
            "offset" => self.offset = value.parse().ok()?,
            "since" => self.since = Some(value.replace(' ', "+").parse().ok()?),
            "include" => self.lines = (value == "lines").then_some(true)?,
            "status" => self.status = Some(statuses.contains(&value).then(|| value.to_owned())?),
            "q" => self.text = Some(value.to_owned()),
            _ => self.external_id = Some(value.to_owned()),
        }
        Some(())
    }

    /// Sorts and pages these records, which match the other filters.
    pub(super) fn page<T>(
        &self,
        matching: Vec<(SortKey, T)>,
        as_of: Timestamp,
        order: Option<&mut ListOrder>,
    ) -> Page<T> {
        let mut records = matching;
        records.retain(|(at, _)| self.since.is_none_or(|since| at.updated_at >= since));
        match order {
            Some(order) => records.sort_by(|(a, _), (b, _)| order(a, b)),
            None if self.since.is_some() => records.sort_by_key(|(at, _)| Reverse((at.updated_at, at.id))),
            None => records.sort_by_key(|(at, _)| Reverse((at.created_at, at.id))),
        }
        let limit = self.limit.unwrap_or(DEFAULT_PAGE_LIMIT);
        let mut rest = records.into_iter().map(|(_, record)| record);
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let data = rest.by_ref().skip(offset).take(limit as usize).collect();
        let has_more = rest.next().is_some();
        Page { data, pagination: Pagination { limit, offset: self.offset, has_more }, as_of }
    }
}
