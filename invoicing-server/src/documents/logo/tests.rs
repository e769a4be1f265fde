use super::*;

/// A PNG of one colour.
fn png(width: u32, height: u32, color: png::ColorType, depth: BitDepth) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![10, 20, 30]);
    }
    let row = color.samples() * width as usize * depth as usize / 8;
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&vec![0; row * height as usize]).unwrap();
    writer.finish().unwrap();
    file
}

fn rgb(width: u32, height: u32) -> Vec<u8> {
    png(width, height, png::ColorType::Rgb, BitDepth::Eight)
}

/// A grey JPEG of 8 by 8 pixels.
const JPEG: &[u8] = include_bytes!("tests/grey.jpg");

fn refusal(bytes: impl Into<Bytes>) -> String {
    DocumentLogo::parse(bytes).unwrap_err().to_string()
}

#[test]
fn a_png_or_a_jpeg_is_accepted() {
    for color in [png::ColorType::Grayscale, png::ColorType::Rgba, png::ColorType::Indexed] {
        let logo = DocumentLogo::parse(png(16, 9, color, BitDepth::Eight)).unwrap();
        assert_eq!(logo.format, LogoFormat::Png);
    }
    let logo = DocumentLogo::parse(JPEG).unwrap();
    assert_eq!((logo.format, &logo.bytes[..]), (LogoFormat::Jpeg, JPEG));
    assert_eq!(
        DocumentLogo::parse(include_bytes!("tests/rgb.jpg").as_slice()).unwrap().format,
        LogoFormat::Jpeg
    );
}

/// A chunk of a PNG.
fn chunk(kind: &str, data: &[u8]) -> Vec<u8> {
    let typed = [kind.as_bytes(), data].concat();
    let length = u32::try_from(data.len()).unwrap();
    [&length.to_be_bytes(), &*typed, &crc32(&typed).to_be_bytes()].concat()
}

/// Bytes of a PNG up to the end of its header, which has 13 bytes.
const HEADED: usize = PNG_MAGIC.len() + 12 + 13;

/// Rules: DOCUMENT-28
#[test]
fn a_png_keeps_no_metadata() {
    let plain = rgb(16, 9);
    let (before, after) = plain.split_at(HEADED);
    let metadata = [chunk("iCCP", b"x"), chunk("eXIf", b"GPS"), chunk("tEXt", b"Author\0x")].concat();
    let tagged = [before, &metadata, after, b"trailer"].concat();
    assert!(DocumentLogo::parse(tagged).unwrap().bytes == plain);
    let transparent = [before, &chunk("tRNS", &[0; 6]), after].concat();
    assert!(DocumentLogo::parse(transparent.clone()).unwrap().bytes == transparent);
}

/// A segment of a JPEG.
fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 2).unwrap();
    [&[0xff, marker], &length.to_be_bytes()[..], data].concat()
}

/// Rules: DOCUMENT-28
#[test]
fn a_jpeg_keeps_no_metadata() {
    for plain in [JPEG, include_bytes!("tests/rgb.jpg")] {
        let plain = DocumentLogo::parse(plain).unwrap().bytes;
        let (before, after) = plain.split_at(2);
        let metadata =
            [segment(0xe1, b"Exif\0\0GPS"), segment(0xe2, b"ICC_PROFILE\0x"), segment(0xfe, b"Author")];
        let second = [segment(0xe1, b"Exif"), JPEG_END.to_vec()].concat();
        let tagged = [before, &metadata.concat(), after, &second].concat();
        assert!(DocumentLogo::parse(tagged).unwrap().bytes == plain);
        let without = |segments: &[Vec<u8>]| {
            let tagged = [before, &segments.concat(), after].concat();
            without_metadata(&DocumentLogo::checked_before(tagged.into()).unwrap()).unwrap()
        };
        let (adobe, longer) = (b"Adobe\0\x64\0\0\0\0\x01", b"Adobe\0\x64\0\0\0\0\x01and more");
        let kept = [before, &segment(0xee, adobe), after].concat();
        assert!(without(&[segment(0xee, adobe)]) == kept);
        assert!(without(&[segment(0xee, longer), segment(0xee, adobe)]) == kept, "the first one, cut");
        // Too short for any fields, or for those of Adobe and JFIF.
        assert!(
            without(&[segment(0xee, b""), segment(0xee, b"Adobe"), segment(0xe0, b"JFXX\0\x10")]) == plain
        );
        // A segment of JFIF with a thumbnail, which comes first and counts instead of the image's own.
        let thumbnail = segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\x01\x01rgb");
        assert!(without(&[thumbnail]) == plain);
    }
}

