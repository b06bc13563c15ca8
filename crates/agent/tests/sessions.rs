//! Background sessions through the registry: who may use them, and what may be typed into them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where it cannot go on")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test makes the world that it looks at"
)]

use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::tools::{Registry, ToolContext, unwatched};
use picoclaw_policy::config::{Config, Network};
use picoclaw_policy::{AgentId, Origin, Policy, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::isolate::{Backend, select_backend};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use picoclaw_testing::PATIENCE;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::net::TcpListener;
use std::time::Instant;

struct Fixture {
    registry: Registry,
    warden: Warden,
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with_config(Config::default())
    }

    /// With cages whose network is closed; nothing where this host gives none.
    fn caged(why: &str) -> Option<Self> {
        let mut config = Config::default();
        config.isolation.enabled = true;
        config.isolation.network = Network::None;
        if !matches!(select_backend(&config.isolation, OsStr::new("/usr/bin")), Ok(Backend::Native)) {
            picoclaw_testing::skip!("{why}: this host gives no native cage");
            return None;
        }
        Some(Self::with_config(config))
    }

    fn with_config(mut config: Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        config.tools.exec.guard = picoclaw_policy::config::Guard::Smart;
        let instance = Instance::prepare(&dir.path().join("home"), &config, &[]).unwrap();
        let zones = instance.zones();
        let files = Files::open(zones.clone(), &instance.locks()).unwrap();
        let ledger = Ledger::open(&instance.ledger()).unwrap();
        let exec_env = ExecEnv::new(&config, &instance, std::env::vars_os()).unwrap();
        let policy = Policy::compile(&config, zones, Vec::new()).unwrap();
        let warden = Warden::new(policy, files, exec_env, ledger);
        Self { registry: Registry::new(&config.tools, Redactor::default()), warden, dir }
    }

    fn exec(&self, session: &str, arguments: Value) -> Reply {
        self.exec_as(Subject::root(Origin::Cli, AgentId::main(), session), arguments)
    }

    fn exec_as(&self, subject: Subject, arguments: Value) -> Reply {
        let call = Call { tool: "exec".to_owned(), arguments, subject };
        let halt = CancelToken::new();
        let context = ToolContext::new(&self.warden, &call.subject, &halt, &unwatched);
        self.registry.run_unattended(&call, &context)
    }

    /// Starts a command in the background; its session id.
    fn start(&self, session: &str, command: &str, pty: bool) -> String {
        let reply = self.exec(session, json!({"command": command, "background": true, "pty": pty}));
        let Reply::Done(text) = reply else { panic!("{reply:?}") };
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["status"], "running");
        answer["sessionId"].as_str().unwrap().to_owned()
    }

    /// Reads until `wanted` was said, or the patience is over.
    fn read_until(&self, session: &str, id: &str, wanted: &str) -> String {
        let (began, mut said) = (Instant::now(), String::new());
        while !said.contains(wanted) && began.elapsed() < PATIENCE {
            let Reply::Done(text) = self.exec(session, json!({"action": "read", "sessionId": id})) else {
                break;
            };
            let answer: Value = serde_json::from_str(&text).unwrap();
            said.push_str(answer["output"].as_str().unwrap());
            std::thread::yield_now();
        }
        assert!(said.contains(wanted), "no {wanted:?} in {said:?}");
        said
    }
}

