//! The logo of the company, above its name.

use krilla::geom::Rect;
use krilla::tagging::{BBox, Tag};

use super::Result;
use super::composer::Composer;
use super::pagination::{BlockImage, LEFT, TOP};
use super::tags::NodeId;
use crate::documents::DocumentLogo;
use crate::documents::content::sanitize::sanitize_any;

/// Largest width and height in points.
const MAX_SIZE: (f32, f32) = (140.0, 48.0);

/// The logo at the top left of the first page. A screen reader reads the name of the company.
pub(super) fn logo(
    to: &mut Composer<'_>,
    logo: &DocumentLogo,
    company: &str,
    parent: NodeId,
) -> Result<BlockImage> {
    let image = to.logos.of(logo)?;
    let size = fitted(image.size());
    let place = Rect::from_xywh(LEFT, TOP, size.0, size.1).map(|place| BBox::new(0, place));
    let figure = Tag::Figure(Some(sanitize_any(company).into_owned())).with_bbox(place);
    let node = to.tags.add(Some(parent), figure);
    Ok(BlockImage { x: LEFT, top: 0.0, size, image, node })
}

/// The size in points at which an image fills one side of the place, in its own proportions.
fn fitted((width, height): (u32, u32)) -> (f32, f32) {
    // No logo has more than 65,535 pixels on a side, which a float holds exactly.
    let side = |pixels: u32| f32::from(u16::try_from(pixels).unwrap_or(u16::MAX)).max(1.0);
    let (width, height) = (side(width), side(height));
    let scale = (MAX_SIZE.0 / width).min(MAX_SIZE.1 / height);
    (width * scale, height * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_keeps_its_proportions_within_its_place() {
        assert_eq!(fitted((280, 48)), (140.0, 24.0));
        assert_eq!(fitted((48, 480)), (4.8, 48.0));
        assert_eq!(fitted((10, 10)), (48.0, 48.0));
    }
}
