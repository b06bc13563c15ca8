//! The clients that people have: the official SDKs of both languages, and the inspector.

use super::http::Listening;
use crate::test_instance::{Ran, TestInstance, ran};
use std::path::PathBuf;
use std::process::Command;

const PYTHON: &str = include_str!("../../peers/python_client.py");
const TYPESCRIPT: &str = include_str!("../../peers/typescript_client.mjs");

/// What `make setup` fetched, if it could and this user can read it.
pub(crate) fn peer(path: &str) -> Option<PathBuf> {
    let peers = std::env::var_os("PICOCLAW_TEST_PEERS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers")),
        PathBuf::from,
    );
    let found = peers.join(path);
    let stamp = peers.join(path.split('/').next().unwrap()).join("stamp");
    if stamp.exists() && found.exists() {
        // A virtual environment is known by the name it is called by, so links stay as they are.
        return std::path::absolute(found).ok();
    }
    picoclaw_testing::skip!("`{}` is not there; `make setup` fetches it", found.display());
    None
}

fn instance() -> TestInstance {
    TestInstance::with_config(r#"{"tools": {"exec": {"on_block": "ask"}}}"#)
}

/// A client's program, run against a server on streams or over HTTP.
fn against(instance: &TestInstance, client: &[&str], program: &str, mode: &str, transport: &str) -> Ran {
    let script = instance.dir().join(if program == PYTHON { "client.py" } else { "client.mjs" });
    std::fs::write(&script, program).unwrap();
    let serve = instance.command(&["mcp", "serve"]);
    let mut command = Command::new(client[0]);
    command.arg(&script).args(&client[1..]).arg(mode).arg(instance.workspace());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", instance.dir());
    command.env("PICOCLAW_HOME", instance.home()).current_dir(instance.dir());
    let listening;
    if transport == "stdio" {
        command.arg("stdio").arg(serve.get_program()).args(serve.get_args());
    } else {
        listening = Listening::new(instance, &[]);
        command.args(["http", &listening.url(), super::http::TOKEN]);
    }
    ran(command.output().unwrap())
}

#[test]
fn the_python_sdk_can_do_everything() {
    let Some(python) = peer("python/bin/python") else { return };
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        for transport in ["stdio", "http"] {
            let ran = against(&instance(), &[python.to_str().unwrap()], PYTHON, mode, transport);
            assert_eq!((ran.code, ran.stdout.trim()), (0, version), "{mode} {transport}: {}", ran.stderr);
        }
    }
}

#[test]
fn both_typescript_sdks_can_do_everything() {
    let Some(modules) = peer("node/node_modules") else { return };
    for (mode, version) in [("v1", "v1"), ("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        for transport in ["stdio", "http"] {
            let ran = against(&instance(), &["node", modules.to_str().unwrap()], TYPESCRIPT, mode, transport);
            assert_eq!((ran.code, ran.stdout.trim()), (0, version), "{mode} {transport}: {}", ran.stderr);
        }
    }
}

#[test]
fn the_inspector_finds_nothing_to_complain_about() {
    let Some(inspector) =
        peer("node/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    else {
        return;
    };
    let instance = TestInstance::with_config("{}");
    let serve = instance.command(&["mcp", "serve"]);
    let inspect = |arguments: &[&str]| {
        let mut command = Command::new("node");
        command.arg(&inspector).arg("--cli").args(arguments);
        command.args(["-e", &format!("PICOCLAW_HOME={}", instance.home().display())]);
        command.arg("--").arg(serve.get_program()).args(serve.get_args());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", instance.dir());
        ran(command.current_dir(instance.dir()).output().unwrap())
    };
    let listed = inspect(&["--method", "tools/list", "--strict"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let written = inspect(&[
        "--method",
        "tools/call",
        "--tool-name",
        "write_file",
        "--tool-arg",
        "path=a",
        "--tool-arg",
        "content=b",
    ]);
    assert!(written.code == 0 && written.stdout.contains("File written: a"), "{written:?}");
    let refused =
        inspect(&["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=/etc/passwd"]);
    assert!(refused.stdout.contains("\"code\": \"outside_workspace\""), "{refused:?}");
}
