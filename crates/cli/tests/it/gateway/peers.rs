//! Real clients of other people's: they are what chats must work with.

use super::client::{DIRECT, Gateway, SCRIPTED};
use crate::mcp::peers::peer;
use crate::test_instance::TestInstance;
use std::process::Command;

const SCRIPT: &str = r#"
import sys
from openai import OpenAI, NotFoundError, AuthenticationError, BadRequestError
base, token = sys.argv[1], sys.argv[2]
client = OpenAI(base_url=base, api_key=token, max_retries=0)
assert [model.id for model in client.models.list()] == ["main"]
assert client.models.retrieve("main").owned_by == "picoclaw"
said = [{"role": "user", "content": "echo from openai"}]
answer = client.chat.completions.create(model="main", messages=said)
assert answer.choices[0].message.content == "from openai\n", answer
assert answer.choices[0].finish_reason == "stop" and answer.usage.total_tokens >= 0
pieces = client.chat.completions.create(model="main", messages=said, stream=True, stream_options={"include_usage": True})
text, usage = "", None
for piece in pieces:
    usage = piece.usage or usage
    text += "".join(choice.delta.content or "" for choice in piece.choices)
assert text == "from openai\n" and usage is not None, text
for error, make in [
    (NotFoundError, lambda: client.chat.completions.create(model="nobody", messages=said)),
    (NotFoundError, lambda: client.models.retrieve("nobody")),
    (BadRequestError, lambda: client.chat.completions.create(model="main", messages=[])),
    (AuthenticationError, lambda: OpenAI(base_url=base, api_key="wrong", max_retries=0).models.list()),
]:
    try:
        make()
    except error as caught:
        print(type(caught).__name__, caught.code)
    else:
        raise SystemExit(f"no {error.__name__}")
print("ok")
"#;

#[test]
fn the_official_python_client_talks_to_an_agent() {
    let Some(python) = peer("openai/bin/python") else { return };
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let base = format!("http://127.0.0.1:{}/v1", gateway.port);
    let ran = Command::new(python)
        .args(["-c", SCRIPT, &base, &gateway.token])
        .env_remove("HTTP_PROXY")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.ends_with("ok\n"), "{told}{}", String::from_utf8_lossy(&ran.stderr));
}

/// The last message must be the user's, which no schema can say.
const LENIENT: &str = r#"
[[operations]]
include-path = "/v1/chat/completions"
checks.positive_data_acceptance.enabled = false
"#;

#[test]
fn the_document_says_what_the_gateway_does() {
    let Some(python) = peer("schemathesis/bin/python") else { return };
    let instance = TestInstance::with_config(SCRIPTED);
    // A model that runs nothing: what is sent to it is anything at all.
    std::fs::write(instance.dir().join("replies.jsonl"), "{\"content\": \"fine\"}\n".repeat(50_000)).unwrap();
    let gateway = Gateway::new(&instance);
    let lenient = instance.dir().join("schemathesis.toml");
    std::fs::write(&lenient, LENIENT).unwrap();
    let is_soak = std::env::var_os("PICOCLAW_SOAK").is_some();
    let mut command = Command::new(&python);
    command.arg(python.with_file_name("schemathesis")).arg("--config-file").arg(&lenient).arg("run");
    command.arg(format!("http://127.0.0.1:{}/openapi.json", gateway.port));
    command.args(["--header", &format!("Authorization: {}", gateway.bearer())]);
    // The live stream has no end to wait for; its own tests read it.
    command.args(["--exclude-path", "/api/events", "--request-timeout", "20", "--no-color"]);
    command.args(if is_soak { ["--max-examples", "200"] } else { ["--max-examples", "5"] });
    // In a soak every run is another one; the seed is printed.
    command.args(if is_soak { &[] } else { &["--seed", "1"][..] });
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", instance.dir());
    let ran = command.current_dir(instance.dir()).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    // All but the stream, and the document itself, which it has read.
    let tested = gateway.get("/openapi.json").json()["paths"].as_object().unwrap().len() - 2;
    assert!(told.contains(&format!("Tested: {tested}\n")), "{tested} operations: {told}");
    assert_eq!(gateway.get("/health").status, 200);
    assert_eq!(instance.run(&["audit", "verify"]).code, 0);
}
