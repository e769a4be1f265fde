//! The token of a form, by which it is carried out once.
//!
//! A token is a `UUIDv7`, which carries its time, and a check of the company and the form that it
//! was made for: a page of another company in an older tab is noticed. The check is no secret.
//! Forms of other sites are refused by [`super::csrf`].

use invoicing_core::{CompanyId, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::env::Env;

/// The name of its field.
pub(super) const FIELD: &str = "form";
/// Longest time that a page may be open before its forms are sent, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// A token for a form of a company. `path`: the target of the form.
pub(super) fn new(env: &Env, company: CompanyId, path: &str) -> String {
    let id = env.uuid();
    format!("{}{}", id.simple(), check(id, company, path))
}

/// The token that a form has come with. `None` if it is missing, of another form, or older than a
/// day.
pub(super) fn read(text: &str, now: Timestamp, company: CompanyId, path: &str) -> Option<Uuid> {
    let (id, given) = text.split_at_checked(32)?;
    let id = Uuid::try_parse(id).ok()?;
    let made_at = i64::try_from(id.as_u128() >> 80).ok()?;
    // The clock of the node that has made it may be ahead.
    let is_recent = now.as_millis().abs_diff(made_at) <= DAY_MS.unsigned_abs();
    (is_recent && given == check(id, company, path)).then_some(id)
}

fn check(id: Uuid, company: CompanyId, path: &str) -> String {
    let hash = Sha256::new().chain_update(id).chain_update(company.0).chain_update(path).finalize();
    hex::encode(&hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::ManualClock;

    const DAY: i64 = DAY_MS;

    #[test]
    fn a_token_is_good_for_a_day_its_company_and_its_form() {
        let clock = ManualClock::at("2026-11-26T23:59:59.000Z".parse().unwrap());
        let env = Env::system().with_clock(clock);
        let (company, other) = (CompanyId(env.uuid()), CompanyId(env.uuid()));
        let (now, text) = (env.now(), new(&env, company, "/keys"));
        for later in [0, DAY - 1, DAY, -1_000] {
            assert!(read(&text, now.plus_millis(later), company, "/keys").is_some(), "{later}");
        }
        for later in [DAY + 1, 3 * DAY, -2 * DAY] {
            assert!(read(&text, now.plus_millis(later), company, "/keys").is_none(), "{later}");
        }
        assert!(read(&text, now, other, "/keys").is_none());
        assert!(read(&text, now, company, "/webhooks").is_none());
        assert_ne!(text, new(&env, company, "/keys"));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let env = Env::system();
        let (now, company) = (env.now(), CompanyId(env.uuid()));
        let text = new(&env, company, "/keys");
        let multibyte = format!("{}é{}", &text[..31], &text[33..]);
        for text in ["", "x", &text[..47], &text[1..], &format!("{text}0"), &multibyte, &"0".repeat(48)] {
            assert!(read(text, now, company, "/keys").is_none(), "{text}");
        }
    }
}
