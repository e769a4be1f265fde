//! The logos of late documents as images of PDFs, which keep their pixels once they are compressed.

use std::collections::VecDeque;

use krilla::image::Image;
use parking_lot::Mutex;

use super::Result;
use crate::documents::{ContentHash, DocumentLogo, LogoFormat, RenderError};

/// Maximum number of images. Each takes at most 768 KiB.
const IMAGES: usize = 32;

/// The images that were used last, the latest at the end.
#[derive(Default)]
pub(super) struct LogoImages(Mutex<VecDeque<(ContentHash, Image)>>);

impl LogoImages {
    /// The image of a logo. To compress the largest one takes ten times as long as a page, so it is
    /// done without the lock.
    pub(super) fn of(&self, logo: &DocumentLogo) -> Result<Image> {
        let hash = ContentHash::of(&logo.bytes);
        let known = self.take(hash);
        let image = known.map_or_else(|| image(logo), Ok)?;
        let mut images = self.0.lock();
        images.push_back((hash, image.clone()));
        if images.len() > IMAGES {
            images.pop_front();
        }
        Ok(image)
    }

    fn take(&self, hash: ContentHash) -> Option<Image> {
        let mut images = self.0.lock();
        let known = images.iter().position(|(known, _)| *known == hash)?;
        images.remove(known).map(|(_, image)| image)
    }
}

fn image(logo: &DocumentLogo) -> Result<Image> {
    let data = logo.bytes.to_vec().into();
    let image = match logo.format {
        LogoFormat::Png => Image::from_png(data, false),
        LogoFormat::Jpeg => Image::from_jpeg(data, false),
    };
    image.map_err(RenderError::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::pdf::tests::png;

    #[test]
    fn the_last_images_are_kept() {
        let logo = |side| DocumentLogo::parse(png(side, 1)).unwrap();
        let images = LogoImages::default();
        let first = images.of(&logo(1)).unwrap();
        for side in 2..=u32::try_from(IMAGES).unwrap() {
            images.of(&logo(side)).unwrap();
        }
        assert!(images.of(&logo(1)).unwrap() == first);
        images.of(&logo(100)).unwrap();
        let kept = images.0.into_inner();
        assert_eq!(kept.len(), IMAGES);
        let has = |side| kept.iter().any(|(hash, _)| *hash == ContentHash::of(&logo(side).bytes));
        assert_eq!([1, 2, 3, 100].map(has), [true, false, true, true]);
    }
}