#[test]
fn what_is_typed_into_a_shell_is_judged_as_a_command() {
    let fixture = Fixture::new();
    let shell = fixture.start("s", "sh", false);
    let write = |data: &str| fixture.exec("s", json!({"action": "write", "sessionId": shell, "data": data}));
    for (why, data) in [
        ("W36: a file outside", "cat /etc/passwd\n"),
        ("a dangerous command", "rm -rf .\n"),
        ("behind a harmless one", "echo a\nrm -rf .\n"),
        ("half a line could become anything", "rm -r"),
        ("a climbing path: nobody knows where the shell stands", "cat ../x\n"),
        ("`read` may take the beginning of a here-document", "read a\ncat <<'E'\nfind . -delete\nE\n"),
        ("the rest of a here-document could be another command", "cat <<'E'\n"),
        ("a part of a line", "head -c 5\necho rm -rf .\n"),
        ("an earlier line, changed", "!!:s/echo a/rm/\n"),
        ("an earlier line, changed", "^echo a^rm^\n"),
    ] {
        let reply = write(data);
        assert!(matches!(&reply, Reply::Refused(_)), "{why}: {reply:?}");
        assert!(reply.text().starts_with("Command blocked by safety guard"), "{why}: {reply:?}");
    }
    assert!(matches!(write("[ a != b ] && ! false; echo judged-$((6*7))!\n"), Reply::Done(_)));
    fixture.read_until("s", &shell, "judged-42!");
}

#[test]
fn every_program_that_becomes_a_shell_is_one() {
    let fixture = Fixture::new();
    for command in ["sleep 1; bash", "env dash", "script -q", "tcsh"] {
        let shell = fixture.start("s", command, false);
        let reply =
            fixture.exec("s", json!({"action": "write", "sessionId": shell, "data": "find . -delete\n"}));
        assert!(matches!(reply, Reply::Refused(_)), "{command}: {reply:?}");
    }
}

#[test]
fn what_is_typed_into_another_program_is_its_own_affair() {
    let fixture = Fixture::new();
    let cat = fixture.start("s", "cat", false);
    let reply = fixture
        .exec("s", json!({"action": "write", "sessionId": cat, "data": "rm -rf / is only text here\n"}));
    assert!(matches!(reply, Reply::Done(_)), "{reply:?}");
    fixture.read_until("s", &cat, "rm -rf / is only text here");
}

#[test]
fn keys_steer_a_shell_and_do_not_type_into_it() {
    let fixture = Fixture::new();
    let shell = fixture.start("s", "bash --norc -i", true);
    // Its prompt: before that, an interrupt would end it like any program.
    fixture.read_until("s", &shell, "bash-");
    for (why, keys, allowed) in [
        ("a signal", "c-c", true),
        ("an empty line", "enter", true),
        ("W36: letters", "m-r", false),
        ("an old line, to be edited into a new one", "up", false),
        ("a space", "space", false),
        ("W44: half a name", "c-", false),
    ] {
        let reply = fixture.exec("s", json!({"action": "send-keys", "sessionId": shell, "keys": keys}));
        assert_eq!(matches!(reply, Reply::Done(_)), allowed, "{why}: {reply:?}");
    }
}

