//! What stands in `deploy/`: run as far as it can be run without a service manager and a container engine.

use crate::gateway::client::{DIRECT, Gateway, free_port};
use crate::house::{House, Ran, ran};
use serde_json::json;
use std::path::Path;
use std::process::Command;

const UNIT: &str = include_str!("../../../../deploy/picoclaw.service");
const RECIPE: &str = include_str!("../../../../deploy/Containerfile");

#[test]
fn systemd_takes_the_unit_and_calls_it_hardened() {
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        picoclaw_testing::skip!("systemd-analyze is not here");
        return;
    }
    let house = House::new();
    let unit = house.dir().join("picoclaw.service");
    let installed = "/usr/local/bin/picoclaw";
    assert!(UNIT.contains(installed));
    std::fs::write(&unit, UNIT.replace(installed, House::binary().to_str().unwrap())).unwrap();
    let analyse = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        ran(command.args(arguments).arg(&unit).env("SYSTEMD_PAGER", "").output().unwrap())
    };
    let verified = analyse(&["verify", "--man=no"]);
    assert_eq!((verified.code, verified.stderr.as_str()), (0, ""), "{verified:?}");
    // 10 is no protection at all; the rest is what an agent's work needs: network, namespaces, files.
    let judged = analyse(&["security", "--offline=true", "--threshold=45", "--no-pager"]);
    assert_eq!(judged.code, 0, "{judged:?}");
}

#[test]
fn the_unit_leaves_the_inner_cage_standing() {
    let set = |name: &str| UNIT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    for (name, why) in [
        ("RestrictNamespaces", "the cage is made of namespaces"),
        ("ProtectKernelTunables", "covers files of /proc: no new one can be mounted then"),
        ("ProtectKernelLogs", "covers /proc/kmsg, with the same result"),
        ("ProtectHostname", "covers /proc/sys/kernel/hostname, with the same result"),
        ("RestrictSUIDSGID", "answers that there is no openat2, by which the cage knows what it shows"),
        ("ProtectProc", "mounts /proc with less in it"),
        ("ProcSubset", "mounts /proc with less in it"),
        ("MemoryDenyWriteExecute", "interpreters with a compiler of their own need such memory"),
    ] {
        assert_eq!(set(name), None, "`{name}=`: {why}");
    }
    for (name, value) in [
        ("Type", "notify"),
        ("User", "picoclaw"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("CapabilityBoundingSet", ""),
    ] {
        assert_eq!(set(name), Some(value), "`{name}=`");
    }
}

/// The settings of the recipe without its engine: another user, nothing to write but the volume, no capabilities.
struct Container(Vec<String>);

#[derive(Clone, Copy)]
enum Proc {
    /// As engines do it unless they are told otherwise: some of it is covered.
    Masked,
    /// As `deploy/README.md` asks for.
    Whole,
}

impl Container {
    fn of(house: &House, proc: Proc) -> Option<Self> {
        let (volume, binary) = (house.dir().to_str().unwrap(), House::binary());
        let binary = binary.to_str().unwrap();
        let mut words =
            vec!["bwrap", "--unshare-user", "--uid", "10001", "--gid", "10001", "--ro-bind", "/", "/"];
        words.extend([
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            "--bind",
            volume,
            volume,
            "--ro-bind",
            binary,
            binary,
        ]);
        words.extend(["--cap-drop", "ALL", "--die-with-parent"]);
        words.extend(match proc {
            Proc::Masked => &["--unshare-pid", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"][..],
            Proc::Whole => &["--dev-bind", "/proc", "/proc"],
        });
        let starts = Command::new(words[0])
            .args(&words[1..])
            .arg("true")
            .output()
            .is_ok_and(|ran| ran.status.success());
        if !starts {
            picoclaw_testing::skip!("bubblewrap cannot stand in for a container here");
            return None;
        }
        Some(Self(words.into_iter().map(str::to_owned).collect()))
    }

    fn words(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    fn run(&self, house: &House, arguments: &[&str]) -> Ran {
        ran(house.wrapped(&self.words(), arguments).output().unwrap())
    }
}

#[test]
fn in_a_container_the_gateway_starts_and_says_what_still_holds() {
    for (proc, lacks) in [(Proc::Whole, None), (Proc::Masked, Some("processes partial"))] {
        let house = House::with_config(
            r#"{"version": 3, "heartbeat": {"enabled": false}, "isolation": {"enabled": true}}"#,
        );
        let Some(container) = Container::of(&house, proc) else { return };
        let told = container.run(&house, &["status"]);
        assert_eq!(told.code, 0, "{told:?}");
        let is_native = told.stdout.contains("held by native: filesystem full");
        if lacks.is_none() && !is_native {
            picoclaw_testing::skip!("this host has no native cage inside another: {}", told.stdout);
            continue;
        }
        assert_eq!(is_native, lacks.is_none(), "{told:?}");
        let gateway = Gateway::wrapped(&house, &container.words(), &[], &[]);
        assert_eq!(gateway.get("/ready").status, 200);
        let posture = gateway.get("/api/posture").json()["posture"]["isolation"].as_str().unwrap().to_owned();
        assert!(told.stdout.contains(&posture), "the gateway says the same: {posture}");
        let asked = json!({"model": "main", "messages": [{"role": "user", "content": "echo x > kept && cat kept && id -u"}]});
        let answer = gateway.post("/v1/chat/completions", &asked).json();
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(text.starts_with("x\n"), "commands run: {text}");
        assert!(house.workspace().join("kept").exists(), "and the volume keeps what they write");
        let Some(lacks) = lacks else { continue };
        assert!(posture.contains(lacks), "{posture}");
        assert!(gateway.said().contains("Landlock alone holds less than a cage"), "{}", gateway.said());
        drop(gateway);
        house.configure(r#"{"version": 3, "isolation": {"enabled": true, "require": ["processes"]}}"#);
        let refused = container.run(&house, &["gateway", "--port", &free_port().to_string()]);
        assert_eq!(refused.code, 2, "what is required and cannot be had stops the start: {refused:?}");
        assert!(refused.stderr.contains("`isolation.require` names `processes`"), "{refused:?}");
    }
}

#[test]
fn the_health_check_of_the_recipe_tells_ready_from_not() {
    let line = RECIPE.lines().find(|line| line.starts_with("HEALTHCHECK ")).unwrap();
    let words = line.split_once(" CMD ").unwrap().1;
    let check = |port: u16| {
        let words: Vec<String> = serde_json::from_str(&words.replace("18790", &port.to_string())).unwrap();
        Command::new(&words[0]).args(&words[1..]).output().unwrap().status.success()
    };
    let house = House::with_config(DIRECT);
    let gateway = Gateway::new(&house);
    assert!(check(gateway.port));
    let port = gateway.port;
    drop(gateway);
    assert!(!check(port), "nobody listens any more");
}
