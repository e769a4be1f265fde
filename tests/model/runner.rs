//! Runs steps against the service, and compares with the reference after each.

mod amounts;
mod api;
mod checks;
mod records;
pub(crate) mod tally;
mod webhooks;

use std::fmt::Display;
use std::time::Duration;

use chrono_tz::Tz;
use invoicing_core::{NewCompany, Plan};
use invoicing_server::{CompanyHandle, Error};
use invoicing_tests::{Behind, Database, Receiver, World, new_company};
use serde::Serialize;
use serde_json::Value;

use crate::model::reference::{Company, Millis, Refused, Seen};
use crate::model::steps::{Nth, Script, Step, Who};

/// A result whose error is the text of a difference.
pub(crate) type Verdict<T = ()> = Result<T, String>;
/// The service's answer, in the reference's terms.
pub(crate) type Answered = Result<Value, Refused>;

/// Instants at which a case can begin: an ordinary one; shortly before Paris and then Auckland enter a year; before
/// Paris loses an hour; before midnight in Auckland.
const STARTS: [&str; 4] =
    ["2026-09-14T09:41:07.123Z", "2026-12-31T10:58:00Z", "2027-03-28T00:59:59.990Z", "2026-12-31T22:59:30Z"];
/// Paris, and a zone whose day is another one for half of the time.
const ZONES: [Tz; 2] = [chrono_tz::Europe::Paris, chrono_tz::Pacific::Auckland];

/// The reference's state of a key.
struct Key {
    text: String,
    /// When the key was created or used last.
    used: Millis,
    /// When its requests were accepted.
    accepted: Vec<Millis>,
}

/// A company of the service, and its reference.
struct Side {
    handle: CompanyHandle,
    key: Key,
    model: Company,
}

/// A signing link.
struct Link {
    token: String,
    company: usize,
    quote: usize,
    last_day: chrono::NaiveDate,
}

/// A case under way.
pub(crate) struct Run {
    db: Database,
    world: World,
    behind: Behind,
    sides: Vec<Side>,
    links: Vec<Link>,
    receivers: Vec<Receiver>,
    serial: bool,
    now: Millis,
    /// Attempts that sweeps have deleted.
    pruned: u64,
}

/// Runs a case to its end.
pub(crate) async fn run(db: Database, script: &Script) -> Verdict {
    let mut run = Run::start(db, script).await?;
    for (n, step) in script.steps.iter().enumerate() {
        let done = async {
            run.step(step).await?;
            run.check_amounts().await
        };
        done.await.map_err(|error| format!("step {n}, {step:?}: {error}"))?;
    }
    run.finish().await.map_err(|error| format!("at the end: {error}"))
}

impl Run {
    async fn start(db: Database, script: &Script) -> Verdict<Self> {
        let world = World::on(db)
            .settings(|settings| {
                if script.serial {
                    settings.dispatch.in_flight = 1;
                }
            })
            .open()
            .await;
        world.clock.set(STARTS[usize::from(script.start)].parse().map_err(text)?);
        let now = world.now().as_millis();
        let mut sides = Vec::new();
        for (place, zone) in ZONES.into_iter().enumerate() {
            let automatic = place == 1;
            let new = NewCompany {
                time_zone: zone.name().to_owned(),
                automatic_invoicing: automatic,
                ..new_company(format!("Company {place}"), Plan::Team)
            };
            let company = world.invoicing.companies().create(&new).await.map_err(text)?;
            let handle = world.invoicing.company(company.id);
            let key = new_key(&handle, now).await?;
            let as_of = last_stamp(&handle).await?;
            sides.push(Side { handle, key, model: Company::new(zone, automatic, as_of) });
        }
        let mut receivers = Vec::new();
        for _ in 0..3 {
            receivers.push(Receiver::start().await);
        }
        let behind = world.behind().await;
        Ok(Self {
            db,
            world,
            behind,
            sides,
            links: Vec::new(),
            receivers,
            serial: script.serial,
            now,
            pruned: 0,
        })
    }

    async fn step(&mut self, step: &Step) -> Verdict {
        match step {
            Step::Forward(_) | Step::Back(_) => self.move_clock(step),
            Step::Sweep => self.sweep().await?,
            Step::Dispatch(replies) => self.dispatch(replies).await?,
            _ => {
                if !self.business(step).await? && !self.hook_step(step).await? {
                    self.api_step(step).await?;
                }
            }
        }
        Ok(())
    }

