//! The logo of a company on its documents, and the checks that it can be printed.

mod metadata;
mod orientation;

use std::io::{self, Cursor, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use invoicing_core::{Invalid, LogoRule};
use png::{BitDepth, ColorType, Limits};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use self::metadata::without_metadata;

/// Maximum number of bytes of an image, and of its pixels as a document embeds them.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum number of pixels of an image. Bounds the time and the memory of its decoding. The place
/// of the logo, 140 by 48 points, has a ninth of them at 300 dots per inch.
const MAX_PIXELS: u64 = 1_000_000;
/// Maximum number of pixels on a side.
const MAX_SIDE: u64 = 65_535;
/// Maximum number of bytes that a PNG's metadata may take once unpacked.
const MAX_METADATA: usize = 8 * 1024 * 1024;

const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG_MAGIC: &[u8] = b"\xff\xd8\xff";

const JPEG_END: &[u8] = b"\xff\xd9";

/// A logo that was checked before it was stored.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentLogo {
    /// The format of the image.
    pub format: LogoFormat,
    /// The image.
    pub bytes: Bytes,
}

/// The format of a logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogoFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
}

impl DocumentLogo {
    /// Checks an image: PNG or JPEG, at most 256 KiB and 1 megapixel, complete, and in grey or RGB
    /// with 8 bits per channel at most. The pixels of a PNG must have at most 256 KiB in a document
    /// too, which compresses them without the filters of PNG. The logo has none of the image's
    /// metadata, which documents would carry to customers: where a photo was taken, or a colour
    /// profile. It is therefore upright without them: an image that an Exif orientation turns or
    /// mirrors is refused.
    ///
    /// Decodes and compresses the image, which may take a tenth of a second.
    ///
    /// # Errors
    /// [`Invalid`] about the field `logo` for any other bytes.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, Invalid> {
        let bytes = bytes.into();
        if bytes.len() > MAX_BYTES {
            return Err(invalid(LogoRule::Bytes));
        }
        let image = Self::checked_before(bytes).ok_or_else(|| invalid(LogoRule::Format))?;
        let bytes = without_metadata(&image).map_err(invalid)?;
        let checked = match image.format {
            LogoFormat::Png => check_png(&bytes),
            LogoFormat::Jpeg => check_jpeg(&bytes),
        };
        checked.map_err(invalid)?;
        Ok(Self { bytes: bytes.into(), ..image })
    }

    /// An image that was checked when it was stored; `None` for a format that no logo has.
    pub(crate) fn checked_before(bytes: Bytes) -> Option<Self> {
        let format = if bytes.starts_with(PNG_MAGIC) {
            LogoFormat::Png
        } else if bytes.starts_with(JPEG_MAGIC) {
            LogoFormat::Jpeg
        } else {
            return None;
        };
        Some(Self { format, bytes })
    }
}

fn invalid(rule: LogoRule) -> Invalid {
    Invalid::new("logo", rule)
}

fn check_png(bytes: &[u8]) -> Result<(), LogoRule> {
    let limits = Limits { bytes: MAX_METADATA };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let header = decoder.read_header_info().map_err(|_| LogoRule::Damaged)?;
    check_size(header.width.into(), header.height.into())?;
    if header.bit_depth == BitDepth::Sixteen {
        return Err(LogoRule::Depth);
    }
    // As the renderer decodes it: a palette becomes colours.
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(|_| LogoRule::Damaged)?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or(LogoRule::Damaged)?];
    reader.next_frame(&mut pixels).map_err(|_| LogoRule::Damaged)?;
    reader.finish().map_err(|_| LogoRule::Damaged)?;
    let (color, _) = reader.output_color_type();
    match embedded_size(&pixels, color) {
        Ok(size) if size <= MAX_BYTES => Ok(()),
        _ => Err(LogoRule::Incompressible),
    }
}

/// The size of pixels in a document, where the renderer compresses colours and transparency by
/// themselves.
fn embedded_size(pixels: &[u8], color: ColorType) -> io::Result<usize> {
    let samples = color.samples();
    let colors =
        if matches!(color, ColorType::GrayscaleAlpha | ColorType::Rgba) { samples - 1 } else { samples };
    let channels = |range: std::ops::Range<usize>| {
        let channels = pixels.chunks_exact(samples).flat_map(|pixel| &pixel[range.clone()]);
        let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
        compressed.write_all(&channels.copied().collect::<Vec<u8>>())?;
        compressed.finish()
    };
    Ok(channels(0..colors)?.len() + channels(colors..samples)?.len())
}

fn check_jpeg(bytes: &[u8]) -> Result<(), LogoRule> {
    let options = DecoderOptions::default().set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| LogoRule::Damaged)?;
    let (width, height) = decoder.dimensions().ok_or(LogoRule::Damaged)?;
    check_size(width as u64, height as u64)?;
    match decoder.input_colorspace() {
        Some(ColorSpace::Luma | ColorSpace::RGB | ColorSpace::YCbCr) => {}
        _ => return Err(LogoRule::Colors),
    }
    decoder.decode().map_err(|_| LogoRule::Damaged)?;
    // The decoder makes up the last pixels of a file that is cut off just before its end.
    bytes.ends_with(JPEG_END).then_some(()).ok_or(LogoRule::Damaged)
}

fn check_size(width: u64, height: u64) -> Result<(), LogoRule> {
    match width.saturating_mul(height) {
        0 => Err(LogoRule::Damaged),
        pixels if pixels > MAX_PIXELS => Err(LogoRule::Pixels),
        _ if width.max(height) > MAX_SIDE => Err(LogoRule::Side),
        _ => Ok(()),
    }
}

impl std::fmt::Debug for DocumentLogo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentLogo")
            .field("format", &self.format)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
