//! The search of the host's own list of quotes.

use std::time::Duration;

use invoicing_core::{NewClient, QuoteId, QuoteStatus, QuoteSummary};
use invoicing_server::{Error, QuoteSearch};
use invoicing_tests::{Database, World, on_each_database};
use uuid::Uuid;

use crate::support::taxed_quote_at;

/// All results of a search, by its pages of `limit`.
async fn found(world: &World, search: QuoteSearch, limit: u32) -> Vec<QuoteSummary> {
    let (mut all, mut search) = (Vec::new(), search);
    loop {
        let page = world.company.quotes().search(&search, limit).await.unwrap();
        assert!(page.items.len() <= limit as usize);
        all.extend(page.items);
        match page.next {
            Some(next) => search = search.after(next),
            None => return all,
        }
    }
}

async fn numbers(world: &World, q: &str) -> Vec<String> {
    found(world, QuoteSearch::default().q(q), 2).await.into_iter().map(|quote| quote.number).collect()
}

async fn quote_of(world: &World, name: &str, email: &str) -> QuoteSummary {
    let client = world.company.clients().create(&NewClient::named(name).email(email)).await.unwrap().id;
    world.company.quotes().create(&taxed_quote_at(client, "10")).await.unwrap().summary
}

/// Rules: SEARCH-1, SEARCH-2
#[on_each_database]
async fn a_search_of_number_name_email_or_id_ignores_case_and_accents(db: Database) {
    let world = World::new(db).await;
    let lefevre = quote_of(&world, "Claire Lefèvre", "claire@exemple.fr").await;
    let percent = quote_of(&world, "100 % Peinture", "a_b@exemple.fr").await;
    let coeur = quote_of(&world, "Cœur \"Straße\" \\ 12", "x@y").await;
    world.company.quotes().link(percent.id, Some("Déal-%7")).await.unwrap();
    let all = [coeur.number.clone(), percent.number.clone(), lefevre.number.clone()];
    assert_eq!(numbers(&world, "").await, all);
    assert_eq!(numbers(&world, "  ").await, all);
    assert_eq!(numbers(&world, "exemple").await, all[1..]);
    for (q, expected) in [
        ("LEFEVRE", &lefevre),
        (" lefe\u{300}vre ", &lefevre),
        ("CLAIRE@", &lefevre),
        (&lefevre.number.to_lowercase(), &lefevre),
        ("%", &percent),
        ("_", &percent),
        ("deal-%", &percent),
        ("coeur", &coeur),
        ("STRASSE", &coeur),
        ("\\", &coeur),
        ("\"", &coeur),
    ] {
        assert_eq!(numbers(&world, q).await, [expected.number.as_str()], "{q}");
    }
    // No match: text between the searched fields, another member, an accent alone.
    for q in ["lyon", "currency", "DRAFT", "\u{301}", "claire lefevre paul", "\0", "clairelefevre"] {
        assert!(numbers(&world, q).await.is_empty(), "{q}");
    }
}

/// Rules: SEARCH-1
#[on_each_database]
async fn a_search_combines_with_a_status_and_pages_show_each_quote_once(db: Database) {
    let world = World::new(db).await;
    let mut drafts = Vec::new();
    for n in 0..7 {
        let quote = quote_of(&world, &format!("Client {n}"), "a@b").await;
        if n % 2 == 0 {
            world.company.quotes().send(quote.id, None).await.unwrap();
        } else {
            drafts.insert(0, quote.id);
        }
        // Two quotes in each millisecond.
        if n % 2 == 1 {
            world.advance(Duration::from_millis(1));
        }
    }
    let ids = |quotes: Vec<QuoteSummary>| quotes.into_iter().map(|quote| quote.id).collect::<Vec<QuoteId>>();
    let search = QuoteSearch::default().status(QuoteStatus::Draft);
    assert_eq!(ids(found(&world, search.clone(), 2).await), drafts);
    assert_eq!(ids(found(&world, search.q("client"), 1).await), drafts);
    let listed = world.company.quotes().list(&invoicing_server::QuoteQuery::default()).await.unwrap().data;
    let listed: Vec<QuoteSummary> = listed.into_iter().map(|item| item.summary).collect();
    assert_eq!(found(&world, QuoteSearch::default(), 3).await, listed);
    let unknown = QuoteSearch::default().after(QuoteId(Uuid::nil()));
    let refused = world.company.quotes().search(&unknown, 10).await;
    assert!(matches!(refused, Err(Error::NotFound)), "{refused:?}");
}

/// Rules: SEARCH-2
#[on_each_database]
async fn the_api_still_refuses_a_search_of_quotes(db: Database) {
    let world = World::new(db).await;
    let refused = world.get("/api/v1/quotes?q=x").await;
    assert_eq!((refused.status.as_u16(), refused.code()), (400, "validation_error"));
}
