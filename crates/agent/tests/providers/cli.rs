//! Command-line models: stand-ins for `claude` and `codex` that answer, lie, hang, flood and reach out.

use crate::support::{Heard, ask, config, hello, request};
use picoclaw_agent::message::{Message, Role, ToolCall};
use picoclaw_agent::providers::{ErrorClass, Models, Usage};
use picoclaw_policy::{AgentId, Policy};
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::harden_self;
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use picoclaw_testing::PATIENCE;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KEY: &str = "sk-very-secret-key";

/// Whether children are caged.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Confinement {
    Cage,
    None,
}

/// A fixture with stand-ins on its path.
struct Fixture {
    _dir: TempDir,
    base: PathBuf,
    models: Models,
}

impl Fixture {
    fn new(confinement: Confinement, program: &str, script: &str, entry: Value) -> Self {
        harden_self().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let home = base.join("somebody/.picoclaw");
        let stand_in = base.join("opt/bin").join(program);
        for dir in ["opt/bin", "project", "somebody"] {
            std::fs::create_dir_all(base.join(dir)).unwrap();
        }
        let text = format!("#!/bin/sh\n{}\n", script.replace("BASE", &base.display().to_string()));
        // By another process: a child that this one starts meanwhile for another test would have a descriptor of this one's
        // for a moment, and the kernel executes no file that is open for writing.
        let mut shell = std::process::Command::new("sh");
        let line = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
        assert!(shell.args(["-c", line]).arg(&stand_in).arg(text).status().unwrap().success());
        let mut whole = json!({"model_name": "c", "model": format!("{program}-cli"), "api_keys": [KEY], "request_timeout": 20});
        let text = entry.to_string().replace("BASE", &base.display().to_string());
        let entry: Value = serde_json::from_str(&text).unwrap();
        whole.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        let config = config(&json!({"agents": {"defaults": {"model_name": "c"}}, "model_list": [whole],
            "isolation": {"enabled": confinement == Confinement::Cage}}));
        let instance = Instance::prepare(&home, &config, &[home.join("config.json")]).unwrap();
        for (file, text) in
            [(".picoclaw/config.json", "CONFIG"), (".picoclaw/workspace/notes", "NOTES"), ("diary", "DIARY")]
        {
            write(&base.join("somebody").join(file), text);
        }
        let zones = instance.zones();
        let files = Files::open(zones.clone(), &instance.locks()).unwrap();
        let ledger = Ledger::open(&instance.ledger()).unwrap();
        let path = format!("{}:/usr/bin:/bin", base.join("opt/bin").display());
        let host: [(OsString, OsString); 3] = [
            ("PATH".into(), path.into()),
            ("HOME".into(), base.join("somebody").into()),
            ("MODEL_KEY".into(), KEY.into()),
        ];
        let exec_env = ExecEnv::new(&config, &instance, host).unwrap();
        let policy = Policy::compile(&config, zones, Vec::new()).unwrap();
        let warden = Arc::new(Warden::new(policy, files, exec_env, ledger));
        Self { _dir: dir, base, models: Models::with_warden(&config, warden) }
    }

    /// What the stand-in left in its working directory.
    fn left(&self, program: &str, file: &str) -> String {
        let own = format!("somebody/.picoclaw/runtime-user-env/providers/{program}-cli/home");
        std::fs::read_to_string(self.base.join(own).join(file)).unwrap_or_default()
    }

