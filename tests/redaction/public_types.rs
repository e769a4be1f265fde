//! Every public name of `invoicing-server`: a value of it was printed, or it has no value that can be printed.

use std::collections::BTreeSet;

use invoicing_tests::Database;

/// Names that are not types of values, or whose values have no `Debug` form, and types that hold numbers, names and
/// fixed texts only.
const NOTHING_TO_PRINT: &[&str] = &[
    // Traits, constants, functions and aliases.
    "Clock",
    "SignInFuture",
    "SignIn",
    "TraceContext",
    "Random",
    "Resolve",
    "ResolveFuture",
    "DocumentRenderer",
    "DocumentStore",
    "MAX_URL_CHARS",
    "ROUTES",
    // Another crate.
    "metrics",
    "object_store",
    "copy_to_postgres",
    "is_public",
    "factur_x",
    "serve",
    // Shows durations only.
    "TransportBuilder",
    // The host's settings of the console and its decision about the signed-in person.
    "Console",
    "ConsoleSettings",
    "ThemeLogo",
    "ConsoleSession",
    "SignInDecision",
    "ServedApp",
    "Theme",
    // Closed sets, counts and clocks.
    "ConsoleAction",
    "DeliveryCounts",
    "DocumentKind",
    "GapLevel",
    "GapPlace",
    "HistoryAction",
    "Language",
    "LogoFormat",
    "NextAttempt",
    "RecordedKind",
    "ConsoleRole",
    "AttemptRecord",
    "Body",
    "DisabledReason",
    "DisabledWebhook",
    "DispatchReport",
    "DispatcherHealth",
    "DocumentSettings",
    "DocumentsHealth",
    "Endpoint",
    "Health",
    "HealthService",
    "ManualClock",
    "FontError",
    "ParseHashError",
    "PageWindow",
    "PaymentMethod",
    "PaymentSource",
    "PdfRenderer",
    "RenderDeadline",
    "ReferenceSettings",
    "RequestLimits",
    "ResealReport",
    "Route",
    "SealingStats",
    "ServeLimits",
    "SettingError",
    "DatabaseHealth",
    "SweepReport",
    "SystemClock",
    "TargetPolicy",
    "UnreadResponse",
    "UnreadableRecord",
];

/// Types that have values only if the database is a server.
const OF_A_SERVER: &[&str] = &["CopyError", "CopyReport", "PostgresSettings"];

/// Crates whose names are re-exported.
const OTHERS: &[&str] = &["chrono", "invoicing_core", "rust_decimal"];

/// The names of this crate after `pub use`.
fn public_names() -> BTreeSet<String> {
    let source = include_str!("../../invoicing-server/src/lib.rs");
    let uses = source.split("\npub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let own = uses.filter(|path| !OTHERS.iter().any(|other| path.starts_with(&format!("{other}::"))));
    let names = own.flat_map(|path| {
        let list = path.rsplit("::").next().unwrap().trim_matches(['{', '}', '\n', ' ']);
        let list =
            if path.contains('{') { path.split_once('{').unwrap().1.trim_end_matches('}') } else { list };
        list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect::<Vec<_>>()
    });
    names.collect()
}

/// Fails for a public name that is in neither list.
pub(crate) fn every_public_type_is_listed(db: Database, printed: &[(String, String)]) {
    let names = public_names();
    assert!(names.len() > 60 && names.contains("Secret") && names.contains("Webhooks"), "{names:?}");
    let is_printed = |name: &str| printed.iter().any(|(what, _)| what == name);
    for name in names {
        let nothing =
            NOTHING_TO_PRINT.contains(&&*name) || (db == Database::Sqlite && OF_A_SERVER.contains(&&*name));
        assert!(
            is_printed(&name) || nothing,
            "{name} is public: print one in `scenario.rs`, or list it here"
        );
        assert!(!(is_printed(&name) && nothing), "{name} is printed and listed as not to be");
    }
}
