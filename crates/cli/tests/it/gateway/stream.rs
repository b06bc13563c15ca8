//! The live stream: records of every program of the instance, and what happens in turns.

use super::client::{DIRECT, Gateway};
use crate::test_instance::TestInstance;
use serde_json::{Value, json};

fn data(line: &str) -> Option<Value> {
    serde_json::from_str(line.strip_prefix("data: ")?).ok()
}

#[test]
fn whoever_watches_sees_calls_verdicts_and_refusals_with_their_hints() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    assert_eq!(instance.tool("read_file", r#"{"path": "/etc/passwd"}"#).code, 1);
    let mut lines = gateway.open("GET /api/events?last=2", "");
    let past: Vec<Value> = lines.by_ref().filter_map(|line| data(&line)).take(2).collect();
    assert!(
        past.iter().all(|record| record["tool"] == "read_file" && record["verdict"] == "deny"),
        "{past:?}"
    );
    let command = "cat /etc/shadow";
    gateway.post(
        "/v1/chat/completions",
        &json!({"model": "main", "messages": [{"role": "user", "content": command}]}),
    );
    let (mut decided, mut hinted) = (false, false);
    for event in lines.filter_map(|line| data(&line)) {
        decided |= event["phase"] == "decided" && event["origin"] == "http" && event["verdict"] == "deny";
        hinted |= event["type"] == "tool_result"
            && event["refusal"]["hint"].as_str().is_some_and(|hint| !hint.is_empty());
        assert!(event["seq"].as_u64().is_none_or(|seq| seq > 2), "a record came twice: {event}");
        if decided && hinted {
            return;
        }
    }
    panic!("the stream ended: decided {decided}, hinted {hinted}");
}

#[test]
fn a_client_that_comes_back_gets_what_it_missed() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    for path in ["a", "b", "c"] {
        assert_eq!(instance.tool("read_file", &json!({"path": path}).to_string()).code, 1);
    }
    let bearer = gateway.bearer();
    let mut stream = gateway.connect();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str()), ("Last-Event-ID", "4")];
    std::io::Write::write_all(
        &mut stream,
        super::client::request("GET /api/events", &headers, "").as_bytes(),
    )
    .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(stream)).map_while(Result::ok);
    let seen: Vec<u64> =
        lines.filter_map(|line| data(&line)).take(2).map(|record| record["seq"].as_u64().unwrap()).collect();
    assert_eq!(seen, [5, 6]);
}
