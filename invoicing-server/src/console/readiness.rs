//! The list of what a document lacks, with links to the fields that mend it.

use invoicing_core::ClientId;
use maud::{Markup, html};

use super::inputs::id;
use super::layout::{entered, notice};
use super::refusals;
use super::request::PageRequest;
use crate::records::{GapLevel, GapPlace, ReadinessGap};

/// The gaps that refuse a document, and the advice.
pub(super) fn checklist(
    request: &PageRequest<'_>,
    gaps: &[ReadinessGap],
    client: Option<ClientId>,
) -> Markup {
    let (refused, advised): (Vec<_>, Vec<_>) = gaps.iter().partition(|gap| gap.level == GapLevel::Refused);
    let list = |gaps: &[&ReadinessGap]| html! { ul { @for gap in gaps { (item(request, gap, client)) } } };
    html! {
        @if refused.is_empty() {
            (notice("done", &html! { p { (request.pick("Ready: nothing that is needed is missing.", "Rien d’indispensable ne manque.")) } }))
        } @else {
            (notice("error", &html! {
                p { (request.pick("Not ready. To be corrected first:", "À corriger d’abord :")) }
                (list(&refused))
            }))
        }
        @if !advised.is_empty() {
            (notice("info", &html! {
                p { (request.pick("To be completed in time, or advised:", "À compléter à temps, ou conseillé :")) }
                (list(&advised))
            }))
        }
    }
}

fn item(request: &PageRequest<'_>, gap: &ReadinessGap, client: Option<ClientId>) -> Markup {
    let words = entered(request.pick(&gap.english, &gap.french));
    html! {
        li {
            (refusals::field(request.language, &gap.field)) (request.pick(": ", " : "))
            @match place(gap, client) {
                Some(path) => a href=(request.link(path)) { (words) },
                None => (words),
            }
            " " span.soft { "(" (gap.rule) ")" }
        }
    }
}

/// The path of the input that mends a gap; `None` for the content of the document, which has the
/// name and the e-mail of the client, and for what the host alone can change.
fn place(gap: &ReadinessGap, client: Option<ClientId>) -> Option<String> {
    let (_, name) = gap.field.split_once('.')?;
    let input = id(name);
    match gap.place {
        GapPlace::Company if name != "name" => Some(format!("/company#{input}")),
        GapPlace::Client => client.map(|client| format!("/clients/{client}#{input}")),
        GapPlace::Company | GapPlace::Document => None,
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{Invalid, Rule};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_gap_leads_to_the_input_that_mends_it() {
        let client = ClientId(Uuid::nil());
        let path = |field: &'static str| place(&Invalid::new(field, Rule::RateOf0).into(), Some(client));
        assert_eq!(path("company.vatNumber").unwrap(), "/company#vatNumber");
        assert_eq!(path("client.siren").unwrap(), format!("/clients/{client}#siren"));
        let town = format!("/clients/{client}#billingAddress-city");
        assert_eq!(path("client.billingAddress.city").unwrap(), town);
        for field in ["clientEmail", "company.name", "currency", "lines[0].tvaRate"] {
            assert_eq!(path(field), None, "{field}");
        }
    }
}
