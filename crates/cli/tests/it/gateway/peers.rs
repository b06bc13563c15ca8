//! Real clients of other people's: they are what chats must work with.

use super::client::{DIRECT, Gateway};
use crate::house::House;
use crate::mcp::peers::peer;
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
    let house = House::with_config(DIRECT);
    let gateway = Gateway::new(&house);
    let base = format!("http://127.0.0.1:{}/v1", gateway.port);
    let ran = Command::new(python)
        .args(["-c", SCRIPT, &base, &gateway.token])
        .env_remove("HTTP_PROXY")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.ends_with("ok\n"), "{told}{}", String::from_utf8_lossy(&ran.stderr));
}
