//! Helper programs of the operator in their cages: what each can see, and that it ends.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host directly"
)]

use picoclaw_policy::config::{AgentConfig, Config, ExposeMode, OwnIsolation};
use picoclaw_policy::{AgentId, Origin, Policy, Subject};
use picoclaw_sandbox::CommandError;
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::helper::HelperSpec;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::{
    CancelToken, Deadline, Finished, Output, OutputLimit, Principal, Status, Stdin, Streams, harden_self,
};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// An instance with two agents, a secret of each kind, and a home directory outside.
struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
    warden: Warden,
}

impl Place {
    fn new(isolated: bool) -> Self {
        harden_self().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let home = base.join("home/.picoclaw");
        let mut config = Config::default();
        config.isolation.enabled = isolated;
        config.secrets = vec!["provider-key-1".to_owned()];
        config.agents = ["main", "other"].map(|id| AgentConfig::plain(AgentId::parse(id).unwrap())).into();
        let instance = Instance::prepare(&home, &config, &[home.join("config.json")]).unwrap();
        for (file, text) in [
            ("home/.picoclaw/config.json", "CONFIG"),
            ("home/.picoclaw/workspace/notes", "NOTES"),
            ("home/.picoclaw/workspace-other/notes", "OTHERS"),
            ("home/diary", "DIARY"),
            ("data", "DATA"),
        ] {
            std::fs::write(base.join(file), text).unwrap();
        }
        let zones = instance.zones();
        let files = Files::open(zones.clone(), &instance.locks()).unwrap();
        let ledger = Ledger::open(&instance.ledger()).unwrap();
        let host = std::env::vars_os().chain([
            ("HOME".into(), base.join("home").into_os_string()),
            ("MODEL_KEY".into(), "provider-key-1".into()),
        ]);
        let exec_env = ExecEnv::new(&config, &instance, host).unwrap();
        let policy = Policy::compile(&config, zones, Vec::new()).unwrap();
        Self { _dir: dir, warden: Warden::new(policy, files, exec_env, ledger), base }
    }

    fn run(
        &self,
        name: &str,
        line: &str,
        dir: ChildDir<'_>,
        extra: &[&str],
    ) -> Result<Finished, CommandError> {
        let mut command: Vec<OsString> = ["/bin/sh", "-c", line, "sh"].map(OsString::from).into();
        command.extend(extra.iter().map(OsString::from));
        let subject = Subject::root(Origin::Mcp, AgentId::main(), "cli:default");
        let spec = HelperSpec {
            principal: Principal::Mcp(name.to_owned()),
            command: &command,
            variables: &[("GIVEN".into(), "yes".into())],
            dir,
            isolation: OwnIsolation::default(),
            streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
            deadline: Deadline::After(Duration::from_secs(20)),
            output_limit: OutputLimit::default(),
        };
        Ok(self.warden.start_helper(&spec, &subject)?.finish(&CancelToken::new(), &|_| {}))
    }

    fn says(&self, line: &str, dir: ChildDir<'_>, extra: &[&str]) -> String {
        self.run("files", line, dir, extra).unwrap().stdout.to_text()
    }

    fn ledger(&self) -> String {
        let dir = self.base.join("home/.picoclaw/ledger");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect()
    }
}

/// What a hostile helper tries; each line says `GOT` when it got through.
const TRIES: &[(&str, &str)] = &[
    ("the configuration", "cat BASE/home/.picoclaw/config.json && echo GOT"),
    ("an agent's workspace", "cat BASE/home/.picoclaw/workspac?/notes && echo GOT"),
    ("another agent's workspace", "cat BASE/home/.picoclaw/workspac?-other/notes && echo GOT"),
    ("the ledger", "ls BASE/home/.picoclaw/ledger/*.jsonl && echo GOT"),
    ("the operator's home", "cat BASE/home/diary && echo GOT"),
    ("other processes", "[ $(ls -d /proc/[0-9]* | wc -l) -gt 5 ] && echo GOT"),
];

#[test]
fn a_caged_helper_has_its_own_part_and_nothing_else() {
    let (caged, open) = (Place::new(true), Place::new(false));
    for (why, line) in TRIES {
        let told = |place: &Place| {
            place.says(&line.replace("BASE", place.base.to_str().unwrap()), ChildDir::Private, &[])
        };
        assert!(told(&open).contains("GOT"), "the control run: {why}");
        assert!(!told(&caged).contains("GOT"), "{why}");
    }
    // The cage has a temporary directory of its own: writing there succeeds and changes nothing outside.
    let planted = |place: &Place| {
        let file = place.base.join("home/planted");
        place.says(&format!("echo x > {}", file.display()), ChildDir::Private, &[]);
        file.exists()
    };
    assert!(planted(&open), "the control run: a write beside it");
    assert!(!planted(&caged), "a write beside it");
}

#[test]
fn secrets_stay_behind_with_and_without_a_cage() {
    for isolated in [true, false] {
        let place = Place::new(isolated);
        let told = place.says("env; cat /proc/$PPID/environ | tr '\\0' '\\n'", ChildDir::Private, &[]);
        assert!(told.contains("GIVEN=yes"), "what the operator gave it: {told}");
        assert!(!told.contains("provider-key-1"), "isolated: {isolated}: {told}");
    }
}

#[test]
fn each_helper_has_a_home_of_its_own() {
    let place = Place::new(true);
    let line = "pwd; echo $HOME; ls -A; touch planted";
    let home = place.base.join("home/.picoclaw/runtime-user-env/mcp/files/home");
    let home = home.to_str().unwrap();
    assert_eq!(place.says(line, ChildDir::Private, &[]), format!("{home}\n{home}\n"));
    assert!(
        place.says(line, ChildDir::Private, &[]).ends_with("planted\n"),
        "it is kept for the same helper"
    );
    let other = place.run("other", "ls -A; ls ../../files", ChildDir::Private, &[]).unwrap();
    assert_eq!(other.stdout.to_text(), "", "and another helper does not see it");
}

#[test]
fn a_helper_sees_the_paths_of_its_own_command_line_read_only() {
    let place = Place::new(true);
    let data = place.base.join("data");
    let line = "cat \"$1\"; echo x > \"$1\" && echo WROTE";
    assert_eq!(place.says(line, ChildDir::Private, &[data.to_str().unwrap()]), "DATA");
}

#[test]
fn a_helper_works_where_the_operator_says() {
    let place = Place::new(true);
    let workspace = place.base.join("home/.picoclaw/workspace");
    for (why, mode, want) in [
        ("read-write is writable", ExposeMode::ReadWrite, "NOTESWROTE\n"),
        ("read-only is not", ExposeMode::ReadOnly, "NOTES"),
    ] {
        let line = "cat notes; echo x 2>/dev/null > made && echo WROTE; ls ../workspace-other 2>/dev/null";
        assert_eq!(place.says(line, ChildDir::Path { path: &workspace, mode }, &[]), want, "{why}");
    }
}

#[test]
fn a_helper_is_in_the_ledger_from_start_to_end() {
    let place = Place::new(true);
    assert_eq!(place.run("files", "exit 3", ChildDir::Private, &[]).unwrap().status, Status::Exited(3));
    let ledger = place.ledger();
    let records: Vec<_> = ledger.lines().filter(|line| line.contains("\"tool\":\"helper\"")).collect();
    assert_eq!(records.len(), 2, "{ledger}");
    assert!(records[0].contains("start mcp/files in"), "{}", records[0]);
    assert!(records[1].contains("exit 3"), "{}", records[1]);
}
