//! Moving a host from SQLite to PostgreSQL: nothing is lost, nothing changes, and nothing half done is ever used.
//!
//! Each test prints so if no PostgreSQL is found.

mod host;

use std::time::Duration;

use invoicing_core::{EventKind, Timestamp};
use invoicing_server::{
    ClientQuery, CopyError, CopyReport, DatabaseError, Invoicing, OpenError, QuoteQuery, copy_to_postgres,
};
use invoicing_tests::{Database, Receiver, Reply, RunningDispatcher, on_postgres};
use sqlx::{Connection, PgConnection};
use webhook_verify::Verifier;

use crate::support::{emit_for, events, hook_for};
use host::{Host, company, get, live, told};

/// More rows than a batch of the copy has, so that the table takes several.
const CLIENTS: i64 = 12_000;
/// The client at which another transaction is in the way.
const IN_THE_WAY: i64 = 7_000;
/// The tables of PostgreSQL.
const TABLES: &str = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";

fn number(text: &str) -> u64 {
    text.rsplit('-').next().unwrap().parse().unwrap()
}

/// Breaks a copy off in the middle of a table, in the middle of a transaction.
async fn break_off(host: &Host) {
    // Makes the tables, and nothing else.
    let invoicing = host.on_postgres().await;
    invoicing.close().await;
    host.behind().await.run("DELETE FROM setting", &[]).await;
    let mut other = PgConnection::connect(host.target.url()).await.unwrap();
    let mut tx = other.begin().await.unwrap();
    // Another insert of the same client waits for the end of this transaction.
    let company: Vec<uuid::Uuid> = host.source.behind().await.all("SELECT id FROM company", &[]).await;
    let insert = "INSERT INTO client (company_id, id, created_at, updated_at, search, record, version) \
         VALUES ($1, $2, 0, 0, '', '', 1)";
    let id = uuid::Uuid::from_u128(u128::try_from(IN_THE_WAY).unwrap());
    sqlx::query(insert).bind(company[0]).bind(id).execute(&mut *tx).await.unwrap();
    let mut behind = host.behind().await;
    let waits = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while behind.one::<i64>(waiting, &[]).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        done = host.copy() => panic!("it did not wait: {done:?}"),
        () = waits => {}
    }
    tx.rollback().await.unwrap();
}

async fn copied_clients(host: &Host) -> i64 {
    host.behind().await.one("SELECT count(*) FROM client", &[]).await
}

async fn clients_of_a_broken_off_copy(host: &Host) -> i64 {
    assert!(
        matches!(host.try_on_postgres().await, Err(OpenError::Database(DatabaseError::Copying))),
        "half a copy was opened"
    );
    copied_clients(host).await
}

async fn refused(host: &Host) -> CopyError {
    match host.copy().await {
        Err(error) => error,
        Ok(report) => panic!("copied: {report:?}"),
    }
}

fn rows_of(report: &CopyReport, table: &str) -> u64 {
    report.tables.iter().find(|(name, _)| *name == table).unwrap().1
}

#[on_postgres]
async fn the_service_says_the_same_on_postgresql_and_goes_on_from_there(db: Database) {
    let host = Host::new(db).await;
    let receiver = Receiver::start().await;
    let invoicing = host.on_sqlite().await;
    let life = live(&host, &invoicing, &receiver).await;
    let before = told(&invoicing, &life).await;
    let last_quote =
        life.company.quotes().list(&QuoteQuery::default()).await.unwrap().data[0].summary.number.clone();
    invoicing.close().await;
    note_bulk_changes(&host).await;
    spend_forms(&host).await;

    let report = host.copy().await.unwrap();
    assert_eq!((report.copied, report.was_complete), (report.rows(), false));
    assert!(report.tables.iter().all(|(table, rows)| *rows > 0 || *table == "upload"), "{report:?}");

    let moved = host.on_postgres().await;
    let after = told(&moved, &life).await;
    assert_eq!(after.len(), before.len());
    for (after, before) in after.iter().zip(&before) {
        assert_eq!(after, before);
    }
    goes_on(&host, &moved, &life, &receiver, &last_quote).await;
    let noted: i64 = host.behind().await.one("SELECT count(*) FROM bulk_change", &[]).await;
    assert_eq!(noted, 0, "what is left was carried out");
}

