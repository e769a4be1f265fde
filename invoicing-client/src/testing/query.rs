//! The query of a list: checked, applied, and the page that comes of it.

use std::cmp::Reverse;

use http::Uri;
use invoicing_core::{DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, Page, Pagination, Timestamp};
use url::form_urlencoded;
use uuid::Uuid;

use super::state::Order;

/// Where a record stands in time: what a list is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The record.
    pub id: Uuid,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last modified.
    pub updated_at: Timestamp,
}

/// The parameters of a list, each checked for its form.
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
    /// Reads the query of a list that knows these parameters besides the common ones. The error names the parameter.
    pub(super) fn read(uri: &Uri, own: &[&str], statuses: &[&str]) -> Result<Self, String> {
        let mut query = Self::default();
        let mut seen = Vec::new();
        for (name, value) in pairs(uri) {
            if seen.contains(&name) {
                return Err(format!("{name}: must be given once"));
            }
            if !["limit", "offset", "since"].contains(&&*name) && !own.contains(&&*name) {
                return Err(format!("{name}: is not a parameter of this list"));
            }
            query
                .take(&name, &value, statuses)
                .ok_or_else(|| format!("{name}: is not acceptable: {value}"))?;
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

    /// The page of these records, which match the other filters.
    pub(super) fn page<T>(
        &self,
        matching: Vec<(Position, T)>,
        as_of: Timestamp,
        order: Option<&mut Order>,
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
