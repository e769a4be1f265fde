//! How a document writes its content: numbers, units and dates in French, and lines in groups. The pages of the console write
//! them likewise.

#[cfg_attr(
    not(any(feature = "pdf", test)),
    expect(dead_code, reason = "only a document writes dates and the number of a company like this")
)]
pub(crate) mod french;
pub(crate) mod line_groups;
