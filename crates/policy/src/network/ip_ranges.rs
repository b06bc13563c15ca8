//! Which IP addresses are public hosts: global unicast only.
//!
//! An address that embeds another one (NAT64, 6to4, Teredo, ISATAP) is judged by the embedded one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public: first address, prefix length, description.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this network"),
    ([10, 0, 0, 0], 8, "a private network"),
    ([100, 64, 0, 0], 10, "a provider's own network"),
    ([127, 0, 0, 0], 8, "this machine"),
    ([169, 254, 0, 0], 16, "the local link, where clouds keep their metadata"),
    ([172, 16, 0, 0], 12, "a private network"),
    ([192, 0, 0, 0], 24, "protocol assignments"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 31, 196, 0], 24, "a name server's sink"),
    ([192, 52, 193, 0], 24, "a relay of multicast"),
    ([192, 88, 99, 0], 24, "a relay of 6to4"),
    ([192, 168, 0, 0], 16, "a private network"),
    ([192, 175, 48, 0], 24, "a name server's sink"),
    ([198, 18, 0, 0], 15, "benchmarks"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved or broadcast"),
];

/// Blocks within `2000::/3` that are not public.
const V6: &[(u128, u32, &str)] = &[
    (0x2001_0000 << 96, 23, "protocol assignments"),
    (0x2001_0db8 << 96, 32, "documentation"),
    (0x2620_004f_8000 << 80, 48, "a name server's sink"),
    (0x3fff_0000 << 96, 20, "documentation"),
];

/// Why `ip` is not a public host. `None` if it is.
pub fn why_not_public(ip: IpAddr) -> Option<&'static str> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => v6(ip),
    }
}

fn v4(ip: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(ip);
    let within = |(first, length, _): &&([u8; 4], u32, &str)| {
        (bits ^ u32::from_be_bytes(*first)) >> (32 - length) == 0
    };
    V4.iter().find(within).map(|(_, _, what)| *what)
}

fn v6(ip: Ipv6Addr) -> Option<&'static str> {
    if let Some(inside) = embedded_ipv4(ip) {
        return inside.into_iter().find_map(v4);
    }
    let bits = u128::from(ip);
    // Only 2000::/3 is allocated to hosts. Everything else is refused: loopback, unspecified,
    // unique local, link-local, site-local, multicast, discard, other embedded IPv4, local
    // translation, reserved.
    if bits >> 125 != 1 {
        return Some("not a public address");
    }
    let within = |(first, length, _): &&(u128, u32, &str)| (bits ^ first) >> (128 - length) == 0;
    V6.iter().find(within).map(|(_, _, what)| *what)
}

