//! Images without their metadata, which the renderer would copy into each document.

use invoicing_core::LogoRule;

use super::orientation::is_turned;
use super::{DocumentLogo, JPEG_END, JPEG_MAGIC, LogoFormat, PNG_MAGIC};

/// Bytes of a chunk of a PNG besides its data: length, type and checksum.
const AROUND: usize = 12;
/// Start and length of the segments that decoders of a JPEG need for its colours. A length counts
/// itself, and leaves out the thumbnail of JFIF.
const JFIF: (&[u8], u16) = (b"JFIF\0", 16);
const ADOBE: (&[u8], u16) = (b"Adobe", 14);
/// Start of a segment of a JPEG with Exif data.
const EXIF: &[u8] = b"Exif\0\0";
/// Position of the size of a thumbnail, two bytes, in a segment of JFIF.
const THUMBNAIL: usize = 16;

/// The bytes of an image without its metadata.
///
/// # Errors
/// [`LogoRule::Damaged`] if the image ends too early; [`LogoRule::Turned`] if it is not upright
/// without its metadata.
pub(super) fn without_metadata(image: &DocumentLogo) -> Result<Vec<u8>, LogoRule> {
    let stripped = match image.format {
        LogoFormat::Png => png_without_metadata(&image.bytes),
        LogoFormat::Jpeg => jpeg_without_metadata(&image.bytes),
    };
    let Stripped { kept, is_turned } = stripped.ok_or(LogoRule::Damaged)?;
    if is_turned { Err(LogoRule::Turned) } else { Ok(kept) }
}

/// An image without its metadata.
struct Stripped {
    kept: Vec<u8>,
    /// True if the metadata turn the image.
    is_turned: bool,
}

/// A PNG with the chunks that its pixels need: the critical ones, and the transparency.
fn png_without_metadata(bytes: &[u8]) -> Option<Stripped> {
    let mut turned = false;
    let mut kept = PNG_MAGIC.to_vec();
    let mut rest = bytes.strip_prefix(PNG_MAGIC)?;
    loop {
        let length = u32::from_be_bytes(*rest.first_chunk()?);
        let (chunk, after) = rest.split_at_checked(usize::try_from(length).ok()?.checked_add(AROUND)?)?;
        let kind = &chunk[4..8];
        if kind[0].is_ascii_uppercase() || kind == b"tRNS" {
            kept.extend_from_slice(chunk);
        }
        turned |= kind == b"eXIf" && is_turned(&chunk[8..chunk.len() - 4]);
        if kind == b"IEND" {
            return Some(Stripped { kept, is_turned: turned });
        }
        rest = after;
    }
}

/// A JPEG without comments and without the segments of applications, but for the first of JFIF (APP0)
/// and the first of Adobe (APP14), without anything behind their fields.
fn jpeg_without_metadata(bytes: &[u8]) -> Option<Stripped> {
    let mut turned = false;
    let start = &JPEG_MAGIC[..2];
    let mut kept = start.to_vec();
    let mut rest = bytes.strip_prefix(start)?;
    let (mut jfif, mut adobe) = (Some(JFIF), Some(ADOBE));
    loop {
        // Before a marker there may be a scan, in which 0xff is followed by 0 or a restart marker.
        let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff);
        let (scan, marked) = rest.split_at(rest.windows(2).position(is_marker)?);
        kept.extend_from_slice(scan);
        if marked.starts_with(JPEG_END) {
            kept.extend_from_slice(JPEG_END);
            return Some(Stripped { kept, is_turned: turned });
        }
        let length = u16::from_be_bytes(*marked.get(2..)?.first_chunk()?);
        let (segment, after) = marked.split_at_checked(2 + usize::from(length))?;
        match segment[1] {
            0xe0 => {
                if let Some(mut first) = shortened(segment, &mut jfif) {
                    first[THUMBNAIL..].fill(0);
                    kept.append(&mut first);
                }
            }
            0xee => kept.extend(shortened(segment, &mut adobe).into_iter().flatten()),
            0xe1 => {
                let exif = segment.get(4..).and_then(|data| data.strip_prefix(EXIF));
                turned |= exif.is_some_and(is_turned);
            }
            0xe2..=0xef | 0xfe => {}
            _ => kept.extend_from_slice(segment),
        }
        rest = after;
    }
}

/// The fields of a segment, if it is the wanted one and the first such.
fn shortened(segment: &[u8], wanted: &mut Option<(&[u8], u16)>) -> Option<Vec<u8>> {
    let data = segment.get(4..)?;
    let (_, length) = wanted.take_if(|(start, _)| data.starts_with(start))?;
    let mut fields = segment.get(..2 + usize::from(length))?.to_vec();
    fields[2..4].copy_from_slice(&length.to_be_bytes());
    Some(fields)
}
