//! The applications that a server gets from a host.

use std::sync::Arc;

use crate::api::ApiService;
#[cfg(feature = "console")]
use crate::console::Console;
use crate::serve::ServedApp;

impl From<ApiService> for ServedApp {
    fn from(api: ApiService) -> Self {
        Self::new(Arc::clone(api.context()) as _)
    }
}

#[cfg(feature = "console")]
impl From<(ApiService, Console)> for ServedApp {
    fn from((api, console): (ApiService, Console)) -> Self {
        Self::from(api).with_console(console.prefix(), Arc::clone(console.context()) as _)
    }
}
