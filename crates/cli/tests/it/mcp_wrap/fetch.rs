//! Servers that `npx` and `uvx` start: fetched once with a network, run without one.

use super::Den;
use picoclaw_testing::wait_until;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const REGISTRY: &str = include_str!("servers/npm_registry.py");
const INDEX: &str = include_str!("servers/python_index.py");

/// A registry on the loopback of the host.
struct Registry {
    server: Child,
    log: PathBuf,
}

impl Registry {
    /// Nothing where npm is not installed, said loudly.
    fn start(den: &Den) -> Option<Self> {
        let programs = ["npm", "npx", "node"];
        if let Some(missing) = programs.iter().find(|name| !is_here(name)) {
            picoclaw_testing::skip!("servers that npx starts: {missing} is not installed");
            return None;
        }
        Some(Self::serve(den, REGISTRY))
    }

    fn serve(den: &Den, program: &str) -> Self {
        let (script, log) = (den.file("registry.py", program), den.file("registry.log", ""));
        let mut server = Command::new("/usr/bin/python3");
        server.arg(script).stdin(Stdio::null()).stdout(std::fs::File::create(&log).unwrap());
        let registry = Self { server: server.spawn().unwrap(), log };
        wait_until("the registry listens", || registry.lines().len() == 1);
        registry
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(&self.log).unwrap().lines().map(str::to_owned).collect()
    }

    fn port(&self) -> u16 {
        self.lines()[0].parse().unwrap()
    }

    fn variable(&self) -> String {
        format!("npm_config_registry=http://127.0.0.1:{}", self.port())
    }

