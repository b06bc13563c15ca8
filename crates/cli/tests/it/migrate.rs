//! `picoclaw migrate`: an existing PicoClaw home.

use crate::model_server::{ModelServer, Said};
use crate::test_instance::TestInstance;
use crate::tmux::Tmux;
use std::os::unix::fs::PermissionsExt;

/// As PicoClaw writes it: keys in the file, a chat channel, rules, no isolation.
const HOME: &str = r#"{
  // mine
  "version": 2,
  "agents": {"defaults": {"restrict_to_workspace": false, "model_name": "gpt", "max_tokens": 4096}},
  "model_list": [{"model_name": "gpt", "model": "openai/gpt-x", "api_key": "sk-in-the-file-0001"}],
  "channels": {"telegram": {"enabled": true, "token": "123456:telegram"}},
  "tools": {"allow_read_paths": ["^/etc/hosts$", "^/proc/.*"], "exec": {"custom_allow_patterns": ["^git push$"]}}
}
"#;

#[test]
fn every_key_is_explained() {
    let instance = TestInstance::with_config(HOME);
    let ran = instance.run(&["migrate", "--explain"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in [
        "stricter    agents.defaults.restrict_to_workspace = false\n",
        "same        agents.defaults.max_tokens = 4096\n",
        "stricter    tools.allow_read_paths = \"^/etc/hosts$\"\n",
        "stricter    tools.allow_read_paths = \"^/proc/.*\"\n",
        "stricter    tools.exec.custom_allow_patterns = \"^git push$\"\n",
        "not served  channels",
        "to change: move it into `.security.yml`\n",
        "to change: add `\"isolation\": {\"enabled\": true}`\n",
        " not served\n`picoclaw migrate --write` makes these changes",
    ] {
        assert!(ran.stdout.contains(line), "{line:?} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("sk-in-the-file") && !ran.stdout.contains("123456:"), "{}", ran.stdout);
    assert_eq!(
        std::fs::read_to_string(instance.home().join("config.json")).unwrap(),
        HOME,
        "nothing changed"
    );
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&instance.run(&["migrate", "--json"]).stdout).unwrap();
    let answers = ["same", "stricter", "not served"];
    assert!(rows.iter().all(|row| answers.contains(&row["answer"].as_str().unwrap())), "{rows:?}");
    // Another home, named.
    let other = TestInstance::new();
    let named = other.run(&["migrate", instance.home().to_str().unwrap()]);
    assert_eq!(named.stdout, ran.stdout);
    assert!(!other.home().exists());
    assert_eq!(other.run(&["migrate"]).code, 2, "there is nothing to explain");
}

#[test]
fn writing_keeps_a_copy_and_the_meaning() {
    let instance = TestInstance::with_config(HOME);
    let before = instance.run(&["config", "show", "--json"]).stdout;
    let ran = instance.run(&["migrate", "--write"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(instance.home().join(name)).unwrap();
    assert_eq!(read("config.json.bak-1"), HOME);
    let written = read("config.json");
    assert!(
        written.contains("// mine") && written.contains("\"isolation\"") && !written.contains("sk-in"),
        "{written}"
    );
    assert!(read(".security.yml").contains("sk-in-the-file-0001"));
    assert_eq!(instance.run(&["config", "check"]).code, 0);
    let rows = |text: &str| -> Vec<(String, String)> {
        let rows: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
        let kept = rows.iter().filter(|row| {
            !row["key"].as_str().unwrap().contains("api_key") && row["key"] != "isolation.enabled"
        });
        kept.map(|row| (row["key"].to_string(), row["value"].to_string())).collect()
    };
    assert_eq!(rows(&before), rows(&instance.run(&["config", "show", "--json"]).stdout));
    let again = instance.run(&["migrate", "--write"]);
    assert_eq!(again.stdout, "nothing to change\n", "{again:?}");
    // A file that does not load is not touched.
    instance.configure(r#"{"agents": {"defaults": {"restrict_to_workspce": true}}}"#);
    let broken = instance.run(&["migrate", "--write"]);
    assert!(broken.code == 2 && broken.stderr.contains("restrict_to_workspace"), "{broken:?}");
}

/// As the oldest PicoClaw writes it: every provider, and one model for all agents.
const OLDEST: &str = r#"{
  // mine
  "agents": {"defaults": {"model": "gpt-x", "provider": "openai"}, "list": [{"id": "main"}]},
  "providers": {
    "openai": {"api_key": "sk-oldest-0001", "api_base": "https://api.example/v1", "request_timeout": 30},
    "anthropic": {"api_key": "", "api_base": ""},
    "groq": {"api_key": "gsk-without-a-model"}
  },
  "isolation": {"enabled": false}
}
"#;

#[test]
fn providers_become_models() {
    let instance = TestInstance::with_config(OLDEST);
    let explained = instance.run(&["migrate"]).stdout;
    for line in [
        "same        providers.openai.api_base = \"https://api.example/v1\"\n            to change: move it into `model_list`\n",
        "to change: move it into `model_list`, and the key into `.security.yml`\n",
    ] {
        assert!(explained.contains(line), "{line:?} in {explained}");
    }
    let ran = instance.run(&["migrate", "--write"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("moved: `providers.openai` into `model_list`\n"), "{ran:?}");
    let path = |name: &str| instance.home().join(name);
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    assert_eq!(read("config.json.bak-1"), OLDEST);
    let written = read("config.json");
    let plain: serde_json::Value = serde_json::from_str(&written.replace("// mine", "")).unwrap();
    assert_eq!(
        plain["model_list"],
        serde_json::json!([{"model_name": "openai", "model": "gpt-x", "provider": "openai",
            "api_base": "https://api.example/v1", "request_timeout": 30}])
    );
    // A key without a model is the operator's to place; what was empty is gone.
    assert_eq!(plain["providers"], serde_json::json!({"groq": {"api_key": "gsk-without-a-model"}}));
    assert!(read(".security.yml").contains("sk-oldest-0001"));
    for name in ["config.json", "config.json.bak-1", ".security.yml"] {
        assert_eq!(path(name).metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(instance.run(&["config", "check"]).code, 0);
    assert!(instance.run(&["status"]).stdout.contains("openai"), "{:?}", instance.run(&["status"]));
    assert_eq!(instance.run(&["migrate", "--write"]).stdout, "nothing to change\n");
}

#[test]
fn a_migrated_model_answers_as_before() {
    let server = ModelServer::new(&[Said::Text("Here.")]);
    let instance = TestInstance::with_config(&OLDEST.replace("https://api.example/v1", &server.base()));
    for _ in 0..2 {
        let ran = instance.run(&["agent", "-m", "hello"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Here.\n"), "{ran:?}");
        instance.run(&["migrate", "--write"]);
    }
    for (head, body) in server.requests() {
        assert!(head.to_lowercase().contains("bearer sk-oldest-0001") && body["model"] == "gpt-x", "{head}");
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn providers_that_the_environment_sets_too_stay() {
    let instance = TestInstance::with_config(OLDEST)
        .with_env("PICOCLAW_PROVIDERS_OPENAI_API_BASE", "https://other.example/v1");
    let ran = instance.run(&["migrate", "--write"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing to change\n"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(instance.home().join("config.json")).unwrap(), OLDEST);
}

#[test]
fn an_existing_home_starts_and_says_what_is_different() {
    let instance = TestInstance::with_config(HOME);
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("picoclaw status");
    tmux.says("isolation", "isolation is off: `config.json` does not name it");
    tmux.line("clear; picoclaw migrate | tail -n 2");
    tmux.says("the summary", "`picoclaw migrate --write` makes these changes");
    tmux.line("clear; picoclaw migrate --write");
    tmux.says("the copy", "config.json.bak-1");
}
