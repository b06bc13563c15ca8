//! Tokens: what each may do, whose name the ledger has, and when they end.

use super::client::{DIRECT, Gateway, new_token, request};
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// A command that is asked about.
const ASKING: &str = r#"{
  "version": 3,
  "heartbeat": {"enabled": false},
  "agents": {"defaults": {"max_parallel_turns": 8}},
  "isolation": {"enabled": false},
  "tools": {"exec": {"fence": false, "on_block": "ask", "custom_deny_patterns": ["^touch "]}}
}"#;

#[test]
fn each_scope_opens_its_own_paths() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let paths = [
        ("GET /v1/models", "chat", 200),
        ("GET /api/sessions", "watch", 200),
        ("GET /metrics", "watch", 200),
        ("POST /api/approvals/1", "approve", 400),
        ("POST /reload", "admin", 200),
    ];
    for own in ["chat", "watch", "approve", "admin"] {
        let token = new_token(&instance, own, own);
        for (line, scope, want) in paths {
            let answer = gateway.status(line, &token, "127.0.0.1");
            if scope == own {
                assert_eq!(answer.status, want, "{own}: {line}: {answer:?}");
            } else {
                assert_eq!(answer.status, 403, "{own}: {line}: {answer:?}");
                assert_eq!(answer.json(), json!({"error": "forbidden", "scope": scope}), "{own}: {line}");
            }
        }
        assert_eq!(gateway.status("GET /nowhere", &token, "127.0.0.1").status, 404, "{own}");
    }
    for own in ["watch", "approve"] {
        let token = new_token(&instance, &format!("{own}-2"), own);
        assert_eq!(gateway.status("GET /api/approvals", &token, "127.0.0.1").status, 200, "{own}");
    }
}

#[test]
fn tokens_are_shown_once_listed_without_their_text_and_revoked() {
    let instance = TestInstance::with_config(DIRECT);
    let token = new_token(&instance, "alice", "chat,watch");
    assert!(token.len() >= 32 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{token}");
    let stored = std::fs::read_to_string(instance.home().join("state/tokens.json")).unwrap();
    assert!(stored.contains("alice") && !stored.contains(&token), "{stored}");
    let listed = instance.run(&["token", "list", "--json"]);
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((&rows[0]["name"], &rows[0]["scopes"]), (&json!("alice"), &json!(["chat", "watch"])));
    assert!(!instance.run(&["token", "list"]).stdout.contains(&token));
    for (arguments, code) in [
        (&["token", "add", "alice", "--scope", "chat"][..], 1),
        (&["token", "add", "bob"], 2),
        (&["token", "add", "bob", "--scope", "everything"], 2),
        (&["token", "add", "no name", "--scope", "chat"], 2),
        (&["token", "revoke", "bob"], 1),
        (&["token", "revoke", "alice"], 0),
        (&["token", "revoke", "alice"], 1),
    ] {
        assert_eq!(instance.run(arguments).code, code, "{arguments:?}");
    }
    // With a gateway that runs: a new one is accepted, a revoked one is not.
    let gateway = Gateway::new(&instance);
    let token = new_token(&instance, "carol", "chat");
    assert_eq!(gateway.status("GET /v1/models", &token, "127.0.0.1").status, 200);
    assert_eq!(instance.run(&["token", "revoke", "carol"]).code, 0);
    assert_eq!(gateway.status("GET /v1/models", &token, "127.0.0.1").status, 401);
}

#[test]
fn what_a_command_can_read_does_not_approve() {
    let instance = TestInstance::with_config(ASKING);
    let gateway = Gateway::with(&instance, &[], &[("PICOCLAW_GATEWAY_TOKEN", "chosen-by-the-operator")]);
    let operator = new_token(&instance, "operator", "watch,approve");
    let asked = json!({"model": "main", "messages": [{"role": "user", "content": "touch mine.txt"}]});
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| gateway.post("/v1/chat/completions", &asked));
        let item =
            wait_for("no question came", || gateway.get("/api/approvals").json()["items"].get(0).cloned());
        let line = format!("POST /api/approvals/{}", item["id"].as_str().unwrap());
        let answer = json!({"hash": item["hash"], "answer": "once"}).to_string();
        let send = |token: &str| {
            let bearer = format!("Bearer {token}");
            gateway.send(&line, &[("Host", "localhost"), ("Authorization", &bearer)], &answer)
        };
        for readable in [&gateway.token, "chosen-by-the-operator"] {
            let refused = send(readable);
            assert_eq!(refused.status, 403, "{refused:?}");
            assert_eq!(refused.json(), json!({"error": "forbidden", "scope": "approve"}));
        }
        assert_eq!(send(&operator).status, 200, "control: the one that was shown once");
        assert_eq!(turn.join().unwrap().status, 200);
    });
    assert!(instance.workspace().join("mine.txt").exists());
    let records = instance.records();
    let rules: Vec<_> = records.iter().filter_map(|one| one["rule"].as_str()).collect();
    assert!(rules.contains(&"approved by operator"), "{rules:?}");
    assert!(records.iter().any(|one| one["principal"] == "pid-file"), "the turn's own: {records:?}");
    gateway.says("their tokens do not approve");
}

