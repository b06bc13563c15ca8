//! What stands in `deploy/`: run as far as it can be run without a service manager and a container engine.

use crate::gateway::client::{DIRECT, Gateway, free_port};
use crate::test_instance::{Ran, TestInstance, ran};
use picoclaw_testing::wait_until;
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

const UNIT: &str = include_str!("../../../../deploy/picoclaw.service");
const RECIPE: &str = include_str!("../../../../deploy/Containerfile");

#[test]
fn systemd_takes_the_unit_and_calls_it_hardened() {
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        picoclaw_testing::skip!("systemd-analyze is not here");
        return;
    }
    let instance = TestInstance::new();
    let unit = instance.dir().join("picoclaw.service");
    let installed = "/usr/local/bin/picoclaw";
    assert!(UNIT.contains(installed));
    // A unit file would need quotes for a path with a space.
    let binary = instance.dir().join("picoclaw");
    std::os::unix::fs::symlink(TestInstance::binary(), &binary).unwrap();
    std::fs::write(&unit, UNIT.replace(installed, binary.to_str().unwrap())).unwrap();
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
    fn of(instance: &TestInstance, proc: Proc) -> Option<Self> {
        let (volume, binary) = (instance.dir().to_str().unwrap(), TestInstance::binary());
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

    fn run(&self, instance: &TestInstance, arguments: &[&str]) -> Ran {
        ran(instance.wrapped(&self.words(), arguments).output().unwrap())
    }
}

#[test]
fn in_a_container_the_gateway_starts_and_says_what_still_holds() {
    for (proc, lacks) in [(Proc::Whole, None), (Proc::Masked, Some("processes partly held"))] {
        let instance = TestInstance::with_config(
            r#"{"version": 3, "heartbeat": {"enabled": false}, "isolation": {"enabled": true}}"#,
        );
        let Some(container) = Container::of(&instance, proc) else { return };
        let told = container.run(&instance, &["status"]);
        assert_eq!(told.code, 0, "{told:?}");
        if !told.stdout.contains("held by native: filesystem held") {
            assert!(lacks.is_none(), "it has one where `/proc` is whole: {told:?}");
            picoclaw_testing::skip!("this host has no native cage inside another: {}", told.stdout);
            return;
        }
        let gateway = Gateway::wrapped(&instance, &container.words(), &[], &[]);
        assert_eq!(gateway.get("/ready").status, 200);
        let posture = gateway.get("/api/posture").json()["posture"]["isolation"].as_str().unwrap().to_owned();
        assert!(told.stdout.contains(&posture), "the gateway says the same: {posture}");
        let asked = json!({"model": "main", "messages": [{"role": "user", "content": "echo x > kept && cat kept && id -u"}]});
        let answer = gateway.post("/v1/chat/completions", &asked).json();
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(text.starts_with("x\n"), "commands run: {text}");
        assert!(instance.workspace().join("kept").exists(), "and the volume keeps what they write");
        let Some(lacks) = lacks else {
            assert!(!posture.contains("processes partly held"), "{posture}");
            continue;
        };
        assert!(posture.contains(lacks), "{posture}");
        gateway.says("Commands see the names and command lines of other processes");
        drop(gateway);
        instance.configure(r#"{"version": 3, "isolation": {"enabled": true, "require": ["processes"]}}"#);
        let refused = container.run(&instance, &["gateway", "--port", &free_port().to_string()]);
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
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    assert!(check(gateway.port));
    let port = gateway.port;
    drop(gateway);
    assert!(!check(port), "nobody listens any more");
}

/// Offset and length in memory of the segment that is constant after relocation (`PT_GNU_RELRO`), from the ELF header.
fn relro_segment(elf: &[u8]) -> (u64, u64) {
    let number = |at: u64, length: u64| -> u64 {
        let bytes = &elf[at as usize..(at + length) as usize];
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let (table, entry, count) = (number(32, 8), number(54, 2), number(56, 2));
    let mut headers = (0..count).map(|header| table + header * entry);
    let relro = headers.find(|at| number(*at, 4) == 0x6474_e552).unwrap();
    (number(relro + 16, 8), number(relro + 40, 8))
}

#[test]
fn relocated_constants_are_read_only_while_the_program_runs() {
    if !rustix::process::geteuid().is_root() {
        picoclaw_testing::skip!("RELRO: only root reads the memory map of an undumpable process");
        return;
    }
    let binary = TestInstance::binary();
    let inode = std::fs::metadata(&binary).unwrap().ino().to_string();
    let (start, length) = relro_segment(&std::fs::read(&binary).unwrap());
    let instance = TestInstance::new();
    let mut command = instance.command(&["agent"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the segment is read-only", || {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
        let mut own =
            maps.lines().filter(|line| line.split_whitespace().nth(4) == Some(&inode)).map(|line| {
                let (range, rest) = line.split_once(' ').unwrap();
                let (from, to) = range.split_once('-').unwrap();
                let address = |text| u64::from_str_radix(text, 16).unwrap();
                (address(from), address(to), &rest[..4])
            });
        let Some(first) = own.next() else { return false };
        let (from, to) = ((first.0 + start) & !4095, (first.0 + start + length) & !4095);
        let mut covering = own.filter(|(own_from, own_to, _)| *own_from < to && from < *own_to).peekable();
        covering.peek().is_some() && covering.all(|(_, _, rights)| rights == "r--p")
    });
    drop(child.stdin.take());
    child.wait().unwrap();
}
