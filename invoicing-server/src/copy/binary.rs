//! Rows in the binary form of PostgreSQL's `COPY`, for sending, and for comparing both databases:
//! this module makes the same bytes of a row from SQLite as PostgreSQL makes of its copy.

/// The beginning of every stream: the signature, no flags, no extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The end of every stream.
pub(super) const TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// PostgreSQL's number of the type BIGINT, which arrays name.
const BIGINT: i32 = 20;

/// Begins a row of `values` values.
pub(super) fn row(values: usize, out: &mut Vec<u8>) {
    // A table has far fewer columns than an `i16` can count.
    out.extend_from_slice(&i16::try_from(values).unwrap_or(i16::MAX).to_be_bytes());
}

pub(super) fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i32).to_be_bytes());
}

/// A value: its length and its bytes. UUID, TEXT and BYTEA are the bytes themselves, BIGINT and
/// DATE (days since the year 2000) are numbers with the highest byte first.
pub(super) fn value(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&length(bytes.len()).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// SQLite holds no value of more than 1,000,000,000 bytes.
fn length(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// The value of a BIGINT[]. Dimensions, whether there are nulls, type; then length and first index
/// of the one dimension, and its elements.
pub(super) fn array(numbers: &[i64]) -> Vec<u8> {
    let dimensions = i32::from(!numbers.is_empty());
    let mut out = Vec::with_capacity(20 + numbers.len() * 12);
    for word in [dimensions, 0, BIGINT] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    if dimensions == 1 {
        out.extend_from_slice(&length(numbers.len()).to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
    }
    for number in numbers {
        value(&number.to_be_bytes(), &mut out);
    }
    out
}
