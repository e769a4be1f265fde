//! The fonts of a document: compiled in, parsed once, shared by all documents.
//!
//! Text is in Inter; the Noto families cover the characters that it lacks (see `fonts/README.md`).
//! System fonts are never used, because the same input must give the same bytes everywhere.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use krilla::text::Font;
use parley::FontContext;
use parley::fontique::{Blob, Collection, CollectionOptions, FontInfoOverride, FontWeight, SourceCache};
use parley::style::FontFamilyName;

/// Weight of normal text (OpenType `usWeightClass`).
pub(super) const REGULAR: FontWeight = FontWeight::new(400.0);
/// Weight of emphasised text.
pub(super) const BOLD: FontWeight = FontWeight::new(600.0);

static INTER: &[u8] = include_bytes!("../../../fonts/Inter-Regular.ttf");
static INTER_BOLD: &[u8] = include_bytes!("../../../fonts/Inter-SemiBold.ttf");
/// The fonts after Inter, in the order in which they are tried: letters before pictures.
static FALLBACKS: [&[u8]; 7] = [
    include_bytes!("../../../fonts/NotoSans-Regular.ttf"),
    include_bytes!("../../../fonts/NotoSansHebrew-Regular.ttf"),
    include_bytes!("../../../fonts/NotoSansArabic-Regular.ttf"),
    include_bytes!("../../../fonts/NotoEmoji-Regular.ttf"),
    include_bytes!("../../../fonts/NotoSansSymbols2-Regular.ttf"),
    include_bytes!("../../../fonts/NotoSansSymbols-Regular.ttf"),
    include_bytes!("../../../fonts/NotoSansMath-Regular.ttf"),
];

/// The error of bytes that a document cannot embed as a font.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a static OpenType font")]
#[non_exhaustive]
pub struct FontError;

/// Parsed fonts.
#[derive(Clone)]
pub(super) struct Fonts {
    /// The context for layouts, which change its cache: each document has a copy.
    pub(super) context: FontContext,
    /// The font families in the order in which they are tried, Inter first.
    pub(super) families: Vec<FontFamilyName<'static>>,
    /// The fonts for drawing, by the id that a layout gives to their bytes.
    pub(super) faces: HashMap<u64, Font>,
}

/// The fonts that come with the service.
pub(super) static EMBEDDED: LazyLock<Arc<Fonts>> = LazyLock::new(|| {
    let options = CollectionOptions { shared: false, system_fonts: false };
    let context = FontContext { collection: Collection::new(options), source_cache: SourceCache::default() };
    let mut fonts = Fonts { context, families: Vec::new(), faces: HashMap::new() };
    for (bytes, weight) in [(INTER, REGULAR), (INTER_BOLD, BOLD)] {
        fonts.add(Arc::new(bytes), "text", weight).expect("a font of this crate");
    }
    for bytes in FALLBACKS {
        fonts.add_fallback(Arc::new(bytes)).expect("a font of this crate");
    }
    Arc::new(fonts)
});

impl Fonts {
    /// Adds a font that is tried after all others.
    pub(super) fn add_fallback(
        &mut self,
        bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
    ) -> Result<(), FontError> {
        let family = format!("fallback {}", self.faces.len());
        self.add(bytes, &family, REGULAR)
    }

    fn add(
        &mut self,
        bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
        family: &str,
        weight: FontWeight,
    ) -> Result<(), FontError> {
        let font = Font::new(Arc::clone(&bytes).into(), 0).ok_or(FontError)?;
        let blob = Blob::new(bytes);
        let id = blob.id();
        let names = FontInfoOverride {
            family_name: Some(family),
            weight: Some(weight),
            ..FontInfoOverride::default()
        };
        let registered = self.context.collection.register_fonts(blob, Some(names));
        // A variable font or a collection holds several designs, without a rule for the one to use.
        match registered.as_slice() {
            [(_, infos)] if infos.len() == 1 && infos[0].axes().is_empty() => {}
            _ => return Err(FontError),
        }
        let name = FontFamilyName::Named(Cow::Owned(family.to_owned()));
        if !self.families.contains(&name) {
            self.families.push(name);
        }
        self.faces.insert(id, font);
        Ok(())
    }
}
