//! The judgement on a connection. One private address that no entry allows refuses the host.

use super::host_rules::{HostRules, Network};
use super::intent::{ConnectIntent, Resolution};
use super::ip_ranges::why_not_public;
use super::ports;
use super::web_address::WebAddress;
use crate::refusal::{Code, Layer, Refusal};
use crate::verdict::{Grant, Verdict};
use std::net::IpAddr;

const SETTING: &str = "tools.web.private_host_whitelist";

pub(crate) fn judge(intent: &ConnectIntent, rules: &HostRules) -> Verdict {
    let address = match &intent.asked {
        Ok(address) => address,
        Err((fault, _)) => return deny(Code::UrlNotAllowed, fault.rule(), fault.to_string(), fault.hint()),
    };
    if ports::is_refused(address.port()) {
        let sentence = format!("access denied: port {} is not one of the web", address.port());
        let hint = "other services listen there, as browsers know; no setting opens it".to_owned();
        return deny(Code::UrlNotAllowed, "url port", sentence, hint);
    }
    match &intent.resolution {
        Resolution::Addresses(found) if !found.is_empty() => judge_addresses(address, found, rules),
        Resolution::Failed(why) => deny_unresolved(address, why),
        Resolution::Addresses(_) | Resolution::NotLookedUp => deny_unresolved(address, "it has no address"),
    }
}

