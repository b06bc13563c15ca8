//! Servers' tools by name, and what `list`, `show` and `test` say of servers that misbehave.

use super::Yard;
use crate::test_instance::host;
use picoclaw_testing::wait_until;
use serde_json::{Value, json};

#[test]
fn a_servers_tool_runs_by_its_name_and_is_recorded() {
    let Some(yard) = Yard::new("{}") else { return };
    yard.add(&[], "peer", "plain");
    let ran = yard.instance.run(&["mcp", "test", "peer"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "✓ MCP server \"peer\" reachable (1 tools).\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("`peer` is new"), "{ran:?}");
    let ran = yard.instance.tool("mcp_peer_echo", r#"{"text": "hello"}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{ran:?}");
    let misfit = yard.instance.tool("mcp_peer_echo", r#"{"text": 7}"#);
    assert!(misfit.code == 1 && misfit.stdout.contains("invalid arguments"), "{misfit:?}");
    let unknown = yard.instance.tool("mcp_peer_nothing", "{}");
    assert!(
        unknown.code == 2
            && unknown.stderr.contains("hint: there are")
            && unknown.stderr.contains("mcp_peer_echo"),
        "{unknown:?}"
    );
    let intents: Vec<_> = yard.instance.records().iter().map(|record| record["intent"].to_string()).collect();
    assert!(intents.iter().any(|intent| intent.contains("call mcp/peer: echo")), "{intents:?}");
}

#[test]
fn a_server_in_a_temporary_directory_runs_in_every_cage() {
    for backend in ["native", "bwrap"] {
        let config = format!(r#"{{"isolation": {{"enabled": true, "backend": "{backend}"}}}}"#);
        let Some(yard) = Yard::new(&config) else { return };
        if !host()[backend].as_str().is_some_and(|said| said.starts_with("yes")) {
            picoclaw_testing::skip!("servers in temporary directories: no {backend} here: {}", host());
            continue;
        }
        for (name, top) in [("shared", "/tmp"), ("kept", "/var/tmp")] {
            let Ok(place) = tempfile::tempdir_in(top) else {
                picoclaw_testing::skip!("servers in temporary directories: `{top}` cannot be written to");
                continue;
            };
            let script = place.path().join("server.py");
            std::fs::write(&script, super::SERVER).unwrap();
            let command = ["--", "/usr/bin/python3", script.to_str().unwrap(), "plain"];
            let ran = yard.instance.run(&[&["mcp", "add", name][..], &command].concat());
            assert_eq!(ran.code, 0, "{ran:?}");
            let ran = yard.instance.tool(&format!("mcp_{name}_echo"), r#"{"text": "hello"}"#);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{backend} {top}: {ran:?}");
        }
    }
}

#[test]
fn a_servers_tool_can_be_asked_about() {
    let Some(yard) = Yard::new(r#"{"tools": {"ask": ["mcp_peer_*"]}}"#) else { return };
    yard.add(&[], "peer", "plain");
    yard.add(&[], "other", "plain");
    let ran = yard.instance.tool("mcp_other_echo", r#"{"text": "hello"}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "the control: {ran:?}");
    let ran = yard.instance.tool("mcp_peer_echo", r#"{"text": "hello"}"#);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stdout.starts_with("tool \"mcp_peer_echo\" needs approval"), "{ran:?}");
    let decided = |record: &Value| record["tool"] == "mcp_peer_echo" && record["verdict"] == "ask";
    assert!(yard.instance.records().iter().any(decided));
}

#[test]
fn a_server_may_be_given_a_folder_of_a_workspace_and_no_code_of_one() {
    for isolated in [true, false] {
        let Some(yard) = Yard::new(&format!(r#"{{"isolation": {{"enabled": {isolated}}}}}"#)) else { return };
        let folder = yard.instance.workspace().join("docs");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("server.py"), super::SERVER).unwrap();
        let (folder, script) = (folder.to_str().unwrap(), folder.join("server.py"));
        let add = |name: &str, command: &[&str]| {
            let ran = yard.instance.run(&[&["mcp", "add", name, "--", "/usr/bin/python3"], command].concat());
            assert_eq!(ran.code, 0, "{ran:?}");
        };
        add("data", &[&yard.script, "plain", folder, &format!("--root={folder}")]);
        let ran = yard.instance.tool("mcp_data_echo", r#"{"text": "hello"}"#);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{ran:?}");
        assert_eq!(yard.instance.run(&["config", "check"]).code, 0);
        // What an agent puts in its place shows the server nothing else.
        if isolated {
            let (hidden, away) = (yard.instance.dir().join("hidden"), yard.instance.workspace().join("away"));
            std::fs::create_dir(&hidden).unwrap();
            std::fs::rename(folder, &away).unwrap();
            std::os::unix::fs::symlink(&hidden, folder).unwrap();
            let ran = yard.instance.tool("mcp_data_echo", r#"{"text": "hello"}"#);
            assert!(ran.code != 0 && ran.stderr.contains("cannot be shown in the cage"), "{ran:?}");
            std::fs::remove_file(folder).unwrap();
            std::fs::rename(&away, folder).unwrap();
        }
        add("code", &[script.to_str().unwrap(), "plain"]);
        let ran = yard.instance.tool("mcp_code_echo", r#"{"text": "hello"}"#);
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("`code`") && ran.stderr.contains("where an agent can write"), "{ran:?}");
        let ran = yard.instance.tool("mcp_data_echo", r#"{"text": "hello"}"#);
        assert_eq!(ran.code, 0, "the other one goes on: {ran:?}");
    }
}

#[test]
fn only_servers_that_can_be_meant_are_started() {
    let Some(yard) = Yard::new("{}") else { return };
    yard.add(&[], "one", "plain");
    yard.add(&["--deferred"], "two", "plain");
    let started = |name: &str| {
        let what = format!("start mcp/{name} in");
        yard.instance.records().iter().any(|record| record["intent"].to_string().contains(&what))
    };
    yard.instance.tool("list_dir", "{}");
    assert!(!started("one") && !started("two"), "a tool of our own needs nobody");
    assert_eq!(
        yard.instance.tool("mcp_two_echo", r#"{"text": "x"}"#).code,
        0,
        "a person who names it has found it"
    );
    assert!(!started("one") && started("two"));
    let lines =
        |line: &[&str]| yard.instance.run(line).stdout.lines().filter(|line| line.contains("mcp_")).count();
    assert_eq!(lines(&["tool", "list"]), 0, "nobody is started for the list of our own tools");
    assert!(!started("one"));
    assert_eq!(lines(&["tool", "list", "--mcp"]), 2);
}

#[test]
fn a_tool_that_is_switched_off_is_refused_whoever_serves_it() {
    for (rule, refused) in [("mcp_peer_*", true), ("mcp_peer_echo", true), ("mcp_other_*", false)] {
        let Some(yard) = Yard::new(&format!(
            r#"{{"agents": {{"list": [{{"id": "main", "tools": {{"disabled": ["{rule}"]}}}}]}}}}"#
        )) else {
            return;
        };
        yard.add(&[], "peer", "plain");
        let ran = yard.instance.tool("mcp_peer_echo", r#"{"text": "x"}"#);
        assert_eq!(ran.code, i32::from(refused), "{rule}: {ran:?}");
        let asked =
            yard.instance.records().iter().any(|r| r["verdict"] == "deny" && r["tool"] == "mcp_peer_echo");
        assert_eq!(asked, refused, "{rule}: and on record");
    }
}

#[test]
fn servers_that_misbehave_are_told_apart_and_none_stays() {
    let Some(yard) = Yard::new("{}") else { return };
    yard.add(&[], "fine", "plain");
    yard.add(&[], "mute", "mute");
    yard.add(&[], "twins", "twins");
    yard.add(&[], "pages", "pages");
    yard.add(&[], "deep", "deep-schema");
    yard.add(&[], "changes", "changes");
    assert_eq!(yard.instance.run(&["mcp", "test", "changes"]).code, 0, "the first time it is pinned");
    let gone = yard.instance.run(&["mcp", "add", "ends", "/bin/false"]);
    assert_eq!(gone.code, 0, "{gone:?}");
    let ran = yard.instance.run(&["mcp", "list", "--status", "--json", "--timeout", "15s"]);
    let rows: Value = serde_json::from_str(&ran.stdout).unwrap();
    for (name, status, says) in [
        ("fine", "ok (1 tools)", ""),
        ("mute", "error", "was not ready within 15 s"),
        ("twins", "error", "lists tools that cannot be used"),
        ("pages", "error", "`pages`"),
        ("deep", "error", "`deep`"),
        ("changes", "error", "picoclaw mcp trust changes"),
        ("ends", "error", "`ends`"),
    ] {
        let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
        assert_eq!(row["status"], status, "{row}");
        assert!(row["error"].as_str().unwrap_or_default().contains(says), "{row}");
    }
    wait_until("the end of every server", || alive(&yard.script) == 0);
    let table = yard.instance.run(&["mcp", "list"]).stdout;
    assert!(table.starts_with("NAME ") && table.lines().count() == 8, "{table}");
    for (name, code) in [("fine", 0), ("changes", 1), ("ends", 1), ("nobody", 1)] {
        assert_eq!(yard.instance.run(&["mcp", "test", name]).code, code, "{name}");
    }
    let trusted = yard.instance.run(&["mcp", "trust", "changes"]);
    assert!(trusted.code == 0 && yard.instance.run(&["mcp", "test", "changes"]).code == 0, "{trusted:?}");
    let shown = yard.instance.run(&["mcp", "show", "fine"]).stdout;
    assert!(shown.contains("mcp_fine_echo") && shown.contains("- text (string, required)"), "{shown}");
    assert!(shown.contains("protocol: 2025-11-25"), "a server of the older revision: {shown}");
}

#[test]
fn an_answer_that_is_too_long_ends_the_call_and_the_server_goes_on() {
    for manner in ["huge", "huge-late"] {
        let Some(yard) = Yard::new("{}") else { return };
        yard.add(&[], "peer", manner);
        let call = json!({"tool_calls": [{"name": "mcp_peer_echo", "arguments": {"text": "hello"}}]});
        let replies = format!("{call}\n{call}\n{}\n", json!({"content": "done"}));
        std::fs::write(yard.instance.dir().join("replies.jsonl"), replies).unwrap();
        let config = yard.instance.home().join("config.json");
        let mut text: Value = serde_json::from_str(&std::fs::read_to_string(&config).unwrap()).unwrap();
        let script = format!("file://{}/replies.jsonl", yard.instance.dir().display());
        text["model_list"] = json!([{"model_name": "s", "model": "scripted/s", "api_base": script}]);
        std::fs::write(&config, text.to_string()).unwrap();
        let began = std::time::Instant::now();
        let ran = yard.instance.run(&["agent", "--json", "-m", "go"]);
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "{manner}: {:?}", began.elapsed());
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let results: Vec<String> = lines
            .filter(|line| line["type"] == "tool_result")
            .map(|line| line.to_string().chars().take(300).collect())
            .collect();
        assert_eq!((ran.code, results.len()), (0, 2), "{manner}: {}", ran.stderr);
        assert!(!results[0].contains("hello"), "{manner}: {}", results[0]);
        // Where the id came last, the server was started anew, and counts from the beginning.
        assert_eq!(results[1].contains("hello"), manner == "huge", "{manner}: {}", results[1]);
    }
}

#[test]
fn names_that_could_be_of_two_servers_are_told_apart_in_any_order() {
    let mut offered = Vec::new();
    for order in [["a", "a_b"], ["a_b", "a"]] {
        let Some(yard) = Yard::new("{}") else { return };
        for name in order {
            yard.add(&[], name, if name == "a" { "tool=b_c" } else { "tool=c" });
        }
        let listed = yard.instance.run(&["tool", "list", "--mcp", "--json"]);
        let names: Vec<String> = listed
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
            .filter(|name| name.starts_with("mcp_"))
            .collect();
        assert_eq!(names.len(), 2, "{listed:?}");
        assert!(listed.stderr.contains("`b_c` of server `a` is offered as"), "{listed:?}");
        offered.push(names);
    }
    assert_eq!(offered[0], offered[1]);
}

#[test]
fn names_that_are_spelled_alike_are_told_apart_and_told() {
    let Some(yard) = Yard::new("{}") else { return };
    yard.add(&[], "a-b", "tool=c");
    yard.add(&[], "other", "tool=x.y");
    let listed = yard.instance.run(&["tool", "list", "--mcp"]);
    assert!(!listed.stderr.contains("is offered as"), "the control: nothing is shared: {listed:?}");
    yard.add(&[], "a_b", "tool=c");
    let listed = yard.instance.run(&["tool", "list", "--mcp"]);
    assert!(listed.stderr.contains("`c` of server `a-b` is offered as `mcp_a_b_c_"), "{listed:?}");
    assert!(!listed.stderr.contains("of server `a_b` is offered as"), "{listed:?}");
}

#[test]
fn a_server_that_was_taken_out_comes_back_as_a_new_one() {
    let Some(yard) = Yard::new("{}") else { return };
    yard.add(&[], "changes", "changes");
    assert_eq!(yard.instance.run(&["mcp", "test", "changes"]).code, 0);
    assert_eq!(yard.instance.run(&["mcp", "test", "changes"]).code, 1, "changed since");
    assert_eq!(yard.instance.run(&["mcp", "remove", "changes"]).code, 0);
    yard.add(&[], "changes", "changes");
    let ran = yard.instance.run(&["mcp", "test", "changes"]);
    assert!(ran.code == 0 && ran.stderr.contains("is new"), "{ran:?}");
}

/// How many processes have `text` in their command line.
fn alive(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}
