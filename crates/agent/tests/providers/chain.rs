//! Chains: names, stand-ins, retries and rests, with scripted models and a clock that runs by itself.

use crate::support::{Heard, ask, config, hello, models};
use picoclaw_agent::providers::{ErrorClass, ModelError, Models};
use picoclaw_policy::AgentId;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

/// A scripted entry named `name` that says `lines`.
fn script(dir: &TempDir, name: &str, lines: &[&str]) -> Value {
    let path = dir.path().join(format!("{name}-{}.jsonl", lines.len()));
    std::fs::write(&path, lines.join("\n")).unwrap();
    json!({"model_name": name, "model": "scripted/x", "api_base": format!("file://{}", path.display())})
}

fn with(mut entry: Value, key: &str, value: Value) -> Value {
    entry[key] = value;
    entry
}

fn failing(class: &str) -> String {
    json!({"error": {"class": class, "message": format!("no ({class})")}}).to_string()
}

fn said(heard: &Heard) -> (&str, &str) {
    match &heard.result {
        Ok((answer, model)) => (answer.content.as_str(), model.as_str()),
        Err(why) => ("", why.message.as_str()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_is_replayed_line_by_line_and_then_it_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        "// a comment, and a blank line",
        "",
        r#"{"content": "one two"}"#,
        r#"{"tool_calls": [{"name": "exec", "arguments": {"command": "ls"}}, {"name": "exec", "arguments": "{}", "id": "z"}]}"#,
        r#"{"half": "#,
    ];
    let models = models(&json!([with(script(&dir, "s", &lines), "streaming", json!({"enabled": true}))]));
    let heard = ask(&models, &hello()).await;
    assert_eq!(said(&heard), ("one two", "s"));
    assert_eq!(heard.pieces, ["one ", "two"], "streaming entries arrive in pieces");
    let heard = ask(&models, &hello()).await;
    let calls: Vec<_> =
        heard.answer().tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("scripted_1", r#"{"command":"ls"}"#), ("z", "{}")]);
    let heard = ask(&models, &hello()).await;
    assert_eq!(heard.error().class, ErrorClass::Malformed, "a broken line is told");
    assert!(heard.error().message.contains("line 5 of the script"), "{}", heard.error());
    let heard = ask(&models, &hello()).await;
    assert!(heard.error().message.contains("is over"), "{}", heard.error());
}

#[tokio::test(start_paused = true)]
async fn failures_that_pass_are_tried_again_and_others_are_not() {
    for (why, classes, answered, waits) in [
        ("nothing fails", &[][..], true, &[][..]),
        ("a rate limit passes", &["rate_limit"], true, &[2]),
        ("twice", &["timeout", "network"], true, &[2, 4]),
        ("three times is too often", &["timeout", "timeout", "timeout"], false, &[2, 4]),
        ("a wrong key stays wrong", &["auth"], false, &[]),
        ("a wrong request stays wrong", &["format"], false, &[]),
        ("a conversation that is too long is the loop's to cut", &["context_overflow"], false, &[]),
        ("what nobody understands stops", &["unknown"], false, &[]),
        ("garbage stays garbage", &["malformed"], false, &[]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut lines: Vec<String> = classes.iter().map(|class| failing(class)).collect();
        lines.push(r#"{"content": "fine"}"#.to_owned());
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let start = Instant::now();
        let heard = ask(&models(&json!([script(&dir, "s", &lines)])), &hello()).await;
        assert_eq!(heard.result.is_ok(), answered, "{why}");
        if !answered {
            let last = classes.last().unwrap();
            let want = format!("LLM call failed after retries: no ({last})");
            assert_eq!(heard.error().message, want, "{why}");
        }
        let told: Vec<u64> = heard.retries.iter().map(|retry| retry.wait.as_secs()).collect();
        assert_eq!(told, waits, "{why}");
        assert_eq!(start.elapsed().as_secs(), waits.iter().sum::<u64>(), "{why}: it really waited");
    }
}

#[tokio::test(start_paused = true)]
async fn another_model_stands_in_for_one_that_fails() {
    for (why, first, second, want) in [
        ("the first answers", r#"{"content":"a"}"#.to_owned(), r#"{"content":"b"}"#.to_owned(), ("a", "one")),
        ("its key is wrong", failing("auth"), r#"{"content":"b"}"#.to_owned(), ("b", "two")),
        ("it is unpaid", failing("billing"), r#"{"content":"b"}"#.to_owned(), ("b", "two")),
        ("it talks garbage", failing("malformed"), r#"{"content":"b"}"#.to_owned(), ("b", "two")),
        (
            "a wrong request is nobody's fault but ours",
            failing("format"),
            r#"{"content":"b"}"#.to_owned(),
            ("", "LLM call failed after retries: no (format)"),
        ),
        (
            "both fail for good",
            failing("auth"),
            failing("billing"),
            (
                "",
                "LLM call failed after retries: fallback: all 2 candidates failed:\n  one: no (auth)\n  two: no (billing)",
            ),
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let one = with(script(&dir, "one", &[&first]), "fallbacks", json!(["two"]));
        let heard = ask(&models(&json!([one, script(&dir, "two", &[&second])])), &hello()).await;
        assert_eq!(said(&heard), want, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_failed_rests_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let timeout = failing("timeout");
    let one = script(&dir, "one", &[&timeout, r#"{"content":"a"}"#]);
    let two =
        script(&dir, "two", &[r#"{"content":"b1"}"#, r#"{"content":"b2"}"#, &timeout, &timeout, &timeout]);
    let models = models(&json!([with(one, "fallbacks", json!(["two"])), two]));
    assert_eq!(said(&ask(&models, &hello()).await), ("b1", "two"), "the first fails");
    assert_eq!(said(&ask(&models, &hello()).await), ("b2", "two"), "and rests");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(said(&ask(&models, &hello()).await), ("a", "one"), "and is asked again");
}

#[tokio::test(start_paused = true)]
async fn when_everybody_rests_the_one_due_first_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (auth, unpaid) = (failing("auth"), failing("billing"));
    let one = script(&dir, "one", &[&unpaid, r#"{"content":"a"}"#]);
    let two = script(&dir, "two", &[&auth, r#"{"content":"b"}"#]);
    let models = models(&json!([with(one, "fallbacks", json!(["two"])), two]));
    assert!(ask(&models, &hello()).await.result.is_err());
    assert_eq!(said(&ask(&models, &hello()).await), ("b", "two"), "it rests a minute, the other five hours");
}

#[tokio::test(start_paused = true)]
async fn a_chain_whose_members_all_fail_for_a_moment_goes_round_again() {
    let dir = tempfile::tempdir().unwrap();
    let timeout = failing("timeout");
    let one = script(&dir, "one", &[&timeout, r#"{"content":"a"}"#]);
    let two = script(&dir, "two", &[&timeout, r#"{"content":"b"}"#]);
    let models = models(&json!([with(one, "fallbacks", json!(["two"])), two]));
    let heard = ask(&models, &hello()).await;
    assert_eq!(said(&heard), ("a", "one"));
    let waits: Vec<u64> = heard.retries.iter().map(|retry| retry.wait.as_secs()).collect();
    assert_eq!(waits, [0, 2], "the second is asked at once, the first after a wait");
}

#[tokio::test(start_paused = true)]
async fn entries_of_one_name_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let a = script(&dir, "m", &[r#"{"content":"a1"}"#, r#"{"content":"a2"}"#]);
    let b = script(&dir, "m", &[r#"{"content":"b1"}"#, r#"{"content":"b2"}"#, "//"]);
    let models = models(&json!([a, b]));
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(said(&ask(&models, &hello()).await).0.to_owned());
    }
    assert_eq!(order, ["a1", "b1", "a2", "b2"]);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_requests_a_minute_is_waited_for_or_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [r#"{"content":"1"}"#, r#"{"content":"2"}"#];
    let limited = with(script(&dir, "one", &lines), "rpm", json!(1));
    let alone = models(&json!([limited.clone()]));
    let start = Instant::now();
    ask(&alone, &hello()).await.answer();
    assert_eq!(said(&ask(&alone, &hello()).await).0, "2");
    assert_eq!(start.elapsed().as_secs(), 60, "nobody else could be asked");
    let two = script(&dir, "two", &[r#"{"content":"b"}"#]);
    let several = models(&json!([with(limited, "fallbacks", json!(["two"])), two]));
    ask(&several, &hello()).await.answer();
    let start = Instant::now();
    assert_eq!(said(&ask(&several, &hello()).await), ("b", "two"));
    assert_eq!(start.elapsed().as_secs(), 0, "somebody else was asked at once");
}

#[test]
fn a_name_means_an_entry_or_it_is_an_error_with_a_remedy() {
    let main = AgentId::main();
    let list = json!([
        {"model_name": "a", "model": "ollama/llama3"},
        {"model_name": "keyless", "model": "gpt-4o"},
        {"model_name": "odd", "model": "acme/x"},
        {"model_name": "lost", "model": "scripted/x"},
        {"model_name": "stray", "model": "ollama/x", "fallbacks": ["nobody"]},
    ]);
    let models = Models::new(&config(&json!({"model_list": list})));
    for (why, asked, want) in [
        ("nobody asks: the first entry", None, Ok("a")),
        ("by its alias", Some("a"), Ok("a")),
        ("by its id", Some("ollama/llama3"), Ok("a")),
        ("no model at all is always there", Some("direct"), Ok("direct")),
        ("nobody has that name", Some("b"), Err("there is no model `b`")),
        ("a hosted model wants a key", Some("keyless"), Err("model `keyless` has no key")),
        ("an unknown protocol", Some("odd"), Err("model `odd`: the protocol `acme` is not supported")),
        ("a script without a file", Some("lost"), Err("model `lost`: a scripted model has an `api_base`")),
        ("a stand-in that does not exist", Some("stray"), Err("there is no model `nobody`")),
        ("what a model makes up is no entry", Some("claude-cli/claude-code"), Err("there is no model")),
    ] {
        match (models.chain(&main, asked), want) {
            (Ok(chain), Ok(name)) => assert_eq!(chain.model(), name, "{why}"),
            (Err(error), Err(text)) => {
                assert!(error.to_string().starts_with(text), "{why}: {error}");
                assert!(!error.hint().is_empty(), "{why}: no remedy");
            }
            (got, _) => panic!("{why}: {:?}", got.map(|chain| chain.model().to_owned())),
        }
    }
    let empty = Models::new(&config(&json!({})));
    assert_eq!(empty.chain(&main, None).unwrap().model(), "direct", "no model is configured");
    assert!(matches!(empty.chain(&main, Some("x")), Err(ModelError::Unknown { .. })));
}

#[test]
fn an_agent_has_a_model_of_its_own() {
    let models = Models::new(&config(&json!({
        "agents": {"defaults": {"model_name": "a"}, "list": [{"id": "main"}, {"id": "dev", "model": {"primary": "b", "fallbacks": ["a"]}}]},
        "model_list": [{"model_name": "a", "model": "ollama/a"}, {"model_name": "b", "model": "ollama/b"}],
    })));
    let dev = AgentId::parse("dev").unwrap();
    assert_eq!(models.chain(&AgentId::main(), None).unwrap().model(), "a");
    assert_eq!(models.chain(&dev, None).unwrap().model(), "b");
    assert_eq!(models.chain(&dev, Some("a")).unwrap().model(), "a", "a person's word goes first");
}
