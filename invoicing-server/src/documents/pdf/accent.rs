//! The one colour of a document.

/// Least contrast of text against white (WCAG 2.2, success criterion 1.4.3).
const LEAST_CONTRAST: f64 = 4.5;

/// The company's colour if it can be read on white, or else the renderer's.
pub(super) fn accent(entered: Option<&str>, default: [u8; 3]) -> [u8; 3] {
    entered.and_then(parse).filter(|color| contrast(*color) >= LEAST_CONTRAST).unwrap_or(default)
}

/// Red, green and blue of `#16486e`.
fn parse(color: &str) -> Option<[u8; 3]> {
    let hex = color.strip_prefix('#').filter(|hex| hex.len() == 6 && hex.is_ascii())?;
    let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
    Some([part(0)?, part(2)?, part(4)?])
}

/// The contrast ratio of a colour against white, 1 to 21 (WCAG 2.2).
fn contrast(color: [u8; 3]) -> f64 {
    let [red, green, blue] = color.map(linear);
    1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
}

/// The intensity of a channel of sRGB, 0 to 1.
fn linear(channel: u8) -> f64 {
    let value = f64::from(channel) / 255.0;
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: [u8; 3] = [1, 2, 3];

    #[test]
    fn a_colour_is_used_if_its_contrast_is_enough() {
        // The lightest grey of enough contrast, and the next one.
        assert_eq!(accent(Some("#767676"), DEFAULT), [0x76; 3]);
        assert_eq!(accent(Some("#777777"), DEFAULT), DEFAULT);
        assert_eq!(accent(Some("#16486e"), DEFAULT), [0x16, 0x48, 0x6e]);
        assert_eq!(accent(Some("#ffd400"), DEFAULT), DEFAULT);
    }

    #[test]
    fn any_other_text_leaves_the_default() {
        for color in [None, Some(""), Some("16486e"), Some("#16486"), Some("#16486é"), Some("#gg0000")] {
            assert_eq!(accent(color, DEFAULT), DEFAULT, "{color:?}");
        }
        assert!((contrast([255; 3]) - 1.0).abs() < 1e-9 && (contrast([0; 3]) - 21.0).abs() < 1e-9);
    }
}
