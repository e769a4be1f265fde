//! The cause of an event: the request and the host's context. It is stored in the event's row when
//! an operation begins, and read for each attempt to deliver it, even after a restart or on another
//! node.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::secret::prefix_end;
use crate::trace_context::TraceContext;

/// Longest id of a request, in bytes.
const MAX_REQUEST_ID: usize = 128;
/// Maximum number of bytes of a context.
const MAX_CONTEXT: usize = 128;

/// True if a request can have this id: 1 to 128 letters, digits, `.`, `_` and `-`, so that it needs
/// no quoting in a log line. Logs show it, so a text with the beginning of a secret anywhere is
/// refused.
pub(crate) fn is_request_id(id: &[u8]) -> bool {
    (1..=MAX_REQUEST_ID).contains(&id.len())
        && prefix_end(id).is_none()
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// The cause of an event, as stored in its row.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) request_id: Option<Arc<str>>,
    /// The context in base64.
    pub(crate) trace_context: Option<String>,
}

impl Cause {
    /// The cause of the present operation; `None` without a request and a context.
    pub(crate) fn now(request_id: Option<Arc<str>>, traces: Option<&dyn TraceContext>) -> Option<Arc<Self>> {
        let context = traces.and_then(TraceContext::current).filter(|context| {
            let fits = context.len() <= MAX_CONTEXT;
            if !fits {
                tracing::warn!(bytes = context.len(), "a trace context has more than {MAX_CONTEXT} bytes");
            }
            fits
        });
        Self::of(request_id, context.map(|context| STANDARD.encode(context)))
    }

    /// The cause in a row; `None` if the row has none.
    pub(crate) fn of_row(request_id: Option<String>, trace_context: Option<String>) -> Option<Arc<Self>> {
        Self::of(request_id.map(Arc::from), trace_context)
    }

    fn of(request_id: Option<Arc<str>>, trace_context: Option<String>) -> Option<Arc<Self>> {
        let is_known = request_id.is_some() || trace_context.is_some();
        is_known.then(|| Arc::new(Self { request_id, trace_context }))
    }

    /// Passes the context to the host when an attempt begins.
    pub(crate) fn notify_host(&self, traces: &dyn TraceContext, span: &tracing::Span) {
        let Some(Ok(context)) = self.trace_context.as_ref().map(|text| STANDARD.decode(text)) else { return };
        traces.attempt(span, &context);
    }
}

/// Hides the host's trace context.
impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cause").field("request_id", &self.request_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Traces {
        current: Option<Vec<u8>>,
        told: Mutex<Vec<Vec<u8>>>,
    }

    impl TraceContext for Traces {
        fn current(&self) -> Option<Vec<u8>> {
            self.current.clone()
        }

        fn attempt(&self, _: &tracing::Span, context: &[u8]) {
            self.told.lock().push(context.to_vec());
        }
    }

    #[test]
    fn any_context_of_up_to_128_bytes_comes_back_and_a_longer_one_is_left_out() {
        for length in [0, 1, 55, 128] {
            let bytes: Vec<u8> = (0..length).map(|n| n ^ 0xa5).collect();
            let traces = Traces { current: Some(bytes.clone()), ..Traces::default() };
            let cause = Cause::now(None, Some(&traces)).expect("a context");
            let row = Cause::of_row(None, cause.trace_context.clone()).expect("a context");
            row.notify_host(&traces, &tracing::Span::none());
            assert_eq!(*traces.told.lock(), [bytes]);
        }
        let traces = Traces { current: Some(vec![1; 129]), ..Traces::default() };
        assert_eq!(Cause::now(None, Some(&traces)), None);
        let cause = Cause::now(Some("r1".into()), Some(&traces)).expect("a request");
        assert_eq!(cause.trace_context, None);
    }
}
