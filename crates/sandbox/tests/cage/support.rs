//! A whole instance in a temporary directory, and children in its cage.

use picoclaw_policy::config::{
    Backend as BackendChoice, Expose, ExposeMode, IsolationConfig, Limits, Network,
};
use picoclaw_policy::{AgentId, ProtectRules};
use picoclaw_sandbox::isolate::{
    Backend, Cage, CommandSource, Confinement, HiddenPath, HostEntryKind, InstancePaths, LiveHost, Plan,
    PlanError, PlanRequest, SearchPath, UserEnvironment, WorkspaceMount, cage_variables, plan,
    toolchain_variables,
};
use picoclaw_sandbox::launch::environment::{Variables, set};
use picoclaw_sandbox::launch::{
    Deadline, Finished, LaunchError, LaunchSpec, Output, OutputLimit, Principal, Stdin, Streams, WorkDir,
    harden_self, run_to_end, wait_for_supervisors,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An instance of its own: secrets, a workspace with a file in it, another agent's workspace, a victim outside.
pub(crate) struct Instance {
    _base: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) isolation: IsolationConfig,
}

pub(crate) fn isolation() -> IsolationConfig {
    IsolationConfig {
        unix_sockets: false,
        enabled: true,
        expose_paths: Vec::new(),
        protect: ProtectRules::default(),
        backend: BackendChoice::Auto,
        network: Network::None,
        limits: Limits {
            memory_mb: 4096,
            processes: 1024,
            file_size_mb: 4096,
            open_files: 4096,
            cpu_seconds: 0,
        },
        env_pass: Vec::new(),
        debug: false,
        tmp_mb: None,
        toolchains: "none".into(),
        require: Vec::new(),
    }
}

pub(crate) fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| "/nonexistent".into(), PathBuf::from)
}

pub(crate) fn instance() -> Instance {
    harden_self().expect("hardening needs no privilege");
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let base = std::fs::canonicalize(temporary.path()).expect("it is there");
    let root = base.join("home/.picoclaw");
    let (workspace, outside) = (root.join("workspace"), base.join("outside"));
    for directory in
        [&workspace, &root.join("workspace-other"), &root.join("skills"), &root.join("cache"), &outside]
    {
        std::fs::create_dir_all(directory).expect("a directory");
    }
    for (path, text) in [
        (root.join("config.json"), "CONFIG-SECRET"),
        (root.join(".security.yml"), "YML-SECRET"),
        (root.join("workspace-other/notes"), "OTHER-SECRET"),
        (root.join("skills/skill.md"), "a skill"),
        (workspace.join("mine"), "mine"),
        (outside.join("victim"), "OUTSIDE-SECRET"),
    ] {
        std::fs::write(path, text).expect("a file");
    }
    Instance { _base: temporary, base, root, workspace, outside, isolation: isolation() }
}

impl Instance {
    pub(crate) fn view(&self) -> InstancePaths {
        let user = self.user();
        user.prepare().expect("directories");
        InstancePaths {
            open_workspaces: Vec::new(),
            root: self.root.clone(),
            workspace: Some(WorkspaceMount { path: self.workspace.clone(), mode: ExposeMode::ReadWrite }),
            user_environment: user.path().to_owned(),
            skills: self.root.join("skills"),
            protected: vec![HiddenPath { path: self.root.clone(), kind: HostEntryKind::Directory }],
        }
    }

    pub(crate) fn user(&self) -> UserEnvironment {
        UserEnvironment::of(&self.root, &Principal::Agent(AgentId::main()))
    }

    pub(crate) fn plan(&self) -> Result<Plan, PlanError> {
        let view = self.view();
        let request = PlanRequest {
            isolation: &self.isolation,
            instance: &view,
            source: CommandSource::Model,
            work_dir: &self.workspace,
            home: &home(),
            variables: &[],
            private: &[],
        };
        plan(&request, &LiveHost)
    }

    pub(crate) fn cage(&self) -> Confinement {
        let cage = Cage::new(self.plan().expect("a plan"), Backend::Native).expect("a cage");
        Confinement::Cage(Arc::new(cage))
    }

    /// `sh -c line` in the workspace, in this confinement.
    pub(crate) fn spec(&self, line: &str, confinement: Confinement) -> LaunchSpec {
        self.try_spec(line, &confinement, &self.workspace).expect("a confinement")
    }

    /// The same in `dir`, as it is now.
    pub(crate) fn try_spec(
        &self,
        line: &str,
        confinement: &Confinement,
        dir: &Path,
    ) -> Result<LaunchSpec, LaunchError> {
        let work_dir = WorkDir::open(dir).expect("the directory is there");
        let setup = confinement
            .child_setup(work_dir, Vec::new())
            .map_err(|error| LaunchError::Confinement(error.into()))?;
        Ok(LaunchSpec {
            program: "/bin/sh".into(),
            argv: vec!["sh".into(), "-c".into(), line.into()],
            environment: self.environment(),
            streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
            deadline: Deadline::After(Duration::from_secs(20)),
            output_limit: OutputLimit::default(),
            principal: Principal::Agent(AgentId::main()),
            setup,
        })
    }

    fn environment(&self) -> Variables {
        let search = SearchPath::Outside(Some(&self.workspace));
        let mut variables = cage_variables(std::env::vars_os(), &self.user(), &[], search);
        for (name, value) in
            toolchain_variables(&self.isolation.toolchains, (&home(), &[]), &LiveHost, &self.user())
        {
            set(&mut variables, name, value);
        }
        variables
    }

    pub(crate) fn run(&self, line: &str) -> Result<Finished, LaunchError> {
        run_to_end(self.spec(line, self.cage()))
    }

    pub(crate) fn expose(&mut self, source: &Path, target: &Path, mode: ExposeMode) {
        self.isolation.expose_paths.push(Expose { source: source.into(), target: target.into(), mode });
    }
}

/// Waits until the threads that serve children of this process have seen their ends. Until then each has a descriptor.
pub(crate) fn wait_for_threads() {
    wait_for_supervisors();
    let watching = || {
        let threads = std::fs::read_dir("/proc/self/task").expect("it is there").flatten();
        let name = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("comm")).ok();
        threads.filter_map(name).any(|name| name.trim() == "watch")
    };
    picoclaw_testing::wait_until("no thread watches a tree that has ended", || !watching());
}
