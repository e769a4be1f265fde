//! The second answer to a form that was carried out before: leads to a page, and that to the record
//! that the form made. A secret is not shown again.

use maud::{Markup, html};

use super::layout::{Chapter, PageContent, notice};
use super::request::{Again, PageRequest, PageResult};
use super::route::Route;
use super::{form_token, history};
use crate::operations::CarriedOut;

/// The name of the field with the target of the form, beside that of its token.
pub(super) const TARGET: &str = "target";

/// The second answer to a form: leads to its page, which can be loaded again.
pub(super) fn see(request: &PageRequest<'_>) -> PageResult {
    let token = request.form.text(form_token::FIELD);
    let fields = [(form_token::FIELD, token), (TARGET, request.path)];
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    request.see(format!("/carried-out?{query}"))
}

/// The page of a form that was carried out before.
pub(super) fn page(request: &PageRequest<'_>, form: &Route, before: &CarriedOut) -> PageContent {
    let title = request.pick("Already done", "Déjà fait");
    let body = html! {
        h1 { (title) }
        p { (request.pick(
            "This form was sent before, and was carried out once. Sent again, it has changed nothing.",
            "Ce formulaire a déjà été envoyé et traité une fois. Ce nouvel envoi n’a rien changé.",
        )) }
        @if let Some(change) = &before.change { (history::facts(request, change)) }
        @if let Some((text, path, name)) = lost_secret(request, form, before) {
            p { (text) " " a href=(request.link(path)) { (name) } }
        }
        p.actions {
            a.button href=(request.link(shown_at(request, form, before))) {
                (request.pick("See what it has done", "Voir le résultat"))
            }
            @if let Some(path) = another(form) {
                a href=(request.link(path)) { (request.pick("Open a new form", "Ouvrir un nouveau formulaire")) }
            }
        }
    };
    PageContent::new(title, chapter(form), body)
}

/// The message above a form that comes again, and has changed nothing.
pub(super) fn again(request: &PageRequest<'_>, reason: Again) -> Markup {
    let text = match (reason, request.path.split('/').nth(1)) {
        (Again::Old, _) => request.pick(
            "Nothing was changed: the page was opened more than a day ago, or for another company. Check the form, and send it again.",
            "Rien n’a été modifié : la page a été ouverte il y a plus d’un jour, ou pour une autre entreprise. Vérifiez le formulaire, \
             puis renvoyez-le.",
        ),
        (Again::Translated, _) => request.pick(
            "Nothing was changed: the form was filled in in French. Check how numbers are written, and send it again.",
            "Rien n’a été modifié : le formulaire a été rempli en anglais. Vérifiez l’écriture des nombres, puis renvoyez-le.",
        ),
        (Again::Changed, Some("webhooks")) => request.pick(
            "The webhook was changed after you opened this page, so nothing was done. This is how it is stored now; the inputs are \
             those that you entered.",
            "Le webhook a été modifié après l’ouverture de cette page : rien n’a été fait. Voici son état actuel ; la saisie est la \
             vôtre.",
        ),
        (Again::Changed, Some("quotes")) => request.pick(
            "The quote was changed after you opened this page, so nothing was done. This is how it is stored now; the inputs are \
             those that you entered.",
            "Le devis a été modifié après l’ouverture de cette page : rien n’a été fait. Voici son état actuel ; la saisie est la \
             vôtre.",
        ),
        (Again::Changed, Some("clients")) => request.pick(
            "The client was changed after you opened this page, so nothing was done. Open the page again to see how it is stored; the \
             inputs are those that you entered.",
            "Le client a été modifié après l’ouverture de cette page : rien n’a été fait. Ouvrez de nouveau la page pour voir son état ; \
             la saisie est la vôtre.",
        ),
        (Again::Changed, Some("company")) => request.pick(
            "The company was changed after you opened this page, so nothing was done. Open the page again to see how it is stored; the \
             inputs are those that you entered.",
            "L’entreprise a été modifiée après l’ouverture de cette page : rien n’a été fait. Ouvrez de nouveau la page pour voir son \
             état ; la saisie est la vôtre.",
        ),
        (Again::Changed, _) => request.pick(
            "The invoice was changed after you opened this page, so nothing was done. This is how it is stored now; the inputs are \
             those that you entered.",
            "La facture a été modifiée après l’ouverture de cette page : rien n’a été fait. Voici son état actuel ; la saisie est la \
             vôtre.",
        ),
    };
    notice("error", &html! { p { (text) } })
}

fn chapter(form: &Route) -> Chapter {
    match form.path.split('/').nth(1) {
        Some("keys") => Chapter::Keys,
        Some("quotes") => Chapter::Quotes,
        Some("invoices") => Chapter::Invoices,
        Some("clients") => Chapter::Clients,
        Some("company") => Chapter::Company,
        _ => Chapter::Webhooks,
    }
}

/// The path of the page that shows the effect of the form.
fn shown_at(request: &PageRequest<'_>, form: &Route, before: &CarriedOut) -> String {
    const SUBJECT: &str = "{subject}";
    let mut path = form.form.map_or(form.path, |form| form.shown_at).to_owned();
    if path.contains(SUBJECT) {
        let Some(change) = &before.change else { return form.path.to_owned() };
        path = path.replace(SUBJECT, &change.subject.to_string());
    }
    for (name, value) in request.params.iter() {
        path = path.replace(&format!("{{{name}}}"), value);
    }
    path
}

/// The path of a page whose form does the same again, if there is one.
fn another(form: &Route) -> Option<&'static str> {
    form.form.map(|form| form.page).filter(|page| page.ends_with("/new"))
}

/// The way to replace a secret that the first answer has shown, if nobody has kept it: a text, and
/// a link.
fn lost_secret<'t>(
    request: &'t PageRequest<'_>,
    form: &Route,
    before: &CarriedOut,
) -> Option<(&'t str, String, &'t str)> {
    let subject = before.change.as_ref()?.subject;
    let rotate = || request.pick("Rotate the secret", "Renouveler le secret");
    Some(match form.path {
        "/webhooks" | "/webhooks/{id}/rotate" => (
            request.pick(
                "The first answer has shown the secret, which is not shown again. If it was not kept:",
                "Le secret a été affiché la première fois et ne l’est plus. S’il n’a pas été conservé :",
            ),
            format!("/webhooks/{subject}/rotate"),
            rotate(),
        ),
        "/keys" => (
            request.pick(
                "The first answer has shown the key, which is not shown again. If it was not kept, issue another one, and:",
                "La clé a été affichée la première fois et ne l’est plus. Si elle n’a pas été conservée, émettez-en une autre et :",
            ),
            format!("/keys/{subject}/revoke"),
            request.pick("Revoke this key", "Révoquer cette clé"),
        ),
        "/quotes/{id}/links" => (
            request.pick(
                "The first answer has shown the link, which is not shown again. If it was not kept, revoke it and make another one:",
                "Le lien a été affiché la première fois et ne l’est plus. S’il n’a pas été conservé, révoquez-le et créez-en un autre :",
            ),
            format!("/quotes/{subject}#links"),
            request.pick("Signing links", "Liens de signature"),
        ),
        _ => return None,
    })
}