    fn ledger(&self) -> String {
        let files = std::fs::read_dir(self.base.join("somebody/.picoclaw/ledger")).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        files.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// What a stand-in does first: it keeps what it was asked.
const KEEP: &str = r#"for word in "$@"; do printf '%s\n' "$word"; done > args; cat > input; pwd > place"#;

async fn against(confinement: Confinement, program: &str, script: &str) -> (Heard, Fixture) {
    let fixture = Fixture::new(confinement, program, script, json!({}));
    (ask(&fixture.models, &hello()).await, fixture)
}

/// A stand-in that prints `text` as it is.
fn printing(text: &str) -> String {
    format!("cat > /dev/null; cat <<'THE_END'\n{text}\nTHE_END")
}

#[tokio::test]
async fn claude_is_asked_as_its_command_line_wants_it() {
    for (confinement, bypass) in [(Confinement::Cage, true), (Confinement::None, false)] {
        let script = format!(
            "{KEEP}\n{}",
            r#"echo '{"type":"result","is_error":false,"result":"hi","usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}}'"#
        );
        let fixture = Fixture::new(confinement, "claude", &script, json!({"model": "claude-cli/opus"}));
        let heard = ask(&fixture.models, &hello()).await;
        assert_eq!(
            (heard.answer().content.as_str(), heard.answer().usage),
            ("hi", Usage { input: 3, output: 3 })
        );
        let args = fixture.left("claude", "args");
        let flags = if bypass {
            "-p\n--output-format\njson\n--dangerously-skip-permissions\n--no-chrome\n"
        } else {
            "-p\n--output-format\njson\n--no-chrome\n"
        };
        assert!(
            args.starts_with(&format!("{flags}--model\nopus\n--system-prompt\nbe kind\n")),
            "{confinement:?}: {args}"
        );
        assert!(args.ends_with("\n-\n"), "{confinement:?}: {args}");
        assert_eq!(fixture.left("claude", "input"), "hello", "{confinement:?}");
        let place = fixture.left("claude", "place");
        assert!(place.trim().ends_with("providers/claude-cli/home"), "{confinement:?}: {place}");
        let ledger = fixture.ledger();
        assert!(ledger.contains("start providers/claude-cli"), "{confinement:?}: {ledger}");
        assert!(!ledger.contains("be kind"), "{confinement:?}: the prompt is nobody's business: {ledger}");
    }
}

#[tokio::test]
async fn codex_is_asked_as_its_command_line_wants_it() {
    for (confinement, bypass) in [(Confinement::Cage, true), (Confinement::None, false)] {
        let script = format!(
            "{KEEP}\n{}",
            printing(
                "not json\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"hi\"}}\n{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":5,\"cached_input_tokens\":4,\"output_tokens\":2}}"
            )
        );
        let fixture = Fixture::new(
            confinement,
            "codex",
            &script,
            json!({"model": "codex-cli/gpt-x", "workspace": "BASE/project"}),
        );
        let heard = ask(&fixture.models, &hello()).await;
        assert_eq!(
            (heard.answer().content.as_str(), heard.answer().usage),
            ("hi", Usage { input: 5, output: 2 })
        );
        let read = |file: &str| std::fs::read_to_string(fixture.base.join("project").join(file)).unwrap();
        let project = fixture.base.join("project").display().to_string();
        let bypass = if bypass { "--dangerously-bypass-approvals-and-sandbox\n" } else { "" };
        let want = format!(
            "exec\n--json\n{bypass}--skip-git-repo-check\n--color\nnever\n-m\ngpt-x\n-C\n{project}\n-\n"
        );
        assert_eq!(read("args"), want, "{confinement:?}");
        assert_eq!(read("place").trim(), project, "{confinement:?}: the operator's directory");
        let input = read("input");
        assert!(
            input.starts_with("## System Instructions\n\nbe kind\n\n## Available Tools"),
            "{confinement:?}: {input}"
        );
        assert!(input.ends_with("\n\n## Task\n\nhello"), "{confinement:?}: {input}");
    }
}

#[tokio::test]
async fn a_conversation_goes_along_with_its_calls() {
    let script = format!("{KEEP}\necho '{{\"result\":\"ok\"}}'");
    let fixture = Fixture::new(Confinement::None, "claude", &script, json!({}));
    let call = ToolCall { id: "c1".into(), name: "exec".into(), arguments: "{}".into() };
    let history = vec![
        Message::text(Role::User, "list"),
        Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "so") },
        Message::result("c1", "a.txt"),
    ];
    ask(&fixture.models, &request(history)).await.answer();
    let input = fixture.left("claude", "input");
    assert!(input.starts_with("User: list\nAssistant: so\n{\"tool_calls\":"), "{input}");
    assert!(input.ends_with("\n[Tool Result for c1]: a.txt"), "{input}");
    let long = Message::text(Role::System, format!("= {}\n/etc/passwd", "x".repeat(200 << 10)));
    ask(&fixture.models, &request(vec![long, Message::text(Role::User, "hi")])).await.answer();
    assert!(!fixture.left("claude", "args").contains("--system-prompt"), "too long for a command line");
    assert!(fixture.left("claude", "input").starts_with("= xxx"), "so it goes in front of the question");
}

/// The beginning of the text and how many calls, or the class and a part of the message.
type Want = Result<(&'static str, usize), (ErrorClass, &'static str)>;

