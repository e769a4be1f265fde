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
    assert!(DocumentLogo::parse(rgb(2_000, 2_000)).is_ok());
    assert_eq!(refusal(rgb(2_001, 2_000)), "logo: must have at most 4 megapixels");
    assert!(DocumentLogo::parse(rgb(65_535, 1)).is_ok());
    for (width, height) in [(65_536, 1), (1, 65_536)] {
        assert_eq!(refusal(rgb(width, height)), "logo: must have at most 65,535 pixels on a side");
    }
    let mut padded = rgb(4, 4);
    padded.resize(MOST_BYTES + 1, 0);
    assert_eq!(refusal(padded), "logo: must have at most 256 KiB");
}

#[test]
fn an_image_cut_off_anywhere_is_refused() {
    let file = rgb(40, 40);
    for end in PNG_MAGIC.len()..file.len() {
        assert_eq!(refusal(file[..end].to_vec()), format!("logo: {DAMAGED}"), "{end}");
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
    assert_eq!(refusal(lying.clone()), format!("logo: {DAMAGED}"));
    let checksum = crc32(&lying[12..29]);
    lying[29..33].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(refusal(lying), format!("logo: {DAMAGED}"));
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
