//! The pages and forms of the console, as data, and the lookup among them.

use std::sync::LazyLock;

use http::Method;

use super::Action;
use crate::http::routing::{self, Found, RouteTable};

/// A page, or the action of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Home,
    CarriedOut,
    Asset,
    Webhooks,
    NewWebhook,
    RegisterWebhook,
    Webhook,
    ChangeWebhook,
    TestWebhook,
    DisableWebhook,
    EnableWebhook,
    ConfirmRotation,
    RotateWebhook,
    EndOverlap,
    ConfirmRemoval,
    RemoveWebhook,
    Deliveries,
    Delivery,
    ReplayDelivery,
    ConfirmReplay,
    Replay,
    Events,
    Event,
    History,
    SigningPage,
    Sign,
    ConfirmSignature,
    ConfirmRefusal,
    Decline,
    SigningDocument,
    Keys,
    NewKey,
    IssueKey,
    ConfirmRevocation,
    RevokeKey,
    Quotes,
    Quote,
    QuoteDocument,
    ConfirmSending,
    SendQuote,
    MakeSigningLink,
    ConfirmLinkRevocation,
    RevokeSigningLink,
    ConvertQuote,
    Invoices,
    NewInvoice,
    MakeInvoice,
    Invoice,
    InvoiceDocument,
    ConfirmIssue,
    IssueInvoice,
    NewPayment,
    EnterPayment,
    ConfirmPaid,
    MarkInvoicePaid,
    NewCreditNote,
    ReviewCreditNote,
    IssueCreditNote,
    NewRefund,
    EnterRefund,
    ConfirmCancellation,
    CancelInvoice,
    ConfirmReversal,
    ReversePayment,
    CreditNotes,
    CreditNote,
    CreditNoteDocument,
}

impl Endpoint {
    /// True if its handler may wait for the document store, or for a renderer.
    pub(super) const fn waits_for_documents(self) -> bool {
        matches!(
            self,
            Self::QuoteDocument
                | Self::SendQuote
                | Self::InvoiceDocument
                | Self::MakeInvoice
                | Self::ConfirmIssue
                | Self::IssueInvoice
                | Self::MarkInvoicePaid
                | Self::IssueCreditNote
                | Self::CancelInvoice
                | Self::CreditNoteDocument
        )
    }

    /// The page with this form, which is carried out once; `None` for an endpoint that is no such
    /// form.
    pub(super) const fn page_of_form(self) -> Option<Self> {
        Some(match self {
            Self::RegisterWebhook => Self::NewWebhook,
            Self::ChangeWebhook
            | Self::TestWebhook
            | Self::DisableWebhook
            | Self::EnableWebhook
            | Self::EndOverlap => Self::Webhook,
            Self::RotateWebhook => Self::ConfirmRotation,
            Self::RemoveWebhook => Self::ConfirmRemoval,
            Self::ReplayDelivery => Self::Delivery,
            Self::Replay => Self::ConfirmReplay,
            Self::IssueKey => Self::NewKey,
            Self::RevokeKey => Self::ConfirmRevocation,
            Self::SendQuote => Self::ConfirmSending,
            Self::MakeSigningLink | Self::ConvertQuote => Self::Quote,
            Self::RevokeSigningLink => Self::ConfirmLinkRevocation,
            Self::MakeInvoice => Self::NewInvoice,
            Self::IssueInvoice => Self::ConfirmIssue,
            Self::EnterPayment => Self::NewPayment,
            Self::MarkInvoicePaid => Self::ConfirmPaid,
            Self::IssueCreditNote => Self::ReviewCreditNote,
            Self::EnterRefund => Self::NewRefund,
            Self::CancelInvoice => Self::ConfirmCancellation,
            Self::ReversePayment => Self::ConfirmReversal,
            _ => return None,
        })
    }

    /// True for a form that changes the record of its page, so that it holds the version that was
    /// shown. A test or a replay sends what there is, and changes no record.
    pub(super) const fn has_version(self) -> bool {
        matches!(
            self,
            Self::ChangeWebhook
                | Self::DisableWebhook
                | Self::EnableWebhook
                | Self::RotateWebhook
                | Self::EndOverlap
                | Self::RemoveWebhook
                | Self::RevokeKey
                | Self::SendQuote
                | Self::MakeSigningLink
                | Self::RevokeSigningLink
                | Self::ConvertQuote
                | Self::IssueInvoice
                | Self::EnterPayment
                | Self::MarkInvoicePaid
                | Self::IssueCreditNote
                | Self::EnterRefund
                | Self::CancelInvoice
                | Self::ReversePayment
        )
    }
}

/// The permission that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Nothing,
    /// A session.
    SignIn,
    /// A session whose role includes the action.
    To(Action),
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) endpoint: Endpoint,
    pub(super) needs: Permission,
}

