//! The contract of the API, rule by rule, over the real service.