/// Notes for each webhook in the file that its deliveries have a change still to follow, and that the host is still to be told
/// of it.
async fn note_bulk_changes(host: &Host) {
    const NOTICE: &str = "
        INSERT INTO disabled_notice (company_id, webhook_id, disabled_at, reason, held_until)
        SELECT company_id, id, 1, 'consecutive_failures', 1 FROM webhook";
    const NOTE: &str = "
        INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
        SELECT company_id, id, 1, zeroblob(16), zeroblob(16), 1, 1 FROM webhook";
    for statement in [NOTE, NOTICE] {
        assert!(host.source.behind().await.run(statement, &[]).await > 0);
    }
}

/// Notes forms of the console that were carried out.
async fn spend_forms(host: &Host) {
    let spend = "INSERT INTO spent_form (company_id, token, noted) SELECT company_id, id, NULL FROM webhook";
    assert!(host.source.behind().await.run(spend, &[]).await > 0);
}

/// Numbers, stamps, links and deliveries.
async fn goes_on(host: &Host, moved: &Invoicing, life: &host::Life, receiver: &Receiver, last: &str) {
    let company = moved.company(life.company.id());
    let stamp = company.quotes().list(&QuoteQuery::default()).await.unwrap().as_of;
    let last_id: i64 = host.behind().await.one("SELECT max(id) FROM delivery", &[]).await;
    let client = company.clients().list(&ClientQuery::default()).await.unwrap().data[0].id;
    let quote = company.quotes().create(&invoicing_tests::new_quote(client)).await.unwrap();
    assert_eq!(number(&quote.summary.number), number(last) + 1, "{} after {last}", quote.summary.number);
    assert!(quote.summary.updated_at > stamp);
    let fresh: Vec<i64> =
        host.behind().await.all("SELECT id FROM delivery ORDER BY id DESC LIMIT 2", &[]).await;
    assert!(fresh.iter().all(|id| *id > last_id), "{fresh:?} after {last_id}");
    moved.signing_links().sign(&life.link, &crate::support::signature()).await.unwrap();

    // Waiting, due and new deliveries, with the previous secret.
    receiver.take();
    host.clock.advance(Duration::from_secs(10));
    let pending = "SELECT count(*) FROM delivery WHERE status = 'pending'";
    let due: i64 = host.behind().await.one(pending, &[]).await;
    let report = moved.dispatcher().run_once().await.unwrap();
    assert_eq!(i64::try_from(report.delivered).unwrap(), due, "{report:?}");
    assert_eq!(host.behind().await.one::<i64>(pending, &[]).await, 0);
    let received = receiver.take();
    assert_eq!(received.len(), usize::try_from(due).unwrap());
    let bodies: Vec<String> = events(&company).await.into_iter().map(|event| event.body).collect();
    let verifier = Verifier::new(life.hook.secret.reveal()).unwrap();
    for delivery in received {
        assert!(bodies.iter().any(|body| body.as_bytes() == delivery.body));
        let header = delivery.headers["x-service-signature"].as_bytes();
        let signed_at = std::str::from_utf8(header).unwrap()[2..].split(',').next().unwrap().parse().unwrap();
        verifier.verify(header, &delivery.body, signed_at).unwrap();
    }
}

#[on_postgres]
async fn a_copy_that_was_broken_off_goes_on_and_a_finished_one_changes_nothing(db: Database) {
    let host = Host::new(db).await;
    host.clients(CLIENTS).await;
    break_off(&host).await;
    let there = clients_of_a_broken_off_copy(&host).await;
    assert!((1..IN_THE_WAY).contains(&there), "{there} clients were committed");

    let report = host.copy().await.unwrap();
    assert!(!report.was_complete);
    assert_eq!(rows_of(&report, "client"), CLIENTS.cast_unsigned());
    assert_eq!(copied_clients(&host).await, CLIENTS);
    let committed = report.rows() - report.copied;
    assert!(committed >= there.cast_unsigned(), "{committed} rows were not copied again");

    let again = host.copy().await.unwrap();
    assert!(again.was_complete);
    assert_eq!((again.copied, &again.tables, &again.sha256), (0, &report.tables, &report.sha256));
    host.on_postgres().await.close().await;
    // Also once the service has gone on there.
    assert!(host.copy().await.unwrap().was_complete);
}

