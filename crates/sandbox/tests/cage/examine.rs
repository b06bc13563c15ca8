//! The examination tells a cage that holds from one that does not: every question must be able to fail.

use crate::support::{Instance, instance};
use picoclaw_policy::config::Network;
use picoclaw_sandbox::isolate::{
    Backend, Cage, CheckResult, Confinement, Decoys, DoctorCheck, Visibility, find_bwrap, run_doctor_checks,
};
use picoclaw_sandbox::launch::run_to_end;
use std::sync::Arc;

fn examined(place: &Instance, confinement: &Confinement) -> Vec<DoctorCheck> {
    let home = place.base.join("home");
    std::fs::write(home.join(".bashrc"), "content").expect("a file");
    let secret = place.root.join("config.json");
    let decoys = Decoys {
        home: &home,
        secret: &secret,
        writable: &place.outside,
        socket: None,
        sockets_held: true,
        address: None,
        variable: "DECOY",
        network: place.isolation.network.clone(),
        processes: Visibility::Hidden,
        limits: place.isolation.limits,
        program: None,
    };
    run_doctor_checks(&decoys, &|line| {
        let mut spec = place.spec(line, confinement.clone());
        if matches!(confinement, Confinement::None) {
            spec.environment.push(("DECOY".into(), "x".into()));
        }
        run_to_end(spec)
    })
}

fn small() -> Instance {
    let mut place = instance();
    place.isolation.limits.memory_mb = 96;
    place
}

#[test]
fn every_promise_is_kept_in_a_cage() {
    let place = small();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let backends = [Some(Backend::Native), find_bwrap(&path).map(Backend::Bwrap)];
    for backend in backends.into_iter().flatten() {
        let confinement = Confinement::Cage(Arc::new(
            Cage::new(place.plan().expect("a plan"), backend.clone()).expect("a cage"),
        ));
        for finding in examined(&place, &confinement) {
            assert_eq!(finding.result, CheckResult::Kept, "{backend:?}: {finding:?}");
        }
    }
}

#[test]
fn every_promise_is_seen_to_break_without_confinement() {
    let place = small();
    let interfaces = std::fs::read_to_string("/proc/net/dev").map_or(0, |text| text.matches(':').count());
    for finding in examined(&place, &Confinement::None) {
        if finding.layer == "network" && interfaces < 2 {
            picoclaw_testing::skip!("this host has no network to reach");
            continue;
        }
        assert_eq!(finding.result, CheckResult::Broken, "{finding:?}");
    }
}

#[test]
fn what_was_not_promised_is_not_reported_as_kept() {
    let mut place = instance();
    place.isolation.network = Network::Host;
    let not_promised: Vec<&str> = examined(&place, &place.cage())
        .into_iter()
        .filter(|finding| finding.result == CheckResult::NotPromised)
        .map(|finding| finding.layer)
        .collect();
    assert_eq!(not_promised, ["network", "limits"], "a shared network, and four GiB that nobody tries");
}
