//! Layers, older files, and secrets: what the configuration means once everything is laid over everything.

#![expect(clippy::panic, reason = "a test that cannot load its text has failed")]

use picoclaw_policy::AgentId;
use picoclaw_policy::config::{
    Backend, Config, Entry, ExposeMode, Guard, Layers, LoadedConfig, LogLevel, McpTransport, NoSecretSource,
    Node, Notice, OnBlock, Origin, Requirement, SecretSource, Sources, Value, merge_layers,
};
use std::path::{Path, PathBuf};

struct Scene<'a> {
    text: &'a str,
    secrets: Option<Node>,
    env: &'a [(&'a str, &'a str)],
}

impl Scene<'_> {
    fn sources(&self) -> Sources<'_> {
        Sources { file: "config.json", text: Some(self.text), secrets: ".security.yml" }
    }

    fn merge_layers(&self, vault: &dyn SecretSource) -> Result<LoadedConfig, String> {
        let variables: Vec<_> =
            self.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let user_home = Some(Path::new("/home/user"));
        let layers = Layers {
            sources: self.sources(),
            secrets: self.secrets.as_ref(),
            variables: &variables,
            user_home,
        };
        merge_layers(&layers, vault).map_err(|error| error.to_string())
    }
}

fn settled(text: &str) -> LoadedConfig {
    Scene { text, secrets: None, env: &[] }
        .merge_layers(&NoSecretSource)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn config(text: &str) -> Config {
    settled(text).config
}

/// A secrets file from JSON; every value is on its own line.
fn secrets(json: &serde_json::Value) -> Node {
    fn node(json: &serde_json::Value, line: &mut usize) -> Node {
        *line += 1;
        let origin = Origin::Secrets { line: *line, column: 1 };
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Array(items) => {
                Value::List(items.iter().map(|item| node(item, line)).collect())
            }
            serde_json::Value::Object(fields) => Value::Map(
                fields
                    .iter()
                    .map(|(name, json)| Entry {
                        name: name.clone(),
                        origin: origin.clone(),
                        node: node(json, line),
                    })
                    .collect(),
            ),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            other => Value::Text(other.to_string()),
        };
        Node::new(value, origin)
    }
    node(json, &mut 0)
}