#[test]
fn a_session_answers_only_to_whoever_started_it() {
    let fixture = Fixture::new();
    let own = fixture.start("chat-a", "cat", false);
    for action in ["poll", "read", "write", "kill", "send-keys"] {
        let reply = fixture
            .exec("chat-b", json!({"action": action, "sessionId": own, "data": "x\n", "keys": "enter"}));
        assert!(reply.text().starts_with("session not found"), "W37: {action}: {reply:?}");
    }
    let listed = fixture.exec("chat-b", json!({"action": "list"})).text();
    assert_eq!(listed, r#"{"sessions":[]}"#);
    let mine = fixture.exec("chat-a", json!({"action": "list"})).text();
    assert!(mine.contains(&own), "{mine}");
}

#[test]
fn sessions_are_bounded_and_end_when_they_are_told_to() {
    let fixture = Fixture::new();
    let ids: Vec<String> = (0..16).map(|_| fixture.start("s", "sleep 1000", false)).collect();
    let reply = fixture.exec("s", json!({"command": "sleep 1000", "background": true}));
    assert!(reply.text().contains("too many background sessions"), "W41: {reply:?}");
    for id in &ids {
        let reply = fixture.exec("s", json!({"action": "kill", "sessionId": id}));
        assert!(reply.text().contains(r#""status":"done""#), "{reply:?}");
    }
    let gone = fixture.exec("s", json!({"action": "poll", "sessionId": ids[0]}));
    assert!(gone.text().starts_with("session not found"), "{gone:?}");
}

#[test]
fn the_end_of_a_session_is_told_with_its_exit_code_and_its_output() {
    let fixture = Fixture::new();
    // W43: more on stderr than a pipe holds, while stdout is open.
    let id = fixture.start("s", "head -c 200000 /dev/zero | tr '\\0' e >&2; echo last-words; exit 3", false);
    fixture.read_until("s", &id, "last-words");
    let began = Instant::now();
    let answer = loop {
        let text = fixture.exec("s", json!({"action": "poll", "sessionId": id})).text();
        let answer: Value = serde_json::from_str(&text).unwrap();
        if answer["status"] == "done" || began.elapsed() > PATIENCE {
            break answer;
        }
        std::thread::yield_now();
    };
    assert_eq!(answer["exitCode"], 3, "{answer}");
    let late = fixture.exec("s", json!({"action": "write", "sessionId": id, "data": "x\n"}));
    assert!(!matches!(late, Reply::Done(_)), "{late:?}");
}

/// Answers on a port of the loopback and on an abstract socket.
const SERVER: &str = "import socket, threading
abstract = socket.socket(socket.AF_UNIX)
abstract.bind('\\0picoclaw-test-session')
abstract.listen()
server = socket.create_server(('127.0.0.1', 4713))
print('ready', flush=True)
while True:
    client, _ = server.accept()
    client.sendall(b'answered')
    client.close()
";

/// Says what it reaches of the server, and of the host's port that its argument names.
const CLIENT: &str = "import socket, sys
def tried(family, address):
    try:
        client = socket.socket(family)
        client.connect(address)
        return 'reached'
    except OSError as why:
        return 'refused'
print('server', tried(socket.AF_INET, ('127.0.0.1', 4713)))
print('host', tried(socket.AF_INET, ('127.0.0.1', int(sys.argv[1]))))
print('abstract', tried(socket.AF_UNIX, '\\0picoclaw-test-session'))
";

#[test]
fn a_background_server_is_reached_by_the_next_command_of_its_session_alone() {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        picoclaw_testing::skip!("python3 is not installed");
        return;
    }
    let Some(fixture) = Fixture::caged("a shared loopback") else { return };
    let workspace = fixture.dir.path().join("home/workspace");
    std::fs::write(workspace.join("server.py"), SERVER).unwrap();
    std::fs::write(workspace.join("client.py"), CLIENT).unwrap();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = format!("python3 client.py {}", host.local_addr().unwrap().port());
    let tried = |subject: Subject| fixture.exec_as(subject, json!({"command": client})).text();
    let own = || Subject::root(Origin::Cli, AgentId::main(), "a");
    assert!(tried(own()).contains("server refused"), "the control: there is no server yet");
    let server = fixture.start("a", "python3 server.py", false);
    fixture.read_until("a", &server, "ready");
    let (said, other) = (tried(own()), tried(Subject::root(Origin::Cli, AgentId::main(), "b")));
    assert!(said.contains("server reached") && said.contains("host refused"), "{said}");
    assert!(
        other.contains("server refused") && other.contains("abstract refused"),
        "another session: {other}"
    );
    let child = tried(Subject { depth: 1, ..own() });
    assert!(child.contains("server refused") && child.contains("abstract refused"), "a subagent: {child}");
    let second = fixture.start("a", &client, false);
    fixture.read_until("a", &second, "server reached");
    let stranger = fixture.start("b", &client, false);
    fixture.read_until("b", &stranger, "server refused");
    fixture.exec("a", json!({"action": "kill", "sessionId": server}));
    assert!(tried(own()).contains("server refused"), "the server is gone");
}