/// The lines of a stream that ends by itself within some seconds.
fn ends(gateway: &Gateway, line: &str, token: &str, body: &str) -> std::sync::mpsc::Receiver<String> {
    let mut stream = gateway.connect();
    let bearer = format!("Bearer {token}");
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
    stream.write_all(request(line, &headers, body).as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200", "{line}");
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        let _ = sender.send(text);
    });
    ended
}

#[test]
fn a_stream_ends_with_its_token() {
    let instance = TestInstance::with_config(DIRECT);
    let secrets = instance.home().join(".security.yml");
    std::fs::write(&secrets, "gateway:\n  token: first-of-the-operator\n").unwrap();
    std::fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let gateway = Gateway::new(&instance);
    let (named, other) =
        (new_token(&instance, "named", "watch,chat"), new_token(&instance, "other", "watch"));
    let configured = ends(&gateway, "GET /api/events", "first-of-the-operator", "");
    let of_pid_file = ends(&gateway, "GET /api/events", &gateway.token, "");
    let of_named = ends(&gateway, "GET /api/events", &named, "");
    let of_other = ends(&gateway, "GET /api/events", &other, "");
    let body =
        json!({"model": "main", "stream": true, "messages": [{"role": "user", "content": "sleep 60"}]});
    let chat = ends(&gateway, "POST /v1/chat/completions", &named, &body.to_string());
    std::fs::write(&secrets, "gateway:\n  token: second-of-the-operator\n").unwrap();
    assert_eq!(gateway.status("POST /reload", "first-of-the-operator", "127.0.0.1").status, 200);
    let within = Duration::from_secs(30);
    assert!(configured.recv_timeout(within).is_ok(), "the stream of the replaced token goes on");
    assert!(of_pid_file.recv_timeout(within).is_ok(), "and that of the PID file's token");
    let status = |token: &str| gateway.status("GET /v1/models", token, "127.0.0.1").status;
    assert_eq!(status("first-of-the-operator"), 401);
    assert_eq!(status("second-of-the-operator"), 200);
    assert_eq!(status(&gateway.token), 401);
    let text = std::fs::read_to_string(instance.home().join(".picoclaw.pid")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    assert_ne!(recorded["token"], "second-of-the-operator", "the operator's own is not copied");
    assert_eq!(status(recorded["token"].as_str().unwrap()), 200, "the PID file has the valid one");
    assert!(of_named.try_recv().is_err() && chat.try_recv().is_err(), "control: a named one is not affected");
    assert_eq!(instance.run(&["token", "revoke", "named"]).code, 0);
    assert!(of_named.recv_timeout(within).is_ok(), "the stream of the revoked token goes on");
    assert!(chat.recv_timeout(within).is_ok(), "and so does its chat");
    assert!(of_other.try_recv().is_err(), "control: another named one is not affected");
}

#[test]
fn a_reload_that_changes_no_token_ends_no_stream() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let stream = ends(&gateway, "GET /api/events", &gateway.token, "");
    assert_eq!(gateway.post("/reload", &json!({})).status, 200);
    assert_eq!(gateway.get("/v1/models").status, 200);
    assert!(stream.try_recv().is_err());
}

