//! A server for integrators in any language to develop against: demo companies and a steady stream of business.
//!
//! ```console
//! $ cargo run --example sandbox -- --db sandbox.db --webhook http://127.0.0.1:9000/hook --activity 2
//! ```
//!
//! `--help` lists all options. Standard output is text on a terminal, else JSON lines for programs to read; logs go to standard
//! error, as verbose as `RUST_LOG` sets.

mod args;
mod business;
mod catalogue;
mod credits;
mod demo;
mod home;
mod output;
mod probes;
mod recovery;
mod sign_in;
mod steps;
mod stop;
mod webhook_ca;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use http::request::Parts;
use invoicing_examples::{Failure, explain};
use invoicing_server::{
    ConsoleSettings, Invoicing, SealingKey, SealingKeyError, SealingKeys, ServeLimits, ServedApp, Settings,
    Theme, TransportBuilder, serve,
};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use crate::args::{Args, Command, TARGETS, USAGE};
use crate::business::Business;
use crate::demo::Credentials;
use crate::home::Home;
use crate::output::{Format, Output};
use crate::recovery::Recovery;
use crate::sign_in::Door;
use crate::stop::Stop;

/// Exit code after a wrong flag.
const WRONG_USAGE: u8 = 2;
/// A write to standard output without a reader must not keep the process alive.
const LEFTOVERS: Duration = Duration::from_millis(100);

/// Seals the secrets in the database. It protects nothing, as it is public; a host reads its own from the place of its
/// secrets.
const SEALING_KEY: [u8; 32] = *b"a sandbox has no secrets to keep";

/// The tasks that run until the sandbox is to stop.
type Tasks = JoinSet<Result<(), Failure>>;

/// The first line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hello<'a> {
    base_url: &'a str,
    /// The reference of the API, for people.
    docs_url: String,
    /// Signs in to the console, once.
    console_url: String,
    #[serde(flatten)]
    credentials: &'a Credentials,
    // For people alone: a program has chosen these.
    #[serde(skip)]
    kept: String,
    #[serde(skip)]
    activity: f64,
}

impl fmt::Display for Hello<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base_url, docs_url, console_url, credentials, kept, activity } = self;
        let first = &credentials.companies[0];
        writeln!(f, "The sandbox is ready. Ctrl-C stops it. {kept}\n")?;
        writeln!(f, "  console    {console_url} (opens once)")?;
        writeln!(f, "  reference  {docs_url}")?;
        writeln!(f, "  API        {base_url}/api/v1\n{credentials}\nA first request:\n")?;
        writeln!(
            f,
            "  curl -H 'Authorization: Bearer {}' '{base_url}/api/v1/quotes?limit=1'\n",
            first.api_key
        )?;
        if *activity > 0.0 {
            write!(f, "Operations of {}, {activity} per second, with their events:", first.name)
        } else {
            write!(f, "No business goes on, because of --activity 0.")
        }
    }
}

/// The program: reads the command line, and runs until it is told to end.
pub fn main() -> ExitCode {
    let done = match args::parse() {
        Ok(Command::Help) => {
            print!("{USAGE}");
            Ok(())
        }
        Ok(Command::HealthCheck(address)) => {
            probes::check(&address).map_err(|error| format!("{address}: {}", explain(&*error)).into())
        }
        Ok(Command::Run(args)) => run_to_end(*args),
        Err(error) => {
            eprintln!("invoicing-sandbox: {error} (--help lists all options)");
            return ExitCode::from(WRONG_USAGE);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("invoicing-sandbox: {}", explain(&*error));
            ExitCode::FAILURE
        }
    }
}

