//! The rules of ARCHITECTURE.md, checked against the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the program, and which of them each may depend on.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("policy", &[]),
    ("sys", &[]),
    ("sandbox", &["policy", "sys"]),
    ("agent", &["policy", "sandbox"]),
    ("cli", &["agent", "policy", "sandbox"]),
];

/// Crates whose top-level modules must not depend on each other in a circle.
const WITHOUT_CYCLES: &[&str] = &["sys", "sandbox", "agent"];

/// Lines of code that one file may have; tests in it do not count.
const MAX_LINES: usize = 600;

/// What starts a process, and where that is allowed.
const STARTS: &[&str] =
    &["Command::new", "libc::fork", "libc::vfork", "libc::execv", "libc::posix_spawn", "SYS_clone"];
const STARTS_IN: &[&str] = &["crates/sandbox/src/launch/", "crates/sandbox/src/isolate/", "crates/sys/src/"];

/// What opens a file by its path, and where that is allowed.
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
    "crates/sandbox/src/protect/",
    "crates/sandbox/src/terminal/",
];

/// What connects to a host or resolves its name, and where that is allowed.
const CONNECTS: &[&str] = &[
    "TcpStream::connect",
    "UdpSocket::bind",
    "to_socket_addrs(",
    "lookup_host(",
    "net::connect",
    "connect, socket_with",
];
const CONNECTS_IN: &[&str] =
    &["crates/sandbox/src/dial/", "crates/sandbox/src/outbound/", "crates/sys/src/linux/net_namespace.rs"];

/// What tells platforms apart, and where that is allowed.
const PLATFORMS: &[&str] = &[
    "cfg(windows",
    "cfg(unix",
    "cfg(not(windows",
    "cfg(not(unix",
    "cfg!(windows",
    "cfg!(unix",
    "cfg_attr(windows",
    "target_os",
    "target_family",
];
const PLATFORMS_IN: &[&str] = &[
    "crates/agent/src/child_pipe.rs",
    "crates/cli/src/console/mod.rs",
    "crates/cli/src/platform.rs",
    "crates/sys/src/",
    "crates/sandbox/src/confine/",
    "crates/sandbox/src/host_agents.rs",
    "crates/sandbox/src/line_proxy/mod.rs",
    "crates/sandbox/src/broker/",
    "crates/sandbox/src/dial/",
    "crates/sandbox/src/sd_notify.rs",
    "crates/sandbox/src/terminal/mod.rs",
    "crates/sandbox/src/isolate/",
    "crates/sandbox/src/launch/",
    "crates/sandbox/src/os_file/",
    "crates/sandbox/src/protect/mod.rs",
    "crates/sandbox/src/root/",
    "crates/policy/src/path.rs",
];

#[test]
fn crates_depend_in_one_direction() {
    for (name, allowed) in DEPENDENCIES {
        let table = manifest(name);
        let own = table.get("dependencies").and_then(|own| own.as_table());
        let own = own.into_iter().flat_map(|own| own.keys());
        let mut found: Vec<_> = own.filter_map(|key| key.strip_prefix("picoclaw-")).collect();
        found.sort_unstable();
        let others: Vec<_> = found.iter().filter(|dep| !allowed.contains(dep)).collect();
        assert!(
            others.is_empty(),
            "`{name}` may depend on {allowed:?}, but its manifest also names {others:?}"
        );
    }
}

