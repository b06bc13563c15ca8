//! The configuration file under `mcp add` and `mcp remove`.

use super::{Yard, config_of};
use crate::test_instance::TestInstance;
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};

const COMMENTED: &str = r#"{
  // My own words.
  "version": 3,
  "tools": {
    "exec": {"timeout_seconds": 7}, // seven
    "mcp": {
      /* later */ "enabled": false,
      "servers": {
        "first": {"enabled": true, "command": "true"}, // the first
      },
    },
  },
}
"#;

fn mode(instance: &TestInstance) -> u32 {
    instance.home().join("config.json").metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn adding_and_removing_keep_a_persons_words() {
    let instance = TestInstance::with_config(COMMENTED);
    let path = instance.home().join("config.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = instance.run(&["mcp", "add", "second", "sh", "-c", "exit 0"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("added MCP server \"second\" in "), "{ran:?}");
    let with = config_of(&instance);
    for kept in ["// My own words.", "// seven", "/* later */ \"enabled\": true", "// the first"] {
        assert!(with.contains(kept), "`{kept}` in {with}");
    }
    assert_eq!(mode(&instance), 0o600, "for its owner alone from now on");
    assert_eq!(instance.run(&["config", "check"]).code, 0, "{with}");
    assert_eq!(instance.run(&["mcp", "remove", "second"]).code, 0);
    assert_eq!(
        config_of(&instance),
        COMMENTED.replace("\"enabled\": false", "\"enabled\": true"),
        "there and back"
    );
    let ran = instance.run(&["mcp", "remove", "first"]);
    assert!(ran.stdout.contains("`tools.mcp.enabled` is off"), "{ran:?}");
    let without = config_of(&instance);
    assert!(without.contains("/* later */ \"enabled\": false") && !without.contains("first\":"), "{without}");
    let acts: Vec<_> = instance.records().iter().map(|record| record["tool"].to_string()).collect();
    assert_eq!(acts.iter().filter(|tool| tool.contains("mcp remove")).count(), 4, "on record: {acts:?}");
}

#[test]
fn a_change_that_would_not_load_is_not_written() {
    for (why, config, variables, line, code, says) in [
        ("a name that is taken", COMMENTED, &[][..], &["add", "first", "sh"][..], 1, "--force"),
        ("a broken file", "{\"tools\": ", &[], &["add", "a", "sh"], 2, "half-written"),
        ("no object to put it in", "{\"tools\": {\"mcp\": []}}", &[], &["add", "a", "sh"], 2, "tools.mcp"),
        (
            "an address with a control character",
            "{}",
            &[],
            &["add", "a", "http://h/\u{1b}[31m"],
            2,
            "is not an address",
        ),
        ("variables for an address", "{}", &[], &["add", "-e", "A=b", "a", "http://h"], 2, "variables go"),
        ("nobody of that name", COMMENTED, &[], &["remove", "second"], 1, "the configuration names first"),
        ("nobody at all", "{}", &[], &["remove", "second"], 1, "names none yet"),
        (
            "a bad variable elsewhere",
            "{}",
            &[("PICOCLAW_TOOLS_MCP_ENABLED", "perhaps")],
            &["add", "a", "sh"],
            2,
            "",
        ),
    ] {
        let instance = TestInstance::with_config(config);
        let ran = instance.run_with(&[&["mcp"], line].concat(), variables);
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        assert!(ran.stderr.contains(says), "{why}: {ran:?}");
        assert_eq!(config_of(&instance), config, "{why}: the file is as it was");
    }
}

