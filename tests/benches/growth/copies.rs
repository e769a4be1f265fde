//! Copies of what was made through the operations, by statements. A copy is of everything at once, as it was, but for the
//! company, the ids of records and events, and the instants: each copy is ten minutes older than the one before it.

use invoicing_core::{CompanyId, QuoteId, Timestamp};
use sqlx::{Connection, Executor, PgConnection};
use uuid::Uuid;

use super::workload::ORIGINALS;

/// Copies that are made by one statement.
const TOGETHER: i64 = 250;

/// The originals are set aside. Ids begin with an instant, as those of real records do.
const PREPARE: &str = "CREATE SCHEMA growth; CREATE SEQUENCE growth.number; \
     CREATE FUNCTION growth.id(at BIGINT, number BIGINT) RETURNS UUID LANGUAGE SQL IMMUTABLE AS \
     $$ SELECT (lpad(to_hex(at), 12, '0') || '70008' || lpad(to_hex(number), 15, '0'))::uuid $$; \
     CREATE TABLE growth.quote AS SELECT *, row_number() OVER (ORDER BY id) AS place FROM quote; \
     CREATE TABLE growth.event AS SELECT *, row_number() OVER (ORDER BY id) AS place FROM event; \
     CREATE TABLE growth.delivery AS SELECT o.*, e.place, e.timestamp FROM delivery o \
     JOIN growth.event e ON e.id = o.event_id; \
     CREATE TABLE growth.attempt AS SELECT o.*, e.place, e.timestamp FROM attempt o \
     JOIN growth.event e ON e.id = o.event_id; \
     CREATE TABLE growth.invoice AS SELECT o.*, q.place, q.created_at AS quoted_at FROM invoice o \
     JOIN growth.quote q ON q.id = o.quote_id; \
     CREATE TABLE growth.document AS SELECT o.*, q.place, q.created_at AS quoted_at FROM document o \
     JOIN growth.quote q ON q.id = o.quote_id; \
     CREATE TABLE growth.costing AS SELECT o.*, q.place, q.created_at AS quoted_at FROM quote_costing o \
     JOIN growth.quote q ON q.id = o.quote_id; \
     CREATE TABLE growth.company AS SELECT 0 AS place, company_id AS id FROM quote LIMIT 1; \
     INSERT INTO growth.company SELECT place, gen_random_uuid() FROM generate_series(1, 100) place; \
     INSERT INTO company SELECT o.id, c.last_stamp, replace(c.record, c.id::text, o.id::text), c.version FROM growth.company o \
     JOIN growth.company f ON f.place = 0 JOIN company c ON c.id = f.id WHERE o.place > 0; \
     CREATE TABLE growth.copy (company UUID NOT NULL, older BIGINT NOT NULL, numbers BIGINT NOT NULL)";
/// `$1` the first copy and `$2` the last. Every second one is of the company that has half of all.
const COPIES: &str = "INSERT INTO growth.copy SELECT c.id, copy * 600000, copy * 1000 FROM generate_series($1, $2) copy \
     JOIN growth.company c ON c.place = CASE WHEN copy % 2 = 0 THEN 0 ELSE 1 + copy / 2 % 100 END";
const COPY: [&str; 7] = [
    "INSERT INTO quote (company_id, id, status, valid_until, created_at, updated_at, total_ht_cents, total_ttc_cents, \
     tva_rate_bp, retention_rate_bp, retention_amount_cents, summary, lines, detail, work_site, reverse_charge, version) \
     SELECT k.company, growth.id(o.created_at - older, place + numbers), status, valid_until, \
     o.created_at - older, o.updated_at - older, total_ht_cents, total_ttc_cents, tva_rate_bp, retention_rate_bp, \
     retention_amount_cents, replace(summary, o.id::text, growth.id(o.created_at - older, place + numbers)::text), \
     lines, detail, work_site, reverse_charge, version FROM growth.copy k, growth.quote o ORDER BY 1, 2",
    "INSERT INTO quote_costing (company_id, quote_id, costings) SELECT k.company, \
     growth.id(quoted_at - older, place + numbers), costings FROM growth.copy k, growth.costing o ORDER BY 1, 2",
    "INSERT INTO document (company_id, quote_id, number, upload_id, sha256, size_bytes, file_name, created_at, \
     particulars) SELECT k.company, growth.id(quoted_at - older, place + numbers), number, upload_id, sha256, size_bytes, \
     file_name, o.created_at - older, particulars FROM growth.copy k, growth.document o ORDER BY 1, 2",
    "INSERT INTO invoice (company_id, id, quote_id, status, due_date, created_at, updated_at, total_ht_cents, \
     total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, retention_due_cents, amount_paid_cents, \
     amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents, summary, lines, detail, \
     version) SELECT k.company, growth.id(o.created_at - older, place + numbers), \
     growth.id(quoted_at - older, place + numbers), status, due_date, o.created_at - older, o.updated_at - older, \
     total_ht_cents, total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, retention_due_cents, \
     amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents, \
     summary, lines, detail, version FROM growth.copy k, growth.invoice o ORDER BY 1, 2",
    "INSERT INTO event (company_id, id, kind, timestamp, body) SELECT k.company, \
     growth.id(timestamp - older, place + numbers), kind, timestamp - older, body \
     FROM growth.copy k, growth.event o ORDER BY 1, 2",
    "INSERT INTO delivery (company_id, event_id, webhook_id, id, status, reason, due_at, claim, claims, attempts, \
     claims_in_all, attempts_in_all, ended_at) SELECT k.company, growth.id(timestamp - older, place + numbers), webhook_id, \
     (1::bigint << 50) + nextval('growth.number'), status, reason, due_at - older, 0, claims, attempts, \
     claims_in_all, attempts_in_all, ended_at - older FROM growth.copy k, growth.delivery o ORDER BY 1, 2",
    "INSERT INTO attempt (company_id, at, event_id, webhook_id, number, duration_ms, status, failure) \
     SELECT k.company, at - older, growth.id(timestamp - older, place + numbers), webhook_id, number, duration_ms, \
     status, failure FROM growth.copy k, growth.attempt o ORDER BY 1, 2",
];
const MIDDLE: &str = "SELECT (min(updated_at) + max(updated_at)) / 2 FROM quote";
const SOME: &str =
    "SELECT id FROM quote WHERE company_id = $1 AND id > growth.id(0, 0) ORDER BY md5(id::text) LIMIT $2";
