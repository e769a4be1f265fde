//! The rival: a pool of one connection, a transaction per operation, the statements that the operation needs.

use std::path::Path;
use std::time::Duration;

use invoicing_core::{
    ChangeTime, Client, ClientId, Company, CompanyId, Event, NewClient, NewCompany, NewQuote, Plan, Quote,
    QuoteCreation, QuoteId, Timestamp, price_lines,
};
use invoicing_server::Env;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{SqliteConnection, SqlitePool};
use uuid::Uuid;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SCHEMA: &str = include_str!("../../../invoicing-server/migrations/sqlite/0001_initial.sql");
const INSERT_COMPANY: &str = "INSERT INTO company (id, last_stamp, record, version) VALUES ($1, $2, $3, 1)";
const FIND_COMPANY: &str = "SELECT record, last_stamp FROM company WHERE id = $1";
const SET_STAMP: &str = "UPDATE company SET last_stamp = $2 WHERE id = $1";
const INSERT_CLIENT: &str = "INSERT INTO client \
     (company_id, id, external_id, created_at, updated_at, search, record, version) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, 1)";
const FIND_CLIENT: &str = "SELECT record FROM client WHERE company_id = $1 AND id = $2";
const NEXT_NUMBER: &str = "INSERT INTO series (company_id, kind, year, last) VALUES ($1, 'DEV', 2026, 1) \
     ON CONFLICT (company_id, kind, year) DO UPDATE SET last = series.last + 1 RETURNING last";
const INSERT_QUOTE: &str = "INSERT INTO quote \
     (company_id, id, status, valid_until, created_at, updated_at, total_ht_cents, total_ttc_cents, tva_rate_bp, \
     retention_rate_bp, retention_amount_cents, summary, lines, lines_bytes, detail, reverse_charge, version) \
     VALUES ($1, $2, $3, NULL, $4, $4, $8, $9, $10, $11, $12, $5, $6, octet_length($6), $7, 0, 1)";
const INSERT_COSTINGS: &str =
    "INSERT INTO quote_costing (company_id, quote_id, costings) VALUES ($1, $2, $3)";
const FIND_WEBHOOKS: &str = "SELECT id, kinds FROM webhook WHERE company_id = $1 AND removed_at IS NULL";
const INSERT_EVENT: &str =
    "INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $3, $4, $5)";

pub(crate) struct OneConnection {
    pool: SqlitePool,
    env: Env,
    company: CompanyId,
    pub(crate) client: ClientId,
}

impl OneConnection {
    pub(crate) async fn open(database: &Path) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(database)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(Duration::from_mins(1));
        let pool = pool.connect_with(options).await.expect("a pool");
        sqlx::raw_sql(SCHEMA).execute(&pool).await.expect("the tables");
        let company = NewCompany::named("Martin Peinture", Plan::Team);
        let env = Env::system();
        let company = company.create(CompanyId(env.uuid()), env.now()).expect("a company");
        let insert = sqlx::query(INSERT_COMPANY).bind(company.id.0).bind(env.now().as_millis());
        insert.bind(json(&company).expect("JSON")).execute(&pool).await.expect("a company");
        let mut side = Self { pool, env, company: company.id, client: ClientId(Uuid::nil()) };
        side.client = side.create_client(&super::new_client()).await.expect("a client");
        side
    }

    pub(crate) async fn create_client(&self, new: &NewClient) -> Result<ClientId, Failure> {
        let fields = new.check()?;
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let (_, at) = self.unit(&mut tx).await?;
        let client = fields.create(ClientId(self.env.uuid()), ChangeTime { now: at, stamp: at });
        sqlx::query(INSERT_CLIENT)
            .bind(self.company.0)
            .bind(client.id.0)
            .bind(&client.external_id)
            .bind(at.as_millis())
            .bind(at.as_millis())
            .bind(client.search_text())
            .bind(json(&client)?)
            .execute(&mut *tx)
            .await?;
        self.set_stamp(&mut tx, at).await?;
        tx.commit().await?;
        Ok(client.id)
    }

    pub(crate) async fn create_quote(&self, new: &NewQuote) -> Result<Quote, Failure> {
        let priced = price_lines(&new.lines)?;
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let (company, at) = self.unit(&mut tx).await?;
        let client: String = sqlx::query_scalar(FIND_CLIENT)
            .bind(self.company.0)
            .bind(new.client_id.0)
            .fetch_one(&mut *tx)
            .await?;
        let client: Client = serde_json::from_str(&client)?;
        let number: i64 = sqlx::query_scalar(NEXT_NUMBER).bind(self.company.0).fetch_one(&mut *tx).await?;
        let number = format!("DEV-2026-{number:04}");
        let origin = QuoteCreation {
            id: QuoteId(self.env.uuid()),
            number: &number,
            currency: &company.currency,
            at: ChangeTime { now: at, stamp: at },
        };
        let changed = Quote::draft(origin, &client, priced.lines, &new.terms())?;
        let quote = changed.record;
        self.insert_quote(&mut tx, &quote, at).await?;
        sqlx::query(INSERT_COSTINGS)
            .bind(self.company.0)
            .bind(quote.summary.id.0)
            .bind(json(&priced.costings)?)
            .execute(&mut *tx)
            .await?;
        self.set_stamp(&mut tx, at).await?;
        for event in &changed.events {
            self.insert_event(&mut tx, event).await?;
        }
        tx.commit().await?;
        Ok(quote)
    }

    async fn unit(&self, connection: &mut SqliteConnection) -> Result<(Company, Timestamp), Failure> {
        let find = sqlx::query_as(FIND_COMPANY).bind(self.company.0);
        let (company, last_stamp): (String, i64) = find.fetch_one(connection).await?;
        Ok((serde_json::from_str(&company)?, self.env.now().max(Timestamp::from_millis(last_stamp + 1))))
    }

    async fn set_stamp(&self, connection: &mut SqliteConnection, at: Timestamp) -> Result<(), Failure> {
        sqlx::query(SET_STAMP).bind(self.company.0).bind(at.as_millis()).execute(connection).await?;
        Ok(())
    }

    async fn insert_quote(
        &self,
        connection: &mut SqliteConnection,
        quote: &Quote,
        at: Timestamp,
    ) -> Result<(), Failure> {
        sqlx::query(INSERT_QUOTE)
            .bind(self.company.0)
            .bind(quote.summary.id.0)
            .bind(quote.summary.status.as_str())
            .bind(at.as_millis())
            .bind(json(&quote.summary)?)
            .bind(json(&quote.lines)?)
            .bind(json(&quote.detail)?)
            .bind(quote.summary.total_ht.cents())
            .bind(quote.summary.total_ttc.cents())
            .bind(quote.summary.tva_rate.basis_points())
            .bind(quote.detail.retention_rate.basis_points())
            .bind(quote.detail.retention_amount.cents())
            .execute(connection)
            .await?;
        Ok(())
    }

    async fn insert_event(&self, connection: &mut SqliteConnection, event: &Event) -> Result<(), Failure> {
        let webhooks: Vec<(Uuid, i64)> =
            sqlx::query_as(FIND_WEBHOOKS).bind(self.company.0).fetch_all(&mut *connection).await?;
        assert!(webhooks.is_empty(), "this benchmark has no webhooks");
        sqlx::query(INSERT_EVENT)
            .bind(self.company.0)
            .bind(self.env.uuid())
            .bind(event.name())
            .bind(event.timestamp.as_millis())
            .bind(json(event)?)
            .execute(connection)
            .await?;
        Ok(())
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(value)?)
}
