//! Claude Code and Codex as they are published, under their profiles, with a scripted model on the
//! loopback.

use super::{Project, is_here};
use crate::mcp::peers::peer;
use crate::test_instance::{Ran, ran};
use picoclaw_testing::wait_until;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const SERVER: &str = include_str!("../../peers/model_server.py");

/// What the model has the agent run: it works on the project, and tries what a profile does not give.
const ORDERS: &str = "echo made > made.txt; cat ~/.agent/login >/dev/null && echo the login is there; \
     (echo other > ~/.agent/login) 2>/dev/null || echo the login is kept; \
     cat HOST/.agent/history 2>/dev/null || cat ~/.agent/history 2>/dev/null || echo the history is hidden; \
     cat HOST/.ssh/id 2>/dev/null || cat ~/.ssh/id 2>/dev/null || echo the key is hidden";

/// A model on the loopback of the host.
struct Model {
    server: Child,
    log: PathBuf,
}

impl Model {
    /// `directory` is the agent's in a home, `login` its login in there.
    fn start(project: &Project, directory: &str, login: &str) -> Self {
        let host = project.instance.dir().to_str().unwrap();
        let orders =
            ORDERS.replace("HOST", host).replace(".agent/login", login).replace(".agent/", directory);
        let script = project.file("model_server.py", SERVER);
        let log = project.file("model.log", "");
        let mut server = Command::new("/usr/bin/python3");
        server.arg(script).arg(orders).stdin(Stdio::null());
        let server = server.stdout(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        let model = Self { server, log };
        wait_until("the model listens", || model.lines().len() == 1);
        model
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.lines()[0])
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The directory of npm packages, if they were fetched.
fn packages() -> Option<PathBuf> {
    peer("agents/node_modules").filter(|_| is_here("node") && is_here("python3"))
}

/// The native program of Claude Code, which npm fetches for this machine alone.
fn claude(packages: &std::path::Path) -> Option<String> {
    let mut names = std::fs::read_dir(packages.join("@anthropic-ai")).unwrap().flatten();
    let native = names.find_map(|entry| Some(entry.path().join("claude")).filter(|path| path.is_file()));
    if native.is_none() {
        picoclaw_testing::skip!("Claude Code has no program for this machine");
    }
    native.map(|path| path.to_str().unwrap().to_owned())
}

/// What both have done.
fn assert_work(project: &Project, model: &Model, ran: &Ran, login: &str) {
    assert_eq!(ran.code, 0, "{ran:?}");
    for said in ["the login is there", "the login is kept", "the history is hidden", "the key is hidden"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    assert!(!ran.stdout.contains("CANARY"), "{ran:?}");
    let made = project.dir().join("made.txt");
    assert_eq!(std::fs::read_to_string(&made).unwrap(), "made\n");
    std::fs::remove_file(made).unwrap();
    let lines = model.lines();
    assert!(lines.len() > 2 && lines[1..].iter().all(|line| line == login), "{lines:?}");
}

#[test]
fn claude_code_works_with_the_login_and_nothing_else_of_the_home() {
    let Some(project) = Project::new("Claude Code") else { return };
    let Some(program) = packages().and_then(|packages| claude(&packages)) else { return };
    let login = r#"{"claudeAiOauth": {"accessToken": "sk-ant-oat01-login", "refreshToken": "sk-ant-ort01-r",
        "expiresAt": 4102444800000, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}"#;
    let file = project.file(".claude/.credentials.json", login);
    project.file(".claude/history", "CANARY");
    project.file(".ssh/id", "CANARY");
    let model = Model::start(&project, ".claude/", ".claude/.credentials.json");
    let words = [program.as_str(), "-p", "make it", "--dangerously-skip-permissions"];
    let run = |flags: &[&str]| {
        let mut command = project.command(&[flags, &["--timeout", "120s", "--"], &words].concat());
        ran(command.env("ANTHROPIC_BASE_URL", model.url()).output().unwrap())
    };
    let ran = run(&["--profile", "claude"]);
    assert_work(&project, &model, &ran, "Bearer sk-ant-oat01-login");
    assert!(ran.stderr.contains("the network is open, to every host"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), login);
    // One port of the host's loopback and the hosts of the profile are enough for it.
    let named = run(&["--profile", "claude", "--allow-host", model.url().trim_start_matches("http://")]);
    assert_work(&project, &model, &named, "Bearer sk-ant-oat01-login");
    assert!(
        named.stderr.contains("the network reaches localhost:") && named.stderr.contains("api.anthropic.com")
    );
    // Without the profile it has no login, no address and no network, and is told of the profile.
    let ran = run(&[]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("`--profile claude`"), "{ran:?}");
}

#[test]
fn codex_works_with_the_login_and_nothing_else_of_the_home() {
    let Some(project) = Project::new("Codex") else { return };
    let Some(packages) = packages() else { return };
    let program = packages.join(".bin/codex");
    let file = project.file(".codex/auth.json", r#"{"OPENAI_API_KEY": "sk-login"}"#);
    project.file(".codex/history", "CANARY");
    project.file(".ssh/id", "CANARY");
    let model = Model::start(&project, ".codex/", ".codex/auth.json");
    let settings = format!(
        "model = 'gpt-5'\nmodel_provider = 'scripted'\n[model_providers.scripted]\nname = 'scripted'\n\
         base_url = '{}/v1'\nwire_api = 'responses'\nrequires_openai_auth = true\nsupports_websockets = false\n",
        model.url()
    );
    project.file(".codex/config.toml", &settings);
    let words = ["--", program.to_str().unwrap(), "exec", "--skip-git-repo-check", "make it"];
    let flags = ["--profile", "codex", "--timeout", "120s"];
    let ran = project.run(&[&flags[..], &words].concat());
    assert_work(&project, &model, &ran, "Bearer sk-login");
    assert!(ran.stderr.contains("the network is open, to every host"), "{ran:?}");
    assert!(ran.stderr.contains("its own sandbox is off"), "{ran:?}");
    assert!(std::fs::read_to_string(file).unwrap().contains("sk-login"));
}
