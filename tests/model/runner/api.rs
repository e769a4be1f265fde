//! Steps through the API, within the quota of each company's key.

use bytes::Bytes;
use chrono::{FixedOffset, SecondsFormat};
use invoicing_tests::Answer;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::checks::hex;
use super::{Run, Verdict, new_key, same, same_json, tally};
use crate::model::reference::lists::Page;
use crate::model::reference::{Company, Millis, Refused, clients, utc};
use crate::model::steps::{ClientSpec, Nth, Query, Since, Step, Who};

/// Computes the expected page from the reference.
type Expected = fn(&Company, &Page) -> Value;

const QUOTE_STATUSES: [&str; 5] = ["DRAFT", "SENT", "ACCEPTED", "REJECTED", "EXPIRED"];
const INVOICE_STATUSES: [&str; 5] = ["DRAFT", "SENT", "PAID", "OVERDUE", "CANCELED"];
const WINDOW_MS: i64 = 60_000;
const QUOTA: usize = 30;
const IDLE_MS: i64 = 90 * 86_400_000;
/// Longest lag of `lastUsedAt`.
const LAG_MS: i64 = 60_000;

/// Refused queries, and the parameter that each message names.
const BAD: [(&str, &str); 12] = [
    ("/quotes?limit=0", "limit"),
    ("/quotes?limit=101", "limit"),
    ("/invoices?limit=ten", "limit"),
    ("/clients?offset=-1", "offset"),
    ("/quotes?status=PAID", "status"),
    ("/invoices?status=ACCEPTED", "status"),
    ("/quotes?include=line", "include"),
    ("/clients?include=lines", "include"),
    ("/invoices?since=2026-09-14", "since"),
    ("/quotes?since=2026-09-14T09:41:07", "since"),
    ("/quotes?limit=5&limit=6", "limit"),
    ("/clients?Q=a", "Q"),
];

/// The API's status and code for a refusal.
fn refusal(refused: Refused) -> (u16, &'static str) {
    match refused {
        Refused::NotFound => (404, "not_found"),
        Refused::Invalid => (400, "validation_error"),
        Refused::Conflict => (409, "conflict"),
        Refused::NoDocument => (409, "document_unavailable"),
    }
}

