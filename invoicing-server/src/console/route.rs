//! A row of the table of pages and forms.

use futures_util::future::BoxFuture;
use http::Method;

use super::ConsoleAction;
use super::error::PageError;
use super::request::{Outcome, PageRequest};
use super::sign::SigningRequest;
use crate::http::routing;

type Answer<'r> = BoxFuture<'r, Result<Outcome, PageError>>;
/// A handler of requests with a session.
pub(super) type PageHandler = for<'r> fn(&'r PageRequest<'_>) -> Answer<'r>;
/// A handler of requests with a signing link.
pub(super) type SigningHandler = for<'r> fn(&'r SigningRequest<'_>) -> Answer<'r>;

/// The part of the console that answers a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handler {
    Page(PageHandler),
    /// The page of a form that was carried out before.
    CarriedOut,
    Signing(SigningHandler),
    /// The file behind a signing link.
    SigningDocument,
    /// A file of the pages, such as their style.
    Asset,
}

/// The permission that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Nothing,
    /// A session.
    SignIn,
    /// A session whose role includes the action.
    To(ConsoleAction),
}

/// A form that is carried out once. A form of a signing link is none, as it changes the state that
/// decides about the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// The path of the page that has the form.
    pub(super) page: &'static str,
    /// The path of the page that shows the effect, with the parameters of the form's path, and
    /// `{subject}` for the first record that was changed.
    pub(super) shown_at: &'static str,
    /// True if the form changes the record of its page, so that it holds the version that was
    /// shown. A test or a replay sends what there is, and changes no record.
    pub(super) has_version: bool,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) needs: Permission,
    pub(super) handler: Handler,
    /// True if the handler may wait for the document store, or for a renderer.
    pub(super) waits_for_documents: bool,
    pub(super) form: Option<Form>,
}

impl Route {
    /// A route without a form.
    const fn new(method: Method, path: &'static str, needs: Permission, handler: Handler) -> Self {
        Self { method, path, needs, handler, waits_for_documents: false, form: None }
    }

    /// Sets the path of the page that has the form.
    pub(super) const fn on(mut self, page: &'static str) -> Self {
        if let Some(form) = &mut self.form {
            form.page = page;
        }
        self
    }

    pub(super) const fn waits_for_documents(mut self) -> Self {
        self.waits_for_documents = true;
        self
    }
}

pub(super) const fn page(path: &'static str, handler: PageHandler) -> Route {
    Route::new(Method::GET, path, Permission::SignIn, Handler::Page(handler))
}

/// A page that belongs to a form.
pub(super) const fn question(path: &'static str, action: ConsoleAction, handler: PageHandler) -> Route {
    Route::new(Method::GET, path, Permission::To(action), Handler::Page(handler))
}

/// A form that makes a record, or sends something. The page of a form has its path, unless
/// [`Route::on`] names another one.
pub(super) const fn form(
    path: &'static str,
    shown_at: &'static str,
    action: ConsoleAction,
    handler: PageHandler,
) -> Route {
    let mut route = Route::new(Method::POST, path, Permission::To(action), Handler::Page(handler));
    route.form = Some(Form { page: path, shown_at, has_version: false });
    route
}

/// A form that changes the record of its page.
pub(super) const fn change(
    path: &'static str,
    shown_at: &'static str,
    action: ConsoleAction,
    handler: PageHandler,
) -> Route {
    let mut route = form(path, shown_at, action, handler);
    route.form = Some(Form { page: path, shown_at, has_version: true });
    route
}

/// The page of a form that was carried out before.
pub(super) const fn carried_out(path: &'static str) -> Route {
    Route::new(Method::GET, path, Permission::SignIn, Handler::CarriedOut)
}

/// A page or a file without a session. The token of a signing link is its permission.
pub(super) const fn public(method: Method, path: &'static str, handler: Handler) -> Route {
    Route::new(method, path, Permission::Nothing, handler)
}

impl routing::Route for Route {
    fn method(&self) -> &Method {
        &self.method
    }

    fn path(&self) -> &'static str {
        self.path
    }
}