#[test]
fn force_replaces_one_server_and_no_other() {
    let instance = TestInstance::with_config(COMMENTED);
    let ran = instance.run(&["mcp", "add", "-f", "--deferred", "first", "https://example.invalid/mcp"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("replaced MCP server \"first\""), "{ran:?}");
    let listed: Value = serde_json::from_str(&instance.run(&["mcp", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let row = &listed[0];
    assert_eq!(
        (&row["type"], &row["deferred"], &row["enabled"]),
        (&"http".into(), &true.into(), &true.into())
    );
}

#[test]
fn a_link_to_a_configuration_stays_a_link() {
    let instance = TestInstance::new();
    let real = instance.dir().join("dotfiles");
    std::fs::create_dir_all(instance.home()).unwrap();
    std::fs::create_dir(&real).unwrap();
    std::fs::write(real.join("pc.json"), "{}").unwrap();
    symlink(real.join("pc.json"), instance.home().join("config.json")).unwrap();
    let ran = instance.run(&["mcp", "add", "a", "sh"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(instance.home().join("config.json").is_symlink());
    assert!(std::fs::read_to_string(real.join("pc.json")).unwrap().contains("\"sh\""));
}

#[test]
fn another_configuration_file_is_changed_where_it_is() {
    let instance = TestInstance::new();
    let other = instance.dir().join("other.json");
    std::fs::write(&other, "{}").unwrap();
    let ran = instance.run(&["--config", other.to_str().unwrap(), "mcp", "add", "a", "sh"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(std::fs::read_to_string(&other).unwrap().contains("\"sh\""));
    let own = instance.home().join("config.json");
    assert!(!own.exists() || !config_of(&instance).contains("\"sh\""), "the instance's own is another");
}

fn quiet(instance: &TestInstance, line: &[&str]) -> std::process::Command {
    let mut command = instance.command(line);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

#[test]
fn many_at_once_lose_nobody() {
    let instance = TestInstance::with_config("{}");
    let children: Vec<_> = (0..8)
        .map(|number| quiet(&instance, &["mcp", "add", &format!("s{number}"), "sh"]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let listed: Value = serde_json::from_str(&instance.run(&["mcp", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 8, "{listed}");
    let same: Vec<_> = (0..8)
        .map(|number| quiet(&instance, &["mcp", "add", "same", "sh", &number.to_string()]).spawn().unwrap())
        .collect();
    let added = same.into_iter().filter_map(|mut child| child.wait().unwrap().success().then_some(()));
    assert_eq!(added.count(), 1, "one of them was the first, and nobody replaced it");
}

#[test]
fn values_are_hidden_wherever_they_are_not_used() {
    let Some(yard) = Yard::new("{}") else { return };
    let secret = "sk-live-0123456789";
    yard.add(&["-e", &format!("API_KEY={secret}")], "peer", "plain");
    let header = format!("Authorization: Bearer {secret}");
    let ran = yard.instance.run(&["mcp", "add", "-H", &header, "web", "http://127.0.0.1:9/mcp?key=abcdef"]);
    assert!(ran.stdout.contains("header: Authorization: ********"), "{ran:?}");
    assert!(ran.stderr.contains("`.security.yml` beside it can hold them instead"), "{ran:?}");
    assert!(yard.config().contains(secret), "where it lands is what was said");
    for line in [
        &["mcp", "list"][..],
        &["mcp", "list", "--status", "--json"],
        &["mcp", "show", "peer"],
        &["mcp", "test", "web"],
        &["audit", "tail", "-n", "100", "--json"],
    ] {
        let ran = yard.instance.run(line);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains(secret) && !said.contains("abcdef"), "{line:?}: {said}");
    }
}

#[test]
fn an_env_file_lies_beside_the_configuration_and_never_in_a_workspace() {
    let given = |instance: &TestInstance| {
        let ran = instance.tool("mcp_peer_echo", r#"{"text": "[]"}"#);
        (ran.code, format!("{}{}", ran.stdout, ran.stderr))
    };
    let Some(yard) = Yard::new("{}") else { return };
    let file = |path: &str| {
        yard.instance.configure(&format!(
            r#"{{"tools": {{"mcp": {{"enabled": true, "servers": {{"peer": {{"enabled": true, "command": "/usr/bin/python3", "args": ["{}", "probe"], "env_file": "{path}"}}}}}}}}}}"#,
            yard.script
        ));
    };
    std::fs::create_dir_all(yard.instance.workspace()).unwrap();
    std::fs::write(yard.instance.home().join("peer.env"), "# mine\nFROM_FILE=\"beside it\"\n").unwrap();
    std::fs::write(yard.instance.workspace().join("peer.env"), "FROM_FILE=planted\n").unwrap();
    file("peer.env");
    let (code, said) = given(&yard.instance);
    assert!(code == 0 && said.contains("beside it") && !said.contains("planted"), "relative: {said}");
    file("workspace/peer.env");
    let (code, said) = given(&yard.instance);
    assert!(code != 0 && said.contains("where an agent can write"), "where an agent writes: {said}");
    file("nowhere.env");
    assert!(given(&yard.instance).1.contains("there is no file"), "not there");
}