fn refused(answer: &Answer, reasons: &[Refused]) -> Verdict {
    let found = (answer.status.as_u16(), answer.code());
    if reasons.iter().any(|reason| refusal(*reason) == found) {
        return Ok(());
    }
    Err(format!("answered {found:?}, expected one of {reasons:?}: {}", answer.json))
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

impl Run {
    pub(super) async fn api_step(&mut self, step: &Step) -> Verdict {
        match step {
            Step::ListQuotes(company, query) => {
                let stamps =
                    self.stamps(*company, |model| model.quotes.iter().map(|quote| quote.updated).collect());
                let (page, path) = Self::query("/quotes", query, Some(&QUOTE_STATUSES), &stamps);
                self.list(*company, &path, |model| model.quotes_page(&page)).await
            }
            Step::ListInvoices(company, query) => {
                let stamps = self
                    .stamps(*company, |model| model.invoices.iter().map(|invoice| invoice.updated).collect());
                let (page, path) = Self::query("/invoices", query, Some(&INVOICE_STATUSES), &stamps);
                self.list(*company, &path, |model| model.invoices_page(&page)).await
            }
            Step::ListCreditNotes(company, query) => {
                let stamps =
                    self.stamps(*company, |model| model.credit_notes().map(|note| note.updated).collect());
                let bare = Query { search: None, external: None, ..query.clone() };
                let (page, path) = Self::query("/credit-notes", &bare, None, &stamps);
                self.list(*company, &path, |model| model.credit_notes_page(&page)).await
            }
            Step::ListClients(company, query) => {
                let stamps = self
                    .stamps(*company, |model| model.clients.iter().map(|client| client.updated).collect());
                let (page, path) = Self::query("/clients", query, None, &stamps);
                self.list(*company, &path, |model| model.clients_page(&page)).await
            }
            Step::BadQuery(company, which) => self.bad_query(*company, *which).await,
            Step::GetQuote(who, nth) => {
                let (place, quote) = self.pick_quote(*who, *nth);
                let expected = place.map(|place| self.sides[who.through].model.quotes[place].detail());
                self.detail(who.through, &format!("/quotes/{quote}"), expected).await
            }
            Step::GetInvoice(who, nth) => {
                let (place, invoice) = self.pick_invoice(*who, *nth);
                let expected = place.map(|place| self.sides[who.through].model.invoices[place].detail());
                self.detail(who.through, &format!("/invoices/{invoice}"), expected).await
            }
            Step::GetDocument(who, nth) => self.document(*who, *nth).await,
            Step::PatchQuote(who, nth, body) => self.patch(*who, *nth, *body).await,
            Step::PostClient(company, client, flaw) => self.post_client(*company, client, *flaw).await,
            Step::Burst(company, calls) => {
                for _ in 0..*calls {
                    self.list(*company, "/clients?limit=1", |model| {
                        model.clients_page(&Page { limit: Some(1), ..Page::default() })
                    })
                    .await?;
                }
                Ok(())
            }
            _ => Err("a step without a runner".to_owned()),
        }
    }

    fn stamps(&self, company: usize, of: impl Fn(&Company) -> Vec<Millis>) -> Vec<Millis> {
        let mut stamps = of(&self.sides[company].model);
        stamps.insert(0, self.now);
        stamps
    }

    /// The query in the form of the reference and of the API.
    fn query(
        path: &str,
        query: &Query,
        statuses: Option<&[&'static str; 5]>,
        stamps: &[Millis],
    ) -> (Page, String) {
        let mut page = Page::default();
        let mut parts = Vec::new();
        if let Some(limit) = query.limit {
            page.limit = Some(limit.into());
            parts.push(format!("limit={limit}"));
        }
        if let Some(offset) = query.offset {
            page.offset = Some(offset.into());
            parts.push(format!("offset={offset}"));
        }
        if let Some(Since { record: Nth(n), plus, zone }) = query.since {
            let since = stamps[stamps.len() - 1 - usize::from(n) % stamps.len()] + i64::from(plus);
            page.since = Some(since);
            let zone = FixedOffset::east_opt(i32::from(zone) * 3_600)
                .unwrap_or_else(|| FixedOffset::east_opt(0).expect("UTC"));
            // Written with a bare `+`, as many callers send it.
            parts.push(format!(
                "since={}",
                utc(since).with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Millis, true)
            ));
        }
        if let Some(statuses) = statuses {
            if let Some(status) = query.status {
                page.status = Some(statuses[usize::from(status)]);
                parts.push(format!("status={}", statuses[usize::from(status)]));
            }
            if query.lines {
                page.with_lines = true;
                parts.push("include=lines".to_owned());
            }
        } else {
            if let Some((given, folded)) = query.search.map(clients::search) {
                page.search = Some(folded);
                parts.push(format!("q={}", encoded(given)));
            }
            if let Some((given, kept)) = query.external.and_then(clients::external) {
                page.external = Some(kept);
                parts.push(format!("externalId={}", encoded(given)));
            }
        }
        (page, format!("{path}?{}", parts.join("&")))
    }

    async fn list(&mut self, company: usize, path: &str, expected: impl Fn(&Company) -> Value) -> Verdict {
        let Some(answer) = self.call(company, "GET", path, None).await? else { return Ok(()) };
        same(path, &answer.status.as_u16(), &200)?;
        same_json(path, &answer.json, &expected(&self.sides[company].model))
    }

    async fn bad_query(&mut self, company: usize, which: u8) -> Verdict {
        let (path, name) = BAD[usize::from(which) % BAD.len()];
        let Some(answer) = self.call(company, "GET", path, None).await? else { return Ok(()) };
        refused(&answer, &[Refused::Invalid])?;
        same(path, &answer.message().contains(name), &true)
    }

    async fn detail(&mut self, company: usize, path: &str, expected: Option<Value>) -> Verdict {
        let Some(answer) = self.call(company, "GET", path, None).await? else { return Ok(()) };
        match expected {
            None => refused(&answer, &[Refused::NotFound]),
            Some(expected) => {
                same(path, &answer.status.as_u16(), &200)?;
                same_json(path, &answer.json, &expected)
            }
        }
    }

    /// Checks the link to the frozen document, and the bytes behind it.
    async fn document(&mut self, who: Who, nth: Nth) -> Verdict {
        let (place, quote) = self.pick_quote(who, nth);
        let path = format!("/quotes/{quote}/document?type=pdf");
        let Some(answer) = self.call(who.through, "GET", &path, None).await? else { return Ok(()) };
        let Some(place) = place else { return refused(&answer, &[Refused::NotFound]) };
        if self.sides[who.through].model.quotes[place].documents == 0 {
            return refused(&answer, &[Refused::NoDocument]);
        }
        same(&path, &answer.status.as_u16(), &200)?;
        let url =
            answer.json["url"].as_str().and_then(|url| url.split_once("/api/v1/")).map(|(_, path)| path);
        let path = format!("/api/v1/{}", url.ok_or("the document has no URL")?);
        let pdf = self.world.call("GET", &path, None, &[], Bytes::new()).await;
        same(&path, &pdf.status.as_u16(), &200)?;
        let sha256 = hex(&Sha256::digest(&pdf.bytes));
        let found = json!([sha256, pdf.bytes.len()]);
        same_json("the document", &found, &json!([answer.json["sha256"], answer.json["sizeBytes"]]))
    }

    async fn patch(&mut self, who: Who, nth: Nth, body: u8) -> Verdict {
        let (place, quote) = self.pick_quote(who, nth);
        let (body, external) = match body {
            0 => (r#"{"externalId":"deal-1"}"#, Ok(Some("deal-1"))),
            1 => (r#"{"externalId":" deal-2 "}"#, Ok(Some("deal-2"))),
            2 => (r#"{"externalId":null}"#, Ok(None)),
            3 => (r#"{"externalId":""}"#, Err("validation_error")),
            4 => ("{}", Err("validation_error")),
            5 => (r#"{"externalId":"deal-1","status":"SENT"}"#, Err("validation_error")),
            6 => (r#"{"externalId":5}"#, Err("validation_error")),
            7 => (r#"{"externalId":"#, Err("bad_request")),
            _ => ("[]", Err("bad_request")),
        };
        let path = format!("/quotes/{quote}");
        let Some(answer) = self.call(who.through, "PATCH", &path, Some(body)).await? else { return Ok(()) };
        match external {
            Err(code) if place.is_some() => {
                same(&path, &(answer.status.as_u16(), answer.code()), &(400, code))
            }
            Err(code) => same(&path, &(answer.code() == code || answer.code() == "not_found"), &true),
            Ok(external) => {
                let linked = Ok(answer.json.clone());
                let seen = self.seen(who.through, &linked);
                let model = &mut self.sides[who.through].model;
                if let Err(reasons) = model.link_quote(place, external, &seen) {
                    return refused(&answer, &reasons);
                }
                same(&path, &answer.status.as_u16(), &200)?;
                same_json(&path, &answer.json, &json!({ "id": quote, "externalId": external }))
            }
        }
    }

    async fn post_client(&mut self, company: usize, spec: &ClientSpec, flaw: u8) -> Verdict {
        let mut body = clients::entered(spec);
        match flaw {
            9 => body["type"] = "AUTRE".into(),
            10 => body["externalID"] = "crm-1".into(),
            11 => body["name"] = Value::Null,
            _ => {}
        }
        let Some(answer) = self.call(company, "POST", "/clients", Some(&body.to_string())).await? else {
            return Ok(());
        };
        if flaw >= 9 {
            return refused(&answer, &[Refused::Invalid]);
        }
        let made = Ok(answer.json.clone());
        let seen = self.seen(company, &made);
        let model = &mut self.sides[company].model;
        match model.create_client(spec, &seen) {
            Err(reasons) => refused(&answer, &reasons),
            Ok((place, is_new)) => {
                same("the status of POST", &answer.status.as_u16(), &(if is_new { 201 } else { 200 }))?;
                same_json("the client", &answer.json, &model.clients[place].json())
            }
        }
    }

    /// A call under the quota and the life of the key. `None` if it was refused for one of these.
    async fn call(
        &mut self,
        company: usize,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Verdict<Option<Answer>> {
        let key = self.sides[company].key.text.clone();
        let answer = self.call_with(&key, method, path, body).await;
        let now = self.now;
        let key = &mut self.sides[company].key;
        let idle = now - key.used - IDLE_MS;
        if answer.status == 401 {
            same("that the key was idle for too long", &(idle > -LAG_MS), &true)?;
            self.sides[company].key = new_key(&self.sides[company].handle, now).await?;
            return Ok(None);
        }
        tally::count(self.db, &format!("answer {}", answer.status.as_u16()), 1);
        same("that the key is alive", &(idle <= LAG_MS), &true)?;
        // A clock that was set back does not open the window again.
        let at = now.max(key.accepted.last().copied().unwrap_or(now));
        let within = |longest: i64| key.accepted.iter().filter(|accepted| at - **accepted <= longest).count();
        if answer.status == 429 {
            same("that the quota is used up", &(within(WINDOW_MS) >= QUOTA), &true)?;
            same("the body of a 429", &answer.json["code"], &json!("TOO_MANY_REQUESTS"))?;
            let wait = answer
                .headers
                .get("retry-after")
                .and_then(|value| value.to_str().ok())
                .and_then(|text| text.parse().ok());
            // If the clock was set back, the window ends later by the same time.
            let longest = (WINDOW_MS + at - now) / 1_000 + 1;
            same("Retry-After", &wait.is_some_and(|wait: i64| (1..=longest).contains(&wait)), &true)?;
            return Ok(None);
        }
        same("that the quota is not used up", &(within(WINDOW_MS - 1) < QUOTA), &true)?;
        key.accepted.push(at);
        key.used = now;
        Ok(Some(answer))
    }

    async fn call_with(&self, key: &str, method: &str, path: &str, body: Option<&str>) -> Answer {
        let path = format!("/api/v1{path}");
        let headers: &[(&str, &str)] =
            if body.is_some() { &[("content-type", "application/json")] } else { &[] };
        let body = Bytes::from(body.unwrap_or_default().to_owned());
        self.world.call(method, &path, Some(key), headers, body).await
    }

    /// Both orders of each list, page by page.
    pub(super) async fn check_lists(&self, company: usize) -> Verdict {
        let side = &self.sides[company];
        let lists: [(&str, Expected); 4] = [
            ("/quotes", Company::quotes_page),
            ("/invoices", Company::invoices_page),
            ("/credit-notes", Company::credit_notes_page),
            ("/clients", Company::clients_page),
        ];
        for (path, expected) in lists {
            let key = new_key(&side.handle, self.now).await?.text;
            for since in [None, Some("0001-01-01T00:00:00Z")] {
                let mut offset = 0;
                loop {
                    let since_part = since.map(|since| format!("&since={since}")).unwrap_or_default();
                    let path = format!("{path}?limit=7&offset={offset}{since_part}");
                    let answer = self.call_with(&key, "GET", &path, None).await;
                    let page = Page {
                        limit: Some(7),
                        offset: Some(offset),
                        since: since.map(|_| 0),
                        ..Page::default()
                    };
                    same_json(&path, &answer.json, &expected(&side.model, &page))?;
                    if answer.json["pagination"]["hasMore"] != true {
                        break;
                    }
                    offset += 7;
                }
            }
        }
        Ok(())
    }
}