impl Route {
    /// True for a form that is carried out once. A form of a signing link needs no token, as it
    /// changes the state that decides about the next one.
    pub(super) fn is_once(&self) -> bool {
        self.method == Method::POST && matches!(self.needs, Permission::To(_))
    }
}

const fn page(path: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Method::GET, path, endpoint, needs: Permission::SignIn }
}

/// A page that belongs to a form.
const fn question(path: &'static str, endpoint: Endpoint, action: Action) -> Route {
    Route { method: Method::GET, path, endpoint, needs: Permission::To(action) }
}

const fn form(path: &'static str, endpoint: Endpoint, action: Action) -> Route {
    Route { method: Method::POST, path, endpoint, needs: Permission::To(action) }
}

const fn public(path: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Method::GET, path, endpoint, needs: Permission::Nothing }
}

/// A form behind a signing link: its token is the permission.
const fn public_form(path: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Method::POST, path, endpoint, needs: Permission::Nothing }
}

/// Every page and form. The methods of a path stand one after the other.
pub(super) const ROUTES: &[Route] = &[
    page("/", Endpoint::Home),
    page("/carried-out", Endpoint::CarriedOut),
    public("/assets/{name}", Endpoint::Asset),
    page("/webhooks", Endpoint::Webhooks),
    form("/webhooks", Endpoint::RegisterWebhook, Action::ManageWebhooks),
    question("/webhooks/new", Endpoint::NewWebhook, Action::ManageWebhooks),
    page("/webhooks/{id}", Endpoint::Webhook),
    form("/webhooks/{id}", Endpoint::ChangeWebhook, Action::ManageWebhooks),
    form("/webhooks/{id}/test", Endpoint::TestWebhook, Action::TestWebhooks),
    form("/webhooks/{id}/disable", Endpoint::DisableWebhook, Action::ManageWebhooks),
    form("/webhooks/{id}/enable", Endpoint::EnableWebhook, Action::ManageWebhooks),
    question("/webhooks/{id}/rotate", Endpoint::ConfirmRotation, Action::ManageWebhooks),
    form("/webhooks/{id}/rotate", Endpoint::RotateWebhook, Action::ManageWebhooks),
    form("/webhooks/{id}/end-overlap", Endpoint::EndOverlap, Action::ManageWebhooks),
    question("/webhooks/{id}/remove", Endpoint::ConfirmRemoval, Action::ManageWebhooks),
    form("/webhooks/{id}/remove", Endpoint::RemoveWebhook, Action::ManageWebhooks),
    page("/webhooks/{id}/deliveries", Endpoint::Deliveries),
    page("/webhooks/{id}/deliveries/{event}", Endpoint::Delivery),
    form("/webhooks/{id}/deliveries/{event}/replay", Endpoint::ReplayDelivery, Action::ReplayDeliveries),
    question("/webhooks/{id}/replay", Endpoint::ConfirmReplay, Action::ReplayDeliveries),
    form("/webhooks/{id}/replay", Endpoint::Replay, Action::ReplayDeliveries),
    page("/events", Endpoint::Events),
    page("/events/{id}", Endpoint::Event),
    page("/history", Endpoint::History),
    public("/sign/{token}", Endpoint::SigningPage),
    public_form("/sign/{token}", Endpoint::Sign),
    public("/sign/{token}/confirm", Endpoint::ConfirmSignature),
    public("/sign/{token}/decline", Endpoint::ConfirmRefusal),
    public_form("/sign/{token}/decline", Endpoint::Decline),
    public("/sign/{token}/document.pdf", Endpoint::SigningDocument),
    page("/keys", Endpoint::Keys),
    form("/keys", Endpoint::IssueKey, Action::ManageKeys),
    question("/keys/new", Endpoint::NewKey, Action::ManageKeys),
    question("/keys/{id}/revoke", Endpoint::ConfirmRevocation, Action::ManageKeys),
    form("/keys/{id}/revoke", Endpoint::RevokeKey, Action::ManageKeys),
    page("/quotes", Endpoint::Quotes),
    page("/quotes/{id}", Endpoint::Quote),
    page("/quotes/{id}/documents/{sha256}", Endpoint::QuoteDocument),
    question("/quotes/{id}/send", Endpoint::ConfirmSending, Action::SendQuotes),
    form("/quotes/{id}/send", Endpoint::SendQuote, Action::SendQuotes),
    form("/quotes/{id}/links", Endpoint::MakeSigningLink, Action::ManageSigningLinks),
    question("/quotes/{id}/links/{link}/revoke", Endpoint::ConfirmLinkRevocation, Action::ManageSigningLinks),
    form("/quotes/{id}/links/{link}/revoke", Endpoint::RevokeSigningLink, Action::ManageSigningLinks),
    form("/quotes/{id}/convert", Endpoint::ConvertQuote, Action::ManageInvoices),
    page("/invoices", Endpoint::Invoices),
    form("/invoices", Endpoint::MakeInvoice, Action::ManageInvoices),
    question("/invoices/new", Endpoint::NewInvoice, Action::ManageInvoices),
    page("/invoices/{id}", Endpoint::Invoice),
    page("/invoices/{id}/document", Endpoint::InvoiceDocument),
    question("/invoices/{id}/issue", Endpoint::ConfirmIssue, Action::ManageInvoices),
    form("/invoices/{id}/issue", Endpoint::IssueInvoice, Action::ManageInvoices),
    question("/invoices/{id}/pay", Endpoint::NewPayment, Action::EnterPayments),
    form("/invoices/{id}/pay", Endpoint::EnterPayment, Action::EnterPayments),
    question("/invoices/{id}/paid", Endpoint::ConfirmPaid, Action::EnterPayments),
    form("/invoices/{id}/paid", Endpoint::MarkInvoicePaid, Action::EnterPayments),
    question("/invoices/{id}/credit", Endpoint::NewCreditNote, Action::ManageInvoices),
    form("/invoices/{id}/credit", Endpoint::IssueCreditNote, Action::ManageInvoices),
    question("/invoices/{id}/credit/review", Endpoint::ReviewCreditNote, Action::ManageInvoices),
    question("/invoices/{id}/refund", Endpoint::NewRefund, Action::EnterPayments),
    form("/invoices/{id}/refund", Endpoint::EnterRefund, Action::EnterPayments),
    question("/invoices/{id}/cancel", Endpoint::ConfirmCancellation, Action::ManageInvoices),
    form("/invoices/{id}/cancel", Endpoint::CancelInvoice, Action::ManageInvoices),
    question("/invoices/{id}/payments/{payment}/reverse", Endpoint::ConfirmReversal, Action::EnterPayments),
    form("/invoices/{id}/payments/{payment}/reverse", Endpoint::ReversePayment, Action::EnterPayments),
    page("/credit-notes", Endpoint::CreditNotes),
    page("/credit-notes/{id}", Endpoint::CreditNote),
    page("/credit-notes/{id}/document", Endpoint::CreditNoteDocument),
];

