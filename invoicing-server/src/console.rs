//! The settings console and the signing page: pages of HTML, rendered on the server, that work without a script.
//!
//! [`service`] drives a request: [`routes`] finds the page, [`sign_in`] asks the host who is there, [`origin`] refuses forms
//! of other sites, and the subject's file holds the handler, which calls operations. [`layout`] is what all pages share,
//! [`assets`] their style and script. [`sign`] is the page behind a signing link, which needs no session. A GET changes
//! nothing; a form is answered with a redirect to a page that shows its effect, or with a secret that is shown this once. It is
//! carried out once, by its [`form_token`]; the second time [`carried_out`] leads to what was made. This module knows neither SQL
//! nor sockets, and sets no cookie.

mod assets;
mod carried_out;
mod client_address;
mod error;
mod events;
mod figures;
mod fixed_pages;
mod form;
mod form_token;
mod history;
mod keys;
mod language;
mod layout;
mod origin;
mod paging;
mod quotes;
mod recorded;
mod refusals;
mod request;
mod routes;
mod service;
mod settings;
mod sign;
mod sign_in;
mod time;
mod way_back;
mod webhooks;

pub use language::Language;
pub use service::Console;
pub use settings::{ConsoleSettings, Logo, Theme};
pub use sign_in::{Action, Role, Session, SignIn, SignInDecision, SignInFuture};