#[test]
fn modules_of_a_crate_do_not_depend_on_each_other_in_a_circle() {
    for name in WITHOUT_CYCLES {
        let graph = module_graph(name);
        for start in graph.keys() {
            let mut path = vec![start.as_str()];
            assert!(!reaches(&graph, start, start, &mut path), "`{name}`: {}", path.join(" → "));
        }
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
fn hosts_are_resolved_and_connected_to_in_one_place() {
    assert_only_in(CONNECTS, CONNECTS_IN, "connects");
}

#[test]
fn platforms_are_told_apart_in_few_places() {
    assert_only_in(PLATFORMS, PLATFORMS_IN, "tells platforms apart");
}

#[test]
fn unsafe_code_stays_in_sys() {
    for (name, _) in DEPENDENCIES.iter().filter(|(name, _)| *name != "sys") {
        assert_eq!(
            manifest(name)["lints"]["workspace"].as_bool(),
            Some(true),
            "`{name}` must take the workspace's lints, which forbid unsafe code"
        );
    }
    assert_only_in(&["unsafe {", "unsafe fn", "unsafe impl"], &["crates/sys/src/"], "is unsafe");
}

#[test]
fn no_file_is_too_long_and_every_file_says_what_it_is() {
    for (path, text) in sources() {
        let code = code_of(&text).lines().filter(|line| is_code(line)).count();
        assert!(code <= MAX_LINES, "`{path}` has {code} lines of code; at most {MAX_LINES} are allowed");
        assert!(text.starts_with("//!"), "`{path}` has no module documentation");
    }
}

#[test]
fn comments_name_the_component_that_acts_and_are_wrapped() {
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.trim().starts_with("//")) {
            assert!(line.chars().count() <= 100, "{path}:{}: wrap it at 100 columns", number + 1);
            for word in line.split(|c: char| !c.is_alphabetic()) {
                let vague = ["whoever", "somebody", "nobody"].contains(&word.to_lowercase().as_str());
                assert!(!vague, "{path}:{}: `{word}`: name the component", number + 1);
            }
        }
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
    for (name, _) in DEPENDENCIES {
        let clippy = fs::read_to_string(checkout().join(format!("crates/{name}/clippy.toml"))).unwrap();
        assert!(
            clippy.contains("allow-unwrap-in-tests = true"),
            "`{name}`'s clippy.toml replaces the root one"
        );
        assert!(clippy.contains("std::process::Command"), "`{name}` must say where children are started");
    }
}

#[test]
fn every_file_that_the_architecture_names_exists() {
    let text = fs::read_to_string(checkout().join("ARCHITECTURE.md")).unwrap();
    let mut named = 0;
    for path in text.split('`').skip(1).step_by(2).filter_map(|span| span.split(':').next()) {
        let Some((name, rest)) = path.split_once('/') else { continue };
        if path.ends_with(".rs") && DEPENDENCIES.iter().any(|(known, _)| *known == name) {
            named += 1;
            assert!(checkout().join(format!("crates/{name}/src/{rest}")).exists(), "there is no `{path}`");
        }
    }
    assert!(named > 20, "only {named} files were found; is the convention still followed?");
}

#[test]
fn scripts_keep_their_line_ends() {
    let attributes = fs::read_to_string(checkout().join(".gitattributes")).unwrap();
    assert!(attributes.lines().any(|line| line.starts_with("*.sh") && line.contains("eol=lf")));
    let script = fs::read(checkout().join(".ci/run")).unwrap();
    assert!(!script.contains(&b'\r'));
}

fn assert_only_in(needles: &[&str], allowed: &[&str], what: &str) {
    for (path, text) in sources() {
        if allowed.iter().any(|dir| path.starts_with(dir)) {
            continue;
        }
        for (number, line) in code_of(&text).lines().enumerate().filter(|(_, line)| is_code(line)) {
            for needle in needles {
                assert!(
                    !contains_name(line, needle),
                    "{path}:{}: `{needle}` {what}; only {allowed:?} may",
                    number + 1
                );
            }
        }
    }
}

/// Whether `line` has `needle`, and not as the end of a longer name.
fn contains_name(line: &str, needle: &str) -> bool {
    let is_part = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(needle).any(|(at, _)| !is_part(&line[..at]))
}

/// Which top-level modules of a crate each of them names.
fn module_graph(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let prefix = format!("crates/{name}/src/");
    let sources: BTreeMap<_, _> = sources()
        .into_iter()
        .filter_map(|(path, text)| Some((path.strip_prefix(&prefix)?.to_owned(), text)))
        .collect();
    let module_of =
        |path: &str| path.split(['/', '.']).next().filter(|module| *module != "lib").map(str::to_owned);
    let modules: BTreeSet<String> = sources.keys().filter_map(|path| module_of(path)).collect();
    // `crate::Name` is what `lib.rs` re-exports from a module.
    let exports: BTreeMap<&str, &str> = code_of(&sources["lib.rs"])
        .split(';')
        .filter_map(|statement| statement.split_once("use ")?.1.split_once("::"))
        .flat_map(|(module, names)| words(names).map(move |word| (word, module)))
        .collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &sources {
        let Some(own) = module_of(path) else { continue };
        let code: String = code_of(text).lines().filter(|line| is_code(line)).collect();
        let named = names_after_crate(&code).into_iter();
        let found =
            named.map(|name| exports.get(name).copied().filter(|_| !modules.contains(name)).unwrap_or(name));
        let others = found.filter(|found| modules.contains(*found) && *found != own).map(str::to_owned);
        graph.entry(own.clone()).or_default().extend(others);
    }
    graph
}

/// The first names behind `crate::`, also those of a group in braces.
fn names_after_crate(code: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.extend(words(rest).next());
            continue;
        };
        let (mut depth, mut expects_name) = (0, true);
        for (at, char) in group.char_indices() {
            match char {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => expects_name = true,
                char if char.is_alphanumeric() && expects_name => {
                    names.extend(words(&group[at..]).next());
                    expects_name = false;
                }
                _ => {}
            }
        }
    }
    names
}

fn reaches<'a>(
    graph: &'a BTreeMap<String, BTreeSet<String>>,
    from: &str,
    to: &str,
    path: &mut Vec<&'a str>,
) -> bool {
    for next in graph.get(from).into_iter().flatten() {
        if next == to {
            return true;
        }
        if !path.contains(&next.as_str()) {
            path.push(next);
            if reaches(graph, next, to, path) {
                return true;
            }
            path.pop();
        }
    }
    false
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn manifest(name: &str) -> toml::Table {
    fs::read_to_string(checkout().join(format!("crates/{name}/Cargo.toml"))).unwrap().parse().unwrap()
}

/// The part of a file before its tests.
fn code_of(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, _) in DEPENDENCIES {
        read_sources(&checkout().join(format!("crates/{name}/src")), &mut found);
    }
    assert!(found.len() > 10, "the walk over the sources found only {} files", found.len());
    found
}

fn read_sources(dir: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "tests") {
                read_sources(&path, found);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && path.file_name().is_none_or(|name| name != "tests.rs")
        {
            let name = path.strip_prefix(checkout()).unwrap().display().to_string();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
