//! A page that is the same for all callers, such as the description of the API.

use std::sync::OnceLock;

use http::request::Parts;

use super::query_string;
use crate::config::Settings;
use crate::http::fixed_response::FixedResponse;
use crate::http::response::ApiResult;

/// A page that is rendered once, for the first request. It is public, as it is the same for all
/// callers.
pub(super) struct FixedPage {
    settings: Settings,
    render: fn(&Settings) -> FixedResponse,
    response: OnceLock<FixedResponse>,
}

impl FixedPage {
    pub(super) fn new(settings: &Settings, render: fn(&Settings) -> FixedResponse) -> Self {
        Self { settings: settings.clone(), render, response: OnceLock::new() }
    }

    pub(super) fn get(&self, head: &Parts) -> ApiResult {
        query_string::none(head.uri.query().unwrap_or_default())?;
        Ok(self.response.get_or_init(|| (self.render)(&self.settings)).answer(&head.headers))
    }
}
