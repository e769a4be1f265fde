//! A page for each state of the quote behind a signing link.

use maud::{Markup, html};

use super::SigningState;
use super::document_html::{Sheet, grand_total};
use super::fields::{SIGNER, SignatureFields};
use super::signing_request::SigningRequest;
use crate::console::layout::{PageContent, notice};
use crate::console::time::LocalClock;
use crate::documents::ContentHash;
use crate::documents::content::legal_notices::accepted_text;
use crate::documents::content::visible;
use crate::operations::{REASON_LIMIT, SignableQuote};

/// The document and the form below it.
pub(super) fn open(request: &SigningRequest<'_>, shown: &SignableQuote, sheet: &Sheet) -> PageContent {
    let is_last = sheet.part == sheet.last;
    let fields = SignatureFields::kept(request).unwrap_or_default();
    let clock = LocalClock::of(shown.company(), request.language);
    let until = shown.quote.summary.valid_until.map(|until| clock.date(until));
    let body = html! {
        h1 { (title(request, shown)) }
        @if SignatureFields::are_lost(request) { (not_kept(request)) }
        p {
            (request.pick("From", "De la part de")) " " bdi { (visible(&shown.company().name)) } ". "
            (request.pick("Read the quote, then sign it below it.", "Lisez le devis, puis signez-le plus bas."))
            @if let Some(until) = until {
                " " (request.pick("It can be signed until", "Il peut être signé jusqu’au")) " " (until) "."
            }
        }
        (sheet.html)
        (parts(request, sheet, &fields))
        @if is_last { (signature_form(request, shown, &fields)) }
        (download(request, shown, request.pick("Download the quote as a PDF", "Télécharger le devis en PDF")))
        div.sign-bar {
            @if let Some((label, total)) = grand_total(&shown.view()) { p lang="fr" { (label) " " strong { (total) } } }
            @if is_last {
                button form="signature" { (request.pick("Sign", "Signer")) }
            } @else {
                a.button href=(request.link(fields.keep(request, &format!("?part={}", sheet.part + 2)))) {
                    (request.pick("Continue reading", "Lire la suite"))
                }
            }
            a.button.plain href=(request.link(fields.keep(request, "/decline"))) {
                (request.pick("Decline", "Refuser"))
            }
        }
    };
    PageContent::alone(title(request, shown), body)
}

/// The message above the document if the entries in its address cannot be opened.
fn not_kept(request: &SigningRequest<'_>) -> Markup {
    notice(
        "error",
        &html! { p { (request.pick(
            "Your name and e-mail were not kept: they were entered more than an hour ago, or the address is incomplete. \
             Nothing was signed. Enter them again below the quote.",
            "Votre nom et votre e-mail n’ont pas été conservés : ils ont été saisis il y a plus d’une heure, ou l’adresse est \
             incomplète. Rien n’a été signé. Saisissez-les à nouveau sous le devis.",
        )) } },
    )
}

/// Links to the other parts of a long document, which keep the fields.
fn parts(request: &SigningRequest<'_>, Sheet { part, last, .. }: &Sheet, fields: &SignatureFields) -> Markup {
    let link = |part: usize| request.link(fields.keep(request, &format!("?part={part}")));
    html! {
        @if *last > 0 {
            nav.actions aria-label=(request.pick("Parts of the quote", "Parties du devis")) {
                @if *part > 0 {
                    a rel="prev" href=(link(*part)) { (request.pick("Previous part", "Partie précédente")) }
                }
                span { (request.pick("Part", "Partie")) " " (part + 1) " / " (last + 1) }
                @if part < last {
                    a rel="next" href=(link(part + 2)) { (request.pick("Next part", "Partie suivante")) }
                }
            }
        }
    }
}

fn signature_form(request: &SigningRequest<'_>, shown: &SignableQuote, fields: &SignatureFields) -> Markup {
    html! {
        h2 { (request.pick("Sign the quote", "Signer le devis")) }
        form #signature method="post" action=(request.link("")) {
            input type="hidden" name="document" value=(shown.document.sha256);
            (fields.inputs(request, None))
            p #accepted { (request.pick("By signing, you agree to this text:", "En signant, vous acceptez ce texte :")) }
            (accepted(&accepted_text(&shown.view())))
            p.hint { (request.pick(
                "It becomes a part of the signed document, with your name, your e-mail and the time. Your browser and your \
                 network address may be kept as evidence.",
                "Il figurera dans le document signé, avec votre nom, votre e-mail et l’heure. Votre navigateur et votre adresse \
                 réseau peuvent être conservés comme preuve.",
            )) }
        }
    }
}

fn accepted(text: &str) -> Markup {
    html! { blockquote.accepted lang="fr" { (visible(text)) } }
}

