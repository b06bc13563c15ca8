//! The house's own rules, held by a test instead of good will.
//!
//! Invariant: a door that is not in these tables does not exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Who may depend on whom: the direction of trust.
const DIRECTION: &[(&str, &[&str])] = &[
    ("policy", &[]),
    ("sys", &[]),
    ("sandbox", &["policy", "sys"]),
    ("agent", &["policy", "sandbox"]),
    ("cli", &["agent", "policy", "sandbox"]),
];

/// Lines of code that one file may have; tests in it do not count.
const BUDGET: usize = 600;

/// Whatever starts a process, and where that may stand.
const STARTS: &[&str] =
    &["Command::new", "libc::fork", "libc::vfork", "libc::execv", "libc::posix_spawn", "SYS_clone"];
const STARTS_IN: &[&str] = &["crates/sandbox/src/launch/", "crates/sandbox/src/isolate/", "crates/sys/src/"];

/// Whatever opens a file by its path, and where that may stand.
const OPENS: &[&str] = &[
    "File::open",
    "File::create",
    "OpenOptions::new",
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
];
const OPENS_IN: &[&str] = &[
    "crates/sandbox/src/root/",
    "crates/cli/src/settings/",
    "crates/cli/src/logs/",
    "crates/sandbox/src/ledger/",
    "crates/sandbox/src/launch/",
    "crates/sandbox/src/isolate/",
];

/// Whatever connects or looks a host up, and where that may stand.
const DIALS: &[&str] = &[
    "TcpStream::connect",
    "UdpSocket::bind",
    "to_socket_addrs(",
    "lookup_host(",
    "net::connect",
    "connect, socket_with",
];
const DIALS_IN: &[&str] = &["crates/sandbox/src/outbound/"];

#[test]
fn the_manifests_follow_the_direction_of_trust() {
    for (name, allowed) in DIRECTION {
        let manifest = fs::read_to_string(house().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let table: toml::Table = manifest.parse().unwrap();
        let own = table["dependencies"].as_table().unwrap();
        let mut found: Vec<_> = own.keys().filter_map(|key| key.strip_prefix("picoclaw-")).collect();
        found.sort_unstable();
        let strangers: Vec<_> = found.iter().filter(|dep| !allowed.contains(dep)).collect();
        assert!(
            strangers.is_empty(),
            "`{name}` may know {allowed:?}, but its manifest also names {strangers:?}"
        );
    }
}

#[test]
fn children_are_started_in_one_place() {
    assert_only_in(STARTS, STARTS_IN, "starts a process");
}

#[test]
fn files_are_opened_by_path_where_that_is_allowed() {
    assert_only_in(OPENS, OPENS_IN, "opens a file by its path");
}

#[test]
fn hosts_are_looked_up_and_dialled_in_one_place() {
    assert_only_in(DIALS, DIALS_IN, "reaches out");
}

#[test]
fn unsafe_code_stays_in_the_cellar() {
    for (name, _) in DIRECTION.iter().filter(|(name, _)| *name != "sys") {
        let manifest = fs::read_to_string(house().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let table: toml::Table = manifest.parse().unwrap();
        assert_eq!(
            table["lints"]["workspace"].as_bool(),
            Some(true),
            "`{name}` must take the workspace's lints, which forbid unsafe code"
        );
    }
    assert_only_in(&["unsafe {", "unsafe fn", "unsafe impl"], &["crates/sys/src/"], "is unsafe");
}

#[test]
fn every_file_keeps_the_budget_and_has_module_documentation() {
    for (path, text) in sources() {
        let code = code_of(&text).lines().filter(|line| counts(line)).count();
        assert!(code <= BUDGET, "`{path}` has {code} lines of code; the budget is {BUDGET}");
        assert!(text.starts_with("//!"), "`{path}` has no module documentation");
    }
}

#[test]
fn nothing_is_left_for_later_without_an_issue() {
    for (path, text) in sources() {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            assert!(!["TODO", "FIXME", "XXX"].contains(&word), "`{path}` holds `{word}`");
        }
        assert!(
            !code_of(&text).contains("#[allow("),
            "`{path}` holds `#[allow(`: use `#[expect(…, reason = …)]`"
        );
    }
}

#[test]
fn each_crate_has_lints_of_its_own_that_repeat_the_test_exceptions() {
    for (name, _) in DIRECTION {
        let clippy = fs::read_to_string(house().join(format!("crates/{name}/clippy.toml"))).unwrap();
        assert!(
            clippy.contains("allow-unwrap-in-tests = true"),
            "`{name}`'s clippy.toml replaces the root one"
        );
        assert!(clippy.contains("std::process::Command"), "`{name}` must name the right door for children");
    }
}

#[test]
fn scripts_keep_their_line_ends() {
    let attributes = fs::read_to_string(house().join(".gitattributes")).unwrap();
    assert!(attributes.lines().any(|line| line.starts_with("*.sh") && line.contains("eol=lf")));
    let script = fs::read(house().join(".ci/run")).unwrap();
    assert!(!script.contains(&b'\r'));
}

fn assert_only_in(needles: &[&str], allowed: &[&str], what: &str) {
    for (path, text) in sources() {
        if allowed.iter().any(|room| path.starts_with(room)) {
            continue;
        }
        for (number, line) in code_of(&text).lines().enumerate().filter(|(_, line)| counts(line)) {
            for needle in needles {
                assert!(
                    !line.contains(needle),
                    "{path}:{}: `{needle}` {what}; only {allowed:?} may",
                    number + 1
                );
            }
        }
    }
}

/// The part of a file before its tests.
fn code_of(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

fn counts(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, _) in DIRECTION {
        gather(&house().join(format!("crates/{name}/src")), &mut found);
    }
    assert!(found.len() > 10, "the walk over the sources found only {} files", found.len());
    found
}

fn gather(dir: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Tests that look inside a room live beside it; they are not the room.
            if path.file_name().is_none_or(|name| name != "tests") {
                gather(&path, found);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && path.file_name().is_none_or(|name| name != "tests.rs")
        {
            let name = path.strip_prefix(house()).unwrap().display().to_string();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

fn house() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
