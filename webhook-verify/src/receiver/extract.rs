//! What axum handlers take and return.

use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};

use super::{Delivery, Receiver, Refusal};

/// The raw delivery, verified by the [`Receiver`] in the state.
impl<S> FromRequest<S> for Delivery
where
    Receiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        Receiver::from_ref(state).accept(request).await
    }
}

/// The typed event of a delivery that was verified by the [`Receiver`] in the state.
#[cfg(feature = "events")]
impl<S> FromRequest<S> for crate::events::Event
where
    Receiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        Delivery::from_request(request, state).await?.event()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.response::<Body>()
    }
}
