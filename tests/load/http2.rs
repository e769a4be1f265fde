//! HTTP/2 in frames that no ordinary client sends: heads of requests, and never a body; windows that stay shut.

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A connection's first bytes: `streams` times `POST /api/v1/clients`, each with `fields` equal fields of one byte.
pub(crate) fn heads(key: &str, streams: usize, fields: usize) -> Vec<u8> {
    // `:method` POST, `:scheme` http; a path and a key that are not put into the table; a field that is put into it,
    // and its index.
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

/// Requests of a connection that never reads the answers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnreadGets<'r> {
    pub(crate) key: Option<&'r str>,
    pub(crate) range: Option<&'r str>,
    /// `INITIAL_WINDOW_SIZE`: with 0 the server may send heads, and no body.
    pub(crate) window: u32,
}

impl UnreadGets<'_> {
    /// A connection's first bytes: a `GET` of each path.
    pub(crate) fn of<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<u8> {
        let window = [&[0, 4], &self.window.to_be_bytes()[..]].concat();
        let mut all = [PREFACE, &frame(SETTINGS, 0, 0, &window)].concat();
        let key = self.key.map(|key| field("authorization", &format!("Bearer {key}")));
        let range = self.range.map(|range| field("range", range));
        let fields = [key, range].into_iter().flatten().collect::<Vec<_>>().concat();
        for (n, path) in paths.into_iter().enumerate() {
            // `:method` GET, `:scheme` http; a path, an authority and fields that are not put into the table.
            let path = [vec![0x82, 0x86, 0x04], text(path), vec![0x01], text("x")].concat();
            let stream = u32::try_from(2 * n + 1).unwrap();
            all.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, &[&path[..], &fields].concat()));
        }
        all
    }
}

/// A field that is not put into the table.
fn field(name: &str, value: &str) -> Vec<u8> {
    [vec![0], text(name), text(value)].concat()
}

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A text of HPACK, not compressed: its length in 7 bits and more (RFC 7541, section 5.1), and its bytes.
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