/// The fields again, without the quote. `wrong`: the one that was refused.
pub(super) fn correct(request: &SigningRequest<'_>, fields: &SignatureFields, wrong: &str) -> PageContent {
    let title = request.pick("Sign the quote", "Signer le devis");
    let body = html! {
        h1 { (title) }
        (notice("error", &html! {
            p #wrong {
                (fields.problem(request, wrong)) " "
                a href={ "#" (SignatureFields::input(wrong)) } { (request.pick("Correct it", "Corriger")) }
            }
        }))
        form #signature method="post" action=(request.link("")) {
            input type="hidden" name="document" value=(fields.document);
            (fields.inputs(request, Some(wrong)))
            p.actions {
                button { (request.pick("Continue", "Continuer")) }
                (back_to_quote(request, fields))
            }
        }
    };
    PageContent::alone(title, body)
}

/// The second form: the document, and its signer. Nothing is signed before this form is sent.
pub(super) fn confirm_signature(
    request: &SigningRequest<'_>,
    shown: &SignableQuote,
    fields: &SignatureFields,
    accepted_text: &str,
) -> PageContent {
    let total = grand_total(&shown.view()).map(|(_, total)| total).unwrap_or_default();
    let title = format!("{} {total}", request.pick("You sign", "Vous signez pour"));
    let body = html! {
        h1 { (title) }
        p { (self::title(request, shown)) ", " bdi { (visible(&shown.company().name)) } }
        dl.facts {
            div { dt { (request.pick("Your name", "Votre nom")) } dd { bdi { (visible(&fields.name)) } } }
            div { dt { (request.pick("Your e-mail", "Votre e-mail")) } dd { bdi { (visible(&fields.email)) } } }
        }
        p { (request.pick("You agree to this text:", "Vous acceptez ce texte :")) }
        (accepted(accepted_text))
        form method="post" action=(request.link("")) {
            input type="hidden" name="document" value=(fields.document);
            input type="hidden" name="name" value=(fields.name);
            input type="hidden" name="email" value=(fields.email);
            input type="hidden" name="confirmed" value=(ContentHash::of(accepted_text.as_bytes()));
            p.actions {
                button { (request.pick("Sign now", "Signer maintenant")) }
                (back_to_quote(request, fields))
            }
        }
    };
    PageContent::alone(title, body)
}

/// The link to the quote, which keeps the fields.
fn back_to_quote(request: &SigningRequest<'_>, fields: &SignatureFields) -> Markup {
    html! { a href=(request.link(fields.keep(request, ""))) { (request.pick("Back to the quote", "Revenir au devis")) } }
}

/// The question before a refusal.
pub(super) fn confirm_refusal(request: &SigningRequest<'_>, shown: &SignableQuote) -> PageContent {
    let about = html! { p { (title(request, shown)) ", " bdi { (visible(&shown.company().name)) } } };
    refusal(request, &about, &shown.document.sha256.to_string(), "", false)
}

/// The same after the reason was refused, without the quote.
pub(super) fn correct_reason(request: &SigningRequest<'_>, document: &str, reason: &str) -> PageContent {
    let wrong = notice(
        "error",
        &html! { p #wrong { (request.pick(
            "The reason is too long or has a character that is not accepted.",
            "Le motif est trop long ou contient un caractère refusé.",
        )) } },
    );
    refusal(request, &wrong, document, reason, true)
}

fn refusal(
    request: &SigningRequest<'_>,
    above: &Markup,
    document: &str,
    reason: &str,
    is_wrong: bool,
) -> PageContent {
    let fields = SignatureFields::kept(request).unwrap_or_default();
    let title = request.pick("Decline the quote?", "Refuser le devis ?");
    let body = html! {
        h1 { (title) }
        (above)
        form method="post" action=(request.link("/decline")) {
            input type="hidden" name="document" value=(document);
            // Keeps the way back, if the reason is refused.
            @if let Some(sealed) = request.form.given(SIGNER) { input type="hidden" name=(SIGNER) value=(sealed); }
            label for="reason" { (request.pick("Reason (optional)", "Motif (facultatif)")) }
            textarea #reason name="reason" rows="4" maxlength=(REASON_LIMIT) aria-describedby="reason-hint"
                aria-invalid=[is_wrong.then_some("true")] { (reason) }
            p.hint #reason-hint {
                (request.pick("The company reads it.", "L’entreprise le lira.")) " "
                (request.pick("At most 500 characters.", "500 caractères au plus."))
            }
            p.actions {
                button.grave { (request.pick("Decline the quote", "Refuser le devis")) }
                (back_to_quote(request, &fields))
            }
        }
    };
    PageContent::alone(title, body)
}

