//! Limits on the number of items in the host's lists.

use invoicing_core::{EventKind, Invalid};
use invoicing_server::{
    ClientQuery, DeliveryQuery, Error, EventQuery, HistoryQuery, InvoiceQuery, PageWindow, QuoteQuery,
    QuoteSearch,
};
use invoicing_tests::{Database, World, on_each_database};

use crate::support::hook_for;

fn rule<T>(answer: Result<T, Error>) -> Option<String> {
    match answer {
        Ok(_) => None,
        Err(Error::Invalid(Invalid { field, rule, .. })) => Some(format!("{field} {rule}")),
        Err(error) => panic!("{error:?}"),
    }
}

/// Rules: LIST-2
#[on_each_database]
async fn a_page_beyond_its_bounds_is_refused_as_by_the_api(db: Database) {
    let world = World::new(db).await;
    world.draft().await;
    let company = &world.company;
    let hook = hook_for(company, "http://127.0.0.1:8/hook", &[EventKind::QuoteCreated]).await.webhook.id;
    for (limit, is_good) in
        [(0, [false; 2]), (1, [true; 2]), (100, [true; 2]), (101, [false, true]), (1_000, [false, true])]
            .into_iter()
            .chain([(1_001, [false; 2]), (u32::MAX, [false; 2])])
    {
        let [hundred, thousand] = [100, 1_000].map(|max| format!("limit must be an integer from 1 to {max}"));
        let [hundred, thousand] =
            [(is_good[0], hundred), (is_good[1], thousand)].map(|(good, rule)| (!good).then_some(rule));
        let window = PageWindow::default().limit(limit);
        let clients = ClientQuery { window, ..ClientQuery::default() };
        assert_eq!(rule(company.clients().list(&clients).await), hundred, "{limit}");
        assert_eq!(
            rule(company.quotes().list(&QuoteQuery::default().window(window)).await),
            hundred,
            "{limit}"
        );
        assert_eq!(
            rule(company.invoices().list(&InvoiceQuery::default().window(window)).await),
            hundred,
            "{limit}"
        );
        assert_eq!(rule(company.quotes().search(&QuoteSearch::default(), limit).await), hundred, "{limit}");
        assert_eq!(rule(company.events().page(&EventQuery::default(), limit).await), hundred, "{limit}");
        assert_eq!(rule(company.history().page(&HistoryQuery::default(), limit).await), thousand, "{limit}");
        let deliveries = company.webhooks().deliveries(hook, &DeliveryQuery::default(), limit).await;
        assert_eq!(rule(deliveries), thousand, "{limit}");
        // These lists accept any limit.
        let max = limit as usize;
        assert!(company.events().list(None, limit).await.unwrap().len() <= max);
        assert!(company.history().list(None, limit).await.unwrap().len() <= max);
        assert!(company.webhooks().log(hook, limit).await.unwrap().len() <= max);
    }
}