/// Exif data with an orientation, after an entry of another tag, and of a thumbnail that is turned.
fn exif(is_little: bool, orientation: u16) -> Vec<u8> {
    let short = |number: u16| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
    let long = |number: u32| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
    let entry = |tag, value| [&short(tag)[..], &short(3), &long(1), &short(value), &[0; 2]].concat();
    let magic = if is_little { b"II" } else { b"MM" };
    let first = [entry(0x0100, 6), entry(0x0112, orientation)].concat();
    let thumbnail = [&short(1)[..], &entry(0x0112, 6), &long(0)].concat();
    // The first directory begins at 10, and ends at 40.
    let head = [&magic[..], &short(42), &long(10), &[0; 2]].concat();
    [&head[..], &short(2), &first, &long(40), &thumbnail].concat()
}

fn jpeg_with(segments: &[Vec<u8>]) -> Vec<u8> {
    [&JPEG[..2], &segments.concat(), &JPEG[2..]].concat()
}

fn png_with(chunks: &[Vec<u8>]) -> Vec<u8> {
    let plain = rgb(16, 9);
    [&plain[..HEADED], &chunks.concat(), &plain[HEADED..]].concat()
}

fn exif_segment(exif: &[u8]) -> Vec<u8> {
    segment(0xe1, &[b"Exif\0\0", exif].concat())
}

/// Rules: DOCUMENT-28
#[test]
fn an_image_that_its_exif_data_turn_is_refused() {
    let turned = format!("logo: {}", LogoRule::Turned);
    for (is_little, orientation) in
        [true, false].into_iter().flat_map(|little| (0..=9).map(move |o| (little, o)))
    {
        let exif = exif(is_little, orientation);
        let xmp = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x/>");
        let upright = exif_segment(&self::exif(is_little, 1));
        let late = [&JPEG[..JPEG.len() - 2], &exif_segment(&exif), JPEG_END].concat();
        let images = [
            jpeg_with(&[exif_segment(&exif)]),
            jpeg_with(&[xmp.clone(), exif_segment(&exif), xmp]),
            jpeg_with(&[upright, exif_segment(&exif)]),
            late,
            png_with(&[chunk("eXIf", &exif)]),
            png_with(&[chunk("tEXt", b"a\0b"), chunk("eXIf", &exif)]),
        ];
        for (index, image) in images.into_iter().enumerate() {
            let refused = DocumentLogo::parse(image).err().map(|refused| refused.to_string());
            let wanted = (2..=8).contains(&orientation).then(|| turned.clone());
            assert_eq!(refused, wanted, "{index}, little-endian {is_little}, {orientation}");
        }
    }
}

/// Rules: DOCUMENT-28
#[test]
fn exif_data_that_cannot_be_read_turn_nothing() {
    for whole in [exif(true, 6), exif(false, 6)] {
        // The entry of the orientation ends at 36.
        for end in 0..whole.len() {
            let refused = DocumentLogo::parse(png_with(&[chunk("eXIf", &whole[..end])])).is_err();
            assert_eq!(refused, end >= 36, "{end}");
            assert_eq!(DocumentLogo::parse(jpeg_with(&[exif_segment(&whole[..end])])).is_err(), refused);
        }
        // Any other byte: neither a panic, nor a loop.
        for (at, byte) in (0..whole.len()).flat_map(|at| [0, 1, 0x7f, 0xff].map(|byte| (at, byte))) {
            let mut broken = whole.clone();
            broken[at] = byte;
            let png = DocumentLogo::parse(png_with(&[chunk("eXIf", &broken)])).is_ok();
            assert_eq!(DocumentLogo::parse(jpeg_with(&[exif_segment(&broken)])).is_ok(), png, "{at}");
        }
        let far = [&whole[..4], &[0xff; 4], &whole[8..]].concat();
        let of_another_type = [&whole[..26], &[9, 9], &whole[28..]].concat();
        assert!(DocumentLogo::parse(jpeg_with(&[vec![0xff, 0xe1, 0, 0]])).is_ok(), "a length below its own");
        let cut = [&b"Exif\0"[..], &whole].concat();
        for segments in
            [exif_segment(&far), exif_segment(&of_another_type), segment(0xe1, &cut), segment(0xe1, b"")]
        {
            assert!(DocumentLogo::parse(jpeg_with(&[segments])).is_ok());
        }
    }
}

