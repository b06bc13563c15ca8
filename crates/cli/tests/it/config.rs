//! `picoclaw config` as a person runs it.

use std::path::Path;
use std::process::{Command, Output};

fn picoclaw(home: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picoclaw"));
    command.args(arguments).env_clear().env("PICOCLAW_HOME", home).env("HOME", "/nonexistent");
    command.envs(variables.iter().copied());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn check_names_the_place_and_the_nearest_key() {
    let home = tempfile::tempdir().unwrap();
    let file =
        "{\n  \"agents\": {\n    \"defaults\": {\n      \"restrict_to_workspce\": false\n    }\n  }\n}\n";
    std::fs::write(home.path().join("config.json"), file).unwrap();
    let output = picoclaw(home.path(), &["config", "check"], &[]);
    assert_eq!(output.status.code(), Some(2));
    let path = home.path().join("config.json");
    let want = format!(
        "{}:4:7: unknown key `agents.defaults.restrict_to_workspce`\nhint: did you mean `restrict_to_workspace`?\n",
        path.display()
    );
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), want));

    let output = picoclaw(home.path(), &["config", "check", "--json"], &[]);
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(verdict["ok"], false);
    assert_eq!((&verdict["errors"][0]["line"], &verdict["errors"][0]["column"]), (&4.into(), &7.into()));
    assert_eq!(verdict["errors"][0]["key"], "agents.defaults.restrict_to_workspce");
}

#[test]
fn check_points_out_what_is_loose() {
    let home = tempfile::tempdir().unwrap();
    let file = r#"{"tools": {"allow_read_paths": ["/etc/hosts"]}, "voice": {}}"#;
    std::fs::write(home.path().join("config.json"), file).unwrap();
    let variables = [("PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE", "false")];
    let output = picoclaw(home.path(), &["config", "check"], &variables);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("config.json: ok\n"));
    for part in [
        "`voice` is a setting of PicoClaw",
        "restrict_to_workspace` is false",
        "matches anywhere",
        "held by the guard alone",
    ] {
        assert_eq!(text(&output.stderr).matches(part).count(), 1, "{part} in {}", text(&output.stderr));
    }
}

#[test]
fn without_a_file_the_defaults_are_checked_and_shown() {
    let home = tempfile::tempdir().unwrap();
    let output = picoclaw(home.path(), &["config", "check"], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("the defaults apply"), "{}", text(&output.stdout));
    let output = picoclaw(home.path(), &["config", "show"], &[]);
    let workspace = home.path().join("workspace");
    let row = format!("agents.defaults.workspace = \"{}\"  # default\n", workspace.display());
    assert!(text(&output.stdout).contains(&row), "{}", text(&output.stdout));
}

#[test]
fn show_masks_secrets_and_names_origins() {
    let home = tempfile::tempdir().unwrap();
    let file =
        "{\n\"model_list\": [{\"model_name\": \"m\", \"model\": \"x\", \"api_key\": \"sk-in-the-file\"}]}";
    std::fs::write(home.path().join("config.json"), file).unwrap();
    std::fs::write(home.path().join(".security.yml"), "gateway:\n  token: sk-in-the-secrets\n").unwrap();
    let variables =
        [("PICOCLAW_PROVIDERS_OPENAI_API_KEY", "sk-in-the-environment"), ("PICOCLAW_GATEWAY_PORT", "1234")];
    for arguments in [&["config", "show"][..], &["config", "show", "--json"]] {
        let output = picoclaw(home.path(), arguments, &variables);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(!all.contains("sk-in-the"), "{all}");
        for origin in ["env PICOCLAW_GATEWAY_PORT", "config.json:2", ".security.yml:2", "default"] {
            assert!(all.contains(origin), "{origin} in {all}");
        }
    }
    let output = picoclaw(home.path(), &["config", "show", "--json"], &variables);
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let row = rows.iter().find(|row| row["key"] == "gateway.port").unwrap();
    assert_eq!((&row["value"], &row["origin"]), (&1234.into(), &"env PICOCLAW_GATEWAY_PORT".into()));
}

#[test]
fn schema_is_a_schema() {
    let home = tempfile::tempdir().unwrap();
    let output = picoclaw(home.path(), &["config", "schema"], &[]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema.pointer("/properties/isolation/properties/enabled/default"), Some(&false.into()));
}

#[test]
fn check_knows_models_providers_and_hooks() {
    let home = tempfile::tempdir().unwrap();
    let check = |config: &str| {
        std::fs::write(home.path().join("config.json"), config).unwrap();
        let output = picoclaw(home.path(), &["config", "check"], &[("PATH", "/usr/bin:/bin")]);
        (output.status.code(), text(&output.stderr))
    };
    let model = r#"{"model_name": "m", "model": "ollama/x"}"#;
    for (why, config, code, says) in [
        (
            "a model that is not listed",
            format!(r#"{{"agents": {{"defaults": {{"model_name": "other"}}}}, "model_list": [{model}]}}"#),
            2,
            "error: there is no model `other`\nhint: `model_list` names m\n",
        ),
        (
            "an agent's model",
            format!(r#"{{"agents": {{"list": [{{"id": "main", "model": "gone"}}]}}, "model_list": [{model}]}}"#),
            2,
            "there is no model `gone`",
        ),
        (
            "a stand-in",
            r#"{"model_list": [{"model_name": "m", "model": "ollama/x", "fallbacks": ["gone"]}]}"#.to_owned(),
            2,
            "there is no model `gone`",
        ),
        (
            "a provider",
            r#"{"model_list": [{"model_name": "m", "model": "acme/x"}]}"#.to_owned(),
            2,
            "the protocol `acme` is not supported",
        ),
        (
            "a key that is missing is only a warning",
            r#"{"model_list": [{"model_name": "m", "model": "openai/x"}]}"#.to_owned(),
            0,
            "warning: model `m` has no key",
        ),
        (
            "a hook without its program",
            r#"{"hooks": {"enabled": true, "processes": {"h": {"enabled": true, "command": ["/no/such/hook"], "observe": ["*"]}}}}"#.to_owned(),
            2,
            "error: hook `h` cannot start: ",
        ),
        ("the control", format!(r#"{{"agents": {{"defaults": {{"model_name": "m"}}}}, "model_list": [{model}]}}"#), 0, ""),
        ("no model at all", r#"{"agents": {"defaults": {"model_name": "direct"}}}"#.to_owned(), 0, ""),
    ] {
        let (got, stderr) = check(&config);
        assert_eq!(got, Some(code), "{why}: {stderr}");
        assert!(stderr.contains(says), "{why}: {stderr}");
    }
}