fn lines(notices: &[Notice]) -> String {
    notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_configured_means_the_documented_defaults() {
    let config = config("");
    assert_eq!(config, Config::default(), "no file and an empty file are the same");
    assert_eq!(config.agents.len(), 1);
    assert_eq!(config.default_agent, AgentId::main());
    assert!(config.restrict_to_workspace && !config.allow_read_outside_workspace);
    assert_eq!(config.tools.exec.timeout_seconds, 60);
    assert_eq!(config.tools.cron_exec_timeout_minutes, 5);
    assert_eq!(config.tools.max_read_file_size, 1 << 20);
    assert!(
        config.tools.exec.enable_deny_patterns
            && config.tools.exec.fence == picoclaw_policy::config::FenceMode::Full
    );
    assert_eq!((config.tools.exec.guard, config.tools.exec.on_block), (Guard::Strict, OnBlock::Deny));
    assert!(config.tools.disabled.is_empty(), "{:?}", config.tools.disabled);
    assert!(!config.isolation.enabled && config.isolation.expose_paths.is_empty());
    assert_eq!(config.isolation.backend, Backend::Auto);
    let limits = config.isolation.limits;
    assert_eq!((limits.memory_mb, limits.processes, limits.file_size_mb), (4096, 1024, 4096));
    assert_eq!((limits.open_files, limits.cpu_seconds), (4096, 0));
    assert_eq!(config.log_level, None);
    assert_eq!((config.gateway.host.as_str(), config.gateway.port), ("localhost", 18_790));
    assert_eq!(config.heartbeat.interval_minutes, 30);
}

#[test]
fn zero_asks_for_the_default_where_no_limit_would_be_a_hole() {
    let text = r#"{"tools": {"exec": {"timeout_seconds": 0}, "read_file": {"max_read_file_size": 0}}, "heartbeat": {"interval": 2}}"#;
    let config = config(text);
    assert_eq!(config.tools.exec.timeout_seconds, 60, "a command without a deadline");
    assert_eq!(config.tools.max_read_file_size, 1 << 20, "an answer without an end");
    assert_eq!(config.heartbeat.interval_minutes, 5, "the shortest heartbeat");
}

#[test]
fn every_typed_setting_arrives() {
    let config = config(
        r#"{
        "agents": {"agents": [
            {"id": "coder", "name": "Coder", "workspace": "/ws/coder", "model": {"primary": "a", "fallbacks": ["b"]},
             "tools": {"disabled": ["exec", "mcp_x_*"]}, "subagents": {"allow_agents": ["main"], "model": "c"}},
            {"id": "main", "default": true, "model": "d"}]},
        "tools": {"write_file": {"enabled": false}, "exec": {"guard": "smart", "on_block": "ask", "fence": false}},
        "isolation": {"backend": "bwrap", "require": ["limits", "network"], "env": {"pass": ["JAVA_HOME"]}},
        "gateway": {"log_level": "fatal", "allowed_hosts": ["pc.lan"], "host": " 0.0.0.0 "},
        "hooks": {"processes": {"h": {"enabled": true, "command": ["~/bin/h", "-x"], "priority": -3, "intercept": ["approve_tool"]}}}
        }"#,
    );
    let coder = &config.agents[0];
    assert_eq!((coder.id.as_str(), coder.name.as_str()), ("coder", "Coder"));
    assert_eq!(coder.workspace, Some(PathBuf::from("/ws/coder")));
    assert_eq!(
        (coder.model.as_deref(), coder.model_fallbacks.as_slice()),
        (Some("a"), &["b".to_owned()][..])
    );
    assert_eq!(coder.disabled_tools, ["exec", "mcp_x_*"]);
    assert_eq!(
        (coder.allow_agents.as_slice(), coder.subagent_model.as_deref()),
        (&["main".to_owned()][..], Some("c"))
    );
    assert_eq!(config.default_agent.as_str(), "main", "marked, though not the first");
    assert_eq!(config.tools.disabled, ["write_file"]);
    assert_eq!((config.tools.exec.guard, config.tools.exec.on_block), (Guard::Smart, OnBlock::Ask));
    assert_eq!(config.isolation.require, [Requirement::Limits, Requirement::Network]);
    assert_eq!(config.isolation.env_pass, ["JAVA_HOME"]);
    assert_eq!(config.log_level, Some(LogLevel::Fatal));
    assert_eq!(config.gateway.host, "0.0.0.0");
    assert_eq!(config.hooks.processes[0].command, ["/home/user/bin/h", "-x"]);
    assert_eq!(config.hooks.processes[0].priority, -3);
}

#[test]
fn an_agent_without_a_workspace_has_the_place_of_its_name() {
    let home = Path::new("/home/user/.picoclaw");
    for (why, text, agent, want) in [
        ("nothing said", "{}", "main", "/home/user/.picoclaw/workspace"),
        ("the shared setting is main's", r#"{"agents": {"defaults": {"workspace": "/ws"}}}"#, "main", "/ws"),
        (
            "and nobody else's",
            r#"{"agents": {"defaults": {"workspace": "/ws"}, "agents": [{"id": "main"}, {"id": "coder"}]}}"#,
            "coder",
            "/home/user/.picoclaw/workspace-coder",
        ),
        (
            "main's own comes first",
            r#"{"agents": {"defaults": {"workspace": "/ws"}, "agents": [{"id": "main", "workspace": "/own"}]}}"#,
            "main",
            "/own",
        ),
        (
            "without a main it is the default agent's",
            r#"{"agents": {"defaults": {"workspace": "/ws"}, "agents": [{"id": "a"}, {"id": "b", "default": true}]}}"#,
            "b",
            "/ws",
        ),
        (
            "a tilde is put in full",
            r#"{"agents": {"agents": [{"id": "a", "workspace": "~/a"}]}}"#,
            "a",
            "/home/user/a",
        ),
    ] {
        let id = AgentId::parse(agent).unwrap();
        assert_eq!(config(text).workspace_of(&id, home), PathBuf::from(want), "{why}");
    }
}

#[test]
fn the_last_rule_for_a_target_is_the_one() {
    let config = config(
        r#"{"isolation": {"expose_paths": [
            {"source": "/a", "target": "/x/", "mode": "ro"},
            {"source": "/b", "mode": "ro"},
            {"source": "/c", "target": "//x/./", "mode": "rw"},
            {"source": "/d", "target": "", "mode": "ro"}]}}"#,
    );
    let rules: Vec<_> = config
        .isolation
        .expose_paths
        .iter()
        .map(|rule| (rule.source.to_str(), rule.target.to_str(), rule.mode))
        .collect();
    let want = [
        (Some("/b"), Some("/b"), ExposeMode::ReadOnly),
        (Some("/c"), Some("/x"), ExposeMode::ReadWrite),
        (Some("/d"), Some("/d"), ExposeMode::ReadOnly),
    ];
    assert_eq!(rules, want, "two spellings of one target, and an empty one");
}

