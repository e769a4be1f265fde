//! Many callers at once, of one company or of several, whose changes may be committed together.

use futures_util::future::join_all;
use invoicing_core::Plan;
use invoicing_tests::{Batch, Database, World, on_each_database, tell};

/// Rules: NUMBER-3, STAMP-2
#[on_each_database(worker_threads = 4)]
async fn a_refusal_in_a_batch_leaves_no_trace_and_all_others_are_there(db: Database) {
    let world = World::new(db).await;
    for name in ["first", "second"] {
        let batch = Batch::prepare(&world.company, name).await;
        let told = batch.run(&world.company).await;
        let [done, refused, unavailable] = batch.check(&world.company, &told).await;
        tell("64 callers of one company", &format_args!("{done} done, {refused} refused"));
        assert_eq!(unavailable, 0, "{told:?}");
        assert!(done > 30 && refused > 30, "{done} done, {refused} refused");
    }
}

/// More companies than the service changes at once in separate transactions.
const COMPANIES: usize = 5;

/// Rules: NUMBER-3, STAMP-2, TENANT-1
#[on_each_database(worker_threads = 4)]
async fn companies_whose_changes_are_committed_together_get_their_own_outcomes(db: Database) {
    let world = World::new(db).await;
    let mut companies = Vec::new();
    for number in 0..COMPANIES {
        let (company, _) = world.another(&format!("Company {number}"), Plan::Starter).await;
        let batch = Batch::prepare(&company, "several").await;
        companies.push((company, batch));
    }
    let told = join_all(companies.iter().map(|(company, batch)| batch.run(company))).await;
    for ((company, batch), told) in companies.iter().zip(told) {
        let [done, refused, unavailable] = batch.check(company, &told).await;
        assert_eq!(unavailable, 0, "{told:?}");
        assert!(done > 30 && refused > 30, "{done} done, {refused} refused");
    }
}
