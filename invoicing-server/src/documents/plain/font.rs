//! The two standard fonts and how wide their characters are. Lines are broken here.

use pdf_writer::Name;

/// A standard font that every reader of PDF has (ISO 32000-1, 9.6.2.2), in `WinAnsiEncoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Font {
    /// Helvetica.
    Regular,
    /// Helvetica-Bold.
    Bold,
}

impl Font {
    /// Both fonts.
    pub(super) const ALL: [Self; 2] = [Self::Regular, Self::Bold];

    /// The name under which a page refers to the font.
    pub(super) const fn resource(self) -> Name<'static> {
        match self {
            Self::Regular => Name(b"F1"),
            Self::Bold => Name(b"F2"),
        }
    }

    /// The font's own name.
    pub(super) const fn base(self) -> Name<'static> {
        match self {
            Self::Regular => Name(b"Helvetica"),
            Self::Bold => Name(b"Helvetica-Bold"),
        }
    }

    /// Width of the text at a size, in the unit of the size.
    pub(super) fn width(self, text: &[u8], size: f32) -> f32 {
        text.iter().map(|byte| self.advance(*byte)).sum::<f32>() * size / 1_000.0
    }

    /// Width of one character in thousandths of the size.
    fn advance(self, byte: u8) -> f32 {
        let widths = match self {
            Self::Regular => &HELVETICA,
            Self::Bold => &HELVETICA_BOLD,
        };
        // Control characters do not come here; a reader would show nothing for them.
        byte.checked_sub(b' ').map_or(0.0, |index| f32::from(widths[usize::from(index)]))
    }

    /// Breaks the text into lines that fit the width: at spaces, and inside a word that does not fit alone. Of several
    /// empty lines one is kept.
    pub(super) fn wrap(self, text: &[u8], size: f32, width: f32) -> Vec<Vec<u8>> {
        let mut lines = Vec::<Vec<u8>>::new();
        for paragraph in text.split(|byte| *byte == b'\n') {
            let first = lines.len();
            let mut line = Line { font: self, limit: width * 1_000.0 / size, bytes: Vec::new(), width: 0.0 };
            for word in paragraph.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
                line.add(word, &mut lines);
            }
            let doubled = lines.last().is_some_and(Vec::is_empty);
            if !line.bytes.is_empty() || (lines.len() == first && !doubled) {
                lines.push(line.bytes);
            }
        }
        lines
    }
}

/// The line that is being filled. Widths in thousandths of the size.
struct Line {
    font: Font,
    limit: f32,
    bytes: Vec<u8>,
    width: f32,
}

impl Line {
    fn add(&mut self, word: &[u8], full: &mut Vec<Vec<u8>>) {
        let with_space = self.width + self.font.width(b" ", 1_000.0) + self.font.width(word, 1_000.0);
        if !self.bytes.is_empty() {
            if with_space <= self.limit {
                self.bytes.push(b' ');
                self.bytes.extend_from_slice(word);
                self.width = with_space;
                return;
            }
            self.end(full);
        }
        for byte in word {
            let advance = self.font.advance(*byte);
            if self.width + advance > self.limit && !self.bytes.is_empty() {
                self.end(full);
            }
            self.bytes.push(*byte);
            self.width += advance;
        }
    }

    fn end(&mut self, full: &mut Vec<Vec<u8>>) {
        full.push(std::mem::take(&mut self.bytes));
        self.width = 0.0;
    }
}

// Adobe's font metrics for the codes 0x20 to 0xFF in thousandths of the size.

const HELVETICA: [u16; 224] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, 350, 556, 350, 222, 556, 333, 1000, 556, 556, 333,
    1000, 667, 333, 1000, 350, 611, 350, 350, 222, 222, 333, 333, 350, 556, 1000, 333, 1000, 500, 333, 944,
    350, 500, 667, 278, 333, 556, 556, 556, 556, 260, 556, 333, 737, 370, 556, 584, 333, 737, 333, 400, 584,
    333, 333, 333, 556, 537, 278, 333, 333, 365, 556, 834, 834, 834, 611, 667, 667, 667, 667, 667, 667, 1000,
    722, 667, 667, 667, 667, 278, 278, 278, 278, 722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722,
    722, 667, 667, 611, 556, 556, 556, 556, 556, 556, 889, 500, 556, 556, 556, 556, 278, 278, 278, 278, 556,
    556, 556, 556, 556, 556, 556, 584, 611, 556, 556, 556, 556, 500, 556, 500,
];
const HELVETICA_BOLD: [u16; 224] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278,
    556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584,
    556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556,
    333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584, 350, 556, 350, 278, 556, 500, 1000, 556, 556, 333,
    1000, 667, 333, 1000, 350, 611, 350, 350, 278, 278, 500, 500, 350, 556, 1000, 333, 1000, 556, 333, 944,
    350, 500, 667, 278, 333, 556, 556, 556, 556, 280, 556, 333, 737, 370, 556, 584, 333, 737, 333, 400, 584,
    333, 333, 333, 611, 556, 278, 333, 333, 365, 556, 834, 834, 834, 611, 722, 722, 722, 722, 722, 722, 1000,
    722, 667, 667, 667, 667, 278, 278, 278, 278, 722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722,
    722, 667, 667, 611, 556, 556, 556, 556, 556, 556, 889, 556, 556, 556, 556, 556, 278, 278, 278, 278, 611,
    611, 611, 611, 611, 611, 611, 584, 611, 611, 611, 611, 611, 556, 611, 556,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn widths_are_the_font_s() {
        assert!((Font::Regular.width(b"Hi \x80", 10.0) - (7.22 + 2.22 + 2.78 + 5.56)).abs() < 0.001);
        assert!((Font::Bold.width(b"Hi", 10.0) - (7.22 + 2.78)).abs() < 0.001);
    }

    #[test]
    fn lines_break_at_spaces_and_in_long_words() {
        let wrap = |text: &[u8]| Font::Regular.wrap(text, 10.0, 30.0);
        assert_eq!(wrap(b"aaaa bbbb"), [b"aaaa", b"bbbb"]);
        assert_eq!(wrap(b"aaaaaaa"), [&b"aaaaa"[..], b"aa"]);
        assert_eq!(wrap(b"a\n\n\n\nb\n"), [&b"a"[..], b"", b"b", b""]);
        assert_eq!(wrap(b""), [b""]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_nothing_is_lost(text in "[a-zA-Z0-9 .]{0,300}", width in 12.0_f32..200.0) {
            let lines = Font::Bold.wrap(text.as_bytes(), 10.0, width);
            for line in &lines {
                prop_assert!(Font::Bold.width(line, 10.0) <= width + 0.01);
            }
            let visible = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b' ').collect::<Vec<_>>();
            prop_assert_eq!(visible(&lines.concat()), visible(text.as_bytes()));
        }
    }
}