    /// How many packages were asked for.
    fn requests(&self) -> usize {
        self.lines().len() - 1
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn is_here(program: &str) -> bool {
    std::env::split_paths(super::SYSTEM_PATH).any(|dir| dir.join(program).exists())
}

/// What the server found: it sees its folder and its key, its install script saw neither.
fn assert_facts(text: &str) {
    let facts: Value = serde_json::from_str(text).unwrap();
    let install: Value = serde_json::from_str(facts["install"].as_str().unwrap()).unwrap();
    assert_eq!(install, json!({"folder": "ENOENT", "key": "none"}), "the step with the network: {text}");
    assert_eq!(facts["folder"], "mine", "{text}");
    assert_eq!(facts["key"], "sk-MARK", "{text}");
    assert_eq!(facts["written"], "EROFS", "{text}");
    assert_ne!(facts["network"], "open", "{text}");
}

#[test]
fn a_wrapped_server_is_fetched_once_and_has_no_network() {
    let Some(den) = Den::new("servers that npx starts") else { return };
    let Some(registry) = Registry::start(&den) else { return };
    let note = den.file("folder/note", "mine");
    let (note, looked) =
        (note.to_str().unwrap(), format!("npm_config_looked_for={}", note.to_str().unwrap()));
    let registry_variable = registry.variable();
    let options = ["--env", &registry_variable, "--env", &looked, "--env", "SERVER_KEY=sk-MARK"];
    let words = ["--", "npx", "-y", "@everyday/server", note];
    let start = || {
        let mut server = den.wrap_command(&[&options[..], &words].concat());
        server.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
        server
    };
    let mut server = start();
    for said in ["step 1 of 2: fetching `@everyday/server`", "step 2 of 2: it runs from there"] {
        server.stderr_says(said);
    }
    let fetched = registry.requests();
    assert!(fetched >= 2, "{:?}", registry.lines());
    let answer = server.call("facts", json!({"port": registry.port()}));
    assert_facts(answer["result"]["content"][0]["text"].as_str().unwrap());
    server.end();
    // Later starts ask for nothing, and say nothing of steps.
    let mut server = start();
    let answer = server.call("facts", json!({"port": registry.port()}));
    assert_facts(answer["result"]["content"][0]["text"].as_str().unwrap());
    assert!(!server.stderr().contains("step"), "{}", server.stderr());
    assert_eq!(registry.requests(), fetched);
    server.end();
    // The control: with an open network npx fetches for itself, and the server reaches the host.
    let mut open = den.wrap_command(&[&["--net", "host"], &options[..], &words].concat());
    let answer = open.call("facts", json!({"port": registry.port()}));
    let facts = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(facts.contains(r#""network":"open""#), "{facts}");
    assert!(registry.requests() > fetched);
}

#[test]
fn a_package_that_cannot_be_had_is_named() {
    let Some(den) = Den::new("packages that cannot be had") else { return };
    let Some(registry) = Registry::start(&den) else { return };
    let server = den.wrap_command(&["--env", &registry.variable(), "--", "npx", "-y", "missing"]);
    let (code, stderr) = server.end();
    assert_eq!(code, 125, "{stderr}");
    assert!(stderr.contains("could not fetch `missing`") && stderr.contains("404"), "{stderr}");
    assert!(!stderr.contains("npm install -g"), "{stderr}");
}

#[test]
fn a_configured_server_is_fetched_by_its_test_and_has_no_network() {
    let isolation = r#"{"isolation": {"enabled": true, "network": "host"}}"#;
    let Some(den) = Den::with_config("configured servers that npx starts", isolation) else { return };
    let Some(registry) = Registry::start(&den) else { return };
    let note = den.file("folder/note", "mine");
    let note = note.to_str().unwrap();
    let (variable, looked) = (registry.variable(), format!("npm_config_looked_for={note}"));
    let options = ["--net", "none", "-e", &variable, "-e", &looked, "-e", "SERVER_KEY=sk-MARK"];
    let run = |words: &[&str]| {
        let mut command = den.instance.command(words);
        crate::test_instance::ran(command.env("PATH", super::SYSTEM_PATH).output().unwrap())
    };
    let added = run(&[&["mcp", "add"], &options[..], &["s", "npx", "-y", "@everyday/server", note]].concat());
    assert!(added.code == 0 && added.stderr.contains("`picoclaw mcp test s`"), "{added:?}");
    let tested = run(&["mcp", "test", "s"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    assert!(tested.stderr.contains("step 1 of 2") && tested.stderr.contains("step 2 of 2"), "{tested:?}");
    let fetched = registry.requests();
    let called = run(&["tool", "mcp_s_facts", &json!({"port": registry.port()}).to_string()]);
    assert_eq!(called.code, 0, "{called:?}");
    // The key is a secret of the configuration, and so is not told.
    assert_facts(&called.stdout.trim().replace("[FILTERED]", "sk-MARK"));
    assert_eq!(registry.requests(), fetched);
}

#[test]
fn a_server_that_uvx_starts_is_fetched_once_and_has_no_network() {
    let Some(den) = Den::new("servers that uvx starts") else { return };
    let Some(uvx) = crate::mcp::peers::peer("uv/bin/uvx") else { return };
    let index = Registry::serve(&den, INDEX);
    let note = den.file("folder/note", "mine");
    let (uvx, note, url) = (
        uvx.to_str().unwrap(),
        note.to_str().unwrap(),
        format!("UV_DEFAULT_INDEX=http://127.0.0.1:{}", index.port()),
    );
    let options = ["--env", &url, "--env", "SERVER_KEY=sk-MARK"];
    let words = ["--", uvx, "everyday-server", note];
    let facts = |net: &[&str]| {
        let mut server = den.wrap_command(&[net, &options[..], &words].concat());
        let answer = server.call("facts", json!({"port": index.port()}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let facts: Value = serde_json::from_str(text).unwrap();
        let (code, stderr) = server.end();
        assert_eq!(code, 0, "{stderr}");
        (facts, stderr)
    };
    let (first, stderr) = facts(&[]);
    assert_eq!((&first["folder"], &first["key"]), (&json!("mine"), &json!("sk-MARK")), "{first}");
    assert!(first["network"] != "open" && first["written"] == "Read-only file system", "{first}");
    assert!(stderr.contains("step 1 of 2: fetching `everyday-server`"), "{stderr}");
    let fetched = index.requests();
    let (second, stderr) = facts(&[]);
    assert_eq!(second, first);
    assert!(index.requests() == fetched && !stderr.contains("step"), "{stderr}");
    // The control: with an open network uvx fetches for itself, and the server reaches the host.
    assert_eq!(facts(&["--net", "host"]).0["network"], "open");
    assert!(index.requests() > fetched);
}