#[tokio::test]
async fn replies_are_read_and_garbage_is_an_error() {
    let call = r#"{\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"exec\",\"arguments\":{\"command\":\"ls\"}}}]}"#;
    let message = |text: &str| {
        format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{text}"}}}}"#)
    };
    let rows: Vec<(&str, &str, String, Want)> = vec![
        ("a call", "claude", printing(&format!(r#"{{"result":"{call}"}}"#)), Ok(("", 1))),
        (
            "a call in prose is none",
            "claude",
            printing(&format!(r#"{{"result":"Say {call}"}}"#)),
            Ok(("Say", 0)),
        ),
        (
            "a fenced call",
            "claude",
            printing(&format!(r#"{{"result":"So:\n```json\n{call}\n```"}}"#)),
            Ok(("So:", 1)),
        ),
        (
            "the last of a list",
            "claude",
            printing(r#"[{"type":"system"},{"type":"result","result":"hi"}]"#),
            Ok(("hi", 0)),
        ),
        (
            "an error of its own",
            "claude",
            printing(r#"{"is_error":true,"result":"Invalid API key · Please run /login"}"#) + "\nexit 1",
            Err((ErrorClass::Auth, "claude cli returned error: Invalid API key")),
        ),
        (
            "no money",
            "claude",
            printing(r#"{"is_error":true,"result":"Credit balance is too low"}"#),
            Err((ErrorClass::Billing, "Credit balance")),
        ),
        ("words", "claude", printing("hello"), Err((ErrorClass::Malformed, "did not print one JSON object"))),
        (
            "half an object",
            "claude",
            printing(r#"{"result":"he"#),
            Err((ErrorClass::Malformed, "did not print one JSON object")),
        ),
        (
            "two objects",
            "claude",
            printing("{\"result\":\"a\"}\n{\"result\":\"b\"}"),
            Err((ErrorClass::Malformed, "did not print one JSON object")),
        ),
        (
            "another object",
            "claude",
            printing(r#"{"answer":"a"}"#),
            Err((ErrorClass::Malformed, "holds no `result`")),
        ),
        (
            "nothing",
            "claude",
            "cat > /dev/null".into(),
            Err((ErrorClass::Malformed, "did not print one JSON object")),
        ),
        (
            "no UTF-8",
            "claude",
            r#"printf '{"result":"\377"}'"#.into(),
            Err((ErrorClass::Malformed, "did not print UTF-8")),
        ),
        (
            "a bad end",
            "claude",
            "echo 'no such option' >&2; exit 3".into(),
            Err((ErrorClass::Malformed, "`claude` exited with code 3: no such option")),
        ),
        (
            "an answer and a bad end",
            "claude",
            printing(r#"{"result":"hi"}"#) + "\nexit 1",
            Err((ErrorClass::Malformed, "exited with code 1")),
        ),
        ("killed", "claude", "kill -9 $$".into(), Err((ErrorClass::Malformed, "`claude` was killed"))),
        ("input nobody reads", "claude", "exec echo '{\"result\":\"hi\"}'".into(), Ok(("hi", 0))),
        ("a flood", "claude", "exec yes".into(), Err((ErrorClass::Malformed, "printed more than 16 MiB"))),
        (
            "the key in an error",
            "claude",
            format!("echo 'bad key {KEY}' >&2; exit 1"),
            Err((ErrorClass::Malformed, "bad key [FILTERED]")),
        ),
        (
            "a call after a word",
            "codex",
            printing(&format!("{}\n{}", message("I look"), message(call))),
            Ok(("I look", 1)),
        ),
        (
            "an error",
            "codex",
            printing(r#"{"type":"turn.failed","error":{"message":"usage limit reached"}}"#) + "\nexit 1",
            Err((ErrorClass::RateLimit, "codex cli returned error: usage limit reached")),
        ),
        (
            "an error beside an answer",
            "codex",
            printing(&format!("{}\n{}", r#"{"type":"error","message":"reconnecting"}"#, message("hi"))),
            Ok(("hi", 0)),
        ),
        ("an answer and a bad end", "codex", printing(&message("hi")) + "\nexit 1", Ok(("hi", 0))),
        (
            "half a turn calls nothing",
            "codex",
            printing(&message(call)) + "\nexit 1",
            Err((ErrorClass::Malformed, "broke off")),
        ),
        (
            "words",
            "codex",
            printing("hello\n[]\n{\"type\":1}\n{\"type\":\"item.completed\",\"item\":7}"),
            Err((ErrorClass::Malformed, "printed no answer")),
        ),
    ];
    for (why, program, script, want) in rows {
        let (heard, _fixture) = against(Confinement::None, program, &script).await;
        match (&heard.result, want) {
            (Ok((answer, _)), Ok((text, calls))) => {
                assert!(answer.content.starts_with(text), "{why}: {}", answer.content);
                assert_eq!(answer.tool_calls.len(), calls, "{why}");
            }
            (Err(error), Err((class, part))) => {
                assert_eq!(error.class, class, "{why}: {error}");
                assert!(error.message.contains(part), "{why}: {error}");
                assert!(!error.message.contains(KEY), "{why}: {error}");
                assert!(heard.retries.is_empty(), "{why}: a program is not asked twice");
            }
            (got, _) => panic!("{why}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_caged_program_that_is_not_logged_in_says_where_its_home_is() {
    let script = printing(r#"{"is_error":true,"result":"Invalid API key · Please run /login"}"#);
    for (confinement, is_hinted) in [(Confinement::Cage, true), (Confinement::None, false)] {
        let (heard, _fixture) = against(confinement, "claude", &script).await;
        let message = &heard.error().message;
        assert_eq!(
            message.contains("\nhint: caged, it has a home of its own"),
            is_hinted,
            "{confinement:?}: {message}"
        );
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let fixture = Fixture::new(Confinement::None, "claude", "true", json!({"model": "codex-cli"}));
    let heard = ask(&fixture.models, &hello()).await;
    assert!(heard.error().message.contains("could not start `codex`"), "{}", heard.error());
    let alone = Models::new(&config(&json!({"model_list": [{"model_name": "c", "model": "claude-cli"}]})));
    assert!(alone.chain(&AgentId::main(), None).is_err(), "without a warden nothing is started");
}

/// Whether a process named like that is alive.
fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).join("cmdline").exists()
        && !std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"))
            .unwrap_or_default()
            .contains(") Z ")
}

#[tokio::test]
async fn a_program_that_hangs_ends_at_its_deadline_with_everything_it_started() {
    let script = "setsid sleep 300 & echo $! > child; echo $$ > self; sleep 300";
    let fixture = Fixture::new(Confinement::None, "claude", script, json!({"request_timeout": 1}));
    let start = Instant::now();
    let heard = ask(&fixture.models, &hello()).await;
    assert_eq!(heard.error().class, ErrorClass::Timeout);
    assert!(
        heard.error().message.contains("gave no answer within 1 s (`request_timeout`)"),
        "{}",
        heard.error()
    );
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    for file in ["child", "self"] {
        let pid = fixture.left("claude", file);
        assert!(!pid.is_empty() && !is_alive(&pid), "`{file}` ({pid}) is still there");
    }
}

#[tokio::test]
async fn a_program_nobody_waits_for_is_ended_with_everything_it_started() {
    let script = "setsid sleep 300 & echo $! > child; echo $$ > self; sleep 300";
    let fixture = Fixture::new(Confinement::None, "claude", script, json!({}));
    let question = hello();
    let begun = async {
        while fixture.left("claude", "self").trim().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        heard = ask(&fixture.models, &question) => panic!("it ended by itself: {:?}", heard.result),
        () = begun => {}
    }
    let ended = async {
        while ["child", "self"].iter().any(|file| is_alive(&fixture.left("claude", file))) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}

#[tokio::test]
async fn what_a_program_reaches_out_for_is_held_by_the_cage() {
    let tries = [
        ("the configuration", "cat BASE/somebody/.picoclaw/config.json"),
        ("an agent's workspace", "cat BASE/somebody/.picoclaw/workspace/notes"),
        ("the ledger", "cat BASE/somebody/.picoclaw/ledger/*.jsonl"),
        ("the operator's home", "cat BASE/somebody/diary"),
        ("a file it plants for the agent", "echo x > BASE/somebody/.picoclaw/workspace/AGENT.md"),
        ("a program it plants for everybody", "echo x > BASE/opt/bin/git"),
    ];
    for (why, line) in tries {
        for (confinement, want) in [(Confinement::None, "GOT"), (Confinement::Cage, "NO")] {
            let script = format!(
                "cat > /dev/null; if {{ {line}; }} > /dev/null 2>&1; then r=GOT; else r=NO; fi; echo \"{{\\\"result\\\":\\\"$r\\\"}}\""
            );
            let (heard, _fixture) = against(confinement, "claude", &script).await;
            assert_eq!(heard.answer().content, want, "{why}, {confinement:?}");
        }
    }
    for confinement in [Confinement::None, Confinement::Cage] {
        let script = r#"cat > /dev/null; echo "{\"result\":\"[$MODEL_KEY] $(env | grep -c secret)\"}""#;
        let (heard, _fixture) = against(confinement, "claude", script).await;
        assert_eq!(heard.answer().content, "[] 0", "no key reaches a child, {confinement:?}");
    }
}