/// `$1` company, `$2` how many.
const PENDING_EVENTS: &str = "INSERT INTO event (company_id, id, kind, timestamp, body) \
     SELECT $1, growth.id(0, nextval('growth.number')), 'quote.created', 0, o.body \
     FROM generate_series(1, $2), (SELECT body FROM growth.event LIMIT 1) o";
const PENDING: &str = "INSERT INTO delivery (company_id, event_id, webhook_id, id, status, due_at, claim, claims, attempts, \
     claims_in_all, attempts_in_all) SELECT $1, e.id, w.id, (1::bigint << 50) + nextval('growth.number'), 'pending', 0, 0, 0, \
     0, 0, 0 \
     FROM webhook w JOIN event e ON e.company_id = w.company_id WHERE w.company_id = $1 AND NOT EXISTS \
     (SELECT 1 FROM delivery d WHERE d.company_id = $1 AND d.event_id = e.id)";

/// Sets aside what is to be copied.
pub(crate) async fn prepare(url: &str) {
    connect(url).await.execute(PREPARE).await.expect("the originals");
}

/// Copies until there are so many quotes, and has the server tidy up.
pub(crate) async fn grow_to(url: &str, quotes: i64) {
    let mut connection = connect(url).await;
    connection.execute("SET synchronous_commit = off; SET work_mem = '256MB'").await.expect("a setting");
    let statement = "SELECT coalesce(max(numbers) / 1000, 0) FROM growth.copy";
    let done: i64 = sqlx::query_scalar(statement).fetch_one(&mut connection).await.expect("a count");
    let (mut next, last) = (done + 1, quotes / ORIGINALS - 1);
    while next <= last {
        let end = last.min(next + TOGETHER - 1);
        connection.execute("TRUNCATE growth.copy").await.expect("no copy");
        let copies = sqlx::query(COPIES).bind(next).bind(end);
        copies.execute(&mut connection).await.expect("the next copies");
        for statement in COPY {
            connection.execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        next = end + 1;
    }
    for statement in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
        connection.execute(statement).await.expect("the server tidies up");
    }
}

/// An instant before which half of all quotes were modified.
pub(crate) async fn middle(url: &str) -> Timestamp {
    let at = sqlx::query_scalar(MIDDLE).fetch_one(&mut connect(url).await).await;
    Timestamp::from_millis(at.expect("an instant"))
}

/// The ids of some quotes of a company.
pub(crate) async fn some_ids(url: &str, company: CompanyId, count: i64) -> Vec<QuoteId> {
    let ids = sqlx::query_scalar(SOME).bind(company.0).bind(count).fetch_all(&mut connect(url).await).await;
    let ids: Vec<Uuid> = ids.expect("ids");
    ids.into_iter().map(QuoteId).collect()
}

/// Makes some deliveries due.
pub(crate) async fn put_pending(url: &str, company: CompanyId, deliveries: i64) {
    let mut connection = connect(url).await;
    let events = sqlx::query(PENDING_EVENTS).bind(company.0).bind(deliveries);
    events.execute(&mut connection).await.expect("the events");
    sqlx::query(PENDING).bind(company.0).execute(&mut connection).await.expect("the deliveries");
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("the server answers")
}
