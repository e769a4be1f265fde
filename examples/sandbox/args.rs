//! The command line.

use std::ffi::OsString;
use std::fmt;
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::str::FromStr;

use invoicing_core::EventKind;
use invoicing_server::TargetPolicy;
use lexopt::ValueExt;
use lexopt::prelude::Long;

use crate::output::Format;

/// The text of `--help`.
pub(crate) const USAGE: &str = r#"Usage: invoicing-sandbox [OPTIONS]

A service with demo companies and a stream of business, to develop an integration against.

  --listen ADDRESS       where the API listens (default 127.0.0.1:8080; port 0 picks a free one)
  --base-url URL         where others reach it, if that differs: https://sandbox.example.com (default: http:// and the
                         address on which it listens)
  --webhook URL[=KINDS]  registers a webhook of the first company; may be repeated. KINDS narrows its
                         events: quote.signed,invoice.paid (default: all). Private targets and http are allowed.
                         One that is disabled after 10 failures is enabled again on its page, as in production
  --enable-again         enables webhooks again that failures have disabled, once their receivers answer a ping, and
                         replays what they missed; standard error shows both
  --webhook-ca FILE      receivers over TLS may have certificates of these authorities (PEM) besides the public ones
  --activity N           business operations per second, also a fraction (default 1; 0 = none)
  --db FILE              keeps everything in FILE and beside it; started again on it, the sandbox goes on with the
                         same companies, keys and webhooks (default: a temporary file, gone at the end)
  --db postgres://USER:PASSWORD@HOST:PORT/DATABASE
                         keeps everything but the documents in a PostgreSQL database. Several sandboxes may run on
                         it at once; they share companies, keys and webhooks, and each event is delivered by one
  --documents FOLDER     keeps the documents in FOLDER (default: FILE.documents beside the file; with PostgreSQL, a
                         folder in ~/.invoicing-sandbox named after the database), and with PostgreSQL keys and
                         secrets beside it. Sandboxes on one database must be given the same
  --quota N              requests that a key may make in 60 s (default 30; 0 = any number)
  --seed N               makes the sequence of operations and amounts repeatable (default: by chance)
  --output text|json     text for people, or lines for programs (default: text on a terminal, else json)
  --probes ADDRESS       answers /livez and /readyz there, for a supervisor (default: nowhere)
  --health-check ADDRESS
                         nothing but a question to the sandbox whose --probes are there: exit code 0 if it is ready
  --help                 this text

Standard output shows first the companies with their keys and the webhooks with their secrets, once connections are
accepted; then one line per business operation with the events of its records since the last one. Logs go to standard
error. Ctrl-C and SIGTERM stop it cleanly.

For programs these are JSON lines. The first one, broken for reading. All activity is in the first company; docsUrl is
the reference of the API; consoleUrl opens the company's pages in a browser, once, and the log has a link for the next:

{"baseUrl": "http://127.0.0.1:8080", "docsUrl": "http://127.0.0.1:8080/api/v1/docs",
 "consoleUrl": "http://127.0.0.1:8080/?signIn=…",
 "companies": [{"id": "…", "name": "Martin Peinture", "plan": "Team", "apiKey": "isk_…"}],
 "webhooks": [{"id": "…", "companyId": "…", "url": "http://127.0.0.1:9000/hook", "secret": "whsec_…",
               "events": ["quote.signed"]}]}
"#;

/// Any address may be a target, as this is for development.
pub(crate) const TARGETS: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

/// More would be more than one core writes.
const MAX_ACTIVITY: f64 = 1_000.0;

/// The work that the command line asks for.
#[derive(Debug)]
pub(crate) enum Command {
    Help,
    /// A question to the probes at this address.
    HealthCheck(String),
    Run(Box<Args>),
}

/// The arguments.
#[derive(Debug)]
pub(crate) struct Args {
    /// Host and port.
    pub(crate) listen: String,
    /// Scheme and host, and the port if there is one.
    pub(crate) base_url: Option<String>,
    /// A file of certificates.
    pub(crate) webhook_ca: Option<PathBuf>,
    pub(crate) format: Format,
    /// Host and port.
    pub(crate) probes: Option<String>,
    pub(crate) webhooks: Vec<WebhookArg>,
    /// Whether webhooks that failures have disabled are enabled again.
    pub(crate) enable_again: bool,
    /// Operations per second.
    pub(crate) activity: f64,
    pub(crate) db: Option<Db>,
    /// Where documents are kept.
    pub(crate) documents: Option<PathBuf>,
    pub(crate) quota: u32,
    pub(crate) seed: Option<u64>,
}

/// The database.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Db {
    /// SQLite.
    File(PathBuf),
    /// PostgreSQL.
    Postgres { url: String, name: String },
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            // There may be a password in the URL.
            Self::Postgres { name, .. } => {
                f.debug_struct("Postgres").field("name", name).finish_non_exhaustive()
            }
        }
    }
}

