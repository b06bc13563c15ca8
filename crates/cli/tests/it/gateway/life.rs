//! Beginning and ending: one gateway an instance, and nothing half done.

use super::client::{DIRECT, Gateway, SCRIPTED};
use crate::test_instance::TestInstance;
use picoclaw_testing::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

#[test]
fn it_says_where_it_is_and_ends_with_nothing_left() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let file = instance.home().join(".picoclaw.pid");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let second = instance.run(&["gateway", "--port", "18791"]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("gateway is already running (PID: "), "{second:?}");
    let status = instance.run(&["status", "--json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["gateway"]["running"], true, "{status}");
    let (status, took, _) = gateway.end();
    assert_eq!(status.code(), Some(0), "{status:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(!file.exists());
}

#[test]
fn it_starts_in_ten_lines_with_the_address_first() {
    let foreign =
        r#"{"version": 3, "channels": {"telegram": {"enabled": true}}, "isolation": {"enabled": false}}"#;
    let (plain, warned) = (TestInstance::new(), TestInstance::with_config(foreign));
    for (why, instance, warning) in
        [("a new instance", plain, None), ("a setting of PicoClaw", warned, Some("`channels` is a setting"))]
    {
        let gateway = Gateway::new(&instance);
        let end = warning.unwrap_or("Press Ctrl+C");
        let said = wait_for(why, || Some(gateway.said()).filter(|said| said.contains(end)));
        let shown: Vec<&str> = said.lines().collect();
        // Before it there is what every command says of a new instance, or of Landlock alone.
        let first =
            shown.iter().position(|line| line.starts_with("✓ Gateway started on 127.0.0.1:")).unwrap();
        let before = shown[..first].iter();
        let before =
            before.filter(|line| !line.contains("made a new instance") && !line.contains("isolation:"));
        assert_eq!(before.filter(|line| !line.starts_with('{')).count(), 0, "{why}: {shown:?}");
        assert!(shown.len() - first <= 10, "{why}: {shown:?}");
        assert!(shown.iter().any(|line| line.contains("Isolation")), "{why}: {shown:?}");
    }
}

#[test]
fn a_killed_one_does_not_stand_in_the_way() {
    let instance = TestInstance::with_config(DIRECT);
    Gateway::new(&instance).kill();
    assert!(instance.home().join(".picoclaw.pid").exists(), "it could not tidy up");
    let gateway = Gateway::new(&instance);
    assert_eq!(gateway.get("/ready").status, 200);
}

#[test]
fn a_turn_that_does_not_end_is_taken_back() {
    let instance = TestInstance::with_config(SCRIPTED);
    fs::write(
        instance.dir().join("replies.jsonl"),
        [
            json!({"content": "first"}),
            json!({"tool_calls": [{"name": "exec", "arguments": {"command": "sleep 50"}}]}),
        ]
        .map(|line| line.to_string())
        .join("\n"),
    )
    .unwrap();
    let gateway = Gateway::new(&instance);
    let bearer = gateway.bearer();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str()), ("X-Picoclaw-Session", "kept")];
    let body = json!({"model": "main", "messages": [{"role": "user", "content": "go"}]}).to_string();
    assert_eq!(gateway.send("POST /v1/chat/completions", &headers, &body).status, 200);
    let (status, took) = std::thread::scope(|scope| {
        let port = gateway.port;
        let text = super::client::request("POST /v1/chat/completions", &headers, &body);
        scope.spawn(move || {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
            let mut told = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stream, &mut told);
        });
        wait_for("the turn never began", || {
            instance
                .records()
                .iter()
                .any(|record| record["tool"] == "exec" && record["phase"] == "decided")
                .then_some(())
        });
        let (status, took, _) = gateway.end();
        (status, took)
    });
    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(15), "{took:?}");
    let listed = instance.run(&["session", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["messages"], 2, "the first turn alone: {listed}");
    assert_eq!(instance.run(&["audit", "verify"]).code, 0);
}

#[test]
fn whoever_started_it_is_told_when_it_is_ready() {
    let instance = TestInstance::with_config(DIRECT);
    let path = instance.dir().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let gateway = Gateway::with(&instance, &[], &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    let told = || {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert!(told().starts_with("READY=1"));
    drop(gateway.end());
    assert_eq!(told(), "STOPPING=1");
}

#[test]
fn jobs_run_while_it_does_and_are_shown() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let added =
        instance.run(&["cron", "add", "-n", "<b>now</b>", "--command", "echo from cron", "--at", "5"]);
    assert_eq!(added.code, 0, "{added:?}");
    let items = gateway.get("/api/cron").json()["items"].clone();
    assert_eq!(items[0]["name"], "<b>now</b>");
    wait_for("the job never ran", || {
        instance
            .records()
            .iter()
            .any(|record| record["origin"] == "cron" && record["phase"] == "finished")
            .then_some(())
    });
    let asked =
        json!({"model": "main", "messages": [{"role": "user", "content": r#"cron {"action": "list"}"#}]});
    let told = gateway.post("/v1/chat/completions", &asked);
    assert_eq!(told.status, 200, "{told:?}");
    let text = told.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(!text.contains("not found") && !text.contains("unknown"), "the tool is there in chats: {text}");
}
