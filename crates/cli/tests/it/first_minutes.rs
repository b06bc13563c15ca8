//! A person's first minutes, on real terminals: no model, a key in the environment, a local server, a
//! wrong key, a server that is down, a project.

use crate::model_server::{ModelServer, Said};
use crate::test_instance::TestInstance;
use crate::tmux::Tmux;
use picoclaw_testing::wait_until;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// An instance whose environment has a key and this server.
fn with_key(server: &ModelServer) -> TestInstance {
    TestInstance::new()
        .with_env("OPENAI_API_KEY", "sk-test-0123456789")
        .with_env("OPENAI_BASE_URL", &server.base())
}

/// A git work tree in the directory of the instance.
fn project(instance: &TestInstance) -> PathBuf {
    let dir = instance.dir().join("app");
    std::fs::create_dir_all(dir.join("src")).unwrap();
    make_git_dir(&dir);
    dir.canonicalize().unwrap()
}

/// As much of a git directory as tells that it is one.
fn make_git_dir(work_tree: &Path) {
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(work_tree.join(".git").join(name)).unwrap();
    }
    std::fs::write(work_tree.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

fn mode(path: PathBuf) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_program_alone_says_what_to_do_next() {
    let instance = TestInstance::new();
    let ran = instance.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 5, "{ran:?}");
    for word in ["picoclaw onboard", "picoclaw agent", "picoclaw run", "picoclaw doctor"] {
        assert!(ran.stderr.contains(word), "{word}: {ran:?}");
    }
    assert!(ran.stderr.lines().all(|line| line.chars().count() <= 80), "{ran:?}");
    assert!(!instance.home().exists());
}

#[test]
fn without_a_model_a_line_that_is_no_command_says_how_to_get_one() {
    let instance = TestInstance::new();
    let ran = instance.run(&["agent", "-m", "hello, what can you do?"]);
    assert!(ran.stdout.contains("hello,: command not found\nThere is no model yet"), "{ran:?}");
    assert!(ran.stdout.contains("`picoclaw onboard`"), "{ran:?}");
    // A command that fails is a command.
    let failed = instance.run(&["agent", "-m", "cat none"]);
    assert!(!failed.stdout.contains("There is no model"), "{failed:?}");
    let Some(tmux) = Tmux::shell(&instance, "40", instance.dir()) else { return };
    tmux.line("picoclaw agent");
    tmux.shows("the greeting in a narrow window", "main›");
    tmux.line("what is this?");
    tmux.says("the way on", "To talk to one: `picoclaw onboard`");
}

