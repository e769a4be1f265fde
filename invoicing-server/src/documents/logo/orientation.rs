//! The orientation of an image in its Exif data (CIPA DC-008), which phones write instead of
//! turning the pixels.

/// Bytes of an entry of a directory: tag, type, count and value.
const ENTRY: usize = 12;
/// Tag, type (SHORT) and count of the entry of the orientation.
const ORIENTATION: (u16, u16, u32) = (0x0112, 3, 1);
/// The orientations with pixels that are turned or mirrored. 1 is upright; no other is defined.
const TURNED: std::ops::RangeInclusive<u16> = 2..=8;

/// True if Exif data turn the image that they are about. Data that cannot be read turn nothing, as in
/// browsers.
pub(super) fn is_turned(exif: &[u8]) -> bool {
    orientation(exif).is_some_and(|orientation| TURNED.contains(&orientation))
}

/// The orientation in the first directory, which is about the image itself and not its thumbnail.
fn orientation(exif: &[u8]) -> Option<u16> {
    let order = match exif.first_chunk()? {
        b"II*\0" => Order { short: u16::from_le_bytes, long: u32::from_le_bytes },
        b"MM\0*" => Order { short: u16::from_be_bytes, long: u32::from_be_bytes },
        _ => return None,
    };
    let directory = exif.get(usize::try_from(order.long_at(exif, 4)?).ok()?..)?;
    let count = usize::from(order.short_at(directory, 0)?);
    let mut entries = directory[2..].chunks_exact(ENTRY).take(count);
    let is_it = |entry: &&[u8]| {
        order.short_at(entry, 0).zip(order.short_at(entry, 2)).zip(order.long_at(entry, 4))
            == Some(((ORIENTATION.0, ORIENTATION.1), ORIENTATION.2))
    };
    order.short_at(entries.find(is_it)?, 8)
}

/// The order of the bytes of numbers.
struct Order {
    short: fn([u8; 2]) -> u16,
    long: fn([u8; 4]) -> u32,
}

impl Order {
    fn short_at(&self, bytes: &[u8], at: usize) -> Option<u16> {
        Some((self.short)(*bytes.get(at..)?.first_chunk()?))
    }

    fn long_at(&self, bytes: &[u8], at: usize) -> Option<u32> {
        Some((self.long)(*bytes.get(at..)?.first_chunk()?))
    }
}