#[test]
fn the_oldest_files_give_their_one_model_to_the_provider_it_belongs_to() {
    for (why, defaults, providers, want) in [
        (
            "said outright",
            r#""provider": "groq", "model": "llama""#,
            r#""groq": {"api_key": "k-groq"}, "openai": {"api_key": "k-openai"}"#,
            Some(("groq", "llama")),
        ),
        (
            "by its family",
            r#""model": "glm-4.7""#,
            r#""zhipu": {"api_key": "k-zhipu"}, "openai": {"api_key": "k-openai"}"#,
            Some(("zhipu", "glm-4.7")),
        ),
        (
            "by its prefix",
            r#""model": "groq/llama""#,
            r#""groq": {"api_key": "k-groq"}, "openai": {"api_key": "k-openai"}"#,
            Some(("groq", "llama")),
        ),
        (
            "the only one that has a key",
            r#""model": "x""#,
            r#""vllm": {"api_base": "http://127.0.0.1:8000/v1"}, "openai": {"api_key": ""}"#,
            Some(("vllm", "x")),
        ),
        (
            "nobody's, and not guessed",
            r#""model": "x""#,
            r#""groq": {"api_key": "k-groq"}, "openai": {"api_key": "k-openai"}"#,
            None,
        ),
    ] {
        let text = format!(r#"{{"agents": {{"defaults": {{{defaults}}}}}, "providers": {{{providers}}}}}"#);
        let settled = settled(&text);
        let model = settled.config.models.first().map(|model| (model.name.as_str(), model.model.as_str()));
        assert_eq!(model, want, "{why}");
        if let Some((name, _)) = want {
            assert_eq!(settled.config.turns.model.as_deref(), Some(name), "{why}: the default finds it");
        } else {
            assert!(lines(&settled.notices).contains("has no model"), "{why}: {}", lines(&settled.notices));
        }
    }
}

#[test]
fn the_secrets_file_gives_keys_by_name() {
    let text = r#"{"model_list": [
        {"model_name": "one", "model": "openai/a", "api_keys": ["[NOT_HERE]"]},
        {"model_name": "two", "model": "openai/b", "api_key": "sk-in-the-open"},
        {"model_name": "two", "model": "openai/c"},
        {"model_name": "odd:1", "model": "openai/d"}],
        "tools": {"mcp": {"servers": {"gh": {"command": "x", "env": {"TOKEN": "[NOT_HERE]", "MODE": "fast"}}}}}}"#;
    let secrets = secrets(&serde_json::json!({
        "model_list": {
            "one": {"api_keys": ["sk-one"], "enabled": true},
            "two:0": {"api_keys": ["sk-two-0"]},
            "two:1": {"api_key": "sk-two-1"},
            "odd:1": {"api_keys": ["sk-odd"]},
        },
        "gateway": {"token": 1_234_567_890_123_456_789_u64},
        "tools": {"mcp": {"servers": {"gh": {"env": {"TOKEN": "gh-token"}}}}},
        "channel_list": {"telegram": {"settings": {"token": "tg-token"}}},
        "web": {"brave": {"api_keys": ["brave-key"]}},
    }));
    let settled = Scene { text, secrets: Some(secrets), env: &[] }.merge_layers(&NoSecretSource).unwrap();
    let keys: Vec<_> = settled
        .config
        .models
        .iter()
        .map(|model| model.api_keys.iter().map(|key| key.reveal()).collect::<Vec<_>>())
        .collect();
    assert_eq!(keys, [["sk-one"], ["sk-two-0"], ["sk-two-1"], ["sk-odd"]]);
    assert_eq!(
        settled.config.gateway.token.as_ref().map(|token| token.reveal()),
        Some("1234567890123456789"),
        "every digit (W86)"
    );
    let McpTransport::Stdio { env, .. } = &settled.config.mcp.servers[0].transport else {
        panic!("a program")
    };
    assert_eq!(
        env.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect::<Vec<_>>(),
        [("TOKEN", "gh-token"), ("MODE", "fast")]
    );
    for secret in [
        "sk-one",
        "sk-two-0",
        "sk-two-1",
        "sk-odd",
        "gh-token",
        "tg-token",
        "brave-key",
        "1234567890123456789",
    ] {
        assert!(
            settled.config.secrets.iter().any(|known| known == secret),
            "`{secret}` must be known to redaction"
        );
    }
    assert!(!settled.config.secrets.iter().any(|known| known == "[NOT_HERE]" || known == "fast"));
    assert_eq!(lines(&settled.notices), "");
}

