//! Many callers of one company at once, whose changes may be committed together.

use invoicing_tests::{Batch, World, on_each_database, tell};

/// Rules: NUMBER-3, STAMP-2
#[on_each_database(worker_threads = 4)]
async fn what_is_refused_beside_others_leaves_no_trace_and_the_others_are_all_there() {
    let world = World::new().await;
    for name in ["first", "second"] {
        let batch = Batch::prepare(&world.company, name).await;
        let told = batch.run(&world.company).await;
        let [done, refused, unavailable] = batch.check(&world.company, &told).await;
        tell("64 callers of one company", &format_args!("{done} done, {refused} refused"));
        assert_eq!(unavailable, 0, "{told:?}");
        assert!(done > 30 && refused > 30, "{done} done, {refused} refused");
    }
}
