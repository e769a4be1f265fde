//! Names that never lead to the public internet.
//!
//! They are refused at registration, without a lookup. For all other names the addresses decide.

/// Domains that are reserved or meant for private networks, each with its subdomains.
const LOCAL_NAMES: [&str; 14] = [
    "localhost", // RFC 6761, section 6.3
    "test",      // RFC 6761, section 6.2
    "invalid",   // RFC 6761, section 6.4
    "local",     // RFC 6762, section 3
    "onion",     // RFC 7686
    "home.arpa", // RFC 8375
    "alt",       // RFC 9476
    "internal",  // reserved by ICANN in 2024; metadata.google.internal
    "intranet",  // this one and the next: RFC 6762, appendix G
    "private",
    "corp",
    "home",
    "lan",
    "mail", // refused as a top-level domain like `corp` and `home`: ICANN, resolution 2018.02.04.12
];

/// True if a name is local, given in lower case and without a final dot. A name without a dot is
/// one of this machine, or is completed from its search list.
pub(super) fn is_local(name: &str) -> bool {
    let below =
        |suffix: &str| name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || LOCAL_NAMES.into_iter().any(below)
}
