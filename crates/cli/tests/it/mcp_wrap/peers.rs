//! Real servers under the wrap, and a real host before it: the reference servers and the official Python SDK.

use super::Den;
use crate::mcp::peers::peer;
use crate::test_instance::ran;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `make setup` fetched: the reference servers, and a Python with the official SDK.
fn reference_servers() -> Option<PathBuf> {
    peer("node")
}

fn sdk() -> Option<PathBuf> {
    // Its interpreter may lie where this user cannot go.
    peer("python/bin/python").and_then(|_| peer("python"))
}

/// The official SDK as host of a wrapped server: what it printed.
fn hosted(den: &Den, sdk: &Path, mode: &str, calls: &Value, words: &[&str]) -> Value {
    let wrap = den.command(words);
    let mut host = Command::new(sdk.join("bin/python"));
    host.arg(den.script("sdk_client.py")).args([mode, &calls.to_string()]);
    host.arg(wrap.get_program()).args(wrap.get_args()).current_dir(den.instance.dir());
    host.env_clear().envs(wrap.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = ran(host.output().unwrap());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|why| panic!("{why}: {ran:?}"))
}

#[test]
fn the_reference_file_server_works_on_what_its_command_line_names() {
    let Some(den) = Den::new("the reference file server") else { return };
    let Some(npm) = reference_servers() else { return };
    let script = npm.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let data = den.file("data/a.txt", "hello").parent().unwrap().to_owned();
    let (npm, script, dir) = (npm.to_str().unwrap(), script.to_str().unwrap(), data.to_str().unwrap());
    for (why, options, written) in [("as it is", &[][..], false), ("with --rw", &["--rw", dir], true)] {
        let words = [&["--name", "files", "--ro", npm], options, &["--", "node", script, dir]].concat();
        let mut server = den.wrap_command(&words);
        let hello = server.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
        assert!(hello["result"]["serverInfo"].is_object(), "{hello}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert!(server.names().contains(&"read_text_file".to_owned()));
        let read = server.call("read_text_file", json!({"path": data.join("a.txt")}));
        assert_eq!(read["result"]["content"][0]["text"], "hello", "{why}");
        let write = server.call("write_file", json!({"path": data.join("b.txt"), "content": "x"}));
        assert_eq!(write["result"]["isError"] != true, written, "{why}: {write}");
        assert_eq!(data.join("b.txt").exists(), written, "{why}");
        server.end();
    }
}

#[test]
fn the_reference_server_for_everything_works() {
    let Some(den) = Den::new("the reference server for everything") else { return };
    let (Some(npm), Some(sdk)) = (reference_servers(), sdk()) else { return };
    let script = npm.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let words = ["--ro", npm.to_str().unwrap(), "--", "node", script.to_str().unwrap(), "stdio"];
    let calls = json!([["echo", {"message": "hi"}], ["trigger-long-running-operation", {"duration": 1, "steps": 4}], ["get-env", {}]]);
    let said = hosted(&den, &sdk, "legacy", &calls, &words);
    assert_eq!(said["results"][0]["text"], "Echo: hi", "{said}");
    assert_eq!(said["progress"].as_array().unwrap().len(), 4, "progress arrives: {said}");
    let environment = said["results"][2]["text"].as_str().unwrap();
    assert!(
        environment.contains("runtime-user-env/mcp") && !environment.contains("PICOCLAW_HOME"),
        "{environment}"
    );
}

#[test]
fn a_server_and_a_host_of_the_official_sdk_meet_in_both_revisions() {
    let Some(den) = Den::new("the official SDK") else { return };
    let Some(sdk) = sdk() else { return };
    let secret = den.file(".ssh/id", "a private key");
    let (python, script) = (sdk.join("bin/python"), den.script("sdk_server.py"));
    let words = ["--ro", sdk.to_str().unwrap(), "--", python.to_str().unwrap(), &script];
    let calls =
        json!([["add", {"a": 2, "b": 3}], ["count", {"to": 3}], ["peek", {"path": secret}], ["hidden", {}]]);
    for (mode, revision) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let said = hosted(&den, &sdk, mode, &calls, &words);
        assert_eq!(said["revision"], revision, "{said}");
        assert_eq!(said["tools"], json!(["add", "count", "peek"]));
        assert_eq!(said["results"][0], json!({"error": false, "text": "5"}));
        assert_eq!(
            (&said["results"][1]["text"], &said["progress"]),
            (&json!("counted to 3"), &json!([1.0, 2.0, 3.0]))
        );
        assert_eq!(said["results"][2]["error"], true, "the key is not there: {said}");
        assert!(said["results"][3]["refused"].as_str().unwrap().contains("not among the tools"), "{said}");
    }
    let mut control = Command::new(&python);
    control.arg(den.script("sdk_client.py")).args(["auto", &calls.to_string()]).arg(&python).arg(&script);
    let said: Value = serde_json::from_str(&ran(control.output().unwrap()).stdout).unwrap();
    assert_eq!(said["results"][2]["text"], "a private key", "the control: without the wrap it is read");
}
