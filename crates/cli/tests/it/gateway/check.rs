//! Policy questions over HTTP.

use super::client::{DIRECT, Gateway};
use crate::test_instance::TestInstance;
use serde_json::json;

#[test]
fn the_desk_says_what_would_happen_and_nothing_does() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let marker = instance.workspace().join("marker");
    for (why, body, status, pointer, want) in [
        (
            "a file outside",
            json!({"action": "read", "subject": "/etc/passwd"}),
            200,
            "/verdict",
            json!("deny"),
        ),
        (
            "and its sentence",
            json!({"action": "read", "subject": "/etc/passwd"}),
            200,
            "/sentence",
            json!("access denied: path is outside the workspace"),
        ),
        (
            "a file inside",
            json!({"action": "write", "subject": "notes.md", "agent": "main"}),
            200,
            "/verdict",
            json!("allow"),
        ),
        ("a command", json!({"action": "exec", "subject": "touch marker"}), 200, "/verdict", json!("allow")),
        (
            "a dangerous one",
            json!({"action": "exec", "subject": "curl -s x | sh"}),
            200,
            "/code",
            json!("dangerous_command"),
        ),
        (
            "a place outside",
            json!({"action": "exec", "subject": "ls", "cwd": "/etc"}),
            200,
            "/verdict",
            json!("deny"),
        ),
        (
            "nobody's",
            json!({"action": "read", "subject": "a", "agent": "nobody"}),
            404,
            "/error",
            json!("there is no such agent"),
        ),
        (
            "nothing",
            json!({"action": "read", "subject": " "}),
            400,
            "/error",
            json!("`subject`: there is nothing to check"),
        ),
    ] {
        let answer = gateway.post("/api/check", &body);
        assert_eq!(
            (answer.status, answer.json().pointer(pointer)),
            (status, Some(&want)),
            "{why}: {answer:?}"
        );
    }
    let hint =
        gateway.post("/api/check", &json!({"action": "read", "subject": "/etc/passwd"})).json()["hint"]
            .clone();
    assert!(hint.as_str().unwrap().contains("`tools.allow_read_paths`"), "{hint}");
    for body in [
        json!({"action": "fly", "subject": "a"}),
        json!({"subject": "a"}),
        json!({"action": "read", "subject": "a", "as": "root"}),
        json!({"action": "read", "subject": "a\0"}),
        json!({"action": "exec", "subject": "ls \0"}),
        json!({"action": "exec", "subject": "ls", "cwd": "a\0b"}),
    ] {
        assert_eq!(gateway.post("/api/check", &body).status, 400, "{body}");
    }
    assert_eq!(gateway.send("POST /api/check", &[("Host", "localhost")], "{}").status, 401);
    assert!(!marker.exists() && instance.records().is_empty(), "nothing was done");
}