    fn move_clock(&mut self, step: &Step) {
        match step {
            Step::Forward(by) => self.world.advance(Duration::from_millis(by.unsigned_abs())),
            Step::Back(by) => self.world.clock.set(self.world.now().plus_millis(-by)),
            _ => {}
        }
        self.now = self.world.now().as_millis();
    }

    fn seen<'a>(&self, company: usize, answer: &'a Answered) -> Seen<'a> {
        const NOTHING: &Value = &Value::Null;
        let at = self.sides[company].model.next_stamp(self.now);
        let answer = answer.as_ref().unwrap_or(NOTHING);
        Seen { answer, now: self.now, at, invoices: std::collections::BTreeMap::new() }
    }

    fn handle(&self, who: Who) -> CompanyHandle {
        self.sides[who.through].handle.clone()
    }

    /// The place and id of a record in `records`, counted from the newest. The place is `None` if there is no such
    /// record, or if it is another company's.
    fn pick<T>(
        &self,
        who: Who,
        Nth(n): Nth,
        records: impl Fn(&Company) -> &Vec<T>,
        id: impl Fn(&T) -> &String,
    ) -> (Option<usize>, String) {
        let records = records(&self.sides[who.owner].model);
        if records.is_empty() {
            return (None, self.world.invoicing.env().uuid().to_string());
        }
        let place = records.len() - 1 - usize::from(n) % records.len();
        ((who.owner == who.through).then_some(place), id(&records[place]).clone())
    }
}

async fn new_key(handle: &CompanyHandle, now: Millis) -> Verdict<Key> {
    let issued = handle.keys().issue("model").await.map_err(text)?;
    Ok(Key { text: issued.key.reveal().to_owned(), used: now, accepted: Vec::new() })
}

/// The last stamp of the company in the service.
async fn last_stamp(handle: &CompanyHandle) -> Verdict<Millis> {
    let page = handle.quotes().list_json(&invoicing_server::QuoteQuery::default()).await.map_err(text)?;
    let page: Value = serde_json::from_slice(&page).map_err(text)?;
    millis(&page["asOf"])
}

fn millis(json: &Value) -> Verdict<Millis> {
    let text = json.as_str().ok_or_else(|| format!("{json} is not an instant"))?;
    let instant = chrono::DateTime::parse_from_rfc3339(text).map_err(|error| format!("{text}: {error}"))?;
    Ok(instant.timestamp_millis())
}

/// An answer in the reference's terms. Any error but a refusal is a failure of the case.
fn answered<T: Serialize>(result: Result<T, Error>) -> Verdict<Answered> {
    match result {
        Ok(record) => serde_json::to_value(record).map(Ok).map_err(text),
        Err(Error::NotFound) => Ok(Err(Refused::NotFound)),
        Err(Error::Invalid(_)) => Ok(Err(Refused::Invalid)),
        Err(Error::Conflict(_)) => Ok(Err(Refused::Conflict)),
        Err(Error::DocumentUnavailable) => Ok(Err(Refused::NoDocument)),
        Err(error) => {
            Err(format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string)))
        }
    }
}

/// Fails unless both sides did it, or the service refused for one of the reference's reasons.
fn agree(db: Database, answer: &Answered, expected: &Result<(), Vec<Refused>>) -> Verdict {
    match (answer, expected) {
        (Ok(_), Ok(())) => {
            tally::count(db, "operations done", 1);
            Ok(())
        }
        (Err(refused), Err(reasons)) if reasons.contains(refused) => {
            tally::count(db, &format!("refused: {refused:?}"), 1);
            Ok(())
        }
        _ => Err(format!("the service answered {answer:?}, expected {expected:?}")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Verdict {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} differs\n    found {found:?}\n expected {expected:?}"))
}

fn same_json(what: &str, found: &Value, expected: &Value) -> Verdict {
    if found == expected {
        return Ok(());
    }
    if let (Value::Object(found), Value::Object(expected)) = (found, expected) {
        let names: std::collections::BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
        let differing = names.into_iter().filter(|name| found.get(*name) != expected.get(*name));
        let lines = differing
            .map(|name| format!("{name}: found {:?}, expected {:?}", found.get(name), expected.get(name)));
        return Err(format!("{what} differs in\n    {}", lines.collect::<Vec<_>>().join("\n    ")));
    }
    Err(format!("{what} differs\n    found {found}\n expected {expected}"))
}

fn text(error: impl Display) -> String {
    error.to_string()
}
