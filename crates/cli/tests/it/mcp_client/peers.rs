//! Real servers through the client, in the cage: the official Python SDK, and the reference servers of the npm registry.

use crate::mcp::peers::peer;
use crate::test_instance::TestInstance;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const SDK_SERVER: &str = include_str!("../mcp_wrap/servers/sdk_server.py");

/// A caged instance; nothing where this host gives no cage, said loudly.
fn caged(why: &str) -> Option<TestInstance> {
    let instance = TestInstance::with_config(r#"{"isolation": {"enabled": true}}"#);
    let ran = instance.tool("exec", r#"{"command": "true"}"#);
    if ran.code != 0 {
        picoclaw_testing::skip!("{why}: this host gives no cage: {}", ran.stderr);
        return None;
    }
    Some(instance)
}

/// A Python with the official SDK, if this user can run its interpreter.
fn sdk() -> Option<PathBuf> {
    peer("python/bin/python").and_then(|_| peer("python"))
}

fn add(instance: &TestInstance, line: &[&str]) {
    let ran = instance.run(&[&["mcp", "add"], line].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn the_reference_file_server_serves_in_the_cage() {
    let (Some(instance), Some(modules)) = (caged("the file server"), peer("node/node_modules")) else {
        return;
    };
    let data = instance.dir().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("a.txt"), "hello").unwrap();
    let secret = instance.dir().join("secret.txt");
    std::fs::write(&secret, "not for it").unwrap();
    let script = modules.join("@modelcontextprotocol/server-filesystem/dist/index.js");
    // It is told that everything above is its own; the cage knows better.
    let above = instance.dir().to_str().unwrap();
    add(&instance, &["files", "node", script.to_str().unwrap(), data.to_str().unwrap()]);
    add(&instance, &["greedy", "node", script.to_str().unwrap(), above]);
    let read = |server: &str, path: &std::path::Path| {
        instance
            .tool(&format!("mcp_{server}_read_text_file"), &format!(r#"{{"path": "{}"}}"#, path.display()))
    };
    let ran = read("files", &data.join("a.txt"));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{ran:?}");
    assert_eq!(read("files", &secret).code, 1, "its own rule holds");
    let ran = read("greedy", &instance.home().join("config.json"));
    assert!(ran.code != 0 && !ran.stdout.contains("isolation"), "the instance is hidden: {ran:?}");
    let write = format!(r#"{{"path": "{}", "content": "x"}}"#, data.join("b.txt").display());
    let ran = instance.tool("mcp_files_write_file", &write);
    assert!(ran.code == 1 && ran.stdout.contains("MCP tool returned error: "), "shown read-only: {ran:?}");
    instance.configure(&super::config_of(&instance).replace(
        r#""enabled": true}"#,
        &format!(
            r#""enabled": true, "expose_paths": [{{"source": "{0}", "target": "{0}", "mode": "rw"}}]}}"#,
            data.display()
        ),
    ));
    let ran = instance.tool("mcp_files_write_file", &write);
    assert!(ran.code == 0 && data.join("b.txt").exists(), "with `expose_paths`: {ran:?}");
}

#[test]
fn the_reference_server_for_everything_serves_in_the_cage() {
    let (Some(instance), Some(modules)) = (caged("everything"), peer("node/node_modules")) else { return };
    // As npm links it: a program that finds its own modules.
    add(&instance, &["all", modules.join(".bin/mcp-server-everything").to_str().unwrap(), "stdio"]);
    for (tool, arguments, want) in [
        ("mcp_all_echo", r#"{"message": "hi"}"#, "Echo: hi"),
        ("mcp_all_get_sum_", r#"{"a": 2, "b": 3}"#, "5"),
        ("mcp_all_get_env_", "{}", "runtime-user-env/mcp/all"),
        ("mcp_all_get_tiny_image_", "{}", "image"),
    ] {
        let name = full(&instance, tool);
        let ran = instance.tool(&name, arguments);
        assert!(ran.code == 0 && ran.stdout.contains(want), "{name}: {ran:?}");
        assert!(!ran.stdout.contains("PICOCLAW_HOME"), "{name}: {ran:?}");
    }
}

/// The name of a tool that begins so: what had to be changed carries a hash.
fn full(instance: &TestInstance, beginning: &str) -> String {
    let listed = instance.run(&["tool", "list", "--mcp", "--json"]).stdout;
    let tools = listed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut names = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned));
    names.find(|name| name.starts_with(beginning)).unwrap_or_else(|| panic!("{beginning} in {listed}"))
}

#[test]
fn a_server_of_the_official_sdk_serves_in_the_cage() {
    let Some(instance) = caged("the official SDK") else { return };
    let Some(root) = sdk() else { return };
    let script = instance.dir().join("sdk_server.py");
    std::fs::write(&script, SDK_SERVER).unwrap();
    let secret = instance.dir().join("key");
    std::fs::write(&secret, "a private key").unwrap();
    // A virtual environment is known by the name it is called by, so the link to its interpreter stays.
    add(&instance, &["sdk", root.join("bin/python").to_str().unwrap(), script.to_str().unwrap()]);
    let shown = instance.run(&["mcp", "show", "sdk"]);
    assert!(
        shown.stdout.contains("protocol: 2026-07-28") && shown.stdout.contains("- a (integer, required)"),
        "{shown:?}"
    );
    let ran = instance.tool("mcp_sdk_add", r#"{"a": 2, "b": 3}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "5\n"), "{ran:?}");
    let ran = instance.tool("mcp_sdk_peek", &format!(r#"{{"path": "{}"}}"#, secret.display()));
    assert!(ran.code == 1 && !ran.stdout.contains("private"), "{ran:?}");
    instance.configure(
        &super::config_of(&instance)
            .replace(r#""isolation": {"enabled": true}"#, r#""isolation": {"enabled": false}"#),
    );
    let ran = instance.tool("mcp_sdk_peek", &format!(r#"{{"path": "{}"}}"#, secret.display()));
    assert_eq!(ran.stdout, "a private key\n", "the control: without the cage it is read");
}

/// A server at an address, until the test is over.
struct Served(Child);

impl Served {
    /// Starts it, and waits for the line in which it says that it listens.
    fn start(mut command: Command, ready: &str) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let served = Self(child);
        let mut said = String::new();
        while !said.contains(ready) {
            said.push_str(&lines.next().unwrap_or_else(|| panic!("it ended: {said}")));
        }
        std::thread::spawn(move || lines.for_each(drop));
        served
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn free_port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn servers_of_both_revisions_serve_over_http() {
    let instance = TestInstance::with_config("{}");
    if let Some(root) = sdk() {
        let port = free_port();
        let script = instance.dir().join("http_server.py");
        let text = SDK_SERVER.replace(
            "server.run()",
            &format!("server.run(\"streamable-http\", host=\"127.0.0.1\", port={port})"),
        );
        std::fs::write(&script, text).unwrap();
        let mut command = Command::new(root.join("bin/python"));
        command.arg(&script);
        let _served = Served::start(command, "running on");
        add(&instance, &["sdk", &format!("http://127.0.0.1:{port}/mcp")]);
        let shown = instance.run(&["mcp", "show", "sdk"]);
        assert!(shown.stdout.contains("protocol: 2026-07-28"), "{shown:?}");
        let ran = instance.tool("mcp_sdk_count", r#"{"to": 3}"#);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "counted to 3\n"), "{ran:?}");
    }
    if let Some(modules) = peer("node/node_modules") {
        let port = free_port();
        let mut command = Command::new("node");
        command
            .arg(modules.join("@modelcontextprotocol/server-everything/dist/index.js"))
            .arg("streamableHttp")
            .env("PORT", &port);
        let _served = Served::start(command, "listening on port");
        add(&instance, &["all", &format!("http://127.0.0.1:{port}/mcp")]);
        let shown = instance.run(&["mcp", "show", "all"]);
        assert!(shown.stdout.contains("protocol: 2025-11-25"), "{shown:?}");
        let ran = instance.tool("mcp_all_echo", r#"{"message": "hi"}"#);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Echo: hi\n"), "{ran:?}");
    }
}