/// The page of a form about a document that a later one has replaced.
pub(super) fn sent_again(request: &SigningRequest<'_>, shown: &SignableQuote) -> PageContent {
    let title = request.pick("The quote was sent again", "Le devis a été renvoyé");
    let body = html! {
        h1 { (title) }
        (notice("error", &html! { p { (request.pick(
            "Since you opened the page, another version of the quote was sent. Nothing was signed or declined.",
            "Depuis l’ouverture de la page, une autre version du devis a été envoyée. Rien n’a été signé ni refusé.",
        )) } }))
        p { (self::title(request, shown)) ", " bdi { (visible(&shown.company().name)) } }
        p.actions {
            a.button href=(request.link("")) { (request.pick("Read the current version", "Lire la version actuelle")) }
        }
    };
    PageContent::alone(title, body)
}

/// The page of a quote that can be neither signed nor declined, and has no signature. `late`: in
/// answer to a form.
pub(super) fn ended(
    request: &SigningRequest<'_>,
    shown: &SignableQuote,
    state: SigningState,
    late: bool,
) -> PageContent {
    let title = match state {
        SigningState::Expired => request.pick("The quote has expired", "Le devis a expiré").to_owned(),
        SigningState::Accepted => request.pick("The quote is accepted", "Le devis est accepté").to_owned(),
        SigningState::Declined => request.pick("The quote was declined", "Le devis a été refusé").to_owned(),
        SigningState::Open | SigningState::Signed => title(request, shown),
    };
    decided(request, title, late, &unsigned(request, shown, state))
}

/// The page of a quote that is signed: its document, the signed copy and the fingerprint of its
/// proof.
pub(super) fn signed(
    request: &SigningRequest<'_>,
    shown: &SignableQuote,
    sheet: &Sheet,
    late: bool,
) -> PageContent {
    let title = request.pick("The quote is signed", "Le devis est signé").to_owned();
    decided(request, title, late, &signature(request, shown, sheet))
}

fn decided(request: &SigningRequest<'_>, title: String, late: bool, rest: &Markup) -> PageContent {
    let body = html! {
        h1 { (title) }
        @if late {
            (notice("error", &html! { p { (request.pick(
                "This was decided before your form arrived. Your form has changed nothing.",
                "La décision a été prise avant l’arrivée de votre formulaire, qui n’a rien changé.",
            )) } }))
        }
        (rest)
    };
    PageContent::alone(title, body)
}

/// The signed copy and the fingerprint of its proof, and below them the document.
fn signature(request: &SigningRequest<'_>, shown: &SignableQuote, sheet: &Sheet) -> Markup {
    let clock = LocalClock::of(shown.company(), request.language);
    html! {
        p { (title(request, shown)) ", " bdi { (visible(&shown.company().name)) } }
        @if let Some(signature) = &shown.quote.detail.signature {
            dl.facts {
                div { dt { (request.pick("Signed by", "Signé par")) } dd { bdi { (visible(&signature.signed_by_name)) } } }
                div { dt { (request.pick("Signed on", "Signé le")) } dd { (clock.show(signature.signed_at)) } }
                div {
                    dt { (request.pick("Fingerprint of the proof", "Empreinte de la preuve")) }
                    dd { code { (signature.proof_fingerprint) } }
                }
            }
        }
        (download(request, shown, request.pick("Download the signed copy as a PDF", "Télécharger l’exemplaire signé en PDF")))
        (sheet.html)
        (parts(request, sheet, &SignatureFields::default()))
    }
}

fn unsigned(request: &SigningRequest<'_>, shown: &SignableQuote, state: SigningState) -> Markup {
    let company = shown.company();
    let clock = LocalClock::of(company, request.language);
    let until = shown.quote.summary.valid_until.filter(|_| state == SigningState::Expired);
    html! {
        p { (title(request, shown)) ", " bdi { (visible(&company.name)) } }
        @if let Some(until) = until {
            p { (request.pick("It could be signed until", "Il pouvait être signé jusqu’au")) " " (clock.date(until)) "." }
        }
        @if let Some(at) = shown.quote.summary.accepted_at {
            p { (request.pick("It was accepted on", "Il a été accepté le")) " " (clock.show_day(at)) "." }
        } @else {
            p { (request.pick(
                "If you still want the work to be done, ask the company for a new quote.",
                "Si vous souhaitez toujours ces travaux, demandez un nouveau devis à l’entreprise.",
            )) }
        }
        @for way in [&company.identity.phone, &company.identity.email].into_iter().flatten() {
            p { bdi { (visible(way)) } }
        }
        (download(request, shown, request.pick("Download the quote as a PDF", "Télécharger le devis en PDF")))
    }
}

/// `Quote DEV-2026-0042`.
fn title(request: &SigningRequest<'_>, shown: &SignableQuote) -> String {
    format!("{} {}", request.pick("Quote", "Devis"), shown.quote.summary.number)
}

/// The frozen document, and the hash by which it can be checked.
fn download(request: &SigningRequest<'_>, shown: &SignableQuote, text: &str) -> Markup {
    html! {
        p.download {
            a href=(request.link("/document.pdf")) { (text) } " "
            span.soft { "SHA-256 " code { (shown.document.sha256) } }
        }
    }
}
