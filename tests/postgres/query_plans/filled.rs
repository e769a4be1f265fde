//! A database that has been in use for years, made in seconds.

use invoicing_core::Timestamp;
use invoicing_server::CompanyHandle;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use uuid::Uuid;

/// Companies beside the working one, each with 20 webhooks.
const COMPANIES: i64 = 10;
/// Waiting events of each company, which makes a million deliveries. A tenth of that number have been delivered.
const EVENTS: i64 = 5_000;

/// `$1` the working company.
const OTHERS: &str = "INSERT INTO company (id, last_stamp, record, version) \
     SELECT o.id, c.last_stamp, replace(c.record, c.id::text, o.id::text), 1 \
     FROM company c, (SELECT gen_random_uuid() AS id FROM generate_series(1, $2)) o WHERE c.id = $1";
const WEBHOOKS: &str = "INSERT INTO webhook (company_id, id, url, kinds, secret, failures, created_at) \
     SELECT c.id, gen_random_uuid(), 'http://127.0.0.1:9/', 63, 'whsec_x', 0, 0 \
     FROM company c, generate_series(1, 20) WHERE c.id <> $1";
/// `$2` the number before the first, `$3` the number of events of each company, `$4` the instant of the first.
const EVENT: &str = "INSERT INTO event (company_id, id, kind, timestamp, body) \
     SELECT c.id, lpad(to_hex($2 + i), 32, '0')::uuid, 'quote.created', $4 + i, repeat('x', 500) \
     FROM company c, generate_series(1, $3) i WHERE c.id <> $1 ORDER BY c.id, i";
/// `$5` status. Row ids that no node gives out.
const DELIVERY: &str = "INSERT INTO delivery \
     (company_id, event_id, webhook_id, id, status, due_at, claim, claims, attempts, claims_in_all, attempts_in_all, \
     ended_at) \
     SELECT w.company_id, lpad(to_hex($2 + i), 32, '0')::uuid, w.id, \
     (1::bigint << 50) + ($2 + i) * 10000 + row_number() OVER (PARTITION BY i), $5, $4 + i, 0, 0, 0, 0, 0, \
     CASE WHEN $5 <> 'pending' THEN $4 + i END \
     FROM webhook w, generate_series(1, $3) i WHERE w.company_id <> $1 ORDER BY w.company_id, i";
const ATTEMPT: &str = "INSERT INTO attempt (company_id, at, event_id, webhook_id, number, duration_ms, status) \
     SELECT company_id, due_at, event_id, webhook_id, 1, 12, 200 FROM delivery WHERE status = 'delivered' \
     AND id > (1::bigint << 50) ON CONFLICT DO NOTHING";
/// The working company has many quotes, the others a few.
const QUOTE: &str = "INSERT INTO quote \
     (company_id, id, status, valid_until, created_at, updated_at, total_ht_cents, total_ttc_cents, tva_rate_bp, \
     retention_rate_bp, retention_amount_cents, summary, lines, detail, reverse_charge, version) \
     SELECT c.id, lpad(to_hex($2 * 100 + i), 32, '0')::uuid, (ARRAY['DRAFT', 'ACCEPTED', 'REJECTED'])[1 + i % 3], NULL, \
     $4 + i, $4 + i, 0, 0, 0, 0, 0, q.summary, q.lines, q.detail, 0, 1 FROM company c, generate_series(1, $3) i, \
     (SELECT summary, lines, detail FROM quote WHERE company_id = $1 LIMIT 1) q WHERE c.id = $1 OR i <= $3 / 10";
const INVOICE: &str = "INSERT INTO invoice \
     (company_id, id, quote_id, status, due_date, created_at, updated_at, total_ht_cents, total_ttc_cents, tva_rate_bp, \
     retention_rate_bp, retention_amount_cents, retention_due_cents, amount_paid_cents, amount_due_cents, \
     amount_overpaid_cents, amount_credited_cents, amount_written_off_cents, summary, lines, detail, version) \
     SELECT company_id, id, id, 'PAID', NULL, created_at, updated_at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, summary, lines, \
     detail, 1 FROM quote WHERE id < '00000001-0000-0000-0000-000000000000' ON CONFLICT DO NOTHING";
