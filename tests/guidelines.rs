//! The Rust API guidelines, as far as a compiler can hold them.

use std::error::Error;

/// Fails to compile for an error that cannot go into a `Box<dyn Error + Send + Sync>`.
macro_rules! errors {
    ($($error:ty),* $(,)?) => {{
        const fn is_error<E: Error + Send + Sync + 'static>() {}
        $(is_error::<$error>();)*
        stringify!($($error),*)
    }};
}

/// The names that a crate's root makes public and that end with `Error`.
fn errors_of_root<'s>(krate: &str, source: &'s str) -> Vec<String> {
    let uses = source.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words = uses.flat_map(|list: &'s str| list.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| word.ends_with("Error")).map(|word| format!("{krate}::{word}")).collect()
}

#[test]
fn public_errors_go_into_a_box_and_to_another_thread() {
    let checked = errors![
        invoicing_core::Conflict,
        invoicing_core::ConflictReason,
        invoicing_core::DomainError,
        invoicing_core::Invalid,
        invoicing_core::ParseIdError,
        invoicing_core::ParseTimestampError,
        invoicing_core::Rule,
        invoicing_core::TargetError,
        invoicing_client::CatchUpError<std::io::Error>,
        invoicing_client::ChangeEventError,
        invoicing_client::CheckpointError,
        invoicing_client::ConfigError,
        invoicing_client::Error,
        invoicing_client::TransportError,
        invoicing_server::CopyError,
        invoicing_server::DatabaseError,
        invoicing_server::DocumentStoreError,
        invoicing_server::Error,
        invoicing_server::FontError,
        invoicing_server::OpenError,
        invoicing_server::ParseHashError,
        invoicing_server::ParseProxyError,
        invoicing_server::RenderError,
        invoicing_server::SealingError,
        invoicing_server::SealingKeyError,
        invoicing_server::SettingError,
        invoicing_server::StorageSetupError,
        invoicing_server::TargetError,
        invoicing_server::TransportSetupError,
        invoicing_server::UnreadResponse,
        webhook_verify::HeaderError,
        webhook_verify::SecretError,
        webhook_verify::VerifyError,
    ];
    let checked: String = checked.split_whitespace().collect();
    let roots = [
        ("invoicing_core", include_str!("../invoicing-core/src/lib.rs")),
        ("invoicing_client", include_str!("../invoicing-client/src/lib.rs")),
        ("invoicing_server", include_str!("../invoicing-server/src/lib.rs")),
        ("webhook_verify", include_str!("../webhook-verify/src/lib.rs")),
    ];
    let names: Vec<_> = roots.iter().flat_map(|(krate, source)| errors_of_root(krate, source)).collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        assert!(
            checked.split(',').any(|error| error.split('<').next() == Some(&name)),
            "{name}: name it above"
        );
    }
}
