//! The signing links of a quote: listed, made, revoked.

use std::cmp::Reverse;

use http::StatusCode;
use invoicing_core::{QuoteId, QuoteStatus, QuoteSummary};
use maud::{Markup, html};

use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::layout::{Chapter, PageContent, revealed};
use crate::console::request::{Outcome, PageRequest};
use crate::console::table::{Table, column};
use crate::records::SigningLinkRecord;

/// Maximum number of links that the page lists: open ones first.
const SHOWN: usize = 20;

const LINKS: Table<3> = Table::new(
    ("Open ones first", "Les liens ouverts d’abord"),
    [column("Made", "Créé"), column("Ends", "Expire"), column("State", "État")],
);

/// The part of a quote's page about its links.
pub(super) async fn section(request: &PageRequest<'_>, quote: &QuoteSummary) -> Result<Markup, PageError> {
    let quotes = request.company.quotes();
    let mut links = quotes.signing_links(quote.id).await?;
    links.sort_by_key(|link| (!is_open(request, link), Reverse(link.created_at)));
    let proof = if quote.signed_at.is_some() { quotes.proof(quote.id).await? } else { None };
    let signed_with = proof.map(|proof| proof.token_hash);
    let left_out = links.len().saturating_sub(SHOWN);
    Ok(html! {
        h2 #links { (request.pick("Signing links", "Liens de signature")) }
        p.soft { (request.pick(
            "With a link the client sees, signs and declines the quote. It is shown once, when it is made.",
            "Avec un lien, le client consulte, signe ou refuse le devis. Il n’est affiché qu’une fois, à sa création.",
        )) }
        @if !links.is_empty() {
            (LINKS.show(request.language, links.iter().take(SHOWN).map(|link| row(request, quote.id, link, signed_with.as_ref() == Some(&link.token_hash)))))
        }
        @if left_out > 0 {
            p.soft { (request.pick("Older ones that are not shown:", "Plus anciens, non affichés :")) " " (left_out) }
        }
        @if quote.sent_at.is_none() && quote.status != QuoteStatus::Accepted {
            p { (request.pick("A link can be made once the quote is sent.", "Un lien peut être créé une fois le devis envoyé.")) }
        } @else if request.allows(ConsoleAction::ManageSigningLinks) {
            (request.form_about(format!("/quotes/{}/links", quote.id), quote.updated_at, &html! {
                button.plain { (request.pick("Make a signing link", "Créer un lien de signature")) }
            }))
        }
    })
}

fn row(
    request: &PageRequest<'_>,
    quote: QuoteId,
    link: &SigningLinkRecord,
    is_signed_with: bool,
) -> [Markup; 3] {
    let clock = request.clock();
    [
        clock.show(link.created_at),
        clock.show(link.ends_at),
        html! { @if is_signed_with { span.state.good { (request.pick("Signed with", "Signature faite")) } " " }
        @if let Some(at) = link.revoked_at {
            span.state.bad { (request.pick("Revoked", "Révoqué")) } " " span.soft { (clock.show(at)) }
        } @else if !is_open(request, link) {
            span.state { (request.pick("Ended", "Expiré")) }
        } @else {
            @if !is_signed_with { span.state.good { (request.pick("Open", "Ouvert")) } " " }
            @if request.allows(ConsoleAction::ManageSigningLinks) {
                a href=(request.link(format!("/quotes/{quote}/links/{}/revoke", hex::encode(&link.token_hash))))
                    aria-label={ (request.pick("Revoke the link of", "Révoquer le lien du")) " " (clock.text(link.created_at)) } {
                    (request.pick("Revoke", "Révoquer"))
                }
            }
        } },
    ]
}

/// True if the link can still be used.
fn is_open(request: &PageRequest<'_>, link: &SigningLinkRecord) -> bool {
    link.revoked_at.is_none() && link.ends_at > request.now
}

/// `POST /quotes/{id}/links`: the link, which is shown this once.
pub(in crate::console) async fn make_link(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: QuoteId = request.id()?;
    let token = request.company.quotes().create_signing_link(id).await?;
    let address = format!("{}/sign/{}", request.elsewhere.signing, token.reveal());
    let title = request.pick("Signing link", "Lien de signature");
    let body = html! {
        h1 { (title) }
        p { (request.pick(
            "Give it to the client only: its holder can sign the quote. It is shown this once.",
            "Ne le donnez qu’au client : son détenteur peut signer le devis. Il n’est affiché qu’une fois.",
        )) }
        (revealed(request.language, "link", request.pick("Show the link", "Afficher le lien"), &address))
        p.actions {
            a.button href=(request.link(format!("/quotes/{id}#links"))) {
                (request.pick("I have kept it", "Je l’ai conservé"))
            }
        }
    };
    Ok(Outcome::Page(StatusCode::OK, PageContent::new(title, Chapter::Quotes, body)))
}

/// `GET /quotes/{id}/links/{link}/revoke`. A link that is not open is answered like an unknown one.
pub(in crate::console) async fn confirm_link_revocation(
    request: &PageRequest<'_>,
) -> Result<PageContent, PageError> {
    let (id, token_hash): (QuoteId, _) = (request.id()?, token_hash(request)?);
    let quote = super::read(request, id).await?.summary;
    let links = request.company.quotes().signing_links(id).await?;
    let is_asked_for = |link: &&SigningLinkRecord| link.token_hash == token_hash && is_open(request, link);
    let link = links.iter().find(is_asked_for).ok_or(PageError::NOT_FOUND)?;
    let title = request.pick("Revoke the link?", "Révoquer le lien ?");
    let page = format!("/quotes/{id}");
    let body = html! {
        h1 { (title) }
        p { (request.pick("Made", "Créé le")) " " (request.clock().show(link.created_at)) }
        p { (request.pick(
            "Its holder can no longer see or sign the quote with it. This cannot be undone; another link can be made.",
            "Son détenteur ne pourra plus consulter ni signer le devis. C’est définitif ; un autre lien peut être créé.",
        )) }
        (request.form_about(format!("{page}/links/{}/revoke", hex::encode(&token_hash)), quote.updated_at, &html! {
            p.actions {
                button.grave { (request.pick("Revoke", "Révoquer")) }
                a href=(request.link(&page)) { (request.pick("Keep it", "Le garder")) }
            }
        }))
    };
    Ok(PageContent::new(title, Chapter::Quotes, body))
}

/// `POST /quotes/{id}/links/{link}/revoke`.
pub(in crate::console) async fn revoke_link(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let (id, token_hash): (QuoteId, _) = (request.id()?, token_hash(request)?);
    request.company.quotes().revoke_signing_link(id, &token_hash).await?;
    Ok(Outcome::See(format!("/quotes/{id}?done=link-revoked#links")))
}

/// The hash of the token that the path names, which identifies the link.
fn token_hash(request: &PageRequest<'_>) -> Result<Vec<u8>, PageError> {
    let text: String = request.param("link")?;
    hex::decode(text).map_err(|_| PageError::NOT_FOUND)
}
