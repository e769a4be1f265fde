//! The events with their instants, for people; and the checks on the way.

use std::fmt::Display;

use invoicing_core::Timestamp;
use invoicing_examples::Failure;
use invoicing_server::Env;

/// Prints a line per step.
pub(crate) struct Timeline {
    env: Env,
    start: Timestamp,
    checks: u32,
}

impl Timeline {
    pub(crate) fn start() -> Self {
        let env = Env::system();
        println!("{:>24}  {:>9}  {:<11}  what", "when (UTC)", "after", "who");
        Self { start: env.now(), env, checks: 0 }
    }

    /// Something happened.
    pub(crate) fn say(&self, who: &str, what: impl Display) {
        let now = self.env.now();
        let after = now.as_millis() - self.start.as_millis();
        println!("{now:>24}  {after:>6} ms  {who:<11}  {what}");
    }

    /// Something has to be so, or the quickstart fails.
    pub(crate) fn check(&mut self, holds: bool, what: impl Display) -> Result<(), Failure> {
        self.checks += 1;
        if holds { Ok(()) } else { Err(format!("check {}: {what}", self.checks).into()) }
    }

    pub(crate) fn checks(&self) -> u32 {
        self.checks
    }
}