#[test]
fn the_secrets_file_changes_nothing_but_secrets() {
    for (why, json, part) in [
        (
            "a switch",
            serde_json::json!({"agents": {"defaults": {"restrict_to_workspace": "false"}}}),
            "`agents.defaults.restrict_to_workspace`: only secrets stand in this file",
        ),
        (
            "a pattern",
            serde_json::json!({"tools": {"allow_read_paths": [".*"]}}),
            "only secrets stand in this file",
        ),
        ("a misspelling", serde_json::json!({"model_lst": {}}), "did you mean `model_list`?"),
        (
            "a field of a model",
            serde_json::json!({"model_list": {"m": {"api_base": "http://evil"}}}),
            "unknown key `model_list.m.api_base`",
        ),
        ("no mapping", serde_json::json!(["x"]), "expected a mapping"),
        (
            "a model that is no mapping",
            serde_json::json!({"model_list": {"m": "sk-secret-x"}}),
            "expected a mapping, found a string",
        ),
    ] {
        let text = r#"{"model_list": [{"model_name": "m", "model": "openai/a"}]}"#;
        let error = Scene { text, secrets: Some(secrets(&json)), env: &[] }
            .merge_layers(&NoSecretSource)
            .map(|_| ())
            .unwrap_err();
        assert!(error.contains(part) && error.starts_with(".security.yml:"), "{why}: {error}");
        assert!(!error.contains("sk-secret-x"), "{why}: {error}");
    }
}

#[test]
fn a_secret_for_nothing_is_pointed_out_and_still_hidden() {
    let secrets = secrets(&serde_json::json!({"model_list": {"gone": {"api_keys": ["sk-gone"]}}}));
    let settled =
        Scene { text: "{}", secrets: Some(secrets), env: &[] }.merge_layers(&NoSecretSource).unwrap();
    assert!(
        lines(&settled.notices).contains("`model_list.gone` names no model"),
        "{}",
        lines(&settled.notices)
    );
    assert_eq!(settled.config.secrets, ["sk-gone"]);
}

struct Opens;

impl SecretSource for Opens {
    fn open(&self, reference: &str) -> Result<String, String> {
        match reference {
            "file://token" => Ok("opened-token".to_owned()),
            _ => Err("credential: enc:// passphrase required".to_owned()),
        }
    }
}

