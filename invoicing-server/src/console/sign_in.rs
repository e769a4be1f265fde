//! The sign-in: for each request, the host gives the person and the role.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Response;
use http::request::Parts;
use invoicing_core::CompanyId;

use super::Language;

/// The future of a [`SignInDecision`].
pub type SignInFuture<'r> = BoxFuture<'r, SignInDecision>;

/// Decides who sent a request, from a session of the host or from values that its middleware left
/// in the extensions.
///
/// A closure is one:
///
/// ```
/// use invoicing_server::{CompanyId, ConsoleRole, ConsoleSession, SignIn, SignInDecision};
///
/// /// What a middleware of the host has put into the request.
/// #[derive(Clone)]
/// struct User { company: CompanyId, name: String, is_owner: bool }
///
/// fn sign_in(request: &http::request::Parts) -> SignInDecision {
///     match request.extensions.get::<User>() {
///         Some(user) => {
///             let role = if user.is_owner { ConsoleRole::Full } else { ConsoleRole::ReadOnly };
///             SignInDecision::Granted(ConsoleSession::new(user.company, &user.name, role))
///         }
///         None => SignInDecision::Redirect("/login".to_owned()),
///     }
/// }
/// # fn is_one(_: impl SignIn) {}
/// # is_one(sign_in);
/// ```
pub trait SignIn: Send + Sync + 'static {
    /// Decides by method, address, headers and extensions of a request. It is called for every page
    /// but the signing page, and may read the host's store.
    fn decide<'r>(&'r self, request: &'r Parts) -> SignInFuture<'r>;
}

impl<F> SignIn for F
where
    F: Fn(&Parts) -> SignInDecision + Send + Sync + 'static,
{
    fn decide<'r>(&'r self, request: &'r Parts) -> SignInFuture<'r> {
        let decision = self(request);
        Box::pin(std::future::ready(decision))
    }
}

/// The host's decision about a request to the console.
#[derive(Clone)]
#[non_exhaustive]
pub enum SignInDecision {
    /// The request may see the console, with this session.
    Granted(ConsoleSession),
    /// The browser is sent to this address, such as a sign-in page of the host: 303. After a form,
    /// a page links to it: 403.
    Redirect(String),
    /// The request may not see the console: 403.
    Forbidden,
    /// The host answers itself: with a cookie, a sign-in page, or a challenge such as
    /// `WWW-Authenticate`.
    Answer(Box<Response<Bytes>>),
}

/// Leaves out the headers of the host's answer, which may set a cookie.
impl fmt::Debug for SignInDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted(session) => f.debug_tuple("Granted").field(session).finish(),
            Self::Redirect(address) => f.debug_tuple("Redirect").field(address).finish(),
            Self::Forbidden => f.write_str("Forbidden"),
            Self::Answer(response) => f.debug_tuple("Answer").field(&response.status()).finish(),
        }
    }
}

/// A person who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsoleSession {
    /// The company whose records are shown. No page shows a record of another company.
    pub company: CompanyId,
    /// The person's name, as the history shows it.
    pub name: String,
    /// Their permissions.
    pub role: ConsoleRole,
    /// The language of the pages. Without one the browser's preference decides.
    pub language: Option<Language>,
}

impl ConsoleSession {
    /// A session in the language that the browser prefers.
    pub fn new(company: CompanyId, name: impl Into<String>, role: ConsoleRole) -> Self {
        Self { company, name: name.into(), role, language: None }
    }

    /// Sets [`language`](Self#structfield.language).
    #[must_use]
    pub fn language(self, language: Language) -> Self {
        Self { language: Some(language), ..self }
    }
}

/// The permissions of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsoleRole {
    /// All pages, and all changes.
    Full,
    /// All pages, and no change.
    ReadOnly,
    /// All pages, and these changes.
    Actions(BTreeSet<ConsoleAction>),
}

impl ConsoleRole {
    /// True if the role includes an action.
    pub fn allows(&self, action: ConsoleAction) -> bool {
        match self {
            Self::Full => true,
            Self::ReadOnly => false,
            Self::Actions(actions) => actions.contains(&action),
        }
    }
}

/// A change that the console can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConsoleAction {
    /// Register, change, disable, enable and remove webhooks, and rotate their secrets.
    ManageWebhooks,
    /// Send a test to a webhook.
    TestWebhooks,
    /// Send deliveries again.
    ReplayDeliveries,
    /// Issue and revoke API keys.
    ManageKeys,
    /// Send quotes.
    SendQuotes,
    /// Make and revoke signing links.
    ManageSigningLinks,
    /// Convert quotes, make, issue and cancel invoices, and issue credit notes.
    ManageInvoices,
    /// Enter and reverse payments and refunds, and mark issued invoices paid. A draft, which would be
    /// issued first, also needs [`ManageInvoices`](Self::ManageInvoices).
    EnterPayments,
    /// Enter and change clients.
    ManageClients,
    /// Change the company's legal data.
    ManageCompany,
}
