//! HTTP/2 as no client speaks it: heads of requests, and never a body; windows that stay shut.

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The setting `INITIAL_WINDOW_SIZE` with the value 0: the server may send heads, and no body.
const NO_WINDOW: &[u8] = &[0, 4, 0, 0, 0, 0];

/// A connection's first bytes: so many `POST /api/v1/clients`, each with so many equal fields of one byte each.
pub(crate) fn heads(key: &str, streams: usize, fields: usize) -> Vec<u8> {
    // `:method` POST, `:scheme` http; a path and a key that are not put into the table; a field that is, and its index.
    let path = [vec![0x83, 0x86, 0x04], text("/api/v1/clients")].concat();
    let key = [vec![0], text("authorization"), text(&format!("Bearer {key}"))].concat();
    let same = [vec![0x40], text("a"), text(""), vec![0xbe; fields - 1]].concat();
    let head = [path, key, same].concat();
    let mut all = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for n in 0..streams {
        all.extend(frame(HEADERS, END_HEADERS, u32::try_from(2 * n + 1).unwrap(), &head));
    }
    all
}

/// A connection's first bytes: so many `GET` of one path, whose answers the server may not send.
pub(crate) fn unread_gets(path: &str, key: Option<&str>, streams: usize) -> Vec<u8> {
    // `:method` GET, `:scheme` http; a path, an authority and a key that are not put into the table.
    let path = [vec![0x82, 0x86, 0x04], text(path), vec![0x01], text("x")].concat();
    let key = key.map(|key| [vec![0], text("authorization"), text(&format!("Bearer {key}"))].concat());
    let head = [path, key.unwrap_or_default()].concat();
    let mut all = [PREFACE, &frame(SETTINGS, 0, 0, NO_WINDOW)].concat();
    for n in 0..streams {
        all.extend(frame(HEADERS, END_STREAM | END_HEADERS, u32::try_from(2 * n + 1).unwrap(), &head));
    }
    all
}

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A text of HPACK, not compressed: its length in 7 bits and more (RFC 7541, section 5.1), and itself.
fn text(text: &str) -> Vec<u8> {
    let length = match text.len() {
        short @ ..127 => vec![u8::try_from(short).unwrap()],
        long => vec![
            127,
            u8::try_from((long - 127) % 128 + 128).unwrap(),
            u8::try_from((long - 127) / 128).unwrap(),
        ],
    };
    [&length, text.as_bytes()].concat()
}