#[test]
fn a_key_in_the_environment_is_a_model() {
    let server = ModelServer::new(&[Said::Text("Hello from the model.")]);
    let instance = with_key(&server);
    let ran = instance.run(&["agent", "-m", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello from the model.\n"), "{ran:?}");
    assert!(ran.stderr.contains("picoclaw: the model is `gpt-4.1`, by `OPENAI_API_KEY`\n"), "{ran:?}");
    let (head, body) = server.requests().remove(0);
    assert!(head.to_lowercase().contains("authorization: bearer sk-test-0123456789"), "{head}");
    assert_eq!(body["model"], "gpt-4.1");
    let status = instance.run(&["status"]);
    assert!(status.stdout.contains("gpt-4.1 (by `OPENAI_API_KEY` in the environment)"), "{status:?}");
    // Another model, by the environment too.
    instance.run_with(&["agent", "-m", "hi"], &[("OPENAI_MODEL", "other")]);
    assert_eq!(server.requests().last().unwrap().1["model"], "other");
    // The key stays out of what commands see and print.
    let printed = instance.tool("exec", r#"{"command": "printenv OPENAI_API_KEY; echo sk-test-0123456789"}"#);
    assert!(!printed.stdout.contains("sk-test") && printed.stdout.contains("[FILTERED]"), "{printed:?}");
    // A configuration that names a model, or `direct`, is obeyed.
    let before = server.requests().len();
    let direct = instance
        .run_with(&["agent", "-m", "echo direct"], &[("PICOCLAW_AGENTS_DEFAULTS_MODEL_NAME", "direct")]);
    assert_eq!((direct.stdout.as_str(), server.requests().len()), ("direct\n", before), "{direct:?}");
}

#[test]
fn the_other_key_speaks_the_other_protocol() {
    let server = ModelServer::new(&[Said::Text("Hello.")]);
    let base = server.base();
    let instance = TestInstance::new()
        .with_env("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .with_env("ANTHROPIC_BASE_URL", base.trim_end_matches("/v1"))
        .with_env("OPENAI_API_KEY", "sk-test-0123456789");
    let ran = instance.run(&["agent", "-m", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello.\n"), "{ran:?}");
    let (head, _) = server.requests().remove(0);
    assert!(
        head.starts_with("POST /v1/messages ") && head.contains("x-api-key: sk-ant-0123456789"),
        "{head}"
    );
}

#[test]
fn a_model_that_fails_is_one_sentence_and_a_remedy() {
    let refused = ModelServer::new(&[Said::Fails(401, "Incorrect API key provided", "")]);
    let limited = ModelServer::new(&[Said::Fails(429, "Rate limit reached", "retry-after: 99\r\n")]);
    let down = TestInstance::new().with_env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    for (why, instance, says) in [
        (
            "a wrong key",
            with_key(&refused),
            "error: the provider refuses the key: Incorrect API key provided (status 401)\nhint: check the key",
        ),
        (
            "too many requests",
            with_key(&limited),
            "error: the provider has had too many requests: Rate limit reached (status 429)\nhint: try again in 99 s",
        ),
        (
            "a server that is down",
            down,
            "error: the provider cannot be reached: could not connect to `http://127.0.0.1:9`",
        ),
    ] {
        let ran = instance.run(&["agent", "-m", "hi"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{why}: {ran:?}");
        assert!(ran.stderr.contains(says), "{why}: {ran:?}");
        assert!(!ran.stderr.contains("after retries") && !ran.stderr.contains("\\n"), "{why}: {ran:?}");
        let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
        tmux.line("picoclaw agent");
        tmux.shows("ready", "main›");
        tmux.line("hi");
        tmux.says(why, says.trim_start_matches("error: "));
        tmux.keys(&["C-d"]);
    }
}

#[test]
fn onboard_sets_up_what_the_environment_has() {
    let server = ModelServer::new(&[Said::Text("ready"), Said::Text("Hello, I can read and write files.")]);
    let instance = with_key(&server);
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("picoclaw onboard");
    tmux.says("what was found", "1 gpt-4.1 OPENAI_API_KEY in the environment");
    tmux.says("the question", "Which model? [1]");
    tmux.keys(&["Enter"]);
    tmux.says("the test", "gpt-4.1 answers, in");
    tmux.says("the first turn", "Hello, I can read and write files.");
    tmux.says("the end", "picoclaw is ready. Next: `picoclaw agent`");
    let (config, secrets) = (instance.home().join("config.json"), instance.home().join(".security.yml"));
    assert_eq!((mode(config.clone()), mode(secrets.clone())), (0o600, 0o600));
    let written = std::fs::read_to_string(config).unwrap();
    assert!(!written.contains("sk-test"), "{written}");
    assert!(std::fs::read_to_string(secrets).unwrap().contains("sk-test-0123456789"));
    assert!(written.contains("\"isolation\""), "{written}");
    // From now on without the environment.
    let plain = instance
        .command(&["agent", "-m", "again"])
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENAI_BASE_URL")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "Hello, I can read and write files.\n", "{plain:?}");
    assert_eq!(server.requests().last().unwrap().1["model"], "gpt-4.1");
}

#[test]
fn onboard_finds_a_local_server() {
    let Some(_server) = ModelServer::at_port(11434, &[Said::Text("Local and ready.")]) else {
        picoclaw_testing::skip!("a model server on its default port: port 11434 is taken");
        return;
    };
    let instance = TestInstance::new();
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("picoclaw onboard");
    tmux.says("what was found", "tiny:1b  ollama on port 11434");
    tmux.keys(&["Enter"]);
    tmux.says("the first turn", "Local and ready.");
    tmux.says("the end", "picoclaw is ready. Next: `picoclaw agent`");
    assert!(!instance.home().join(".security.yml").exists(), "there is no key to keep");
}

#[test]
fn onboard_keeps_asking_after_a_wrong_key() {
    let server = ModelServer::new(&[Said::Fails(401, "Incorrect API key provided", "")]);
    let instance = with_key(&server);
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("picoclaw onboard");
    tmux.says("the question", "Which model? [1]");
    tmux.keys(&["Enter"]);
    tmux.says("why not", "error: the provider refuses the key: Incorrect API key provided (status 401)");
    tmux.shows("asked again", "Which model? [1]");
    tmux.line("n");
    tmux.says("without a model", "no model for now");
    let written = std::fs::read_to_string(instance.home().join("config.json")).unwrap();
    assert!(!written.contains("model_list"), "{written}");
    assert!(!instance.home().join(".security.yml").exists());
}

#[test]
fn ctrl_c_leaves_onboard_and_a_key_needs_a_provider() {
    let instance = TestInstance::new();
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("picoclaw onboard");
    tmux.says("the question", "Which model? [n]");
    tmux.line("o");
    tmux.says("which one", "Provider and model");
    tmux.line("foo");
    tmux.says("no key is asked for", "a provider and a model, please");
    tmux.keys(&["C-c"]);
    tmux.says("the shell", "^C $");
    tmux.line("echo left with $?");
    tmux.says("the end", "left with 130");
}

#[test]
fn onboard_takes_flags_instead_of_answers() {
    let server = ModelServer::new(&[Said::Text("ready"), Said::Text("Hello.")]);
    let instance = TestInstance::new().with_env("MY_KEY", "sk-mine-0123456789");
    let flags =
        ["onboard", "--model", "openai/my-model", "--api-base", &server.base(), "--key-env", "MY_KEY"];
    let ran = instance.run(&flags);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("my-model answers, in ") && ran.stdout.contains("\nHello.\n"), "{ran:?}");
    assert!(server.requests()[0].0.to_lowercase().contains("bearer sk-mine-0123456789"));
    assert_eq!(server.requests()[1].1["model"], "my-model");
    let failing = ModelServer::new(&[Said::Fails(500, "broken", "")]);
    let other = TestInstance::new();
    let ran = other.run(&["onboard", "--model", "openai/m", "--api-base", &failing.base()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!std::fs::read_to_string(other.home().join("config.json")).unwrap().contains("model_list"));
    let unset = other.run(&["onboard", "--model", "openai/m", "--key-env", "NOT_SET"]);
    assert!(unset.code == 2 && unset.stderr.contains("NOT_SET"), "{unset:?}");
}

#[test]
fn a_configuration_without_isolation_says_so() {
    let instance = TestInstance::with_config(r#"{"version": 3}"#);
    let line = "isolation is off: `config.json` does not name it";
    assert!(instance.run(&["status"]).stdout.contains(line));
    if let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) {
        tmux.line("picoclaw agent");
        tmux.says("at the start", line);
    }
    instance.configure(r#"{"version": 3, "isolation": {"enabled": false}}"#);
    assert!(!instance.run(&["status"]).stdout.contains(line), "it was said outright");
}

#[test]
fn in_a_project_the_agent_works_there_after_one_question() {
    let instance = TestInstance::new();
    let app = project(&instance);
    // Nobody can be asked: the configured workspace, as before.
    let mut command = instance.command(&["agent", "-m", "pwd"]);
    let ran = crate::test_instance::ran(command.current_dir(app.join("src")).output().unwrap());
    assert_eq!(
        ran.stdout,
        format!("{}\n", instance.workspace().canonicalize().unwrap().display()),
        "{ran:?}"
    );
    let Some(tmux) = Tmux::shell(&instance, "100", &app.join("src")) else { return };
    tmux.line("picoclaw agent");
    tmux.says("the question", &format!("This is a project: {}", app.display()));
    tmux.shows("the choice", "Work in this project? [Y/n] (asked once for this directory)");
    tmux.line("y");
    tmux.says("where", &format!("Working in {}", app.display()));
    tmux.line("touch made; printenv HOME");
    tmux.says("a home of its own", "agents/main%40app-");
    tmux.shows("ready", "main›");
    tmux.keys(&["C-d"]);
    tmux.shows("left", "$");
    assert!(app.join("made").is_file());
    // It is remembered, for programs too.
    let ran = crate::test_instance::ran(command.output().unwrap());
    assert_eq!(ran.stdout, format!("{}\n", app.display()), "{ran:?}");
    assert!(ran.stderr.contains(&format!("picoclaw: working in `{}`", app.display())), "{ran:?}");
    let record = std::fs::read_to_string(instance.home().join("state/projects.json")).unwrap();
    assert!(record.contains(app.to_str().unwrap()), "{record}");
    // The agent cannot answer for itself.
    let own = instance.tool("write_file", r#"{"path": "../state/projects.json", "content": "{}"}"#);
    assert_eq!(own.code, 1, "{own:?}");
}

#[test]
fn a_no_is_remembered_too() {
    let instance = TestInstance::new();
    let app = project(&instance);
    let Some(tmux) = Tmux::shell(&instance, "100", &app) else { return };
    for _ in 0..2 {
        tmux.line("clear; picoclaw agent");
        if tmux_asks(&tmux) {
            tmux.line("n");
        }
        tmux.shows("ready", "main›");
        assert!(!tmux.screen().contains("Working in"), "{}", tmux.screen());
        tmux.keys(&["C-d"]);
        tmux.shows("left", "$");
    }
    assert!(!tmux.screen().contains("[Y/n]"), "asked once: {}", tmux.screen());
}

/// Waits for the agent or its question; whether it was the question.
fn tmux_asks(tmux: &Tmux) -> bool {
    let is_there = || {
        let screen = tmux.screen();
        screen.ends_with("main›") || screen.contains("[Y/n]")
    };
    wait_until("the agent, or its question", is_there);
    tmux.screen().contains("[Y/n]")
}

#[test]
fn a_named_workspace_is_the_project() {
    let instance = TestInstance::new();
    let app = project(&instance);
    std::fs::write(app.join("note.txt"), "in the project\n").unwrap();
    let sub = app.join("src");
    let sub = sub.to_str().unwrap();
    let read = instance.run(&["tool", "-C", sub, "read_file", r#"{"path": "note.txt"}"#]);
    assert_eq!((read.code, read.stdout.as_str()), (0, "in the project\n"), "{read:?}");
    let agent = instance.run(&["agent", "--workspace", sub, "-m", "pwd"]);
    assert_eq!(agent.stdout, format!("{}\n", app.display()), "{agent:?}");
    let note = app.join("note.txt").display().to_string();
    assert_eq!(instance.run(&["check", "-C", sub, "write", &note]).code, 0);
    assert_eq!(instance.run(&["check", "write", &note]).code, 1, "without the flag it is outside");
    // What is too much for a workspace is too much here.
    for (why, dir) in [
        ("the machine", "/"),
        ("a system directory", "/etc"),
        ("the instance", instance.dir().to_str().unwrap()),
    ] {
        let ran = instance.run(&["agent", "-C", dir, "-m", "pwd"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{why}: {ran:?}");
    }
    let missing = instance.run(&["tool", "-C", "/no/such/dir", "list_dir", "{}"]);
    assert_eq!(missing.code, 2, "{missing:?}");
}

#[test]
fn one_project_plants_nothing_in_another() {
    let instance = TestInstance::new();
    let one = project(&instance);
    let two = instance.dir().join("two");
    make_git_dir(&two);
    let plant = r#"{"command": "mkdir -p $XDG_CONFIG_HOME && touch $XDG_CONFIG_HOME/planted && ls $XDG_CONFIG_HOME"}"#;
    let look = r#"{"command": "ls -A $XDG_CONFIG_HOME"}"#;
    let planted = instance.run(&["tool", "-C", one.to_str().unwrap(), "exec", plant]);
    assert!(planted.stdout.contains("planted"), "{planted:?}");
    let control = instance.run(&["tool", "-C", one.to_str().unwrap(), "exec", look]);
    assert!(control.stdout.contains("planted"), "it stays in its own project: {control:?}");
    for arguments in [&["tool", "-C", two.to_str().unwrap(), "exec", look][..], &["tool", "exec", look]] {
        let seen = instance.run(arguments);
        assert!(seen.code == 0 && !seen.stdout.contains("planted"), "{seen:?}");
    }
    // `clean` knows whose it is.
    std::fs::remove_dir_all(&one).unwrap();
    let cleaned = instance.run(&["clean"]);
    assert!(cleaned.stdout.contains("agents/main%40app-"), "{cleaned:?}");
}
