//! Settings loaded from unusual instances.

use super::{ProcessEnv, Request, SettingsError, load};
use picoclaw_policy::config::LogLevel;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// An instance in its own directory.
struct Instance {
    dir: tempfile::TempDir,
}

impl Instance {
    fn new() -> Self {
        let instance = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(instance.home()).unwrap();
        instance
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn env(&self, variables: &[(&str, &str)]) -> ProcessEnv {
        let home = [
            ("PICOCLAW_HOME", self.home().to_str().unwrap().to_owned()),
            ("HOME", "/nonexistent".to_owned()),
        ];
        let given = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let all =
            home.into_iter().chain(given).map(|(name, value)| (OsString::from(name), OsString::from(value)));
        ProcessEnv { variables: all.collect(), account_home: None, ..ProcessEnv::default() }
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<super::load::Settings, SettingsError> {
        load(&Request { config: None, env: &self.env(variables) })
    }

    fn refusal(&self) -> String {
        let error = self.load(&[]).map(|_| ()).unwrap_err();
        format!("{error}\nhint: {}", error.hint().unwrap_or_default())
    }
}

#[test]
fn the_layers_are_laid_over_each_other() {
    let instance = Instance::new();
    instance.put("config.json", r#"{"gateway": {"log_level": "info", "port": 1000, "host": "file"}}"#);
    instance.put(".security.yml", "gateway:\n  token: from-the-secrets\n");
    let loaded = instance.load(&[("PICOCLAW_LOG_LEVEL", "debug"), ("PICOCLAW_GATEWAY_HOST", "env")]).unwrap();
    assert_eq!(loaded.config.log_level, Some(LogLevel::Debug));
    assert_eq!((loaded.config.gateway.host.as_str(), loaded.config.gateway.port), ("env", 1000));
    assert_eq!(loaded.config.secrets, ["from-the-secrets"]);
    assert_eq!(loaded.warnings(), Vec::<String>::new());
    assert_eq!(loaded.home, instance.home());
}

#[test]
fn variables_apply_without_a_file() {
    let instance = Instance::new();
    for text in [None, Some(""), Some("{}"), Some("// nothing yet\n")] {
        if let Some(text) = text {
            instance.put("config.json", text);
        }
        let loaded = instance.load(&[("PICOCLAW_TOOLS_EXEC_ENABLED", "false")]).unwrap();
        assert_eq!(loaded.config.tools.disabled, ["exec"], "{text:?} (W82)");
    }
}

#[test]
fn loading_writes_nothing() {
    let instance = Instance::new();
    let old = r#"{"version": 1, "channels": {}, "model_list": [{"model_name": "m", "model": "x", "api_key": "sk-1234"}]}"#;
    let path = instance.put("config.json", old);
    let _loaded = instance.load(&[("PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE", "false")]).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), old, "an old file stays as it is (W83)");
    assert_eq!(fs::read_dir(instance.home()).unwrap().count(), 1, "and nothing appears beside it");
}

#[test]
fn the_file_is_looked_for_where_the_rule_says() {
    let instance = Instance::new();
    instance.put("config.json", r#"{"gateway": {"port": 1}}"#);
    let second = instance.put("second.json", r#"{"gateway": {"port": 2}}"#);
    let third = instance.put("third.json", r#"{"gateway": {"port": 3}}"#);
    let variables = [("PICOCLAW_CONFIG", second.to_str().unwrap())];
    assert_eq!(instance.load(&[]).unwrap().config.gateway.port, 1, "the instance's own");
    assert_eq!(
        instance.load(&[("PICOCLAW_CONFIG", "")]).unwrap().config.gateway.port,
        1,
        "an empty variable is none"
    );
    assert_eq!(instance.load(&variables).unwrap().config.gateway.port, 2, "the variable's");
    let env = instance.env(&variables);
    let asked = load(&Request { config: Some(&third), env: &env }).unwrap();
    assert_eq!(asked.config.gateway.port, 3, "the one that was asked for");
}

#[test]
fn a_file_that_was_named_and_is_not_there_is_said() {
    let instance = Instance::new();
    let env = instance.env(&[]);
    let missing = instance.home().join("no.json");
    let error = load(&Request { config: Some(&missing), env: &env }).map(|_| ()).unwrap_err();
    assert!(matches!(error, SettingsError::Missing(_)), "{error}");
    let loaded = instance.load(&[("PICOCLAW_CONFIG", missing.to_str().unwrap())]).unwrap();
    assert!(
        loaded.notices.iter().any(|notice| notice.contains("the defaults apply")),
        "{:?}",
        loaded.notices
    );
}

#[test]
fn whatever_stands_in_the_files_place_is_answered_at_once() {
    type Make = fn(&Path);
    let rows: [(&str, Make, &str); 8] = [
        ("a directory", |path| fs::create_dir(path).unwrap(), "is a directory, not a file"),
        (
            "a pipe nobody writes to",
            |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap(),
            "is a pipe, socket or device, not a file",
        ),
        (
            "a socket",
            |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
            "is a socket or pipe, not a file",
        ),
        ("a device without end", |path| symlink("/dev/zero", path).unwrap(), "is a pipe, socket or device"),
        ("a link in a circle", |path| symlink(path, path).unwrap(), "could not read"),
        (
            "too much",
            |path| fs::write(path, vec![b' '; (1 << 20) + 1]).unwrap(),
            "is larger than 1048576 bytes",
        ),
        (
            "no text",
            |path| fs::write(path, b"{\n \"a\": \"\xff\"}").unwrap(),
            "config.json:2:8: not UTF-8 text",
        ),
        (
            "sixteen-bit text",
            |path| fs::write(path, b"\xff\xfe{\0}\0").unwrap(),
            "config.json:1:1: not UTF-8 text",
        ),
    ];
    for (why, make, want) in rows {
        let instance = Instance::new();
        make(&instance.home().join("config.json"));
        let refusal = instance.refusal();
        assert!(refusal.contains(want) && !refusal.ends_with("hint: "), "{why}: {refusal}");
    }
}

#[test]
fn a_file_that_may_not_be_read_stops_the_start() {
    let instance = Instance::new();
    let path = instance.put("config.json", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        picoclaw_testing::skip!("this user may read everything");
        return;
    }
    assert!(instance.refusal().contains("Permission denied"), "{}", instance.refusal());
}

#[test]
fn a_broken_secrets_file_stops_the_start_and_shows_no_secret() {
    for (why, yaml, want) in [
        ("not YAML", "model_list: [sk-hidden-1\nx: y: z\n", ".security.yml:"),
        (
            "a setting",
            "agents:\n  defaults:\n    restrict_to_workspace: false\n",
            ".security.yml:3:5: `agents.defaults.restrict_to_workspace`",
        ),
        ("an alias", "a: &x sk-hidden-1\nb: *x\n", ".security.yml:1:"),
        ("no bytes of text", "gateway: {token: \u{0}}\n", ".security.yml:"),
    ] {
        let instance = Instance::new();
        instance.put(".security.yml", yaml);
        let refusal = instance.refusal();
        assert!(refusal.contains(want) && !refusal.contains("sk-hidden-1"), "{why}: {refusal}");
    }
    let instance = Instance::new();
    fs::create_dir(instance.home().join(".security.yml")).unwrap();
    assert!(instance.refusal().contains("is a directory"), "{}", instance.refusal());
}

#[test]
fn a_file_that_others_can_reach_is_pointed_out() {
    for (why, file, mode, want) in [
        ("secrets that others can read", ".security.yml", 0o644, Some("other users can reach")),
        ("secrets that others can change", ".security.yml", 0o622, Some("other users can reach")),
        ("secrets as they should be", ".security.yml", 0o600, None),
        ("settings that others can change", "config.json", 0o664, Some("other users can change")),
        ("settings that others can read", "config.json", 0o644, None),
    ] {
        let instance = Instance::new();
        instance.put("config.json", "{}");
        instance.put(".security.yml", "gateway: {token: abcdef}\n");
        fs::set_permissions(instance.home().join(file), fs::Permissions::from_mode(mode)).unwrap();
        let notices = instance.load(&[]).unwrap().notices.join("\n");
        match want {
            Some(part) => assert!(notices.contains(part) && notices.contains(file), "{why}: {notices}"),
            None => assert_eq!(notices, "", "{why}"),
        }
    }
}

#[test]
fn secrets_are_opened_beside_the_configuration() {
    let instance = Instance::new();
    instance.put("config.json", r#"{"model_list": [{"model_name": "m", "model": "x"}]}"#);
    instance.put("m.key", "sk-from-a-file\n");
    instance.put(".security.yml", "model_list:\n  m:\n    api_keys:\n      - file://m.key\n");
    let loaded = instance.load(&[]).unwrap();
    assert_eq!(loaded.config.models[0].api_keys[0].reveal(), "sk-from-a-file");
    let shown = format!("{:?}", loaded.show());
    assert!(!shown.contains("sk-from-a-file") && shown.contains(".security.yml:4"), "{shown}");

    instance.put(".security.yml", "model_list:\n  m:\n    api_keys:\n      - file://../other\n");
    let refusal = instance.refusal();
    assert!(refusal.contains(".security.yml:4:9: `model_list[0].api_keys[0]`: credential: "), "{refusal}");
}

#[test]
fn a_variable_that_is_no_text_stops_the_start() {
    use std::os::unix::ffi::OsStringExt;
    let instance = Instance::new();
    let mut env = instance.env(&[]);
    env.variables.insert("PICOCLAW_GATEWAY_HOST".into(), OsString::from_vec(vec![0xff]));
    let error = load(&Request { config: None, env: &env }).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "`PICOCLAW_GATEWAY_HOST` in the environment is not UTF-8 text");
}

#[test]
fn a_cage_needs_a_home() {
    let instance = Instance::new();
    let config = instance.put(
        "config.json",
        r#"{"isolation": {"enabled": true}, "agents": {"defaults": {"workspace": "/tmp/ws-nowhere"}}}"#,
    );
    let nowhere = ProcessEnv::default();
    let error = load(&Request { config: Some(&config), env: &nowhere }).map(|_| ()).unwrap_err();
    assert!(matches!(error, SettingsError::NoHome), "{error}");
    assert!(instance.load(&[]).is_ok(), "with a home it loads");
}

#[test]
fn workspaces_that_would_unlock_an_agent_stop_the_start() {
    let instance = Instance::new();
    let home = instance.home();
    let home = home.to_str().unwrap();
    symlink(instance.dir.path(), instance.dir.path().join("link")).unwrap();
    let link = instance.dir.path().join("link/home/workspace");
    for (why, agents, want) in [
        ("the whole machine", r#"[{"id": "main", "workspace": "/"}]"#.to_owned(), Some("is `/`")),
        ("the instance", format!(r#"[{{"id": "main", "workspace": "{home}"}}]"#), Some("holds the instance")),
        (
            "root's home",
            r#"[{"id": "main", "workspace": "/root"}]"#.to_owned(),
            Some("holds the home directory"),
        ),
        (
            "two in one place",
            r#"[{"id": "a", "workspace": "/tmp/x"}, {"id": "b", "workspace": "/tmp/x/y"}]"#.to_owned(),
            Some("overlap"),
        ),
        (
            "two in one place through a link",
            format!(r#"[{{"id": "main"}}, {{"id": "b", "workspace": "{}"}}]"#, link.display()),
            Some("overlap"),
        ),
        (
            "a place under /tmp",
            r#"[{"id": "main"}, {"id": "untrusted", "workspace": "/tmp/picoclaw-sandbox"}]"#.to_owned(),
            None,
        ),
    ] {
        instance.put("config.json", format!(r#"{{"agents": {{"agents": {agents}}}}}"#));
        match want {
            Some(part) => assert!(instance.refusal().contains(part), "{why}: {}", instance.refusal()),
            None => assert!(instance.load(&[]).is_ok(), "{why}"),
        }
    }
}

#[test]
fn a_link_to_the_configuration_may_not_lie_in_a_workspace_either() {
    let instance = Instance::new();
    let workspace = instance.home().join("workspace");
    fs::create_dir(&workspace).unwrap();
    let real = instance.put("real.json", "{}");
    let link = workspace.join("config.json");
    symlink(&real, &link).unwrap();
    for (why, config) in
        [("a link in the workspace", &link), ("a file in the workspace", &workspace.join("own.json"))]
    {
        fs::write(workspace.join("own.json"), "{}").unwrap();
        let env = instance.env(&[]);
        let error = load(&Request { config: Some(config), env: &env }).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("holds `"), "{why}: {error}");
    }
}
