//! The rules that the service keeps, by their names.
//!
//! ```
//! use invoicing_core::{Timestamp, money};
//!
//! // WIRE-2: an instant has three decimals and `Z`.
//! let at = Timestamp::from_millis(1_789_378_867_123);
//! assert_eq!(at.to_string(), "2026-09-14T09:41:07.123Z");
//!
//! // WIRE-6: an amount is an exact number in its shortest form.
//! assert_eq!(serde_json::to_string(&money!(1200.50))?, "1200.5");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
#![doc = include_str!("../CONTRACT.md")]
