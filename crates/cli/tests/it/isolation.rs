//! Isolation from the outside: asked for and had, asked for and not to be had, examined.

use crate::test_instance::{TestInstance, has_native_cage};
use serde_json::{Value, json};

fn exec(instance: &TestInstance, command: &str) -> crate::test_instance::Ran {
    instance.tool("exec", &json!({"command": command}).to_string())
}

#[test]
fn what_the_text_does_not_say_the_kernel_holds() {
    // W13, W14 and W34: paths that are only computed at run time. The control run reads the file.
    let reads = r#"python3 -c "print(open(chr(47)+'etc'+chr(47)+'passwd').readline())""#;
    let writes = r#"python3 -c "open('{dir}'.replace('_', chr(47)) + chr(47) + 'planted', 'w')""#;
    for (name, isolation, fence, may_write, may_read_secret) in [
        ("nothing", false, "\"off\"", true, true),
        ("nothing, in the older spelling", false, "false", true, true),
        ("the write fence", false, "\"writes\"", false, true),
        ("the fence", false, "\"full\"", false, false),
        ("the fence, in the older spelling", false, "true", false, false),
        ("the cage", true, "true", false, false),
    ] {
        let instance = TestInstance::with_config(&format!(
            r#"{{"isolation": {{"enabled": {isolation}}}, "tools": {{"exec": {{"guard": "smart", "fence": {fence}}}}}}}"#
        ));
        if isolation && !has_native_cage(name) {
            continue;
        }
        let ran = exec(&instance, reads);
        assert_eq!(ran.code, 0, "{name}: the system's own files stay readable: {ran:?}");
        let dir = instance.dir().to_str().unwrap().replace('/', "_");
        exec(&instance, &writes.replace("{dir}", &dir));
        assert_eq!(instance.dir().join("planted").exists(), may_write, "{name}");
        std::fs::write(instance.dir().join("secret"), "SECRET").unwrap();
        let secret =
            format!(r#"python3 -c "print(open('{dir}'.replace('_', chr(47)) + chr(47) + 'secret').read())""#);
        assert_eq!(exec(&instance, &secret).stdout.contains("SECRET"), may_read_secret, "{name}");
    }
}

#[test]
fn a_caged_command_sees_its_workspace_and_little_else() {
    let instance = TestInstance::with_config(
        r#"{"isolation": {"enabled": true}, "tools": {"exec": {"guard": "smart"}}}"#,
    );
    if !has_native_cage("the view") {
        return;
    }
    assert_eq!(instance.tool("write_file", r#"{"path": "mine.txt", "content": "mine"}"#).code, 0);
    let ran = exec(
        &instance,
        "cat mine.txt; echo; echo more > theirs.txt; printenv HOME; id -u >/dev/null; ls -a ~",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let home = instance.home().join("runtime-user-env/agents/main/home");
    assert_eq!(ran.stdout, format!("mine\n{}\n.\n..\n", home.display()), "its own home is empty");
    assert_eq!(std::fs::read_to_string(instance.workspace().join("theirs.txt")).unwrap(), "more\n");
    let pids = exec(
        &instance,
        "ls -d [0-9]* 2>/dev/null; python3 -c \"import os; print(len([p for p in os.listdir(chr(47)+'proc') if p.isdigit()]))\"",
    );
    let count: usize = pids.stdout.trim().parse().unwrap_or(usize::MAX);
    assert!(count < 10, "only its own processes: {pids:?}");
    let records = instance.records();
    let enforced = records.last().unwrap()["enforced"].to_string();
    assert!(enforced.contains("filesystem held"), "{enforced}");
}

#[test]
fn isolation_that_cannot_be_had_stops_the_start_with_the_remedy() {
    let instance = TestInstance::with_config(r#"{"isolation": {"enabled": true, "backend": "bwrap"}}"#);
    // Without bubblewrap: a mount namespace where it is not there would need root; a requirement that no host meets does not.
    instance.configure(
        r#"{"isolation": {"enabled": true, "backend": "native", "require": ["network"], "network": "host"}}"#,
    );
    for (tool, json) in [("exec", r#"{"command": "echo hi"}"#), ("list_dir", "{}")] {
        let ran = instance.tool(tool, json);
        assert_ne!(ran.code, 0, "{tool}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{tool}: {ran:?}");
        assert!(ran.stderr.contains("isolation.require") && ran.stderr.contains("hint:"), "{tool}: {ran:?}");
        assert!(ran.stderr.contains("isolation.enabled"), "how to switch it off is said: {ran:?}");
    }
}

#[test]
fn the_mount_plan_is_logged_one_line_a_rule() {
    let instance = TestInstance::with_config(r#"{"isolation": {"enabled": true}}"#);
    if !has_native_cage("the plan") {
        return;
    }
    let ran =
        instance.run_with(&["tool", "exec", r#"{"command": "true"}"#], &[("PICOCLAW_LOG_LEVEL", "debug")]);
    let rules = ran.stderr.matches("[DEBUG] isolation: linux isolation mount plan\n").count();
    assert!(rules > 10, "{ran:?}");
    assert!(ran.stderr.contains("rule=ro /usr (system)"), "{ran:?}");
    let secrets = ran.stderr.lines().filter(|line| line.contains("config.json") || line.contains("ledger"));
    assert_eq!(secrets.count(), 0, "nothing of the instance's own is shown: {}", ran.stderr);
    let quiet = instance.tool("exec", r#"{"command": "true"}"#);
    assert_eq!(quiet.stderr, "", "one-shot commands log from WARN: {quiet:?}");
}

#[test]
fn the_documented_exposures_work() {
    let instance = TestInstance::with_config("{}");
    std::fs::create_dir_all(instance.dir().join("assets")).unwrap();
    std::fs::write(instance.dir().join("assets/logo"), "LOGO").unwrap();
    instance.configure(
        r#"{"isolation": {"enabled": true, "expose_paths": [
            {"source": "{dir}/assets", "target": "{dir}/home/workspace/assets", "mode": "rw"},
            {"source": "{dir}/assets", "mode": "ro"}]},
            "tools": {"exec": {"guard": "smart"}, "allow_read_paths": ["^{dir}/assets/"]}}"#,
    );
    if !has_native_cage("exposures") {
        return;
    }
    let ran = exec(&instance, "cat assets/logo; echo new > assets/made");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "LOGO\n"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(instance.dir().join("assets/made")).unwrap(), "new\n");
    let other = exec(&instance, &format!("cat {}/assets/logo", instance.dir().display()));
    assert_eq!((other.code, other.stdout.as_str()), (0, "LOGO\n"), "{other:?}");
}

#[test]
fn the_doctor_sees_a_cage_that_holds_and_one_that_does_not() {
    let instance = TestInstance::with_config("{}");
    if !has_native_cage("the doctor") {
        return;
    }
    std::fs::write(instance.dir().join(".bashrc"), "# content that can be read").unwrap();
    let healthy = instance.run(&["doctor"]);
    assert_eq!(healthy.code, 0, "{}", healthy.stdout);
    for layer in ["filesystem", "processes", "syscalls", "environment", "limits"] {
        let ran = instance.run(&["doctor", "--json", "--fault", layer]);
        assert_eq!(ran.code, 1, "{layer}: {}", ran.stdout);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        for probe in report["probes"].as_array().unwrap() {
            // What is not promised on this host cannot be broken.
            if probe["outcome"] != "not promised" {
                let broken = probe["outcome"] == "broken";
                assert_eq!(broken, probe["layer"] == layer, "{layer}: {probe}");
            }
        }
    }
}

#[test]
fn the_doctor_does_not_propose_a_cage_that_cannot_be_had() {
    let off = r#"{"isolation": {"enabled": false, "require": ["network"], "network": "host"}}"#;
    let instance = TestInstance::with_config(off);
    let ran = instance.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("no cage is available: "), "{ran:?}");
    assert!(ran.stdout.contains("isolation is off in the configuration: commands run "), "{ran:?}");
    for word in ["hint: `isolation.enabled`", "held by: ", "observed", "that was examined"] {
        assert!(!ran.stdout.contains(word), "`{word}`: {ran:?}");
    }
}

#[test]
fn a_new_instance_has_isolation_on_where_this_host_can() {
    let instance = TestInstance::new();
    let ran = exec(&instance, "printenv HOME");
    assert_eq!(ran.code, 0, "{ran:?}");
    let caged = ran.stdout.contains("runtime-user-env");
    let config = std::fs::read_to_string(instance.home().join("config.json")).unwrap();
    assert_eq!(
        config.contains(r#""enabled": true"#),
        caged,
        "the first command runs under what it wrote: {config}"
    );
    assert_eq!(caged, has_native_cage("onboarding"));
}

#[test]
fn a_program_is_run_by_whatever_name_it_is_called() {
    let instance = TestInstance::with_config("{}");
    if !has_native_cage("names of programs") {
        return;
    }
    let project = instance.dir().join("project");
    std::fs::create_dir(&project).unwrap();
    for program in ["true", "/bin/true", "/usr/bin/true", "/bin/sh"] {
        let mut command = instance.command(&["run", "--", program]);
        let ran = crate::test_instance::ran(command.current_dir(&project).output().unwrap());
        assert_eq!(ran.code, 0, "`{program}`: {ran:?}");
    }
}

#[test]
fn a_layer_that_nobody_knows_cannot_be_broken() {
    let instance = TestInstance::with_config("{}");
    let ran = instance.run(&["doctor", "--fault", "bogus"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for layer in ["filesystem", "network", "processes", "syscalls", "environment", "limits", "all"] {
        assert!(ran.stderr.contains(layer), "`{layer}` is named: {ran:?}");
    }
}

#[test]
fn a_missing_exposure_is_found_by_the_check() {
    let exposed = r#""expose_paths": [{"source": "{dir}/gone", "mode": "ro"}, {"source": "{dir}", "target": "/x", "mode": "ro"}]"#;
    for (why, enabled, code) in [("it would stop the start", true, 2), ("it would not yet", false, 0)] {
        let instance =
            TestInstance::with_config(&format!(r#"{{"isolation": {{"enabled": {enabled}, {exposed}}}}}"#));
        let ran = instance.run(&["config", "check"]);
        assert_eq!(ran.code, code, "{why}: {ran:?}");
        assert_eq!(ran.stderr.matches("/gone` is to be shown").count(), 1, "{why}: {ran:?}");
        let json: Value = serde_json::from_str(&instance.run(&["config", "check", "--json"]).stdout).unwrap();
        assert_eq!(json["ok"], !enabled, "{why}: {json}");
        std::fs::create_dir(instance.dir().join("gone")).unwrap();
        assert_eq!(instance.run(&["config", "check"]).code, 0, "{why}: once it is there");
    }
}

/// The binary on a host that gives no user namespaces: one of our own, in which no further ones may be made.
fn without_user_namespaces(instance: &TestInstance, arguments: &[&str]) -> Option<crate::test_instance::Ran> {
    let mut inner = std::process::Command::new("unshare");
    let line = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let command = instance.command(arguments);
    inner.args(["-Ur", "sh", "-c", line, "sh"]).arg(command.get_program()).args(command.get_args());
    inner.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    std::fs::create_dir_all(instance.dir().join("project")).unwrap();
    inner.current_dir(instance.dir().join("project")).stdin(std::process::Stdio::null());
    let ran = crate::test_instance::ran(inner.output().unwrap());
    if ran.stderr.contains("unshare") || ran.stderr.contains("max_user_namespaces") {
        picoclaw_testing::skip!("a user namespace without others cannot be made here: {}", ran.stderr);
        return None;
    }
    Some(ran)
}

#[test]
fn without_user_namespaces_the_weaker_backend_is_taken_and_says_what_it_lacks() {
    let instance = TestInstance::with_config("{}");
    std::fs::write(instance.dir().join("secret"), "SECRET").unwrap();
    let Some(ran) = without_user_namespaces(
        &instance,
        &["run", "--net", "host", "--", "sh", "-c", "echo in; cat ../secret"],
    ) else {
        return;
    };
    assert!(ran.stdout.starts_with("in\n") && ran.code == 1, "{ran:?}");
    assert!(!ran.stdout.contains("SECRET"), "{ran:?}");
    assert!(ran.stderr.contains("Landlock alone holds less than a cage"), "each loss is named: {ran:?}");
    let socket = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or exit 7";
    for (why, network, code) in [("closed by refusing sockets", "none", 7), ("the control: open", "host", 0)]
    {
        let ran = without_user_namespaces(&instance, &["run", "--net", network, "--", "perl", "-e", socket])
            .unwrap();
        assert_eq!(ran.code, code, "the network, {why}: {ran:?}");
        assert_eq!(ran.stderr.contains("there is no loopback"), code == 7, "{why}: {ran:?}");
    }
    let ran = without_user_namespaces(&instance, &["doctor"]).unwrap();
    assert!(ran.stdout.contains("`sudo sysctl user.max_user_namespaces=10000` does"), "the remedy: {ran:?}");
    instance.configure(r#"{"isolation": {"enabled": true, "backend": "native"}}"#);
    let ran = without_user_namespaces(&instance, &["tool", "list_dir", "{}"]).unwrap();
    assert_eq!(ran.code, 2, "enabled and not to be had: the program does not start: {ran:?}");
    assert!(ran.stderr.contains("hint:") && ran.stderr.contains("isolation.enabled"), "{ran:?}");
    let ran = instance.run(&["tool", "list_dir", "{}"]);
    let again = without_user_namespaces(&instance, &["tool", "list_dir", "{}"]).unwrap();
    assert_eq!(
        (ran.code == 0, again.code),
        (has_native_cage("outside"), 2),
        "no note of another place applies"
    );
}
