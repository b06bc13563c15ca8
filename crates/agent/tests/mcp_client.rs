//! Other people's MCP servers as tools of ours: real programs, in the cage, some of them hostile.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on"
)]

mod fixture;

use fixture::{Fixture, subject};
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::mcp::client::{Connected, McpServers, tool_name};
use picoclaw_agent::mcp::pins::Pins;
use picoclaw_agent::tools::Outcome;
use picoclaw_policy::config::{Config, McpServerConfig, McpTransport, OwnIsolation, Secret};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_testing::PATIENCE;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Place {
    fixture: Fixture,
    script: String,
}

impl Place {
    fn new() -> Self {
        let mut config = Config::default();
        config.isolation.enabled = true;
        let fixture = Fixture::new(&config);
        let script = fixture.base.join("server.py");
        std::fs::write(&script, include_str!("peers/mcp_server.py")).unwrap();
        Self { script: script.to_str().unwrap().to_owned(), fixture }
    }

    fn server(&self, name: &str, manner: &str) -> McpServerConfig {
        McpServerConfig {
            name: name.to_owned(),
            enabled: true,
            deferred: false,
            transport: McpTransport::Stdio {
                command: "python3".to_owned(),
                args: vec![self.script.clone(), manner.to_owned(), "31".to_owned()],
                env: vec![("GIVEN".to_owned(), Secret::new("yes"))],
                env_file: None,
            },
            isolation: OwnIsolation::default(),
        }
    }

    fn servers(&self, servers: Vec<McpServerConfig>) -> McpServers {
        let mut config = Config::default().mcp;
        config.enabled = true;
        config.max_inline_text_chars = 4_000;
        config.servers = servers;
        McpServers::new(
            &config,
            self.fixture.executor.warden(),
            Pins::open(&self.fixture.home).unwrap(),
            &subject(),
        )
    }

    /// Brings the servers' tools into the executor.
    async fn join(&self, servers: &McpServers) -> Vec<String> {
        let Connected { tools, notices } = servers.connect_all().await;
        self.fixture
            .executor
            .replace_registry(servers.extend_registry(&self.fixture.executor.registry(), tools));
        notices
    }

    async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.call_until(tool, arguments, &CancelToken::new()).await
    }

    async fn call_until(&self, tool: &str, arguments: Value, halt: &CancelToken) -> Reply {
        let call = Call { tool: tool.to_owned(), arguments, subject: subject() };
        match self.fixture.executor.call(call, halt, Arc::new(|_| {})).await {
            Outcome::Reply(reply) => reply,
            Outcome::NeedsApproval(asked) => panic!("nobody should be asked: {asked:?}"),
        }
    }
}

fn wait_for<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn echo(server: &str) -> String {
    tool_name(server, "echo")
}

#[test]
fn a_servers_tool_is_a_tool_of_ours() {
    let place = Place::new();
    wait_for(async {
        let servers = place.servers(vec![place.server("peer", "plain")]);
        let notices = place.join(&servers).await;
        assert!(notices.iter().any(|notice| notice.contains("`peer` is new")), "{notices:?}");
        let reply = place.call(&echo("peer"), json!({"text": "hello"})).await;
        assert_eq!(reply, Reply::Done("hello".to_owned()));
        let misfit = place.call(&echo("peer"), json!({})).await;
        assert!(misfit.text().contains("missing required property \"text\""), "{misfit:?}");
        servers.close().await;
    });
    let ledger = place.fixture.ledger();
    for want in ["start mcp/peer in", "call mcp/peer: echo", "\"finished\""] {
        assert!(ledger.contains(want), "`{want}` in {ledger}");
    }
}

#[test]
fn what_goes_wrong_with_a_server_is_told_and_survived() {
    let place = Place::new();
    for (manner, want) in [
        ("error", "MCP tool returned error: it broke"),
        ("refuses", "MCP tool returned error: not today"),
        ("dies", "MCP tool execution failed: MCP server `dies` is gone"),
        ("floods", "after the flood"),
    ] {
        wait_for(async {
            let servers = place.servers(vec![place.server(manner, manner)]);
            place.join(&servers).await;
            let reply = place.call(&echo(manner), json!({"text": "x"})).await;
            assert!(reply.text().contains(want), "{manner}: {reply:?}");
            servers.close().await;
        });
    }
}

