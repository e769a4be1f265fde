//! Traces: the spans of the service over OTLP, and links from attempts to what caused their events.

use invoicing_examples::Failure;
use invoicing_server::TraceContext;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// The exporter of the spans, if they go anywhere.
pub(crate) struct Traces(Option<SdkTracerProvider>);

impl Traces {
    /// Installs the subscriber of this process: it logs to standard error, and exports spans if an endpoint is named.
    pub(crate) fn install() -> Result<Self, Failure> {
        let provider = match std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT") {
            Some(_) => {
                let exporter =
                    SpanExporter::builder().with_http().with_protocol(Protocol::HttpJson).build()?;
                let resource = Resource::builder().with_service_name("invoicing").build();
                let builder = SdkTracerProvider::builder().with_batch_exporter(exporter);
                Some(builder.with_resource(resource).build())
            }
            None => None,
        };
        let exported = provider.as_ref().map(|provider| {
            tracing_opentelemetry::layer()
                .with_tracer(provider.tracer("invoicing"))
                .with_filter(LevelFilter::INFO)
        });
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        let logged = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        // `RUST_LOG` is for the log alone: the spans are exported all the same.
        let logged = logged.with_filter(filter);
        tracing_subscriber::registry().with(logged).with(exported).try_init()?;
        Ok(Self(provider))
    }

    /// Sends what is left.
    pub(crate) fn flush(self) -> Result<(), Failure> {
        Ok(self.0.map_or(Ok(()), |provider| provider.shutdown())?)
    }
}

/// Takes the ids of a trace from the call of an operation to the attempts. They are stored with the event, as 25 bytes.
pub(crate) struct OpenTelemetry;

const TRACE_ID: usize = 16;
const SPAN_ID: usize = 8;

impl TraceContext for OpenTelemetry {
    fn current(&self) -> Option<Vec<u8>> {
        let context = tracing::Span::current().context();
        let span = context.span().span_context().clone();
        span.is_valid().then(|| {
            let flags = [span.trace_flags().to_u8()];
            [&span.trace_id().to_bytes()[..], &span.span_id().to_bytes(), &flags].concat()
        })
    }

    fn attempt(&self, span: &tracing::Span, context: &[u8]) {
        if let Some(cause) = parse(context) {
            span.add_link(cause);
        }
    }
}

/// `None` for bytes of another version of the host.
fn parse(context: &[u8]) -> Option<SpanContext> {
    let (trace, rest) = context.split_first_chunk::<TRACE_ID>()?;
    let (span, rest) = rest.split_first_chunk::<SPAN_ID>()?;
    let [flags] = *rest else { return None };
    let (trace, span) = (TraceId::from_bytes(*trace), SpanId::from_bytes(*span));
    Some(SpanContext::new(trace, span, TraceFlags::new(flags), true, TraceState::default()))
}
