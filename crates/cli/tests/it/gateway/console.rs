//! The console in a real browser.

use super::client::Gateway;
use crate::mcp::peers::peer;
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("../../peers/console.mjs");

/// Two agents: one whose lines are commands, and one with a model of ours.
const CONFIG: &str = r#"{
  "version": 3,
  "heartbeat": {"enabled": false},
  "agents": {
    "defaults": {"max_parallel_turns": 8},
    "agents": [{"id": "main", "default": true, "model": "hands"}, {"id": "dreamer", "name": "<i>dreamer</i>", "model": "dreams"}]
  },
  "model_list": [
    {"model_name": "hands", "model": "direct/hands"},
    {"model_name": "dreams", "model": "scripted/dreams", "api_base": "file://{dir}/replies.jsonl"}
  ],
  "tools": {"exec": {"on_block": "ask", "custom_deny_patterns": ["^touch "]}}
}"#;

const ATTACK: &str = r#"<img src=x onerror="globalThis.owned=1">"#;

/// Debian's browser, or another of its kind.
fn browser() -> Option<PathBuf> {
    let known = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = known.iter().map(PathBuf::from).find(|path| path.exists());
    if found.is_none() {
        picoclaw_testing::skip!("there is no Chromium; `make setup` installs it where it can");
    }
    found
}

/// Where pictures of the page go: next to what was built, or, for a user who may not write there, into a temporary directory.
fn pictures(instance: &TestInstance) -> PathBuf {
    let lasting = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/console");
    let is_ours = std::fs::create_dir_all(&lasting).is_ok() && std::fs::write(lasting.join("by"), "").is_ok();
    if is_ours { lasting } else { instance.dir().join("pictures") }
}

#[test]
fn a_person_can_watch_and_answer_and_nothing_hostile_becomes_markup() {
    let (Some(browser), Some(modules)) = (browser(), peer("browser/node_modules")) else { return };
    let instance = TestInstance::with_config(CONFIG);
    let replies = [
        json!({"tool_calls": [{"name": ATTACK, "arguments": {"path": ATTACK}}]}),
        json!({"content": ATTACK}),
    ];
    std::fs::write(instance.dir().join("replies.jsonl"), replies.map(|reply| reply.to_string()).join("\n"))
        .unwrap();
    assert_eq!(instance.tool("list_dir", "{}").code, 0, "something of another program");
    for (name, rhythm) in [(ATTACK, ["-c", "0 9 * * 1-5"]), ("every day", ["-e", "86400"])] {
        let added = instance.run(&["cron", "add", "-n", name, "-m", ATTACK, rhythm[0], rhythm[1]]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let gateway = Gateway::new(&instance);
    let (script, scratch) = (instance.dir().join("console.mjs"), instance.dir().join("browser"));
    std::fs::write(&script, SCRIPT).unwrap();
    std::fs::create_dir(&scratch).unwrap();
    let mut command = Command::new("node");
    command.arg(&script).arg(modules).arg(browser);
    command.args([&format!("http://127.0.0.1:{}", gateway.port), &gateway.token]);
    command.arg(pictures(&instance)).arg(&scratch);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &scratch);
    let ran = command.env("TMPDIR", &scratch).current_dir(instance.dir()).output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && told.ends_with("ok\n"), "{told}\n{}", gateway.said());
    for (name, is_there, why) in [
        ("yes.txt", true, "a yes by a click"),
        ("keys.txt", true, "a yes by a key"),
        ("one.txt", false, "a no"),
        ("two.txt", false, "a second no"),
    ] {
        assert_eq!(instance.workspace().join(name).exists(), is_there, "{why}");
    }
    wait_for("the answers are on record", || {
        let answers = instance
            .records()
            .iter()
            .filter(|record| record["outcome"].as_str().is_some_and(|o| o.starts_with("answered")))
            .count();
        (answers == 5).then_some(())
    });
}
