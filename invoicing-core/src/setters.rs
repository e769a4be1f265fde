//! Setters that take an input by value, so that a host builds it in one expression.

/// Adds to an input a setter for each of its optional texts.
macro_rules! text_setters {
    ($input:ident: $($field:ident)*) => {
        impl $input {$(
            #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
            pub fn $field(mut self, $field: impl Into<String>) -> Self {
                self.$field = Some($field.into());
                self
            }
        )*}
    };
}

pub(crate) use text_setters;
