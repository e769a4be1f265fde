//! A context of the host, from an operation to the attempts that deliver its events.

/// Carries a context of the host from an operation to the attempts that deliver its events, for
/// instance the ids of a trace: see [`InvoicingBuilder::trace_context`](crate::InvoicingBuilder::trace_context). Its
/// methods should do no other work: a method that blocks or panics does so within the operation or
/// the dispatcher.
///
/// ```
/// use invoicing_server::TraceContext;
///
/// /// Links attempts to the span in which the operation was called.
/// struct Traces;
///
/// impl TraceContext for Traces {
///     fn current(&self) -> Option<Vec<u8>> {
///         let span = tracing::Span::current();
///         span.id().map(|id| id.into_u64().to_be_bytes().to_vec())
///     }
///
///     fn attempt(&self, span: &tracing::Span, context: &[u8]) {
///         span.in_scope(|| tracing::debug!(?context, "caused by"));
///     }
/// }
/// ```
pub trait TraceContext: Send + Sync + 'static {
    /// The context in which an operation that changes a record is called, at most 128 bytes. The
    /// method is called within the span of the operation. A longer context is left out, with a
    /// warning in the log.
    fn current(&self) -> Option<Vec<u8>>;

    /// Called when an attempt begins whose event was recorded by an operation with this context.
    /// `span` is that of the attempt, which waits for this call.
    fn attempt(&self, span: &tracing::Span, context: &[u8]);
}
