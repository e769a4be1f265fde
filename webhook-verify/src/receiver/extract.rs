//! Extractors and responses for axum.

use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};

use super::{Delivery, Receiver, Rejection};

/// The raw delivery, verified by the [`Receiver`] in the state.
impl<S> FromRequest<S> for Delivery
where
    Receiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
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
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let receiver = Receiver::from_ref(state);
        let delivery = receiver.accept(request).await?;
        delivery.event().map_err(|rejection| receiver.refused(rejection))
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.response::<Body>()
    }
}