#[test]
fn any_other_format_is_refused() {
    for bytes in [&b""[..], b"GIF89a", b"<svg/>", b"%PDF-1.7"] {
        assert_eq!(refusal(bytes), "logo: must be a PNG or a JPEG");
    }
    let deep = png(4, 4, png::ColorType::Rgb, BitDepth::Sixteen);
    assert_eq!(refusal(deep), "logo: must have at most 8 bits per channel");
    assert_eq!(refusal(include_bytes!("tests/cmyk.jpg").as_slice()), "logo: must be in grey or RGB");
}

#[test]
fn a_large_image_is_refused() {
    assert!(DocumentLogo::parse(rgb(1_000, 1_000)).is_ok());
    assert_eq!(refusal(rgb(1_001, 1_000)), "logo: must have at most 1 megapixel");
    assert!(DocumentLogo::parse(rgb(65_535, 1)).is_ok());
    for (width, height) in [(65_536, 1), (1, 65_536)] {
        assert_eq!(refusal(rgb(width, height)), "logo: must have at most 65,535 pixels on a side");
    }
    let mut padded = rgb(4, 4);
    padded.resize(MAX_BYTES + 1, 0);
    assert_eq!(refusal(padded), "logo: must have at most 256 KiB");
}

/// A filter of PNG makes each row the sum of the rows above it: the same random bytes in each row, of a file that is small,
/// are pixels without a pattern that Deflate sees.
#[test]
fn pixels_that_only_a_filter_makes_small_are_refused() {
    for (color, columns) in
        [(png::ColorType::Rgb, 1_000), (png::ColorType::Rgba, 700), (png::ColorType::GrayscaleAlpha, 900)]
    {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, columns, 900);
        encoder.set_color(color);
        encoder.set_filter(png::Filter::Up);
        let mut noise = 1_u32;
        let mut random = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            noise.to_be_bytes()[0]
        };
        let row: Vec<u8> = (0..color.samples() * columns as usize).map(|_| random()).collect();
        let mut pixels = vec![0_u8; row.len()];
        let mut writer = encoder.write_header().unwrap();
        let rows = (0..900).flat_map(|_| {
            pixels.iter_mut().zip(&row).for_each(|(pixel, added)| *pixel = pixel.wrapping_add(*added));
            pixels.clone()
        });
        writer.write_image_data(&rows.collect::<Vec<_>>()).unwrap();
        writer.finish().unwrap();
        assert!(file.len() < 30_000, "{}", file.len());
        assert_eq!(refusal(file), "logo: must have at most 256 KiB of pixels once they are compressed");
    }
}

#[test]
fn an_image_cut_off_anywhere_is_refused() {
    let file = rgb(40, 40);
    for end in PNG_MAGIC.len()..file.len() {
        assert_eq!(refusal(file[..end].to_vec()), format!("logo: {}", LogoRule::Damaged), "{end}");
    }
    for end in JPEG_MAGIC.len()..JPEG.len() {
        assert!(DocumentLogo::parse(&JPEG[..end]).is_err(), "{end} of {}", JPEG.len());
    }
}

#[test]
fn an_image_of_another_size_than_it_states_is_refused() {
    let mut lying = rgb(40, 40);
    // The height in the header, with the checksum left as it is, then with the right one.
    lying[23] = 80;
    assert_eq!(refusal(lying.clone()), format!("logo: {}", LogoRule::Damaged));
    let checksum = crc32(&lying[12..29]);
    lying[29..33].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(refusal(lying), format!("logo: {}", LogoRule::Damaged));
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
