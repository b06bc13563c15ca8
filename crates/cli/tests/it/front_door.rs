//! The front door: usage, first steps, and configurations that cannot be used.

use crate::run::is_here;
use crate::test_instance::{TestInstance, ran};

#[test]
fn the_first_command_makes_an_instance_and_says_so_once() {
    let instance = TestInstance::new();
    let first = instance.tool("list_dir", "{}");
    assert_eq!((first.code, first.stdout.as_str()), (0, "\n"), "{first:?}");
    assert_eq!(first.stderr.matches("made a new instance").count(), 1, "{first:?}");
    let second = instance.tool("list_dir", "{}");
    assert_eq!((second.code, second.stderr.as_str()), (0, ""), "{second:?}");
    for dir in ["skills", "logs", "cache", "state", "runtime-user-env", "ledger", "workspace"] {
        assert!(instance.home().join(dir).is_dir(), "`{dir}` is missing");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&instance.home().metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_first_start_that_failed_decides_nothing() {
    let instance = TestInstance::new();
    // What is left of one that was stopped between its directories and its configuration.
    for dir in ["state/locks", "ledger", "workspace"] {
        std::fs::create_dir_all(instance.home().join(dir)).unwrap();
    }
    let first = instance.run_with(&["tool", "list_dir", "{}"], &[("PATH", "")]);
    assert_eq!((first.code, first.stderr.matches("made a new instance").count()), (0, 1), "{first:?}");
    let made =
        |instance: &TestInstance| std::fs::read_to_string(instance.home().join("config.json")).unwrap();
    let ordinary = TestInstance::new();
    assert_eq!(ordinary.tool("list_dir", "{}").code, 0);
    assert_eq!(made(&instance), made(&ordinary), "without PATH as with it");
}

/// Runs its arguments where neither namespaces nor Landlock can be had.
const WITHOUT_CONFINEMENT: &str = include_str!("hostile_children/without_confinement.pl");

#[test]
fn where_nothing_holds_commands_a_new_instance_has_none() {
    if !is_here("perl") {
        return;
    }
    let instance = TestInstance::new();
    let tool = |name: &str, arguments: &str| {
        let wrapper = ["perl", "-e", WITHOUT_CONFINEMENT];
        ran(instance.wrapped(&wrapper, &["tool", name, arguments]).output().unwrap())
    };
    let echo = r#"{"command": "echo hi"}"#;
    let first = tool("exec", echo);
    assert!(first.code == 1 && first.stdout.starts_with("tool \"exec\" is disabled\n"), "{first:?}");
    assert!(first.stderr.contains("this host has nothing that confines commands"), "{first:?}");
    assert_eq!(tool("list_dir", "{}").code, 0, "file tools work");
    // The control, and the way out: the operator's word.
    let config = instance.home().join("config.json");
    let written = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, written.replacen("\"enabled\": false", "\"enabled\": true", 1)).unwrap();
    let allowed = tool("exec", echo);
    assert_eq!((allowed.code, allowed.stdout.as_str()), (0, "hi\n"), "{allowed:?}");
}

#[test]
fn onboard_makes_an_instance_and_keeps_what_is_there() {
    let instance = TestInstance::new();
    let ran = instance.run(&["onboard"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let config = instance.home().join("config.json");
    assert!(config.is_file());
    assert_eq!(instance.run(&["config", "check"]).code, 0);
    // Where the kernel holds commands, the parsed command decides, and a person is asked.
    let written = std::fs::read_to_string(&config).unwrap();
    let held = written.contains("\"guard\": \"smart\"") && written.contains("\"on_block\": \"ask\"");
    assert_eq!(held, written.contains("\"enabled\": true"), "{written}");
    let asked = instance.run(&["check", "exec", "rm -rf node_modules"]);
    assert_eq!(asked.code, if held { 3 } else { 1 }, "{asked:?}");
    // A file that does not say so is held by the seeds' defaults.
    std::fs::write(&config, "{}").unwrap();
    assert_eq!(instance.run(&["check", "exec", "rm -rf node_modules"]).code, 1);
    assert_eq!(instance.run(&["check", "exec", "echo $(date)"]).code, 1);
    std::fs::write(&config, "{ // mine\n}").unwrap();
    assert_eq!(instance.run(&["onboard"]).code, 0);
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "{ // mine\n}");
}

#[test]
fn looking_makes_nothing() {
    let instance = TestInstance::new();
    for arguments in [
        &["status"][..],
        &["config", "check"],
        &["config", "show"],
        &["audit", "tail"],
        &["audit", "verify"],
        &["version"],
    ] {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    }
    assert!(!instance.home().exists(), "looking must not make an instance");
}

#[test]
fn bad_usage_and_bad_configurations_exit_with_two() {
    let instance = TestInstance::with_config("{}");
    for arguments in [
        &["no-such-command"][..],
        &["tool"],
        &["tool", "no_such_tool", "{}"],
        &["tool", "read_file", "not json"],
        &["tool", "read_file", "{}", "--agent", "nobody"],
        &["check", "fly", "x"],
        &["--config", "/nonexistent/config.json", "status"],
    ] {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.is_empty() && ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
    }
    for (why, config, says) in [
        ("half a file", "{\"agents\": {", "config.json:1:"),
        (
            "an unknown key",
            r#"{"agents": {"defaults": {"restrict_to_workspce": true}}}"#,
            "restrict_to_workspace",
        ),
        (
            "a value of another type",
            r#"{"agents": {"defaults": {"restrict_to_workspace": "maybe"}}}"#,
            "config.json:1:",
        ),
        ("a broken pattern", r#"{"tools": {"allow_read_paths": ["("]}}"#, "config.json:1:"),
        ("a single backslash", r#"{"tools": {"allow_read_paths": ["^/tmp/x\.txt$"]}}"#, r"\\."),
        (
            "a backspace that was meant as a word boundary",
            r#"{"tools": {"exec": {"custom_deny_patterns": ["\bcurl"]}}}"#,
            r"\\b",
        ),
        ("a workspace that is the machine", r#"{"agents": {"defaults": {"workspace": "/"}}}"#, "`/`"),
        (
            "a workspace that holds the instance",
            r#"{"agents": {"defaults": {"workspace": "{dir}"}}}"#,
            "instance",
        ),
        (
            "two agents in one place",
            r#"{"agents": {"agents": [{"id": "a", "workspace": "{dir}/w"}, {"id": "b", "workspace": "{dir}/w/x"}]}}"#,
            "overlap",
        ),
    ] {
        instance.configure(config);
        let ran = instance.tool("list_dir", "{}");
        assert_eq!(ran.code, 2, "{why}: {ran:?}");
        assert!(ran.stderr.contains(says), "{why}: no {says:?} in {:?}", ran.stderr);
    }
}

#[test]
fn a_command_of_the_host_in_place_of_ours_is_hinted_at() {
    let instance = TestInstance::new();
    for (arguments, hint) in [
        (&["ls", "-l"][..], "hint: `picoclaw run -- CMD` runs any command in a cage\n"),
        (&["check", "rm -rf ~"], "hint: `picoclaw check exec 'CMD'` checks a command\n"),
        (&["docter"], "tip: a similar subcommand exists: 'doctor'\n\n"),
        (&["check", "exec"], "For more information, try '--help'.\n"),
        (&["run", "--cache", "x", "--", "ls"], "For more information, try '--help'.\n"),
    ] {
        let ran = instance.run(arguments);
        let is_last = ran.stderr.ends_with(hint) || ran.stderr.contains("tip: ") && ran.stderr.contains(hint);
        assert!(ran.code == 2 && is_last, "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr.contains("hint: "), hint.starts_with("hint: "), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn each_protection_that_is_off_is_one_warning() {
    let instance = TestInstance::with_config("{}");
    assert_eq!(instance.tool("list_dir", "{}").stderr, "");
    let name = "PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE";
    let ran = instance.run_with(&["tool", "list_dir", "{}"], &[(name, "false")]);
    assert_eq!(ran.stderr.matches("[WARN]").count(), 1, "{ran:?}");
    let quiet =
        instance.run_with(&["tool", "list_dir", "{}"], &[(name, "false"), ("PICOCLAW_LOG_LEVEL", "error")]);
    assert_eq!(quiet.stderr, "", "{quiet:?}");
}

#[test]
fn the_environment_counts_without_a_file_and_is_never_written_back() {
    let instance = TestInstance::new();
    let outside = instance.dir().join("note.txt");
    std::fs::write(&outside, "out\n").unwrap();
    let json = format!(r#"{{"path": "{}"}}"#, outside.display());
    let name = "PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE";
    let open = instance.run_with(&["tool", "read_file", &json], &[(name, "false")]);
    assert_eq!(open.stdout, "out\n", "{open:?}");
    assert_eq!(instance.tool("read_file", &json).code, 1, "the next start is restricted again");
}

#[test]
fn arguments_come_from_standard_input_too() {
    use std::io::Write;
    let instance = TestInstance::with_config("{}");
    let mut command = instance.command(&["tool", "write_file", "-"]);
    let mut child =
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"path": "a.txt", "content": "from stdin"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "File written: a.txt\n");
    assert_eq!(std::fs::read_to_string(instance.workspace().join("a.txt")).unwrap(), "from stdin");
}

#[test]
fn a_workspace_behind_a_link_works_under_both_names() {
    let instance = TestInstance::with_config(r#"{"agents": {"defaults": {"workspace": "{dir}/alias/ws"}}}"#);
    std::fs::create_dir_all(instance.dir().join("real/ws")).unwrap();
    std::os::unix::fs::symlink(instance.dir().join("real"), instance.dir().join("alias")).unwrap();
    for path in ["a.txt", "{dir}/alias/ws/b.txt", "{dir}/real/ws/c.txt"] {
        let path = path.replace("{dir}", instance.dir().to_str().unwrap());
        let ran = instance.tool("write_file", &format!(r#"{{"path": "{path}", "content": "x"}}"#));
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
    }
    assert_eq!(std::fs::read_dir(instance.dir().join("real/ws")).unwrap().count(), 3);
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let instance = TestInstance::new();
    for arguments in
        [&["completions", "bash"][..], &["completions", "zsh"], &["completions", "fish"], &["man"]]
    {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}");
        assert!(ran.stdout.contains("picoclaw") && ran.stdout.len() > 500, "{arguments:?}");
    }
    let version = instance.run(&["version"]);
    assert_eq!(version.stdout, format!("picoclaw {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let instance = TestInstance::with_config("{}");
    let text = "x".repeat(900_000);
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("big"), text).unwrap();
    let mut command = instance.command(&["tool", "read_file", r#"{"path": "big"}"#]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_reader_of_a_long_listing_may_go_away() {
    let instance = TestInstance::with_config("{}");
    for arguments in
        [&["config", "schema"][..], &["config", "show"], &["tool", "list", "--json"], &["--help"]]
    {
        let mut command = instance.command(arguments);
        let mut child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn help_makes_nothing() {
    let instance = TestInstance::new();
    for arguments in [
        &["check", "exec", "--help"][..],
        &["check", "--help"],
        &["tool", "exec", "--help"],
        &["tool", "list", "-h"],
        &["agent", "--help"],
        &["session", "show", "--help"],
        &["cron", "add", "--help"],
        &["run", "--help"],
        &["mcp", "serve", "--help"],
        &["gateway", "-h"],
        &["onboard", "--help"],
    ] {
        let ran = instance.run(arguments);
        assert!(ran.code == 0 && ran.stdout.contains("Usage: "), "{arguments:?}: {ran:?}");
    }
    assert!(!instance.home().exists(), "help must not make an instance");
}

#[test]
fn tools_are_a_table_for_people_and_json_for_programs() {
    let instance = TestInstance::with_config(
        r#"{"agents": {"list": [{"id": "main", "tools": {"disabled": ["web_fetch"]}}]}}"#,
    );
    let table = instance.run(&["tool", "list"]).stdout;
    assert!(table.starts_with("NAME         DESCRIPTION\n"), "{table}");
    assert!(table.contains("\nread_file    Read the contents of a file\n"), "{table}");
    assert!(
        table.lines().any(|line| line.starts_with("web_fetch") && line.ends_with("(switched off)")),
        "{table}"
    );
    let json = instance.run(&["tool", "list", "--json"]).stdout;
    for line in json.lines() {
        let tool: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(tool["parameters"].is_object(), "{line}");
    }
    assert_eq!(json.lines().count() + 1, table.lines().count());
}