#[test]
fn references_are_opened_wherever_a_secret_may_stand() {
    let text =
        r#"{"model_list": [{"model_name": "m", "model": "x", "api_keys": ["file://token", "sk-plain"]}]}"#;
    let env = [("PICOCLAW_GATEWAY_TOKEN", "file://token")];
    let config = Scene { text, secrets: None, env: &env }.merge_layers(&Opens).unwrap().config;
    assert_eq!(config.models[0].api_keys[0].reveal(), "opened-token");
    assert_eq!(config.gateway.token.map(|token| token.reveal().to_owned()).as_deref(), Some("opened-token"));
    assert_eq!(config.secrets, ["opened-token", "sk-plain"], "the value, once, and not the reference");

    let text = "{\"gateway\": {\"token\":\n \"enc://AAAA\"}}";
    let error = Scene { text, secrets: None, env: &[] }.merge_layers(&Opens).map(|_| ()).unwrap_err();
    assert!(
        error.starts_with("config.json:2:2: `gateway.token`: credential: enc:// passphrase required"),
        "{error}"
    );
}

#[test]
fn every_place_that_can_hold_a_secret_is_known_to_redaction() {
    let text = r#"{
        "model_list": [{"model_name": "m", "model": "x", "api_keys": ["sk-key-1", "abc", "ollama"], "proxy": "http://u:proxy-pass@p:1",
                        "custom_headers": {"Authorization": "Bearer head-token", "Accept": "application/json"}}],
        "tools": {"mcp": {"servers": {
            "a": {"command": "x", "env": {"API_KEY": "env-key", "FLAG": "true", "ODD": "a1b2c3d4e5"}, "args": ["postgres://u:db-pass@h/d", "--token=arg-token-1", "--api-key", "next-arg-1", "--token-file", "/run/key1"]},
            "b": {"url": "https://h", "headers": {"X-Api-Key": "hk-1"}},
            "c": {"url": "https://h/x?page=page-two-2&token=query-token-1"},
            "d": {"command": "x", "args": ["--header", "Authorization: Bearer wordy-token", "--password", "swordfish",
                  "ghp_0123456789abcdefghij", "https://h/?sig=signature-one", "{\"token\": \"json-token-1\", \"port\": 1}",
                  "--header=Authorization: Bearer ${BEARER_TOKEN_1}", "--secret", "<your-secret-1>", "--auth-mode", "interactive",
                  "host=db;password=dsn-pass-1;port=54321", "--key=~/.ssh/id_rsa", "--token=1234"]}}},
            "web": {"brave": {"api_keys": ["brave-1"]}}},
        "hooks": {"processes": {"h": {"command": ["x", "--password", "hook-argument"], "env": {"PASSWORD": "hook-pass"}}}},
        "voice": {"elevenlabs_api_key": "voice-key"},
        "channels": {"matrix": {"crypto_passphrase": "matrix-pass", "allow_from": ["12345678"]}},
        "gateway": {"token": "gw-token"}
    }"#;
    let env =
        [("PICOCLAW_KEY_PASSPHRASE", "env-passphrase"), ("PICOCLAW_CHANNELS_SLACK_BOT_TOKEN", "slack-token")];
    let settled = Scene { text, secrets: None, env: &env }.merge_layers(&NoSecretSource).unwrap();
    let known = &settled.config.secrets;
    let hidden = [
        "sk-key-1",
        "proxy-pass",
        "Bearer head-token",
        "head-token",
        "env-key",
        "a1b2c3d4e5",
        "db-pass",
        "arg-token-1",
        "next-arg-1",
        "query-token-1",
        "wordy-token",
        "swordfish",
        "ghp_0123456789abcdefghij",
        "signature-one",
        "json-token-1",
        "dsn-pass-1",
        "hook-argument",
        "hk-1",
        "brave-1",
        "hook-pass",
        "voice-key",
        "matrix-pass",
        "gw-token",
        "env-passphrase",
        "slack-token",
    ];
    for secret in hidden {
        assert!(known.iter().any(|value| value == secret), "`{secret}` in {known:?}");
    }
    for plain in [
        "abc",
        "ollama",
        "true",
        "application/json",
        "12345678",
        "https://h",
        "page-two-2",
        "/run/key1",
        "Bearer",
        "${BEARER_TOKEN_1}",
        "Bearer ${BEARER_TOKEN_1}",
        "<your-secret-1>",
        "interactive",
        "~/.ssh/id_rsa",
        "54321",
    ] {
        assert!(!known.iter().any(|value| value == plain), "`{plain}` would make answers unreadable");
    }
    assert!(known.windows(2).all(|pair| pair[0].len() >= pair[1].len()), "longest first (W84)");
    let sources = Sources { file: "config.json", text: Some(text), secrets: "" };
    let shown = format!("{:?} {:?}", settled.show(&sources, Path::new("/h")), settled);
    for secret in hidden {
        assert!(!shown.contains(secret), "`{secret}` is shown");
    }
}

