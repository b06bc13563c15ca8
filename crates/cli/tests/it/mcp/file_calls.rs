//! Calls of the file tools over standard streams: both revisions, roots, ids, order and cancellation.

use super::wire::{Wire, fresh_sleep, sleeps, text};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_until;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// What a request of the revision without a handshake says of itself.
fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The members of a record that do not differ from call to call.
fn stable(record: &Value) -> Value {
    let mut stable = record.clone();
    for key in ["seq", "time", "duration_us", "prev", "hash"] {
        stable.as_object_mut().unwrap().remove(key);
    }
    stable
}

#[test]
fn a_call_means_the_same_in_both_revisions() {
    let instance = TestInstance::with_config("{}");
    let legacy = answers_and_records(&instance, Wire::greeted(&instance, &[], &json!({})), &json!({}));
    let instance = TestInstance::with_config("{}");
    let modern = answers_and_records(&instance, Wire::open(&instance, &[]), &modern());
    for ((why, answer, records), (_, other_answer, other_records)) in legacy.iter().zip(&modern) {
        assert_eq!(answer, other_answer, "{why}");
        assert_eq!(records, other_records, "{why}");
        assert_eq!(records.len(), 2, "{why}: two records a call");
    }
}

/// The result of each call without the member that only one revision has, and the records of it.
fn answers_and_records(
    instance: &TestInstance,
    mut wire: Wire,
    meta: &Value,
) -> Vec<(&'static str, Value, Vec<Value>)> {
    let workspace = instance.workspace();
    std::fs::create_dir_all(workspace.join("d/e")).unwrap();
    std::fs::write(workspace.join("d/odd \"name\"\u{1b}\n"), "").unwrap();
    std::fs::write(workspace.join("notes"), "a\n\t\"b\" \\ \u{1} é 😀").unwrap();
    std::fs::write(workspace.join("long"), "one line\n".repeat(200_000)).unwrap();
    std::fs::write(workspace.join("bytes"), [0xff, 0xfe]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", workspace.join("out")).unwrap();
    let calls = [
        ("a file", "read_file", json!({"path": "notes"})),
        ("a page of a long one", "read_file", json!({"path": "long"})),
        ("a part", "read_file", json!({"path": "long", "start_line": 3, "max_lines": 2})),
        ("nothing there", "read_file", json!({"path": "nothing"})),
        ("no text", "read_file", json!({"path": "bytes"})),
        ("outside", "read_file", json!({"path": "/etc/passwd"})),
        ("a link to the outside", "read_file", json!({"path": "out"})),
        ("no path", "read_file", json!({})),
        ("another type", "read_file", json!({"path": 7})),
        ("more than there is", "read_file", json!({"path": "notes", "mode": "x"})),
        ("a directory", "list_dir", json!({"path": "d"})),
        ("the workspace", "list_dir", json!({})),
        ("a page of it", "list_dir", json!({"limit": 2})),
        ("a file", "list_dir", json!({"path": "notes"})),
        ("written", "write_file", json!({"path": "new", "content": "x"})),
        ("written outside", "write_file", json!({"path": "/tmp/new", "content": "x"})),
        ("appended", "append_file", json!({"path": "new", "content": "y"})),
        ("not to be edited", "edit_file", json!({"path": "new", "old_text": "z", "new_text": "w"})),
    ];
    let answers: Vec<(&str, Value)> = calls
        .into_iter()
        .map(|(why, tool, arguments)| {
            let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
            let mut answer = wire.ask("tools/call", params)["result"].take();
            assert!(answer["content"][0]["text"].is_string(), "{why}: {answer}");
            answer.as_object_mut().unwrap().remove("resultType");
            (
                why,
                serde_json::from_str(&answer.to_string().replace(workspace.to_str().unwrap(), "<workspace>"))
                    .unwrap(),
            )
        })
        .collect();
    wire.end();
    let records: Vec<Value> = instance.records().iter().map(stable).collect();
    assert_eq!(records.len(), answers.len() * 2);
    let pairs = records.chunks(2).map(|pair| {
        let text = serde_json::to_string(pair).unwrap().replace(workspace.to_str().unwrap(), "<workspace>");
        serde_json::from_str(&text).unwrap()
    });
    answers.into_iter().zip(pairs).map(|((why, answer), records)| (why, answer, records)).collect()
}

#[test]
fn roots_narrow_every_call_and_can_be_called_back() {
    let instance = TestInstance::with_config("{}");
    for name in ["a", "b"] {
        std::fs::create_dir_all(instance.workspace().join(name)).unwrap();
        std::fs::write(instance.workspace().join(name).join("f"), name).unwrap();
    }
    let mut wire = Wire::greeted(&instance, &[], &json!({"roots": {"listChanged": true}}));
    for root in ["a", "b"] {
        // The first call after a change is held until the client has named its roots.
        let first = wire.send("tools/call", json!({"name": "list_dir", "arguments": {"path": root}}));
        let asked = wire.hear();
        assert_eq!(asked["method"], "roots/list", "{root}: {asked}");
        let uri = format!("file://{}", instance.workspace().join(root).display());
        wire.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": uri}]}}));
        assert_eq!(wire.hear()["id"], first);
        for name in ["a", "b"] {
            let result = wire.call("read_file", json!({"path": format!("{name}/f")}));
            let rule = result["structuredContent"]["rule"].as_str();
            assert_eq!(rule, (name != root).then_some("roots"), "{root}: {name}: {result}");
        }
        wire.say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    }
}

#[test]
fn a_name_is_free_again_with_its_answer() {
    let instance = TestInstance::with_config("{}");
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("f"), "x").unwrap();
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    for round in 0..500 {
        let call = json!({"name": "read_file", "arguments": {"path": "f"}});
        wire.say(&json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": call}));
        let answer = wire.hear();
        assert_eq!(text(&answer["result"]), "x", "{round}: {answer}");
    }
}

#[test]
fn a_client_that_does_not_listen_is_still_heard() {
    let instance = TestInstance::with_config("{}");
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("long"), "x".repeat(1 << 20)).unwrap();
    let mut command = instance.command(&["mcp", "serve"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let read = json!({"name": "read_file", "arguments": {"path": "long"}});
    let time = fresh_sleep();
    let sleep = json!({"name": "exec", "arguments": {"command": format!("sleep {time}")}});
    let mut say = |message: Value| writeln!(stdin, "{message}").unwrap();
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_dir"}}));
    // Nothing is read from the pipe, so it fills up.
    for id in 2..12 {
        say(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": read}));
    }
    say(json!({"jsonrpc": "2.0", "id": "sleep", "method": "tools/call", "params": sleep}));
    wait_until("the command was not heard", || sleeps(&time));
    say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sleep"}}));
    wait_until("the cancellation was not heard", || !sleeps(&time));
    drop(stdin);
    drop(child.stdout.take());
    let child = RefCell::new(child);
    wait_until("the server outlived its client", || child.borrow_mut().try_wait().unwrap().is_some());
}

#[test]
fn what_a_call_has_changed_is_listed_by_the_next() {
    let instance = TestInstance::with_config("{}");
    std::fs::create_dir_all(instance.workspace().join("d")).unwrap();
    let mut want: Vec<String> = (0..300).map(|number| format!("f{number:03}")).collect();
    for name in &want {
        std::fs::write(instance.workspace().join("d").join(name), "").unwrap();
    }
    let mut wire = Wire::greeted(&instance, &[], &json!({}));
    for round in 0..60 {
        for listed in [
            wire.call("list_dir", json!({"path": "d"})),
            wire.call("list_dir", json!({"path": "d", "limit": 1000})),
        ] {
            assert_eq!(listed["structuredContent"]["files"], json!(want), "{round}");
        }
        let name = format!("g{round:03}");
        wire.call("write_file", json!({"path": format!("d/{name}"), "content": ""}));
        want.push(name);
    }
}

/// A server whose client decides when it listens.
struct Deaf {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Deaf {
    fn greeted(instance: &TestInstance) -> Self {
        let mut command = instance.command(&["mcp", "serve"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut deaf = Self { stdin: child.stdin.take(), child, stdout };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        deaf.say(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}));
        deaf.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        deaf.call("first", "list_dir", json!({}));
        assert_eq!(deaf.hear_until("first"), ["hello", "first"]);
        deaf
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: &str, tool: &str, arguments: Value) {
        let call = json!({"name": tool, "arguments": arguments});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}));
    }

    fn cancel(&mut self, id: &str) {
        self.say(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
    }

    /// How much was written and not read.
    fn unheard(&self) -> u64 {
        rustix::io::ioctl_fionread(self.stdout.get_ref()).unwrap()
    }

    /// Whose answers come, up to this one.
    fn hear_until(&mut self, last: &str) -> Vec<String> {
        let mut heard: Vec<String> = Vec::new();
        while heard.last().is_none_or(|id| id != last) {
            let mut line = String::new();
            self.stdout.read_line(&mut line).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"));
            assert!(message["result"].is_object(), "{message}");
            heard.push(message["id"].as_str().unwrap().to_owned());
        }
        heard
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_call_that_is_cancelled_is_answered_at_most_once_and_breaks_nothing() {
    let instance = TestInstance::with_config("{}");
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("long"), "x".repeat(1 << 20)).unwrap();
    std::fs::write(instance.workspace().join("short"), "x").unwrap();
    let mut deaf = Deaf::greeted(&instance);
    deaf.call("half said", "read_file", json!({"path": "long"}));
    wait_until("the long answer never began", || deaf.unheard() > 32 << 10);
    deaf.call("not yet said", "read_file", json!({"path": "short"}));
    deaf.cancel("half said");
    deaf.cancel("not yet said");
    deaf.cancel("first");
    deaf.cancel("never asked");
    let time = fresh_sleep();
    // What is said later is heard later: when this runs, everything above was heard.
    deaf.call("command", "exec", json!({"command": format!("sleep {time}")}));
    wait_until("the command was not heard", || sleeps(&time));
    deaf.cancel("command");
    wait_until("the cancellation was not heard", || !sleeps(&time));
    deaf.call("after", "read_file", json!({"path": "short"}));
    // A response that was written before its cancellation was read may still arrive.
    let mut heard = deaf.hear_until("after");
    heard.retain(|id| id != "not yet said");
    assert_eq!(heard, ["half said", "after"], "what was begun is ended, a cancelled command is not answered");
    deaf.call("first", "read_file", json!({"path": "short"}));
    assert_eq!(deaf.hear_until("first"), ["first"], "its name is free again");
    let reads = instance.records().iter().filter(|record| record["tool"] == "read_file").count();
    assert_eq!(reads, 2 * 4, "a call that was cancelled is recorded like any other");
    // Now before, now after it was answered.
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..300 {
        let (id, next) = (format!("cancelled {round}"), format!("next {round}"));
        deaf.call(&id, "read_file", json!({"path": "short"}));
        deaf.cancel(&id);
        deaf.call(&next, "read_file", json!({"path": "short"}));
        for heard in deaf.hear_until(&next) {
            *counts.entry(heard).or_default() += 1;
        }
    }
    deaf.call("last", "read_file", json!({"path": "short"}));
    for heard in deaf.hear_until("last") {
        *counts.entry(heard).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    assert_eq!(counts.keys().filter(|id| id.starts_with("next")).count(), 300);
    deaf.stdin = None;
    let child = RefCell::new(&mut deaf.child);
    wait_until("the server outlived its client", || child.borrow_mut().try_wait().unwrap().is_some());
}
