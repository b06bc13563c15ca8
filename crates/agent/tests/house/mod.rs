//! A whole house in a temporary directory, for tests that need one.

use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::tools::Registry;
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Origin, Policy, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::harden_self;
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) struct House {
    _dir: tempfile::TempDir,
    /// Where everything lies; the instance is `home` in it.
    pub(crate) base: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) hall: ToolExecutor,
}

impl House {
    pub(crate) fn new(config: &Config) -> Self {
        harden_self().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let home = base.join("home");
        let instance = Instance::prepare(&home, config, &[]).unwrap();
        let files = Files::open(instance.zones(), &instance.locks()).unwrap();
        let ledger = Ledger::open(&instance.ledger()).unwrap();
        let exec_env = ExecEnv::new(config, &instance, std::env::vars_os()).unwrap();
        let policy = Policy::compile(config, instance.zones(), Vec::new()).unwrap();
        let warden = Arc::new(Warden::new(policy, files, exec_env, ledger));
        let registry = Arc::new(Registry::new(&config.tools, Redactor::new(&config.secrets)));
        Self { _dir: dir, base, home, hall: ToolExecutor::new(warden, registry) }
    }

    /// The text of every record.
    pub(crate) fn ledger(&self) -> String {
        let entries = std::fs::read_dir(self.home.join("ledger")).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let records = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        records.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }
}

pub(crate) fn subject() -> Subject {
    Subject::root(Origin::Cli, AgentId::main(), "s")
}