#[on_postgres]
async fn a_source_that_was_changed_meanwhile_is_another_one(db: Database) {
    let host = Host::new(db).await;
    host.clients(CLIENTS).await;
    break_off(&host).await;
    let there = clients_of_a_broken_off_copy(&host).await;
    let invoicing = host.on_sqlite().await;
    company(&invoicing).await;
    invoicing.close().await;
    assert!(matches!(refused(&host).await, CopyError::OtherSource));
    assert_eq!(clients_of_a_broken_off_copy(&host).await, there);
}

#[on_postgres]
async fn a_finished_copy_is_not_taken_for_one_of_another_source(db: Database) {
    let host = Host::new(db).await;
    let invoicing = host.on_sqlite().await;
    company(&invoicing).await;
    invoicing.close().await;
    host.copy().await.unwrap();
    let invoicing = host.on_sqlite().await;
    company(&invoicing).await;
    invoicing.close().await;
    assert!(matches!(refused(&host).await, CopyError::OtherSource));
    assert_eq!(host.behind().await.one::<i64>("SELECT count(*) FROM company", &[]).await, 1);
}

#[on_postgres]
async fn a_row_that_is_not_what_it_was_is_found_and_the_table_named(db: Database) {
    for change in [
        "UPDATE client SET search = search || 'x' WHERE id = (SELECT min(id::text) FROM client)::uuid",
        "DELETE FROM client WHERE id = (SELECT max(id::text) FROM client)::uuid",
    ] {
        let host = Host::new(db).await;
        host.clients(CLIENTS).await;
        break_off(&host).await;
        assert_eq!(host.behind().await.run(change, &[]).await, 1);
        let error = refused(&host).await;
        let CopyError::Differs { table, found, expected } = error else { panic!("{error:?}") };
        assert_eq!((&*table, expected), ("client", CLIENTS.cast_unsigned()));
        assert_eq!(found == expected, change.starts_with("UPDATE"));
        clients_of_a_broken_off_copy(&host).await;
    }
}

#[on_postgres]
async fn a_database_with_something_in_it_is_refused_and_left_alone(db: Database) {
    let host = Host::new(db).await;
    let invoicing = host.on_sqlite().await;
    company(&invoicing).await;
    invoicing.close().await;
    host.on_postgres().await.close().await;
    assert!(matches!(refused(&host).await, CopyError::NotEmpty(table) if table == "setting"));
    let there = host.on_postgres().await;
    company(&there).await;
    there.close().await;
    host.behind().await.run("DELETE FROM setting", &[]).await;
    assert!(matches!(refused(&host).await, CopyError::NotEmpty(table) if table == "api_key"));
    assert_eq!(host.behind().await.one::<i64>("SELECT count(*) FROM company", &[]).await, 1);
    host.on_postgres().await.close().await;
}

#[on_postgres]
async fn a_text_that_postgresql_cannot_hold_is_named_before_anything_is_copied(db: Database) {
    let host = Host::new(db).await;
    host.clients(3).await;
    let nul = "UPDATE client SET search = 'a' || char(0) WHERE id = unhex(printf('%032x', 2))";
    assert_eq!(host.source.behind().await.run(nul, &[]).await, 1);
    let error = refused(&host).await;
    let text = error.to_string();
    assert!(text.starts_with("table client, column search, row ["), "{text}");
    assert!(text.contains("00000000-0000-0000-0000-000000000002") && text.contains("U+0000"), "{text}");
    assert!(host.behind().await.all::<String>(TABLES, &[]).await.is_empty(), "something was made");
}

#[on_postgres]
async fn a_table_that_postgresql_lacks_is_named_and_further_ones_are_left_alone(db: Database) {
    let host = Host::new(db).await;
    host.clients(3).await;
    host.behind().await.run("CREATE TABLE \"Their own\" AS SELECT 1 AS number", &[]).await;
    host.source.behind().await.run("CREATE TABLE their_own (number INTEGER)", &[]).await;
    let error = refused(&host).await;
    assert!(matches!(&error, CopyError::Unmatched { table, .. } if table == "their_own"), "{error:?}");
    assert_eq!(host.behind().await.all::<String>(TABLES, &[]).await, ["Their own"], "something was made");
    host.source.behind().await.run("DROP TABLE their_own", &[]).await;
    let report = host.copy().await.unwrap();
    assert!(report.tables.is_sorted(), "{report:?}");
    assert_eq!(host.behind().await.one::<i64>("SELECT count(*) FROM \"Their own\"", &[]).await, 1);
}

