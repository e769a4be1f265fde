//! The first connection. If it fails, the error names the host and the setting to change.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{Connection as _, PgConnection};

use super::{CONNECT_PAUSE, limits};
use crate::config::{PostgresSettings, SettingError};
use crate::store::DatabaseError;

const HAS_TLS: bool = cfg!(feature = "postgres-tls");
/// SQLSTATE of a server that is starting or stopping.
const CANNOT_CONNECT_NOW: &str = "57P03";

/// Reads a URL of PostgreSQL. A part that would be ignored or misread is refused by name.
pub(crate) fn parse(url: &str) -> Result<PgConnectOptions, SettingError> {
    const RULE: &str = "must be a URL such as postgres://user:password@host:5432/database";
    const HOSTS: &str = "must name one host: give the address that always leads to the primary";
    const ATTRIBUTES: &str =
        "cannot have target_session_attrs: give the address that always leads to the primary";
    let refuse = |rule| Err(SettingError::new("url", rule));
    let authority =
        url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or(rest));
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
    let value = |name: &str| {
        let mut parameters = parameters.split('&').filter_map(|parameter| parameter.split_once('='));
        parameters.find(|(found, _)| *found == name).map(|(_, value)| value)
    };
    let has_several = |hosts: &str| hosts.contains(',') || hosts.to_ascii_lowercase().contains("%2c");
    if has_several(hosts) || ["host", "hostaddr", "port"].into_iter().filter_map(value).any(has_several) {
        return refuse(HOSTS);
    }
    if value("target_session_attrs").is_some_and(|wanted| wanted != "any") {
        return refuse(ATTRIBUTES);
    }
    PgConnectOptions::from_str(url).or_else(|_| refuse(RULE))
}

/// Connects, and tries again during `patience` while nothing listens or the server is starting.
pub(crate) async fn connect(
    options: &PgConnectOptions,
    patience: Duration,
) -> Result<PgConnection, DatabaseError> {
    let begun = Instant::now();
    loop {
        let left = patience.saturating_sub(begun.elapsed()).max(CONNECT_PAUSE);
        let error = match tokio::time::timeout(left, PgConnection::connect_with(options)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) if is_passing(&error) && begun.elapsed() + CONNECT_PAUSE < patience => {
                tokio::time::sleep(CONNECT_PAUSE).await;
                continue;
            }
            Ok(Err(error)) => message(&error),
            Err(_) => format!("no answer within {} ms", patience.as_millis()),
        };
        let advice = advice(&error).map(|advice| format!(" ({advice})")).unwrap_or_default();
        return Err(DatabaseError::Connect { address: address(options), cause: error + &advice });
    }
}

fn is_passing(error: &sqlx::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    match error {
        sqlx::Error::Io(error) => {
            matches!(error.kind(), ConnectionRefused | ConnectionReset | ConnectionAborted)
        }
        sqlx::Error::Database(error) => error.code().as_deref() == Some(CANNOT_CONNECT_NOW),
        _ => false,
    }
}

/// The text of an error, without the layers that sqlx puts before it.
fn message(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Tls(error) | sqlx::Error::Configuration(error) => error.to_string(),
        sqlx::Error::Database(error) => error.message().to_owned(),
        error => error.to_string(),
    }
}

/// The setting to change.
fn advice(error: &str) -> Option<&'static str> {
    const POOLER: &str = "a pooler is in the way: PgBouncer needs ignore_startup_parameters = extra_float_digits, and \
         PostgresSettings transaction_pooling if it is in transaction mode";
    const TLS: &str = "build the service with its feature postgres-tls";
    if error.contains("unsupported startup parameter") {
        return Some(POOLER);
    }
    (!HAS_TLS && error.contains("TLS")).then_some(TLS)
}

fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(folder) => format!("{}:{}", folder.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

/// Warns of a connection that the limits of a session do not reach, or that is not encrypted.
pub(super) async fn check(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
    settings: &PostgresSettings,
) -> Result<(), sqlx::Error> {
    const LIMIT: &str = "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'";
    if settings.transaction_pooling {
        return Ok(());
    }
    let limit: i64 = sqlx::query_scalar(LIMIT).fetch_one(&mut *connection).await?;
    if !limits(settings)
        .iter()
        .any(|(name, millis)| *name == "statement_timeout" && i64::try_from(*millis) == Ok(limit))
    {
        tracing::warn!(
            host = address(options),
            "session timeouts have no effect in PostgreSQL; behind a pooler, set transaction_pooling"
        );
    }
    if is_remote(options) && !is_encrypted(connection, options).await? {
        tracing::warn!(
            host = address(options),
            "the connection to PostgreSQL is not encrypted; TLS needs the feature postgres-tls and sslmode=verify-full"
        );
    }
    Ok(())
}

fn is_remote(options: &PgConnectOptions) -> bool {
    let host = options.get_host().trim_matches(['[', ']']);
    let is_loopback = host.parse::<IpAddr>().map_or(host == "localhost", |address| address.is_loopback());
    options.get_socket().is_none() && !is_loopback
}

async fn is_encrypted(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<bool, sqlx::Error> {
    const ENCRYPTED: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    if !HAS_TLS || matches!(options.get_ssl_mode(), PgSslMode::Disable) {
        return Ok(false);
    }
    Ok(sqlx::query_scalar(ENCRYPTED).fetch_optional(connection).await?.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_hosts_and_what_would_be_ignored_are_refused_by_name() {
        for (url, rule) in [
            ("postgres://h1,h2/db", "one host"),
            ("postgres://user:pass@h1:5432,h2:5433/db?target_session_attrs=read-write", "one host"),
            ("postgres:///db?host=h1,h2", "one host"),
            ("postgres://host/db?target_session_attrs=read-write", "target_session_attrs"),
            ("mysql//", "must be a URL"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains("url") && error.contains(rule), "{url}: {error}");
        }
        for url in [
            "postgres://user:a,b@host:5432/db",
            "postgres://host/db?options=-c%20search_path%3Da,b",
            "postgres://host/db?target_session_attrs=any",
        ] {
            parse(url).unwrap();
        }
    }

    #[tokio::test]
    async fn an_error_names_host_port_and_cause_once() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = parse(&format!("postgres://127.0.0.1:{port}/db")).unwrap();
        let error = connect(&options, Duration::from_millis(200)).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("127.0.0.1:{port}")) && text.contains("refused"), "{text}");
        assert!(std::error::Error::source(&error).is_none(), "the cause is said once");

        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = options.port(silent.local_addr().unwrap().port());
        let text = connect(&options, Duration::from_millis(200)).await.unwrap_err().to_string();
        assert!(text.contains("no answer within 200 ms"), "{text}");
    }

    #[test]
    fn what_names_a_setting_is_advice() {
        let pooler = advice("unsupported startup parameter: extra_float_digits").unwrap();
        assert!(pooler.contains("ignore_startup_parameters") && pooler.contains("transaction_pooling"));
        assert_eq!(advice("password authentication failed"), None);
        assert_eq!(advice("TLS upgrade required").is_some(), !HAS_TLS);
    }

    #[test]
    fn only_another_machine_is_remote() {
        for (url, expected) in [
            ("postgres://localhost/db", false),
            ("postgres://127.0.0.2:5433/db", false),
            ("postgres://[::1]/db", false),
            ("postgres://%2Frun%2Fpostgresql/db", false),
            ("postgres://10.0.0.1/db", true),
            ("postgres://db.example.com/db", true),
        ] {
            assert_eq!(is_remote(&parse(url).unwrap()), expected, "{url}");
        }
    }
}