#[test]
fn a_server_that_was_lost_is_there_again_for_the_next_call() {
    let place = Place::new();
    wait_for(async {
        let servers = place.servers(vec![place.server("dies", "dies")]);
        place.join(&servers).await;
        for _ in 0..2 {
            let reply = place.call(&echo("dies"), json!({"text": "x"})).await;
            assert!(reply.text().contains("is gone"), "{reply:?}");
        }
        servers.close().await;
    });
    let started = place.fixture.ledger().matches("start mcp/dies in").count();
    assert_eq!(started, 4, "twice, with a decided and a finished record each");
}

#[test]
fn a_long_answer_goes_to_a_file_in_the_workspace() {
    let place = Place::new();
    wait_for(async {
        let servers = place.servers(vec![place.server("long", "long")]);
        place.join(&servers).await;
        let text = place.call(&echo("long"), json!({"text": "x"})).await.text();
        let path = text.rsplit_once("[file:").unwrap().1.trim_end_matches(']').to_owned();
        let kept = std::fs::read_to_string(place.fixture.home.join("workspace").join(&path)).unwrap();
        assert_eq!(kept.len(), 50_000, "all of it");
        assert!(text.len() < 5_000, "and the model gets the beginning");
        servers.close().await;
    });
}

#[test]
fn a_changed_server_has_no_tools_until_a_person_consents() {
    let place = Place::new();
    wait_for(async {
        let first = place.servers(vec![place.server("changes", "changes")]);
        assert_eq!(first.connect_all().await.tools.len(), 1);
        first.close().await;
        let second = place.servers(vec![place.server("changes", "changes"), place.server("plain", "plain")]);
        let Connected { tools, notices } = second.connect_all().await;
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, [echo("plain")], "the others are there");
        assert!(notices.iter().any(|notice| notice.contains("picoclaw mcp trust changes")), "{notices:?}");
        second.close().await;
    });
}

#[test]
fn a_server_that_lies_about_its_tools_or_cannot_start_is_named_and_left_out() {
    let place = Place::new();
    let lost = McpServerConfig {
        transport: McpTransport::Stdio {
            command: "/nonexistent/server".to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            env_file: None,
        },
        ..place.server("lost", "")
    };
    wait_for(async {
        let servers =
            place.servers(vec![place.server("twins", "twins"), lost, place.server("fine", "plain")]);
        let Connected { tools, notices } = servers.connect_all().await;
        assert_eq!(tools.len(), 1);
        for name in ["`twins`", "`lost`"] {
            assert!(notices.iter().any(|notice| notice.contains(name)), "{name} in {notices:?}");
        }
        servers.close().await;
    });
}

#[test]
fn a_server_that_lies_about_its_schema_misleads_nobody_but_the_model() {
    for (manner, is_left_out, want) in [
        ("text-schema", true, ""),
        ("list-schema", true, ""),
        // A schema that cannot be read refuses nothing; the server has the last word.
        ("odd-schema", false, "hello"),
        // It is held to what it said, even if it would have taken something else.
        ("other-schema", false, "property \"text\": expected integer"),
    ] {
        let place = Place::new();
        wait_for(async {
            let servers = place.servers(vec![place.server(manner, manner), place.server("fine", "plain")]);
            let notices = place.join(&servers).await;
            let named = notices.iter().any(|one| one.contains(manner) && !one.contains("is new"));
            assert_eq!(named, is_left_out, "{manner}: {notices:?}");
            if !is_left_out {
                let reply = place.call(&echo(manner), json!({"text": "hello"})).await.text();
                assert!(reply.contains(want), "{manner}: {reply}");
            }
            let other = place.call(&echo("fine"), json!({"text": "hello"})).await;
            assert_eq!(other, Reply::Done("hello".to_owned()), "{manner}: the others are there");
            servers.close().await;
        });
    }
}