#[test]
fn guesses_are_throttled_by_address_and_hurt_no_one_else() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::with(&instance, &[], &[("PICOCLAW_GATEWAY_TOKEN", "x7")]);
    let began = Instant::now();
    let mut counts = std::collections::BTreeMap::new();
    for guess in 0..500 {
        let answer = gateway.status("GET /v1/models", &format!("guess-{guess}"), "127.0.0.1");
        if answer.status == 429 {
            assert!(answer.head.contains("\r\nretry-after: "), "{answer:?}");
        }
        *counts.entry(answer.status).or_insert(0) += 1;
    }
    let allowed = 10 + began.elapsed().as_secs() / 6 + 1;
    assert!(counts[&401] >= 10 && counts[&401] <= allowed && counts.len() == 2, "{counts:?}");
    let weak = |from| gateway.status("GET /v1/models", "x7", from).status;
    assert_eq!(weak("127.0.0.1"), 429, "one that can be guessed is not looked at");
    assert_eq!(weak("127.0.0.2"), 200, "another address is not affected");
    assert_eq!(gateway.get("/v1/models").status, 200, "nor is a token that cannot be guessed");
    assert_eq!(gateway.status("GET /health", "guess", "127.0.0.1").status, 200);
    let without = gateway.send("GET /v1/models", &[("Host", "localhost")], "");
    assert_eq!(without.status, 401, "no token is no guess");
}

#[test]
fn a_token_that_can_be_guessed_is_not_for_other_machines() {
    let instance = TestInstance::with_config(DIRECT);
    for weak in ["x", "short", "123456789012345", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        let token = [("PICOCLAW_GATEWAY_TOKEN", weak)];
        let ran = instance.run_with(&["gateway", "--host", "0.0.0.0", "--port", "18790"], &token);
        assert_eq!(ran.code, 2, "{weak}: {ran:?}");
        assert!(ran.stderr.contains("could be guessed"), "{weak}: {ran:?}");
    }
    // Nor is it taken by a reload.
    let secrets = instance.home().join(".security.yml");
    std::fs::write(&secrets, "gateway:\n  token: long-enough-for-a-network\n").unwrap();
    let gateway = Gateway::with(&instance, &["--host", "0.0.0.0"], &[]);
    std::fs::write(&secrets, "gateway:\n  token: x\n").unwrap();
    let status = |line: &str, token: &str| gateway.status(line, token, "127.0.0.1").status;
    assert_eq!(status("POST /reload", "long-enough-for-a-network"), 500);
    assert_eq!(status("GET /v1/models", "long-enough-for-a-network"), 200);
    assert_eq!(status("GET /v1/models", "x"), 401);
}

/// Tries to answer the first question with every token that it can find.
const ANSWER_OWN_QUESTION: &str = r#"
import json, os, sys, urllib.request, urllib.error
home, port = open("where.txt").read(), sys.argv[1]
tokens = [""]
for name in (".picoclaw.pid", ".security.yml", "state/tokens.json"):
    try:
        text = open(os.path.join(home, name)).read()
        tokens.append(json.loads(text)["token"] if name == ".picoclaw.pid" else text[:64])
        print("read", name)
    except OSError:
        print("hidden", name)
for token in tokens:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/approvals", headers={"Authorization": "Bearer " + token})
    try:
        print("answered", urllib.request.urlopen(request, timeout=10).status)
    except urllib.error.HTTPError as why:
        print("refused", why.code)
"#;

#[test]
fn a_confined_command_reaches_the_port_and_has_no_token() {
    no_token_for_commands(r#"{"enabled": true, "network": "host"}"#);
    if picoclaw_sandbox::isolate::Fence::is_available() {
        // Behind the full fence, which is the default.
        no_token_for_commands(r#"{"enabled": false}"#);
    } else {
        picoclaw_testing::skip!("tokens behind the full fence: this kernel has no Landlock");
    }
}

fn no_token_for_commands(isolation: &str) {
    let config = format!(r#"{{"version": 3, "heartbeat": {{"enabled": false}}, "isolation": {isolation}}}"#);
    let instance = TestInstance::with_config(&config);
    let gateway = Gateway::new(&instance);
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("probe.py"), ANSWER_OWN_QUESTION).unwrap();
    std::fs::write(instance.workspace().join("where.txt"), instance.home().display().to_string()).unwrap();
    let command = format!("python3 probe.py {}", gateway.port);
    let command = format!("exec {}", json!({"command": command}));
    let asked = json!({"model": "main", "messages": [{"role": "user", "content": command}]});
    let told = gateway.post("/v1/chat/completions", &asked).json();
    let text = told["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let hidden = "hidden .picoclaw.pid\nhidden .security.yml\nhidden state/tokens.json\nrefused 401\n";
    assert_eq!(text, hidden, "{isolation}");
    assert_eq!(gateway.get("/api/approvals").status, 200, "control: with the token");
    let answer = gateway.post("/api/approvals/1", &json!({"hash": "x", "answer": "no"}));
    assert_eq!(answer.status, 404, "{isolation}: it may approve where no command can read it: {answer:?}");
}