fn judge_addresses(address: &WebAddress, found: &[IpAddr], rules: &HostRules) -> Verdict {
    let mut opened: Option<&Network> = None;
    let mut closed: Vec<(IpAddr, &'static str)> = Vec::new();
    for ip in found {
        let Some(why) = why_not_public(*ip) else { continue };
        match rules.matching(*ip, address.port()) {
            Some(network) => opened = Some(network),
            None => closed.push((*ip, why)),
        }
    }
    if closed.is_empty() {
        let rule = opened.map_or_else(|| "public host".to_owned(), |network| format!("{SETTING}:{network}"));
        return Verdict::Allow(Grant { rule });
    }
    deny_private(address, &closed)
}

fn deny_private(address: &WebAddress, closed: &[(IpAddr, &'static str)]) -> Verdict {
    let host = address.host();
    let facts: Vec<_> = closed
        .iter()
        .map(|(ip, why)| {
            if address.literal().is_some() {
                format!("`{ip}` is {why}")
            } else {
                format!("`{host}` is `{ip}`: {why}")
            }
        })
        .collect();
    let entries: Vec<_> = closed.iter().map(|(ip, _)| format!("\"{}\"", ip.to_canonical())).collect();
    let hint = format!(
        "{}; `{SETTING}`: [{}] in the configuration would allow exactly this",
        facts.join(", "),
        entries.join(", ")
    );
    let sentence = "access denied: host is not on the public internet".to_owned();
    deny(Code::HostNotAllowed, "public hosts", sentence, hint)
}

fn deny_unresolved(address: &WebAddress, why: &str) -> Verdict {
    let sentence = format!("could not resolve host `{}`: {why}", address.host());
    deny(
        Code::HostUnknown,
        "resolved hosts",
        sentence,
        "a host that has no address cannot be judged".to_owned(),
    )
}

fn deny(code: Code, rule: &str, sentence: String, hint: String) -> Verdict {
    Verdict::Deny(Refusal { code, sentence, rule: rule.to_owned(), layer: Layer::Policy, hint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdict(url: &str, addresses: &[&str], whitelist: &[&str]) -> Verdict {
        let mut intent = ConnectIntent::unresolved(url);
        intent.resolution = Resolution::Addresses(addresses.iter().map(|ip| ip.parse().unwrap()).collect());
        let entries: Vec<_> = whitelist.iter().map(ToString::to_string).collect();
        judge(&intent, &HostRules::compile(&entries).unwrap())
    }

    #[test]
    fn a_host_is_judged_by_every_address_it_has() {
        const PUBLIC: &str = "93.184.216.34";
        for (why, url, addresses, whitelist, want) in [
            ("a public host", "http://a.example/", &[PUBLIC][..], &[][..], Ok("public host")),
            ("both families", "https://a.example/", &[PUBLIC, "2606:2800::1"], &[], Ok("public host")),
            ("an everyday port", "http://a.example:8080/", &[PUBLIC], &[], Ok("public host")),
            ("loopback", "http://localhost/", &["127.0.0.1"], &[], Err("host_not_allowed")),
            (
                "one of several is private",
                "http://a.example/",
                &[PUBLIC, "10.0.0.1"],
                &[],
                Err("host_not_allowed"),
            ),
            (
                "opened",
                "http://localhost/",
                &["127.0.0.1"],
                &["127.0.0.1/32"],
                Ok("tools.web.private_host_whitelist:127.0.0.1/32"),
            ),
            (
                "one of two opened",
                "http://localhost/",
                &["127.0.0.1", "::1"],
                &["127.0.0.1"],
                Err("host_not_allowed"),
            ),
            (
                "both opened",
                "http://localhost/",
                &["127.0.0.1", "::1"],
                &["127.0.0.0/8", "::1"],
                Ok("tools.web.private_host_whitelist:::1/128"),
            ),
            (
                "metadata is not in what was opened",
                "http://169.254.169.254/",
                &["169.254.169.254"],
                &["127.0.0.0/8"],
                Err("host_not_allowed"),
            ),
            ("no address", "http://a.example/", &[], &[], Err("host_unknown")),
            ("a port of others", "http://a.example:25/", &[PUBLIC], &[], Err("url_not_allowed")),
            (
                "also where the host is opened",
                "http://localhost:22/",
                &["127.0.0.1"],
                &["127.0.0.1"],
                Err("url_not_allowed"),
            ),
            ("a scheme of others", "file:///etc/passwd", &[PUBLIC], &[], Err("url_not_allowed")),
            ("a password", "http://a:b@a.example/", &[PUBLIC], &[], Err("url_not_allowed")),
        ] {
            match (verdict(url, addresses, whitelist), want) {
                (Verdict::Allow(grant), Ok(rule)) => assert_eq!(grant.rule, rule, "{why}"),
                (Verdict::Deny(no), Err(code)) => {
                    assert_eq!(no.code.as_str(), code, "{why}");
                    assert_eq!(no.layer, Layer::Policy, "{why}");
                    assert!(!no.hint.is_empty(), "{why}");
                }
                (other, _) => panic!("{why}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_hint_is_the_smallest_setting_that_is_enough() {
        let Verdict::Deny(no) = verdict("http://localhost:8080/", &["127.0.0.1", "::1"], &[]) else {
            panic!("allowed")
        };
        assert_eq!(no.sentence, "access denied: host is not on the public internet");
        assert!(no.hint.ends_with("`tools.web.private_host_whitelist`: [\"127.0.0.1\", \"::1\"] in the configuration would allow exactly this"), "{}", no.hint);
        let opened = verdict("http://localhost:8080/", &["127.0.0.1", "::1"], &["127.0.0.1", "::1"]);
        assert!(matches!(opened, Verdict::Allow(_)));
    }

    #[test]
    fn a_host_that_nobody_looked_for_is_not_allowed() {
        let intent = ConnectIntent::unresolved("http://a.example/");
        assert!(matches!(judge(&intent, &HostRules::default()), Verdict::Deny(_)));
    }

    #[test]
    fn the_record_names_what_would_be_tried_and_no_password() {
        let mut intent = ConnectIntent::unresolved("http://a.example/x");
        intent.resolution = Resolution::Addresses(vec!["1.2.3.4".parse().unwrap()]);
        assert_eq!(intent.to_string(), "connect http://a.example/x [1.2.3.4]");
        assert_eq!(
            ConnectIntent::unresolved("http://me:pw@a.example/").to_string(),
            "connect http://***@a.example/"
        );
    }

    proptest! {
        #[test]
        fn one_private_address_among_any_refuses(public in prop::collection::vec(any::<u32>(), 0..4), at in 0_usize..4) {
            let mut found: Vec<IpAddr> = public.into_iter().map(|bits| IpAddr::V4(bits.into())).collect();
            found.insert(at.min(found.len()), "127.0.0.1".parse().unwrap());
            let intent = ConnectIntent { resolution: Resolution::Addresses(found), ..ConnectIntent::unresolved("http://a.example/") };
            prop_assert!(matches!(judge(&intent, &HostRules::default()), Verdict::Deny(_)));
        }

        #[test]
        fn no_text_is_fetched_without_being_an_address(text in "\\PC*|(http|https|file)[:/\\\\@.a-z0-9%]*") {
            let intent = ConnectIntent { resolution: Resolution::Addresses(vec!["8.8.8.8".parse().unwrap()]), ..ConnectIntent::unresolved(&text) };
            if let Verdict::Allow(_) = judge(&intent, &HostRules::default()) {
                let address = intent.asked.unwrap();
                prop_assert!(!address.host().is_empty());
                prop_assert_eq!(WebAddress::parse(&address.to_string()).unwrap(), address);
            }
        }
    }
}
