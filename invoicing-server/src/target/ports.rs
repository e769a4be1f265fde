//! Ports that no webhook may use.
//!
//! A company controls parts of a body, and a mail or chat server may take its lines for commands.
//! Browsers keep a list of such ports for the same reason. No port in common use by web servers is
//! in it.

/// The "bad ports" of the Fetch standard, <https://fetch.spec.whatwg.org/#port-blocking>, in order.
/// 0 is among them.
const BLOCKED: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1_719, 1_720, 1_723,
    2_049, 3_659, 4_045, 4_190, 5_060, 5_061, 6_000, 6_566, 6_665, 6_666, 6_667, 6_668, 6_669, 6_679, 6_697,
    10_080,
];

/// True if the port belongs to a service other than the web's.
pub(super) fn is_blocked(port: u16) -> bool {
    BLOCKED.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_other_services_are_blocked_and_common_web_ports_are_not() {
        assert!(BLOCKED.is_sorted());
        for port in BLOCKED {
            assert!(is_blocked(port), "{port}");
        }
        for port in [80, 443, 591, 3_000, 5_000, 6_379, 8_000, 8_080, 8_443, 9_200, 11_211, 32_768, 65_535] {
            assert!(!is_blocked(port), "{port}");
        }
    }
}