/// The paths of the forms.
#[cfg(any(test, feature = "testing"))]
pub(super) fn forms() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().filter(|route| route.method == Method::POST).map(|route| route.path)
}

/// Begins the paths of signing links, whose next segment is a secret.
pub(super) const SIGN: &str = "/sign/";

/// True if a path needs no session.
pub(super) fn is_public(path: &str) -> bool {
    path.starts_with(SIGN) || path.starts_with("/assets/")
}

impl routing::Route for Route {
    fn method(&self) -> &Method {
        &self.method
    }

    fn path(&self) -> &'static str {
        self.path
    }
}

static TABLE: LazyLock<RouteTable<Route>> = LazyLock::new(|| RouteTable::new(ROUTES));

/// The route of a method and a path, and the parameters of the path.
///
/// # Errors
/// `not_found` and `method_not_allowed`.
pub(super) fn find<'p>(method: &Method, path: &'p str) -> Found<'p, Route> {
    TABLE.find(method, path)
}

#[cfg(test)]
mod tests {
    use crate::http::error::ApiError;

    use super::*;

    #[test]
    fn every_route_is_found_by_its_method_and_path() {
        for route in ROUTES {
            let path = route.path.replace(['{', '}'], "");
            let (found, _) = find(&route.method, &path).unwrap();
            assert_eq!(found.endpoint, route.endpoint, "{path}");
        }
    }

    #[test]
    fn each_change_is_a_form_that_needs_an_action_or_a_signing_link() {
        for route in ROUTES {
            let is_permitted =
                matches!(route.needs, Permission::To(_)) || route.path.starts_with("/sign/{token}");
            let is_form = route.method == Method::POST && is_permitted;
            assert!(route.method == Method::GET || is_form, "{}", route.path);
            assert_eq!(route.needs == Permission::Nothing, is_public(route.path), "{}", route.path);
            assert_eq!(route.endpoint.page_of_form().is_some(), route.is_once(), "{}", route.path);
        }
    }

    #[test]
    fn the_page_before_an_issue_waits_as_the_issue_does() {
        for endpoint in [Endpoint::ConfirmIssue, Endpoint::IssueInvoice] {
            assert!(endpoint.waits_for_documents(), "{endpoint:?}");
        }
    }

    #[test]
    fn other_paths_and_methods_are_refused() {
        for path in ["/x", "/webhooks/", "//webhooks", "/webhooks/a/b", "/assets"] {
            assert!(matches!(find(&Method::GET, path), Err(ApiError::Operation(_))), "{path}");
        }
        let Err(ApiError::MethodNotAllowed { allow }) = find(&Method::PUT, "/webhooks") else { panic!() };
        assert_eq!(allow, "GET, HEAD, POST");
    }
}
