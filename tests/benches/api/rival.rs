//! The obvious implementation of the two reads: axum, sqlx, typed rows in normalised tables, a second query for the
//! lines, the key looked up per request.
//!
//! Where there is a choice, it is made in the rival's favour: instants are stored as the text that is sent, amounts
//! as the floats that JSON readers take them for, and there is no quota.

mod fill;
mod pool;
mod rows;

use std::collections::HashMap;

use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use invoicing_tests::bench::{Questions, answer};
use pool::{Pool, on};
use rows::{Item, Line, Page, Pagination, Quote, Row};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::QueryBuilder;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::Data;

const FIND_KEY: &str =
    "SELECT c.id, c.plan FROM api_key k JOIN company c ON c.id = k.company_id WHERE k.hash = $1";
const FIND_QUOTE: &str = "SELECT * FROM quote WHERE company_id = $1 AND id = $2";
const LIST_QUOTES: &str =
    "SELECT * FROM quote WHERE company_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";
const LINES: &str = "SELECT * FROM line WHERE quote_id = $1 ORDER BY position";
const AS_OF: &str = "SELECT last_stamp FROM company WHERE id = $1";

/// Serves until the benchmark ends.
pub(crate) async fn run() {
    let mut questions = Questions::default();
    let data = questions.next().await.expect("the data");
    let data: Data = serde_json::from_value(data).expect("the data");
    let pool = Pool::open(&data).await;
    fill::fill(&pool, data).await.expect("the same data");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    answer(&json!(listener.local_addr().expect("its address")));
    let router = Router::new()
        .route("/api/v1/quotes", get(list))
        .route("/api/v1/quotes/{id}", get(detail))
        .layer(middleware::from_fn_with_state(pool.clone(), authenticate))
        .with_state(pool);
    let over = async move { drop(questions.next().await) };
    tokio::select! {
        served = axum::serve(listener, router) => served.expect("it serves"),
        () = over => {}
    }
}

/// Every failure is the server's fault.
struct Failed(sqlx::Error);

impl From<sqlx::Error> for Failed {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0.to_string()).into_response()
    }
}

#[derive(Clone, Copy)]
struct Company(Uuid);

async fn authenticate(
    State(pool): State<Pool>,
    mut request: Request,
    next: Next,
) -> Result<Response, Failed> {
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(key) = authorization.and_then(|value| value.strip_prefix("Bearer ")) else {
        return Ok(StatusCode::UNAUTHORIZED.into_response());
    };
    let hash = Sha256::digest(key.as_bytes());
    let company: Option<(Uuid, String)> =
        on!(&pool, |pool| sqlx::query_as(FIND_KEY).bind(hash.as_slice()).fetch_optional(pool))?;
    match company {
        None => Ok(StatusCode::UNAUTHORIZED.into_response()),
        Some((_, plan)) if plan != "Team" => Ok(StatusCode::FORBIDDEN.into_response()),
        Some((id, _)) => {
            request.extensions_mut().insert(Company(id));
            Ok(next.run(request).await)
        }
    }
}

async fn detail(
    State(pool): State<Pool>,
    Extension(Company(company)): Extension<Company>,
    Path(id): Path<Uuid>,
) -> Result<Response, Failed> {
    let row: Option<Row> =
        on!(&pool, |pool| sqlx::query_as(FIND_QUOTE).bind(company).bind(id).fetch_optional(pool))?;
    let Some(row) = row else { return Ok(StatusCode::NOT_FOUND.into_response()) };
    let lines: Vec<Line> = on!(&pool, |pool| sqlx::query_as(LINES).bind(id).fetch_all(pool))?;
    Ok(Json(Quote::new(row, lines)).into_response())
}

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    include: String,
    #[serde(default = "default_limit")]
    limit: i64,
    #[serde(default)]
    offset: i64,
}

fn default_limit() -> i64 {
    50
}

async fn list(
    State(pool): State<Pool>,
    Extension(Company(company)): Extension<Company>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page>, Failed> {
    let ListQuery { include, limit, offset } = query;
    let mut rows: Vec<Row> = on!(&pool, |pool| sqlx::query_as(LIST_QUOTES)
        .bind(company)
        .bind(limit + 1)
        .bind(offset)
        .fetch_all(pool))?;
    let max = usize::try_from(limit).unwrap_or(0);
    let has_more = rows.len() > max;
    rows.truncate(max);
    let mut lines = if include == "lines" { lines_of(&pool, &rows).await? } else { HashMap::new() };
    let item = |row: Row| {
        let lines = (include == "lines").then(|| lines.remove(&row.id).unwrap_or_default());
        Item { head: row.head(), lines }
    };
    let data = rows.into_iter().map(item).collect();
    let as_of = on!(&pool, |pool| sqlx::query_scalar(AS_OF).bind(company).fetch_one(pool))?;
    Ok(Json(Page { data, pagination: Pagination { limit, offset, has_more }, as_of }))
}

async fn lines_of(pool: &Pool, rows: &[Row]) -> Result<HashMap<Uuid, Vec<Line>>, sqlx::Error> {
    let lines: Vec<Line> = on!(pool, |pool| async {
        let mut query = QueryBuilder::new("SELECT * FROM line WHERE quote_id IN (");
        let mut ids = query.separated(", ");
        for row in rows {
            ids.push_bind(row.id);
        }
        query.push(") ORDER BY quote_id, position");
        query.build_query_as().fetch_all(pool).await
    })?;
    let mut by_quote = HashMap::<Uuid, Vec<Line>>::new();
    for line in lines {
        by_quote.entry(line.quote_id).or_default().push(line);
    }
    Ok(by_quote)
}
