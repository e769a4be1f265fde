//! The parts that operations work with, and the span and metrics of an operation.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use invoicing_core::{CompanyId, ErrorCode};
use tracing::Instrument as _;

use super::{HeldDates, Numbering, Reminder};
use crate::access::{Access, Lookup};
use crate::documents::{DocumentService, UrlSigner};
use crate::env::Env;
use crate::error::Error;
use crate::sealing::Sealer;
use crate::store::Store;
use crate::store::signatures::GoodLinkRow;
use crate::target::TargetPolicy;
use crate::telemetry::spans;
use crate::trace_context::TraceContext;

/// The parts that operations work with.
pub(crate) struct Services {
    pub(crate) store: Arc<Store>,
    pub(crate) env: Env,
    /// Counts the requests of keys.
    pub(crate) access: Arc<Access>,
    /// Finds the signing links whose tokens callers present.
    pub(crate) links: Lookup<GoodLinkRow>,
    pub(crate) sealer: Arc<Sealer>,
    /// Seals the entries of signers in addresses, also in a service without sealing keys.
    #[cfg(feature = "console")]
    pub(crate) entry_sealer: Sealer,
    pub(crate) documents: Arc<DocumentService>,
    pub(crate) url_signer: UrlSigner,
    /// The beginning of documents' URLs, without a slash at the end.
    pub(crate) base_url: String,
    /// True if URLs lead to the document store itself when it can sign them.
    pub(crate) presigned_urls: bool,
    /// The URLs that webhooks may have.
    pub(crate) target: TargetPolicy,
    pub(crate) numbering: Numbering,
    pub(crate) held_dates: HeldDates,
    pub(crate) reminder: Reminder,
    /// Carries the contexts of the host's calls to the attempts.
    pub(crate) traces: Option<Arc<dyn TraceContext>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

impl Services {
    /// Runs the work of an operation in its span, and measures it. Work that is dropped before its
    /// end is not measured, nor is input that is refused before the work begins.
    ///
    /// Boxed, as the compiler limits the depth of nested futures, to which those of the host add.
    pub(super) fn operation<T>(
        &self,
        name: &'static str,
        company: Option<CompanyId>,
        work: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        let (metrics, span) = (self.env.metrics(), spans::operation(name, company));
        let (timer, ended) = (metrics.start(), span.clone());
        let measured = work.inspect(move |result| {
            let code = result.as_ref().err().map(Error::code);
            let code = code.as_ref().map_or("ok", ErrorCode::as_str);
            metrics.operation(name, code, timer);
            spans::ended(&ended, code);
        });
        Box::pin(measured.instrument(span))
    }
}