#[test]
fn every_row_says_where_its_value_came_from() {
    let text = "{\n \"gateway\": {\n  \"port\": 1,\n  \"host\": \"h\"\n }\n}";
    let secrets = secrets(&serde_json::json!({"gateway": {"token": "gw-token"}}));
    let env = [("PICOCLAW_GATEWAY_HOST", "e")];
    let scene = Scene { text, secrets: Some(secrets), env: &env };
    let shown = scene.merge_layers(&NoSecretSource).unwrap().show(&scene.sources(), Path::new("/h"));
    for (why, key, value, origin) in [
        ("nobody said", "gateway.hot_reload", serde_json::json!(false), "default"),
        ("the file", "gateway.port", serde_json::json!(1), "config.json:3"),
        (
            "the environment, over the file",
            "gateway.host",
            serde_json::json!("e"),
            "env PICOCLAW_GATEWAY_HOST",
        ),
        ("the secrets file", "gateway.token", serde_json::json!("********"), ".security.yml:3"),
    ] {
        let row = shown.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("{why}: no row"));
        assert_eq!((&row.value, row.origin.as_str()), (&value, origin), "{why}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let text = "{\"isolation\": {\"enabled\": 1,\n\"backend\": \"x\"},\n\"tols\": {}}";
    let env = [("PICOCLAW_GATEWAY_PORT", "x")];
    let error =
        Scene { text, secrets: None, env: &env }.merge_layers(&NoSecretSource).map(|_| ()).unwrap_err();
    for place in ["config.json:1:27: ", "config.json:2:12: ", "config.json:3:1: ", "PICOCLAW_GATEWAY_PORT: "]
    {
        assert!(error.contains(place), "{place} in {error}");
    }
    let text = r#"{"tools": {"allow_read_paths": ["^/a\.b$", "^/c\.d$"], "x": "\q"}}"#;
    let error =
        Scene { text, secrets: None, env: &[] }.merge_layers(&NoSecretSource).map(|_| ()).unwrap_err();
    assert_eq!(error.matches("is not an escape").count(), 3, "{error}");
}

#[test]
fn a_fault_cannot_move_the_cursor_of_a_terminal() {
    let text = "{\"a\\u001b[2Jb\": 1, \"c\u{202e}d\": 2}";
    let error =
        Scene { text, secrets: None, env: &[] }.merge_layers(&NoSecretSource).map(|_| ()).unwrap_err();
    assert!(!error.contains('\u{1b}') && !error.contains('\u{202e}'), "{error:?}");
    assert!(error.contains("u{1b}"), "{error}");
    for (name, value) in [
        ("PICOCLAW_ISOLATION_ENABLED", "\u{1b}[2J"),
        ("PICOCLAW_GATEWAY_PORT", "1\u{0}"),
        ("PICOCLAW_TOOLS_EXEC_GUARD", "\u{7}"),
    ] {
        let error = Scene { text: "", secrets: None, env: &[(name, value)] }
            .merge_layers(&NoSecretSource)
            .map(|_| ())
            .unwrap_err();
        assert!(error.chars().all(|c| c == '\n' || !c.is_control()), "{name}: {error:?}");
    }
}