#[test]
fn a_server_that_changes_while_it_runs_is_not_asked_again() {
    let place = Place::new();
    wait_for(async {
        let servers = place.servers(vec![place.server("turns", "turns")]);
        place.join(&servers).await;
        let first = place.call(&echo("turns"), json!({"text": "x"})).await;
        assert_eq!(first, Reply::Done("x".to_owned()), "as it was pinned");
        for again in ["the next call", "and every other", "whoever calls"] {
            let reply = place.call(&echo("turns"), json!({"text": "x"})).await.text();
            let is_new = reply == "x" && place.fixture.ledger().matches("start mcp/turns in").count() > 2;
            assert!(reply.contains("picoclaw mcp trust turns") || is_new, "{again}: {reply}");
        }
        servers.close().await;
    });
}

#[test]
fn a_server_that_sulks_can_be_left() {
    let place = Place::new();
    wait_for(async {
        let servers = place.servers(vec![place.server("sulks", "sulks")]);
        place.join(&servers).await;
        assert_eq!(place.call(&echo("sulks"), json!({"text": "x"})).await.text(), "x");
        let halt = CancelToken::new();
        let tool = echo("sulks");
        let call = place.call_until(&tool, json!({"text": "x"}), &halt);
        let stop = async {
            // It is asked for its tools by now, or will find the halt raised.
            tokio::time::sleep(Duration::from_millis(300)).await;
            halt.cancel();
        };
        let (reply, ()) = tokio::join!(call, stop);
        assert!(reply.text().contains("stopped"), "{reply:?}");
        servers.close().await;
    });
}

#[test]
fn stopping_a_call_kills_the_servers_whole_tree() {
    let place = Place::new();
    wait_for(async {
        let servers = place.servers(vec![place.server("hangs", "hangs")]);
        place.join(&servers).await;
        let halt = CancelToken::new();
        let tool = echo("hangs");
        let call = place.call_until(&tool, json!({"text": "x"}), &halt);
        let stop = async {
            within_patience(|| alive("sleep 31") > 0).await;
            halt.cancel();
        };
        let (reply, ()) = tokio::join!(call, stop);
        assert!(reply.text().contains("stopped"), "{reply:?}");
        within_patience(|| alive("sleep 31") == 0).await;
        servers.close().await;
    });
}

#[test]
fn a_server_sees_its_own_part_and_no_secret() {
    let place = Place::new();
    let (secret, notes) =
        (place.fixture.home.join("config.json"), place.fixture.home.join("workspace/notes"));
    std::fs::write(&secret, "SECRET").unwrap();
    std::fs::write(&notes, "NOTES").unwrap();
    let asked = json!([secret, notes, "/proc/1/environ"]).to_string();
    wait_for(async {
        let servers = place.servers(vec![place.server("probe", "probe")]);
        place.join(&servers).await;
        let text = place.call(&echo("probe"), json!({"text": asked})).await.text();
        assert!(!text.contains("SECRET") && !text.contains("NOTES"), "{text}");
        assert!(text.contains("\\\"GIVEN\\\"") || text.contains("\"GIVEN\": \"yes\""), "{text}");
        assert!(text.contains("runtime-user-env/mcp/probe/home"), "its own home: {text}");
        servers.close().await;
    });
}

#[test]
fn deferred_tools_are_seen_after_a_search_and_for_a_while() {
    let place = Place::new();
    wait_for(async {
        let hidden = McpServerConfig { deferred: true, ..place.server("shy", "plain") };
        let servers = place.servers(vec![hidden]);
        place.join(&servers).await;
        let registry = place.fixture.executor.registry();
        let sees = || registry.seen_by(&subject()).any(|tool| tool.name() == echo("shy"));
        assert!(!sees(), "hidden at first");
        let early = place.call(&echo("shy"), json!({"text": "x"})).await;
        assert!(early.text().contains("not found"), "and not to be called: {early:?}");
        let found = place.call("tool_search_tool_bm25", json!({"query": "say it back"})).await;
        assert!(found.text().contains(&echo("shy")), "{found:?}");
        assert!(sees(), "seen now");
        let mut other = subject();
        other.session = "another".to_owned();
        assert!(!registry.seen_by(&other).any(|tool| tool.name() == echo("shy")), "not by others");
        for _ in 0..5 {
            registry.round_over(&subject());
        }
        assert!(!sees(), "and hidden again after its rounds");
        servers.close().await;
    });
}

async fn within_patience(done: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "not in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many processes have `marker` in their command line.
fn alive(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(marker)).count()
}
