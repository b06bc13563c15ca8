//! Tells whether the processes of a closed network tried to reach a host.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// The largest part of a file of counters that is read.
const MAX_BYTES: usize = 16 << 10;

/// The counters of a network namespace. They can be read when its processes have ended.
#[derive(Debug)]
pub struct NetCounters {
    ipv4: Option<File>,
    ipv6: Option<File>,
    /// Whether names are asked for on the loopback, where a closed network has no server.
    asks_loopback: bool,
}

impl NetCounters {
    /// Those of `/proc/self/net/snmp` and `/proc/self/net/snmp6`.
    pub(super) fn new(ipv4: Option<OwnedFd>, ipv6: Option<OwnedFd>) -> Self {
        let servers = File::open("/etc/resolv.conf").ok().as_ref().and_then(read).unwrap_or_default();
        let asks_loopback = servers.lines().any(|line| line.starts_with("nameserver 127."));
        Self { ipv4: ipv4.map(File::from), ipv6: ipv6.map(File::from), asks_loopback }
    }

    /// Whether a TCP connection was refused: in a closed network, by a port of its own loopback.
    pub fn was_refused(&self) -> bool {
        counter(&text_of(&self.ipv4), "Tcp:AttemptFails") > 0
    }

    /// Whether a packet had no route, or a question for a name found no server.
    pub fn has_tried(&self) -> bool {
        self.had_no_route() || self.asks_loopback && counter(&text_of(&self.ipv4), "Udp:NoPorts") > 0
    }

    /// Whether a packet had no route.
    pub fn had_no_route(&self) -> bool {
        let [ipv4, ipv6] = [text_of(&self.ipv4), text_of(&self.ipv6)];
        counter(&ipv4, "Ip:OutNoRoutes") + counter(&ipv6, "Ip6OutNoRoutes") > 0
    }
}

fn text_of(file: &Option<File>) -> String {
    file.as_ref().and_then(read).unwrap_or_default()
}

fn read(file: &File) -> Option<String> {
    let mut text = vec![0; MAX_BYTES];
    let length = file.read_at(&mut text, 0).ok()?;
    text.truncate(length);
    String::from_utf8(text).ok()
}

/// The value of a counter: `Ip:OutNoRoutes` in the lines of `snmp`, the first of which names the
/// columns, or `Ip6OutNoRoutes` in those of `snmp6`.
fn counter(text: &str, name: &str) -> u64 {
    let Some((group, column)) = name.split_once(':') else {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        return line.and_then(|value| value.trim().parse().ok()).unwrap_or(0);
    };
    let is_of_group = |line: &&str| line.split(':').next() == Some(group);
    let mut lines = text.lines().filter(is_of_group).map(str::split_whitespace);
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let found = names.zip(values).find(|(known, _)| *known == column);
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let snmp =
            "Ip: Forwarding OutNoRoutes\nIp: 2 7\nIcmp: A\nIcmp: 1\nUdp: InDatagrams NoPorts\nUdp: 4 5\n";
        let snmp6 = "Ip6InReceives \t8\nIp6OutNoRoutes                  \t9\n";
        for (text, name, want) in [
            (snmp, "Ip:OutNoRoutes", 7),
            (snmp, "Udp:NoPorts", 5),
            (snmp, "Tcp:NoPorts", 0),
            (snmp6, "Ip6OutNoRoutes", 9),
            (snmp, "Ip6OutNoRoutes", 0),
            ("", "Ip:OutNoRoutes", 0),
        ] {
            assert_eq!(counter(text, name), want, "{name}");
        }
    }
}