fn run_to_end(args: Args) -> Result<(), Failure> {
    // A person sees the business on the terminal: of the log, only what it does not show.
    let filter = match args.format {
        Format::Text => "warn,invoicing_sandbox=info",
        Format::Json => "info",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(run(args));
    runtime.shutdown_timeout(LEFTOVERS);
    ended
}

async fn run(args: Args) -> Result<(), Failure> {
    let stop = Stop::new();
    let signals = Stop::signals()?;
    let Ports { listener, probes, base_url } = Ports::open(&args).await?;
    let authorities = args.webhook_ca.as_deref().map(webhook_ca::read).transpose()?.unwrap_or_default();
    let home = Home::new(args.db, args.documents)?;
    let settings =
        Settings { base_url: base_url.clone(), quota: args.quota, target: TARGETS, ..Settings::default() };
    let trust = move |transport| authorities.into_iter().fold(transport, TransportBuilder::root_certificate);
    let builder = home.builder()?.settings(settings).sealing_keys(sealing_keys()?);
    let invoicing = builder.webhook_transport(trust).open().await?;
    // First, so that a key that has been idle for too long is known to be dead.
    invoicing.sweep().await?;
    let turn = home.turn().await?;
    let credentials = demo::open(&invoicing, &home.credentials, &args.webhooks).await?;
    drop(turn);
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let company = credentials.companies[0].id;
    let (door, docs_url) =
        (Door::new(invoicing.env(), &base_url, company), format!("{base_url}/api/v1/docs"));
    let console_url = door.link();
    if let Format::Json = args.format {
        tracing::info!(base_url, docs = docs_url, console = console_url, db = home.shown(), seed, "ready");
    }
    let settings = ConsoleSettings::at(&base_url).theme(Theme::default().name("Sandbox"));
    let console = invoicing.console(settings, move |request: &Parts| door.decide(request))?;

    let mut output = Output::new(args.format, stop.clone());
    let mut tasks = Tasks::new();
    if let Some(listener) = probes {
        let (health, stopped) = (invoicing.health_service(), stop.clone());
        tasks.spawn(async move {
            probes::serve(listener, health, &stopped).await;
            Ok(())
        });
    }
    spawn_service(&mut tasks, &stop, listener, (invoicing.service(), console).into(), &invoicing);
    if args.enable_again {
        let recovery = Recovery::new(invoicing.company(company), invoicing.env().clone());
        let stopped = stop.clone();
        tasks.spawn(async move {
            recovery.go_on(&stopped).await;
            Ok(())
        });
    }
    let stopped = stop.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = signals => tracing::info!("stopping"),
            () = stopped.wait() => {}
        }
        Ok(())
    });
    let business = Business::new(invoicing.clone(), company, seed);
    let (activity, stopped, kept) = (args.activity, stop.clone(), home.kept());
    tasks.spawn(async move {
        let credentials = &credentials;
        let hello = Hello { base_url: &base_url, docs_url, console_url, credentials, kept, activity };
        let went = match output.line(&hello).await {
            Ok(()) => business.go_on(activity, &mut output, &stopped).await,
            Err(error) => Err(error.into()),
        };
        unless_reader_is_gone(went)
    });

    // Whichever ends first, ends all.
    let mut ended = Ok(());
    while let Some(task) = tasks.join_next().await {
        stop.ask();
        ended = ended.and(task.map_err(Failure::from).flatten());
    }
    invoicing.close().await;
    ended
}

/// Serves the API and the console, and delivers events.
fn spawn_service(
    tasks: &mut Tasks,
    stop: &Stop,
    listener: TcpListener,
    site: ServedApp,
    invoicing: &Invoicing,
) {
    let (running, stopped) = (invoicing.clone(), stop.clone());
    tasks.spawn(async move { Ok(serve(listener, site, ServeLimits::default(), stopped.wait()).await?) });
    let stopped = stop.clone();
    tasks.spawn(async move { Ok(running.run(stopped.wait()).await.map(drop)?) });
}

/// That the reader of standard output has gone is a way of saying that it has seen enough.
fn unless_reader_is_gone(ended: Result<(), Failure>) -> Result<(), Failure> {
    ended.or_else(|error| match error.downcast_ref::<io::Error>() {
        Some(io) if io.kind() == io::ErrorKind::BrokenPipe => {
            tracing::info!("standard output has no reader any more: stopping");
            Ok(())
        }
        _ => Err(error),
    })
}

/// Where it is reached.
struct Ports {
    listener: TcpListener,
    probes: Option<TcpListener>,
    base_url: String,
}

impl Ports {
    async fn open(args: &Args) -> Result<Self, Failure> {
        let listener = bind("--listen", &args.listen).await?;
        let mut probes = None;
        if let Some(address) = &args.probes {
            let bound = bind("--probes", address).await?;
            tracing::info!(probes = %bound.local_addr()?, "probes are answered");
            probes = Some(bound);
        }
        let base_url = match &args.base_url {
            Some(url) => url.clone(),
            None => format!("http://{}", reachable(listener.local_addr()?)),
        };
        Ok(Self { listener, probes, base_url })
    }
}

async fn bind(option: &str, address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => " (another program listens there; port 0 picks a free one)",
            _ => "",
        };
        format!("{option} {address}: {error}{advice}").into()
    })
}

/// An address that a program on this machine can connect to.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn sealing_keys() -> Result<SealingKeys, SealingKeyError> {
    Ok(SealingKeys::new(SealingKey::new("sandbox", SEALING_KEY)?))
}
