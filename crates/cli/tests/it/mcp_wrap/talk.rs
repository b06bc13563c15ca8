//! What passes between a host and a wrapped server.

use super::Den;
use picoclaw_testing::wait_until;
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_wrapped_server_answers_as_it_would_without() {
    let Some(den) = Den::new("a conversation") else { return };
    let mut wrapped = den.wrap(&[], &[]);
    let mut bare = den.bare(&[]);
    for (method, params) in [
        ("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "say", "arguments": {"text": "ü \u{2028} \"quoted\" \\ \u{0}"}})),
        ("ping", json!({})),
        ("echo", json!({"deep": [[[{"n": 1.5e3, "big": 12345678901234567890_u64}]]]})),
        ("no/such/method", json!({})),
        ("tools/call", json!({"name": "say", "arguments": {"text": "x".repeat(3 << 20)}})),
    ] {
        assert_eq!(wrapped.ask(method, params.clone()), bare.ask(method, params), "{method}");
    }
    wrapped.stderr_says("[server.py-");
    assert!(!wrapped.stderr().contains('\u{1b}'), "nothing that a terminal obeys: {:?}", wrapped.stderr());
    assert_eq!(wrapped.end().0, 0);
}

#[test]
fn progress_cancellation_and_the_servers_own_questions_pass() {
    let Some(den) = Den::new("progress and cancellation") else { return };
    let mut server = den.wrap(&[], &[]);
    server.names();
    server.send(&json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "work", "_meta": {"progressToken": "t"}}}));
    for step in 0..3 {
        let heard = server.message();
        assert_eq!(
            (&heard["method"], &heard["params"]["progress"]),
            (&json!("notifications/progress"), &json!(step))
        );
    }
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w", "reason": "enough"}});
    server.send(&cancelled);
    assert_eq!(server.message()["params"]["line"], cancelled, "the server heard it as it was said");
    server.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "ask"}));
    let question = server.message();
    assert_eq!(question, json!({"jsonrpc": "2.0", "id": "from-server", "method": "roots/list"}));
    assert_eq!(server.message()["id"], 9);
    let answer = json!({"jsonrpc": "2.0", "id": "from-server", "result": {"roots": []}});
    server.send(&answer);
    assert_eq!(server.message()["params"]["line"], answer);
    assert_eq!(server.end().0, 0);
}

#[test]
fn nothing_is_held_back_for_more_to_come() {
    let Some(den) = Den::new("delays") else { return };
    let mut server = den.wrap(&[], &[]);
    server.ask("ping", json!({}));
    let fastest = (0..300).map(|_| {
        let began = Instant::now();
        server.ask("ping", json!({}));
        began.elapsed()
    });
    // A buffer that waits for company would show in each as tens of milliseconds.
    let fastest = fastest.min().unwrap();
    assert!(fastest < Duration::from_millis(20), "the fastest round trip took {fastest:?}");
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_rest_goes_on() {
    let Some(den) = Den::new("long lines") else { return };
    let mut server = den.wrap(&[], &[]);
    let too_long = 17 << 20;
    let answer = server.ask("echo", json!({"text": "x".repeat(8 << 20)}));
    assert_eq!(answer["result"]["said"]["text"].as_str().unwrap().len(), 8 << 20, "a long one passes");
    server.send(
        &json!({"jsonrpc": "2.0", "id": "x", "method": "echo", "params": {"text": "x".repeat(too_long)}}),
    );
    let told = server.message();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(null), &json!(-32700)), "from the host");
    // Python spells `ü` as an escape, so this is twice as long on the way back as on the way there.
    let answer = server.ask("echo", json!({"text": vec!["ü"; 2 << 20]}));
    assert_eq!(answer["error"]["data"]["code"], "answer_too_long", "from the server");
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}), "and it goes on");
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.child.id()));
    let peak =
        memory.ok().and_then(|text| Some(text.lines().find(|line| line.starts_with("VmHWM"))?.to_owned()));
    if let Some(kilobytes) = peak.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()) {
        assert!(kilobytes < 200_000, "memory stays bounded: {kilobytes} kB");
    }
    assert_eq!(server.end().0, 0);
}

#[test]
fn what_is_no_message_is_told_to_the_operator_and_to_nobody_else() {
    let Some(den) = Den::new("banners") else { return };
    let mut server = den.wrap(&["--name", "loud"], &["start=banner"]);
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}), "the banner is not in the way");
    server.stderr_says("picoclaw mcp wrap: the server said something that was not passed on (not JSON): Welcome to \\u{1b}[31mthis");
    server.send_line("this is no message");
    assert_eq!(server.message()["error"]["code"], -32700);
}

#[test]
fn a_pipeline_gets_its_answers_before_the_end() {
    let Some(den) = Den::new("a pipeline") else { return };
    let mut server = den.wrap(&[], &["exit=3"]);
    for id in 0..20 {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "say", "arguments": {"text": id.to_string()}}}));
    }
    drop(server.stdin.take());
    for id in 0..20 {
        assert_eq!(server.message()["result"]["content"][0]["text"], id.to_string());
    }
    assert_eq!(server.wait().0, 3, "the server's own status");
}

#[test]
fn it_is_in_the_ledger_from_its_start_to_its_end() {
    let Some(den) = Den::new("the ledger") else { return };
    let mut server = den.wrap(&["--name", "noted"], &["exit=4"]);
    server.ask("ping", json!({}));
    let mine = || {
        den.instance.records().into_iter().filter(|record| record["tool"] == "mcp wrap").collect::<Vec<_>>()
    };
    wait_until("it is recorded while it runs", || mine().len() == 1);
    let decided = mine().remove(0);
    for (member, want) in
        [("phase", "decided"), ("origin", "mcp"), ("session", "mcp:noted"), ("verdict", "allow")]
    {
        assert_eq!(decided[member], want, "{decided}");
    }
    assert!(decided["enforced"].to_string().contains("filesystem held"), "{decided}");
    assert_eq!(server.end().0, 4);
    let records = mine();
    assert_eq!(
        (records.len(), &records[1]["phase"], &records[1]["outcome"]),
        (2, &json!("finished"), &json!("exit 4"))
    );
}