const CLIENT: &str = "INSERT INTO client (company_id, id, created_at, updated_at, search, record, version) \
     SELECT company_id, id, created_at, updated_at, 'x', '{}', 1 FROM invoice ON CONFLICT DO NOTHING";

/// Inserts a tenth of the rows, beside plans that running services have kept.
pub(super) async fn begin(url: &str, company: &CompanyHandle, now: Timestamp) {
    let mut filling = Filling::connect(url, company, now).await;
    filling.run(OTHERS, &[COMPANIES]).await;
    filling.run(WEBHOOKS, &[]).await;
    filling.put(0, EVENTS / 10).await;
}

/// Inserts the rest. The indexes of the deliveries are made anew, which is faster.
pub(super) async fn complete(url: &str, company: &CompanyHandle, now: Timestamp) {
    let mut filling = Filling::connect(url, company, now).await;
    let constraint = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'delivery_pkey'";
    let primary: String = sqlx::query_scalar(constraint).fetch_one(&mut filling.connection).await.unwrap();
    filling.execute("ALTER TABLE delivery DROP CONSTRAINT delivery_pkey").await;
    let indexes = "SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename = 'delivery'";
    let indexes: Vec<(String, String)> =
        sqlx::query_as(indexes).fetch_all(&mut filling.connection).await.unwrap();
    for (name, _) in &indexes {
        filling.execute(&format!("DROP INDEX {name}")).await;
    }
    filling.put(EVENTS, EVENTS).await;
    filling.execute(&format!("ALTER TABLE delivery ADD CONSTRAINT delivery_pkey {primary}")).await;
    for (_, definition) in &indexes {
        filling.execute(definition).await;
    }
}

struct Filling {
    connection: PgConnection,
    company: Uuid,
    now: i64,
}

impl Filling {
    async fn connect(url: &str, company: &CompanyHandle, now: Timestamp) -> Self {
        let mut connection = PgConnection::connect(url).await.unwrap();
        // The statements that fill the tables are not explained.
        connection.execute("SET auto_explain.log_min_duration = -1").await.unwrap();
        Self { connection, company: company.id().0, now: now.as_millis() }
    }

    /// Inserts `events` waiting events of each company, a tenth of that number delivered and a hundredth failed, with
    /// their rows. Their numbers begin behind `behind`.
    async fn put(&mut self, behind: i64, events: i64) {
        let (day, past) = (86_400_000, 3_600_000);
        for (behind, events, at, status) in [
            (behind, events, self.now + day, "pending"),
            (behind + 1_000_000, events / 10, self.now - past, "delivered"),
            (behind + 2_000_000, events / 100, self.now - past, "failed"),
        ] {
            self.run(EVENT, &[behind, events, at]).await;
            let query =
                sqlx::query(DELIVERY).bind(self.company).bind(behind).bind(events).bind(at).bind(status);
            query.execute(&mut self.connection).await.unwrap();
        }
        self.run(ATTEMPT, &[]).await;
        self.run(QUOTE, &[behind, events, self.now - day]).await;
        self.run(INVOICE, &[]).await;
        self.run(CLIENT, &[]).await;
    }

    /// Runs a statement with the company and some numbers.
    async fn run(&mut self, statement: &'static str, numbers: &[i64]) {
        let query = sqlx::query(statement);
        let query = if statement.contains("$1") { query.bind(self.company) } else { query };
        let query = numbers.iter().fold(query, |query, number| query.bind(*number));
        query.execute(&mut self.connection).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    async fn execute(&mut self, statement: &str) {
        self.connection.execute(AssertSqlSafe(statement)).await.unwrap();
    }
}
