//! The fonts of a document: compiled in, parsed once, shared by all documents.
//!
//! Text is in Inter; the Noto families cover the characters that it lacks (see `fonts/README.md`). System fonts are never
//! used, because the same input must give the same bytes everywhere.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use krilla::text::Font;
use parley::FontContext;
use parley::fontique::{Blob, Collection, CollectionOptions, FontInfoOverride, FontWeight, SourceCache};
use parley::style::FontFamilyName;

/// Weight of normal text (OpenType `usWeightClass`).
pub(super) const REGULAR: FontWeight = FontWeight::new(400.0);
/// Weight of emphasised text.
pub(super) const BOLD: FontWeight = FontWeight::new(600.0);

macro_rules! font {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fonts/", $name, ".ttf"))
    };
}

static INTER: &[u8] = font!("Inter-Regular");
static INTER_BOLD: &[u8] = font!("Inter-SemiBold");
/// Tried in this order: letters before pictures.
static FALLBACKS: [&[u8]; 5] = [
    font!("NotoSans-Regular"),
    font!("NotoSansHebrew-Regular"),
    font!("NotoSansArabic-Regular"),
    font!("NotoEmoji-Regular"),
    font!("NotoSansSymbols2-Regular"),
];

/// The bytes are not a font that a document can embed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a static OpenType font")]
#[non_exhaustive]
pub struct NotAFont;

/// Parsed fonts, in the order in which they are tried.
#[derive(Clone)]
pub(super) struct Fonts {
    context: FontContext,
    families: Vec<FontFamilyName<'static>>,
    faces: Vec<Face>,
}

#[derive(Clone)]
struct Face {
    /// The id under which the layout knows this font's bytes.
    blob: u64,
    font: Font,
}

impl Fonts {
    /// The fonts that come with the service.
    pub(super) fn embedded() -> Arc<Self> {
        static EMBEDDED: LazyLock<Arc<Fonts>> = LazyLock::new(|| {
            let options = CollectionOptions { shared: false, system_fonts: false };
            let context =
                FontContext { collection: Collection::new(options), source_cache: SourceCache::default() };
            let mut fonts = Fonts { context, families: Vec::new(), faces: Vec::new() };
            let inter = [(INTER, REGULAR), (INTER_BOLD, BOLD)];
            for (bytes, weight) in inter {
                fonts.add(Arc::new(bytes), "text", weight).expect("a font of this crate");
            }
            for bytes in FALLBACKS {
                fonts.add_fallback(Arc::new(bytes)).expect("a font of this crate");
            }
            Arc::new(fonts)
        });
        Arc::clone(&EMBEDDED)
    }

    /// Adds a font that is tried after all others.
    pub(super) fn add_fallback(&mut self, bytes: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<(), NotAFont> {
        let family = format!("fallback {}", self.faces.len());
        self.add(bytes, &family, REGULAR)
    }

    fn add(
        &mut self,
        bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
        family: &str,
        weight: FontWeight,
    ) -> Result<(), NotAFont> {
        let font = Font::new(Arc::clone(&bytes).into(), 0).ok_or(NotAFont)?;
        let blob = Blob::new(bytes);
        let id = blob.id();
        let names = FontInfoOverride {
            family_name: Some(family),
            width: None,
            style: None,
            weight: Some(weight),
            axes: None,
        };
        let registered = self.context.collection.register_fonts(blob, Some(names));
        // A variable font or a collection holds several designs, and nothing says which one to use.
        match registered.as_slice() {
            [(_, infos)] if infos.len() == 1 && infos[0].axes().is_empty() => {}
            _ => return Err(NotAFont),
        }
        let name = FontFamilyName::Named(Cow::Owned(family.to_owned()));
        if !self.families.contains(&name) {
            self.families.push(name);
        }
        self.faces.push(Face { blob: id, font });
        Ok(())
    }

    /// The context for layouts. A copy, because lookups change its cache.
    pub(super) fn context(&self) -> FontContext {
        self.context.clone()
    }

    /// The font families, Inter first.
    pub(super) fn families(&self) -> &[FontFamilyName<'static>] {
        &self.families
    }

    /// Which face the layout's font is.
    pub(super) fn face(&self, blob: u64) -> Option<usize> {
        self.faces.iter().position(|face| face.blob == blob)
    }

    /// The face as it is drawn.
    pub(super) fn font(&self, face: usize) -> Font {
        self.faces[face].font.clone()
    }
}