/// A webhook as it is asked for.
#[derive(Debug, Clone)]
pub(crate) struct WebhookArg {
    /// As the service writes it.
    pub(crate) url: String,
    /// In the order of the contract, each once.
    pub(crate) events: Vec<EventKind>,
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_env();
    let mut args = Args {
        listen: "127.0.0.1:8080".into(),
        base_url: None,
        webhook_ca: None,
        format: if stdout().is_terminal() { Format::Text } else { Format::Json },
        probes: None,
        webhooks: Vec::new(),
        enable_again: false,
        activity: 1.0,
        db: None,
        documents: None,
        quota: 30,
        seed: None,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("listen") => args.listen = named("listen", parser.value()?.parse_with(address))?,
            Long("base-url") => {
                args.base_url = Some(named("base-url", parser.value()?.parse_with(base_url))?);
            }
            Long("webhook") => args.webhooks.push(named("webhook", parser.value()?.parse())?),
            Long("webhook-ca") => args.webhook_ca = Some(parser.value()?.into()),
            Long("enable-again") => args.enable_again = true,
            Long("activity") => args.activity = named("activity", parser.value()?.parse_with(activity))?,
            Long("db") => args.db = Some(named("db", database(parser.value()?).map_err(Into::into))?),
            Long("documents") => {
                args.documents = Some(named("documents", folder(parser.value()?).map_err(Into::into))?);
            }
            Long("quota") => args.quota = named("quota", parser.value()?.parse())?,
            Long("seed") => args.seed = Some(named("seed", parser.value()?.parse())?),
            Long("output") => args.format = named("output", parser.value()?.parse_with(format))?,
            Long("probes") => args.probes = Some(named("probes", parser.value()?.parse_with(address))?),
            Long("health-check") => {
                let address = named("health-check", parser.value()?.parse_with(address))?;
                return Ok(Command::HealthCheck(address));
            }
            Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Run(Box::new(args)))
}

/// Says which option has the value that is wrong.
fn named<T>(option: &str, value: Result<T, lexopt::Error>) -> Result<T, lexopt::Error> {
    value.map_err(|error| format!("--{option}: {error}").into())
}

fn address(text: &str) -> Result<String, &'static str> {
    let is_address =
        text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if is_address {
        Ok(text.to_owned())
    } else {
        Err("must be an address and a port, such as 127.0.0.1:8080")
    }
}

/// Without a path: the console's cookie and links begin at the root.
fn base_url(text: &str) -> Result<String, &'static str> {
    let url = text.strip_suffix('/').unwrap_or(text);
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']);
    if host.is_some_and(is_host) {
        Ok(url.to_owned())
    } else {
        Err("must be like https://sandbox.example.com")
    }
}

fn format(text: &str) -> Result<Format, &'static str> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("must be text or json"),
    }
}

/// A URL of PostgreSQL, else a file.
fn database(value: OsString) -> Result<Db, &'static str> {
    const RULE: &str = "must be a file, or postgres://USER:PASSWORD@HOST:PORT/DATABASE";
    let Some((scheme, rest)) = value.to_str().and_then(|text| text.split_once("://")) else {
        return if value.is_empty() { Err(RULE) } else { Ok(Db::File(value.into())) };
    };
    let path = rest.split(['?', '#']).next().and_then(|rest| rest.split_once('/'));
    let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let name =
        path.map(|(_, name)| name).filter(|name| !name.is_empty() && !name.starts_with('.')).filter(plain);
    match (scheme, name) {
        ("postgres" | "postgresql", Some(name)) => {
            Ok(Db::Postgres { name: name.to_owned(), url: format!("{scheme}://{rest}") })
        }
        ("postgres" | "postgresql", None) => {
            Err("must name the database, in letters, digits and hyphens: postgres://HOST/DATABASE")
        }
        _ => Err(RULE),
    }
}

fn folder(value: OsString) -> Result<PathBuf, &'static str> {
    if value.is_empty() || value.to_str().is_some_and(|text| text.contains("://")) {
        return Err("must be a folder");
    }
    Ok(value.into())
}

fn activity(text: &str) -> Result<f64, &'static str> {
    let rate = text.parse().ok().filter(|rate| (0.0..=MAX_ACTIVITY).contains(rate));
    rate.ok_or("must be a number between 0 and 1000")
}

impl FromStr for WebhookArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (url, events) = match text.rsplit_once('=') {
            // A `=` may belong to the query of the URL.
            Some((url, kinds)) if !url.contains('?') || kinds.contains('.') => (url, kinds_of(kinds)?),
            _ => (text, EventKind::ALL.to_vec()),
        };
        let url = TARGETS.parse(url).map_err(|error| format!("the URL {error}"))?;
        Ok(Self { url: url.as_str().to_owned(), events })
    }
}

fn kinds_of(text: &str) -> Result<Vec<EventKind>, String> {
    let mut named = Vec::new();
    for kind in text.split(',') {
        let kind: EventKind = kind.trim().parse().map_err(|_| {
            let all: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("{kind:?} is no event; there are {}", all.join(", "))
        })?;
        named.push(kind);
    }
    Ok(EventKind::ALL.iter().copied().filter(|kind| named.contains(kind)).collect())
}
