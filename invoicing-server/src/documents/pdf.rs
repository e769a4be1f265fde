//! The renderer that comes with the service: French quotes, invoices and credit notes, typeset.
//!
//! The file is PDF/A-3a (for archives) and PDF/UA-1 (for screen readers). It embeds its fonts; a
//! signed document also embeds the copy that was signed and the proof, and an invoice its XML.
//! Latin, Greek, Cyrillic, Hebrew and Arabic script, emoji and many symbols are printed as entered,
//! and others by plainer characters of the same meaning. Before the signature, any other character
//! is an error that names its field and itself; in a signed document a box stands for it, as the
//! texts can no longer be changed. `content::sanitize` describes the treatment of direction
//! controls.
//!
//! `header`, `logo`, `line_table`, `totals`, `payment`, `legal_notices` and `signature` lay out the
//! parts of a document, whose texts `content` holds. `composer` arranges them in columns and
//! blocks, `typesetter` turns text into glyphs, and `pagination` breaks pages. `tags` holds the
//! structure, and `writer` makes the file.

mod accent;
mod composer;
mod fonts;
mod header;
mod legal_notices;
mod line_table;
mod logo;
mod logo_images;
mod pagination;
mod payment;
mod signature;
mod tags;
#[cfg(test)]
pub(crate) mod tests;
mod totals;
mod typesetter;
mod writer;

use std::rc::Rc;
use std::sync::Arc;

use invoicing_core::Invalid;

use self::composer::{Composer, Look, WIDTH};
use self::fonts::Fonts;
use self::logo_images::LogoImages;
use self::pagination::{Ink, Paginator, PdfPage};
use self::tags::Tags;
use self::typesetter::{Line, Typesetter};
use self::writer::{Running, Writer};
use super::content::sanitize::Unprintable;
use super::content::view::DocumentView;
use super::content::{self, Field};
use super::{DocumentInput, DocumentKind, DocumentRenderer, RenderError};

pub use self::fonts::FontError;

type Result<T, E = RenderError> = std::result::Result<T, E>;

/// A blue that is dark enough to read and to photocopy.
const ACCENT: [u8; 3] = [22, 72, 110];

const HEAD: Look = Look::new(9.0).bold();
const FOOTER: Look = Look::new(7.5).ink(Ink::Muted);

/// Renders quotes, invoices and credit notes as A4 pages, in French.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use invoicing_server::{Invoicing, PdfRenderer};
///
/// # fn host() -> Result<(), Box<dyn std::error::Error>> {
/// let renderer = PdfRenderer::new()
///     .with_accent([0x7a, 0x1f, 0x3d])
///     .with_fallback(std::fs::read("NotoSansArmenian-Regular.ttf")?)?;
/// let builder = Invoicing::sqlite("invoicing.db").renderer(Arc::new(renderer));
/// # Ok(()) }
/// ```
///
/// Cheap to clone: the fonts are parsed once per process, and clones share the logos of late
/// documents.
#[derive(Clone)]
pub struct PdfRenderer {
    fonts: Arc<Fonts>,
    logos: Arc<LogoImages>,
    accent: [u8; 3],
}

impl std::fmt::Debug for PdfRenderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PdfRenderer").field("accent", &self.accent).finish_non_exhaustive()
    }
}

impl Default for PdfRenderer {
    fn default() -> Self {
        Self::new()
    }
}

impl PdfRenderer {
    /// The renderer with the fonts of this crate and a dark blue as the one colour.
    pub fn new() -> Self {
        Self { fonts: Arc::clone(&fonts::EMBEDDED), logos: Arc::default(), accent: ACCENT }
    }

    /// Red, green and blue (sRGB) of the title, the names of lots and the total, for companies
    /// without a colour of their own. Light colours are hard to read.
    #[must_use]
    pub fn with_accent(self, accent: [u8; 3]) -> Self {
        Self { accent, ..self }
    }

    /// Adds a font for characters that the others lack, such as Noto Sans Thai: a static OpenType
    /// font that may be embedded. Fonts are tried in the order in which they were added, after
    /// those of this crate.
    ///
    /// ```no_run
    /// # use invoicing_server::{Invoicing, PdfRenderer};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let noto = std::path::Path::new("/usr/share/fonts/truetype/noto");
    /// let mut renderer = PdfRenderer::new();
    /// for script in ["Armenian", "Devanagari", "Georgian", "Tamil", "Thai"] {
    ///     renderer = renderer.with_fallback(std::fs::read(noto.join(format!("NotoSans{script}-Regular.ttf")))?)?;
    /// }
    /// let builder = Invoicing::sqlite("invoicing.db").renderer(std::sync::Arc::new(renderer));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`FontError`] for any other bytes.
    pub fn with_fallback(self, font_bytes: impl Into<Vec<u8>>) -> Result<Self, FontError> {
        let mut fonts = Arc::unwrap_or_clone(self.fonts);
        fonts.add_fallback(Arc::new(font_bytes.into()))?;
        Ok(Self { fonts: Arc::new(fonts), ..self })
    }