/// The IPv4 addresses that `ip` embeds, for the known translators and tunnels.
fn embedded_ipv4(ip: Ipv6Addr) -> Option<Vec<Ipv4Addr>> {
    let bits = u128::from(ip);
    let at = |shift: u32| Ipv4Addr::from((bits >> shift) as u32);
    match ip.segments() {
        // 64:ff9b::/96, the well-known NAT64 prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(vec![at(0)]),
        // 6to4.
        [0x2002, ..] => Some(vec![at(80)]),
        // Teredo: the server, and the client with every bit inverted.
        [0x2001, 0, ..] => Some(vec![at(64), Ipv4Addr::from(!(bits as u32))]),
        // ISATAP within a network's own prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => Some(vec![at(0)]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_hosts_of_the_public_internet_are_reachable() {
        for (why, text, public) in [
            ("a public host", "93.184.216.34", true),
            ("another", "8.8.8.8", true),
            ("just below 10/8", "9.255.255.255", true),
            ("just above 10/8", "11.0.0.0", true),
            ("just below 100.64/10", "100.63.255.255", true),
            ("just above it", "100.128.0.0", true),
            ("just below 172.16/12", "172.15.255.255", true),
            ("just above it", "172.32.0.0", true),
            ("just above 192.0.0/24", "192.0.1.0", true),
            ("just above 198.18/15", "198.20.0.0", true),
            ("the last before multicast", "223.255.255.255", true),
            ("unspecified", "0.0.0.0", false),
            ("this network", "0.1.2.3", false),
            ("private", "10.0.0.1", false),
            ("carrier-grade", "100.64.0.1", false),
            ("the end of it", "100.127.255.255", false),
            ("loopback", "127.0.0.1", false),
            ("all of loopback", "127.255.255.254", false),
            ("metadata of clouds", "169.254.169.254", false),
            ("metadata of Alibaba", "100.100.100.200", false),
            ("private", "172.16.0.1", false),
            ("the end of it", "172.31.255.255", false),
            ("protocol assignments", "192.0.0.8", false),
            ("Oracle's metadata", "192.0.0.192", false),
            ("TEST-NET-1", "192.0.2.1", false),
            ("TEST-NET-2", "198.51.100.1", false),
            ("TEST-NET-3", "203.0.113.1", false),
            ("6to4 anycast", "192.88.99.1", false),
            ("private", "192.168.1.1", false),
            ("benchmarks", "198.19.255.255", false),
            ("multicast", "224.0.0.1", false),
            ("reserved", "240.0.0.1", false),
            ("broadcast", "255.255.255.255", false),
            ("a public host", "2606:2800:220:1:248:1893:25c8:1946", true),
            ("another", "2001:4860:4860::8888", true),
            ("unspecified", "::", false),
            ("loopback", "::1", false),
            ("mapped loopback", "::ffff:127.0.0.1", false),
            ("mapped metadata", "::ffff:169.254.169.254", false),
            ("mapped public is the public host", "::ffff:8.8.8.8", true),
            ("compatible loopback, W102", "::127.0.0.1", false),
            ("compatible public is still nowhere", "::8.8.8.8", false),
            ("translated (SIIT)", "::ffff:0:127.0.0.1", false),
            ("NAT64 of loopback, W102", "64:ff9b::7f00:1", false),
            ("NAT64 of metadata, W102", "64:ff9b::a9fe:a9fe", false),
            ("NAT64 of a public host", "64:ff9b::8.8.8.8", true),
            ("local NAT64", "64:ff9b:1::8.8.8.8", false),
            ("6to4 of a private network", "2002:0a00:0001::1", false),
            ("6to4 of a public host", "2002:0808:0808::1", true),
            ("Teredo with a private server", "2001:0:0a00:1::f7f7:f7f7", false),
            ("Teredo with a private client", "2001:0:4136:e378:8000:63bf:f5ff:fffe", false),
            ("Teredo, both public", "2001:0:4136:e378:8000:63bf:f7f7:f7f7", true),
            ("ISATAP with a private host", "2606:2800::5efe:10.0.0.1", false),
            ("discard", "100::1", false),
            ("unique local", "fd00::1", false),
            ("metadata of AWS over IPv6", "fd00:ec2::254", false),
            ("unique local, the other half", "fc00::1", false),
            ("link-local", "fe80::1", false),
            ("site-local, W102", "fec0::1", false),
            ("multicast", "ff02::1", false),
            ("documentation", "2001:db8::1", false),
            ("documentation, newer", "3fff::1", false),
            ("ORCHID", "2001:20::1", false),
            ("benchmarks", "2001:2::1", false),
            ("segment routing", "5f00::1", false),
            ("reserved", "4000::1", false),
        ] {
            let ip: IpAddr = text.parse().unwrap();
            assert_eq!(why_not_public(ip).is_none(), public, "{why}: {ip}");
        }
    }

    proptest! {
        #[test]
        fn an_address_inside_another_is_judged_as_itself(bits in any::<u32>()) {
            let plain = Ipv4Addr::from(bits);
            let [a, b] = [(bits >> 16) as u16, bits as u16];
            let public = why_not_public(plain.into()).is_none();
            let carriers = [
                plain.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
                Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0x0808, 0x0808, 0, 0, !a, !b),
            ];
            for carrier in carriers {
                prop_assert_eq!(why_not_public(carrier.into()).is_none(), public, "{} in {}", plain, carrier);
            }
            prop_assert!(why_not_public(plain.to_ipv6_compatible().into()).is_some());
        }

        #[test]
        fn what_the_standard_library_calls_special_is_never_public(bits in any::<u32>()) {
            let ip = Ipv4Addr::from(bits);
            let special = ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_multicast()
                || ip.is_broadcast() || ip.is_documentation() || ip.is_unspecified();
            prop_assert!(!special || why_not_public(ip.into()).is_some(), "{}", ip);
        }
    }
}
