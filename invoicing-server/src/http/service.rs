//! Applications as services of hyper and of tower.

use std::convert::Infallible;

use futures_util::future::BoxFuture;
use http::Response;

use super::response_body::Body;

/// The future of a response.
pub(crate) type ResponseFuture = BoxFuture<'static, Result<Response<Body>, Infallible>>;

/// Implements the services for a type with a method `answer(self, request)`. They are always ready,
/// and never fail.
macro_rules! impl_service {
    ($application:ty) => {
        impl<B> hyper::service::Service<http::Request<B>> for $application
        where
            B: http_body::Body<Data: bytes::Buf, Error: Into<$crate::http::body::BoxError>> + Send + 'static,
        {
            type Response = http::Response<$crate::http::response_body::Body>;
            type Error = std::convert::Infallible;
            type Future = $crate::http::service::ResponseFuture;

            fn call(&self, request: http::Request<B>) -> Self::Future {
                let application = self.clone();
                Box::pin(async move { Ok(application.answer(request).await) })
            }
        }

        impl<B> tower_service::Service<http::Request<B>> for $application
        where
            B: http_body::Body<Data: bytes::Buf, Error: Into<$crate::http::body::BoxError>> + Send + 'static,
        {
            type Response = http::Response<$crate::http::response_body::Body>;
            type Error = std::convert::Infallible;
            type Future = $crate::http::service::ResponseFuture;

            fn poll_ready(
                &mut self,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Result<(), std::convert::Infallible>> {
                std::task::Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: http::Request<B>) -> Self::Future {
                hyper::service::Service::call(self, request)
            }
        }
    };
}

pub(crate) use impl_service;