    fn file(&self, view: &DocumentView<'_>) -> Result<Vec<u8>> {
        let (pages, tags, running) = self.compose(view)?;
        let accent = accent::accent(view.company.identity.color.as_deref(), self.accent);
        Writer { accent, tags, outline: None }.write(view, &pages, &running)
    }

    fn compose(&self, view: &DocumentView<'_>) -> Result<(Vec<PdfPage>, Tags, Running)> {
        let mut composer = self.composer(view, None);
        let pages = pages(&mut composer, view)?;
        let running = running(&mut composer, view, pages.len())?;
        Ok((pages, composer.tags, running))
    }

    /// The texts that cannot be printed.
    fn refused(&self, view: &DocumentView<'_>) -> Result<Vec<Invalid>> {
        let mut composer = self.composer(view, Some(Vec::new()));
        match pages(&mut composer, view) {
            Ok(_) => Ok(composer.refused.unwrap_or_default()),
            // An error that is not about a character, such as too many pages.
            Err(RenderError::Text(invalid)) => Ok(vec![invalid]),
            Err(error) => Err(error),
        }
    }

    fn composer<'c>(&'c self, view: &DocumentView<'c>, refused: Option<Vec<Invalid>>) -> Composer<'c> {
        let pages = Paginator::new(view.deadline);
        // The sent quote could be printed, so only the signer's texts may not be printable. They
        // must not prevent a signature. Nor may a text prevent a credit note, and with it the
        // cancellation of an invoice that was issued without a document.
        let is_signed = view.offer.is_some_and(|offer| offer.signature.is_some());
        let is_boxed = is_signed || view.kind == DocumentKind::CreditNote;
        let unprintable = if is_boxed { Unprintable::Boxed } else { Unprintable::Refused };
        let set = Typesetter::new(&self.fonts, unprintable);
        Composer { set, refused, pages, tags: Tags::default(), logos: &self.logos }
    }
}

/// The pages without their running heads and footers.
fn pages(composer: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<Vec<PdfPage>> {
    header::head(composer, view)?;
    line_table::line_table(composer, view)?;
    totals::totals(composer, view)?;
    payment::payment(composer, view)?;
    legal_notices::legal_notices(composer, view)?;
    signature::signature(composer, view)?;
    composer.pages.finish()
}

impl DocumentRenderer for PdfRenderer {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>> {
        self.file(&DocumentView::of(input))
    }

    fn check(&self, input: &DocumentInput<'_>) -> Result<Vec<Invalid>> {
        self.refused(&DocumentView::of(input))
    }
}

/// The lines that every page repeats: `Devis DEV-2026-0042 — Atelier Léa Martin`, and in the footer
/// `page 1 / 2` behind it.
fn running(to: &mut Composer<'_>, view: &DocumentView<'_>, pages: usize) -> Result<Running> {
    let title = content::running_title(view);
    let numbers = (1..=pages).map(|page| line(to, &format!(" — page {page} / {pages}"), FOOTER));
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    let room = WIDTH - numbers.last().map_or(0.0, |line| line.width);
    Ok(Running { head: cut(to, &title, HEAD, WIDTH)?, footer: cut(to, &title, FOOTER, room)?, numbers })
}

/// A text on one line, cut if it is wider than its room.
fn cut(to: &mut Composer<'_>, full: &str, look: Look, room: f32) -> Result<Rc<Line>> {
    let mut text = line(to, full, look)?;
    let mut kept = full.chars().count();
    while text.width > room && kept > 1 {
        // Cut by an eighth, so that a long name takes few layouts.
        kept -= kept.div_ceil(8);
        let cut: String = full.chars().take(kept).collect();
        text = line(to, &format!("{}…", cut.trim_end()), look)?;
    }
    Ok(text)
}

fn line(to: &mut Composer<'_>, text: &str, look: Look) -> Result<Rc<Line>> {
    let lines = to.lines(Field::Named("number"), text, look.style, None)?;
    lines.into_iter().next().ok_or_else(|| RenderError::new("a running line is empty"))
}
