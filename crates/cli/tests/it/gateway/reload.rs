//! Another configuration in place of the one there is: whole, or not at all.

use super::client::Gateway;
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::json;

fn config(more: &str) -> String {
    format!(r#"{{"version": 3, "heartbeat": {{"enabled": false}}{more}}}"#)
}

fn told(gateway: &Gateway, command: &str) -> String {
    let asked = json!({"model": "main", "messages": [{"role": "user", "content": command}]});
    gateway.post("/v1/chat/completions", &asked).json()["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_reload_changes_everything_or_nothing() {
    let instance = TestInstance::with_config(&config(""));
    let gateway = Gateway::new(&instance);
    assert_eq!(told(&gateway, "echo hi"), "hi\n");
    instance.configure(&config(r#", "tools": {"exec": {"custom_deny_patterns": ["^echo"]}}, "agents": {"agents": [{"id": "main", "default": true}, {"id": "coder"}]}"#));
    assert_eq!(told(&gateway, "echo hi"), "hi\n", "nobody asked yet");
    let answer = gateway.post("/reload", &json!({}));
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("reload triggered")), "{answer:?}");
    assert!(told(&gateway, "echo hi").starts_with("Command blocked by safety guard"));
    assert_eq!(gateway.get("/v1/models").json()["data"].as_array().unwrap().len(), 2);
    for (why, broken) in [
        ("no JSON", "{".to_owned()),
        ("an unknown key", config(r#", "tolls": {}"#)),
        ("a bad pattern", config(r#", "tools": {"exec": {"custom_deny_patterns": ["("]}}"#)),
        ("a model that is not there", config(r#", "agents": {"defaults": {"model_name": "nobody"}}"#)),
        (
            "a hook that does not come",
            config(
                r#", "hooks": {"processes": {"absent": {"enabled": true, "command": ["/nowhere/at/all"], "intercept": ["before_tool"]}}}"#,
            ),
        ),
    ] {
        instance.configure(&broken);
        let answer = gateway.post("/reload", &json!({}));
        assert_eq!(answer.status, 500, "{why}: {answer:?}");
        assert!(
            answer.json()["error"].as_str().unwrap().contains("everything stays as it was"),
            "{why}: {answer:?}"
        );
        assert!(
            told(&gateway, "echo hi").starts_with("Command blocked by safety guard"),
            "{why}: the old rules"
        );
        assert_eq!(
            gateway.get("/v1/models").json()["data"].as_array().unwrap().len(),
            2,
            "{why}: the old agents"
        );
        assert_eq!(gateway.get("/ready").status, 200, "{why}");
    }
    gateway.says("Not reloaded");
}

#[test]
fn a_hang_up_reloads_and_a_changed_file_does_where_that_is_on() {
    let instance = TestInstance::with_config(&config(""));
    let gateway = Gateway::new(&instance);
    instance.configure(&config(r#", "gateway": {"hot_reload": true}"#));
    gateway.signal(rustix::process::Signal::HUP);
    gateway.says("Reloaded");
    instance.configure(&config(r#", "gateway": {"hot_reload": true}, "agents": {"agents": [{"id": "main", "default": true}, {"id": "coder"}]}"#));
    wait_for("the change was not seen", || {
        (gateway.get("/v1/models").json()["data"].as_array().unwrap().len() == 2).then_some(())
    });
}
