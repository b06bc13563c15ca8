//! Ports that are refused because other services listen there.
//!
//! A mail or file server can be made to act on the text of an HTTP request. Browsers refuse these
//! ports for that reason. Every other port is allowed.

/// The ports that browsers refuse, and port 0. Sorted, for binary search.
const REFUSED: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

pub(super) fn is_refused(port: u16) -> bool {
    REFUSED.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_leaves_the_web_open() {
        assert!(REFUSED.is_sorted_by(|a, b| a < b));
        assert!([80, 443, 3000, 8000, 8080, 8443].iter().all(|port| !is_refused(*port)));
        assert!([0, 22, 25, 53, 6667].iter().all(|port| is_refused(*port)));
    }
}
