//! The contract, rule by rule, over the real service.

mod smoke;
