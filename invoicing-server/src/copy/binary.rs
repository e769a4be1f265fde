//! Rows in the binary form of PostgreSQL's `COPY`, for sending, and for comparing both databases: the bytes that we
//! make of a row from SQLite are those that PostgreSQL makes of its copy.

/// What every stream begins with: the signature, no flags, no extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What every stream ends with.
pub(super) const TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// PostgreSQL's number of the type BIGINT, which arrays name.
const BIGINT: i32 = 20;

/// A field as its column has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field<'r> {
    Null,
    /// UUID, TEXT and BYTEA.
    Bytes(&'r [u8]),
    /// BIGINT.
    Number(i64),
    /// DATE: days since the year 2000.
    Day(i32),
    /// BIGINT[].
    Numbers(Vec<i64>),
}

/// Begins a row of so many fields.
pub(super) fn row(fields: usize, out: &mut Vec<u8>) {
    // A table has far fewer columns than an `i16` can count.
    out.extend_from_slice(&i16::try_from(fields).unwrap_or(i16::MAX).to_be_bytes());
}

impl Field<'_> {
    /// Its length and its bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
            Self::Bytes(bytes) => sized(bytes, out),
            Self::Number(number) => sized(&number.to_be_bytes(), out),
            Self::Day(day) => sized(&day.to_be_bytes(), out),
            Self::Numbers(numbers) => sized(&array(numbers), out),
        }
    }
}

fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&length(bytes.len()).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// SQLite holds no value of more than 1,000,000,000 bytes.
fn length(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// Dimensions, whether there are nulls, type; then length and first index of the one dimension, and its elements.
fn array(numbers: &[i64]) -> Vec<u8> {
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
        sized(&number.to_be_bytes(), &mut out);
    }
    out
}
