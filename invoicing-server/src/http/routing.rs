//! The lookup in a table of routes.

use http::Method;
use matchit::{Params, Router};

use super::error::ApiError;

/// A row of a table of routes. The table has the methods of a path one after the other.
pub(crate) trait Route: Sized + Send + Sync + 'static {
    /// Methods of every path, beside those of its rows.
    const ON_EVERY_PATH: &'static [&'static str] = &[];

    fn method(&self) -> &Method;

    /// The path, with parameters in braces.
    fn path(&self) -> &'static str;
}

/// A route, and the parameters of its path, still percent-encoded.
pub(crate) type Found<'p, R> = Result<(&'static R, Params<'static, 'p>), ApiError>;

/// The routes of each path.
pub(crate) struct RouteTable<R: 'static>(Router<&'static [R]>);

impl<R: Route> RouteTable<R> {
    pub(crate) fn new(rows: &'static [R]) -> Self {
        let mut router = Router::new();
        for rows in rows.chunk_by(|row, next| row.path() == next.path()) {
            router.insert(rows[0].path(), rows).expect("no two routes of a constant table conflict");
        }
        Self(router)
    }

    /// The rows of a path, whatever their methods.
    pub(crate) fn of_path(&self, path: &str) -> &'static [R] {
        self.0.at(path).map_or(&[], |found| *found.value)
    }

    /// The route of a method and a path. `HEAD` is routed like `GET`.
    ///
    /// # Errors
    /// `not_found` and `method_not_allowed`.
    pub(crate) fn find<'p>(&'static self, method: &Method, path: &'p str) -> Found<'p, R> {
        let found = self.0.at(path).map_err(|_| ApiError::NOT_FOUND)?;
        let method = if method == Method::HEAD { &Method::GET } else { method };
        match found.value.iter().find(|row| row.method() == method) {
            Some(row) => Ok((row, found.params)),
            None => Err(ApiError::MethodNotAllowed { allow: allowed_methods(found.value) }),
        }
    }
}

/// The value of `Allow`.
fn allowed_methods<R: Route>(rows: &[R]) -> String {
    let names = rows.iter().flat_map(|row| match *row.method() {
        Method::GET => vec!["GET", "HEAD"],
        ref other => vec![other.as_str()],
    });
    names.chain(R::ON_EVERY_PATH.iter().copied()).collect::<Vec<_>>().join(", ")
}