#[on_postgres]
async fn a_source_that_is_in_use_missing_or_of_another_version_is_refused(db: Database) {
    let host = Host::new(db).await;
    assert!(matches!(refused(&host).await, CopyError::NoSource(_)));
    assert!(!host.file().exists());
    let invoicing = host.on_sqlite().await;
    assert!(matches!(refused(&host).await, CopyError::Locked(DatabaseError::InUse(_))));
    invoicing.close().await;
    let older = "UPDATE invoicing_migration SET version = version - 1";
    host.source.behind().await.run(older, &[]).await;
    let error = refused(&host).await;
    assert!(matches!(error, CopyError::Schema { found, known } if found + 1 == known), "{error:?}");
    host.source.behind().await.run("DROP TABLE invoicing_migration", &[]).await;
    assert!(matches!(refused(&host).await, CopyError::Schema { found: 0, .. }));
}

#[on_postgres]
async fn what_a_process_that_died_had_claimed_is_due(db: Database) {
    let host = Host::on_system_clock(db).await;
    let receiver = Receiver::start().await;
    let invoicing = host.on_sqlite().await;
    let (owner, _) = company(&invoicing).await;
    hook_for(&owner, &receiver.url, EventKind::ALL).await;
    let running = RunningDispatcher::start(invoicing.dispatcher());
    let claimed = "SELECT count(*) FROM delivery WHERE claim <> 0";
    let claims = async || host.source.behind().await.one::<i64>(claimed, &[]).await;
    // A webhook is attempted several times at once after it has answered.
    emit_for(&owner, 1).await;
    assert!(receiver.wait_for(1, Duration::from_secs(10)).await);
    while claims().await > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    receiver.reply_always(Reply::Hang);
    emit_for(&owner, 5).await;
    assert!(receiver.wait_for(6, Duration::from_secs(10)).await);
    running.kill().await;
    assert_eq!(claims().await, 5);
    drop((owner, invoicing));

    host.copy().await.unwrap();
    assert_eq!(host.behind().await.one::<i64>(claimed, &[]).await, 0);
    receiver.reply_always(Reply::status(204));
    let moved = host.on_postgres().await;
    assert_eq!(moved.dispatcher().run_once().await.unwrap().delivered, 5);
}

/// How many requests are accepted until one is refused.
async fn accepted(invoicing: &Invoicing, key: &str) -> u32 {
    for accepted in 0..=host::QUOTA {
        match get(invoicing, "/api/v1/quotes?limit=1", key).await.0.as_u16() {
            200 => {}
            429 => return accepted,
            status => panic!("{status}"),
        }
    }
    panic!("more than the quota was accepted");
}

#[on_postgres]
async fn what_a_key_has_used_stays_used(db: Database) {
    // Requests that are reserved at once are a tenth of the quota.
    for (closed, left) in [(true, 18..=18), (false, 15..=18)] {
        let host = Host::on_system_clock(db).await;
        let invoicing = host.on_sqlite_with_quota().await;
        let (owner, key) = company(&invoicing).await;
        let began = host.env.now();
        for _ in 0..12 {
            assert_eq!(get(&invoicing, "/api/v1/clients", &key).await.0, 200);
        }
        if closed {
            invoicing.close().await;
        }
        drop((owner, invoicing));
        host.copy().await.unwrap();
        let moved = host.on_postgres_with_quota().await;
        let accepted = accepted(&moved, &key).await;
        assert!(within_a_window(began, host.env.now()), "too slow a machine for this test");
        assert!(left.contains(&accepted), "{accepted}, closed: {closed}");
    }
}

fn within_a_window(from: Timestamp, to: Timestamp) -> bool {
    to.as_millis() - from.as_millis() < 60_000
}

#[on_postgres]
async fn a_copy_can_run_on_a_task_of_its_own(db: Database) {
    let host = Host::new(db).await;
    let invoicing = host.on_sqlite().await;
    company(&invoicing).await;
    invoicing.close().await;
    let (file, to) = (host.file(), host.postgres());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { copy_to_postgres(&file, &to).await });
    let report = tasks.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(rows_of(&report, "company"), 1);
}
