//! A server for integrators in any language to develop against: demo companies and a steady stream of business.
//!
//! ```console
//! $ cargo run --example sandbox -- --db sandbox.db --webhook http://127.0.0.1:9000/hook --activity 2
//! ```
//!
//! `--help` lists all options. Standard output is JSON lines for programs to read; logs go to standard error, as verbose as
//! `RUST_LOG` says.

mod args;
mod business;
mod catalogue;
mod credits;
mod demo;
mod home;
mod output;
mod recovery;
mod sign_in;
mod steps;
mod stop;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use http::request::Parts;
use invoicing_examples::{Failure, explain};
use invoicing_server::{
    ConsoleSettings, Invoicing, SealingKey, SealingKeyError, SealingKeys, ServeLimits, ServedApp, Settings,
    Theme, serve,
};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use crate::args::{Args, TARGETS, USAGE};
use crate::business::Business;
use crate::demo::Credentials;
use crate::home::Home;
use crate::output::Output;
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
}

/// The program: reads the command line, and runs until it is told to end.
pub fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(Some(args)) => args,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("invoicing-sandbox: {error} (--help lists all options)");
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    let ended = tokio::runtime::Runtime::new().map_err(Failure::from).and_then(|runtime| {
        let ended = runtime.block_on(run(args));
        runtime.shutdown_timeout(LEFTOVERS);
        ended
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("invoicing-sandbox: {}", explain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Failure> {
    let stop = Stop::new();
    let signals = Stop::signals()?;
    let listener =
        TcpListener::bind(&args.listen).await.map_err(|error| format!("{}: {error}", args.listen))?;
    let base_url = format!("http://{}", reachable(listener.local_addr()?));
    let home = Home::new(args.db, args.documents)?;
    let settings =
        Settings { base_url: base_url.clone(), quota: args.quota, target: TARGETS, ..Settings::default() };
    let invoicing = home.builder()?.settings(settings).sealing_keys(sealing_keys()?).open().await?;
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
    tracing::info!(base_url, docs = docs_url, console = console_url, db = home.shown(), seed, "ready");
    let settings = ConsoleSettings::at(&base_url).theme(Theme::default().name("Sandbox"));
    let console = invoicing.console(settings, move |request: &Parts| door.decide(request))?;

    let mut output = Output::new(stop.clone());
    let mut tasks = Tasks::new();
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
    let (rate, stopped, hello_url) = (args.activity, stop.clone(), base_url);
    tasks.spawn(async move {
        let hello = Hello { base_url: &hello_url, docs_url, console_url, credentials: &credentials };
        let went = match output.line(&hello).await {
            Ok(()) => business.go_on(rate, &mut output, &stopped).await,
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
