//! A command of the operator: `picoclaw run` and `picoclaw mcp wrap`.
//!
//! It is caged whatever the configuration says about isolation, and recorded before it starts and
//! when it ends.

use super::exec_env::log_unenforced;
use super::manifest_paths::manifest_paths;
use crate::broker::{CommandNetwork, NetworkReport};
use crate::command_error::CommandError;
use crate::confine::{CageRequest, ChildDir, PlannedCage};
use crate::file_lock::FileLock;
use crate::host_agents::HostAgents;
use crate::instance::Instance;
use crate::isolate::{
    self, Backend, CacheMode, CommandSource, HostFiles, LiveHost, MountReason, MountRule, Plan, SearchPath,
    StartError, UserEnvironment, select_backend,
};
use crate::launch::environment::{self, Variables};
use crate::launch::{
    self, CancelToken, Deadline, Finished, LaunchError, LaunchSpec, ListeningPort, NetCounters, Principal,
    PublishError, PublishedPort, Running, Status, Streams, WorkDir,
};
use crate::ledger::{Entry, Ledger};
use crate::os_file::{AtFlags, CWD, read_regular_file, statat};
use crate::permit::OutcomeGuard;
use crate::project_envs::ProjectEnvs;
use crate::protect::{Report, Watch};
use picoclaw_policy::config::{Expose, ExposeMode, IsolationConfig, Network, mask_words};
use picoclaw_policy::{CleanPath, Grant, Subject, Verdict};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A command of the operator.
#[derive(Debug)]
pub struct OperatorCommand<'c> {
    /// The cage, with the command line's flags on top of the configuration.
    pub isolation: &'c IsolationConfig,
    /// The instance; the child sees only its own user environment of it.
    pub instance: &'c Instance,
    /// Whose user environment it gets.
    pub principal: Principal,
    /// Where it works.
    pub dir: ChildDir<'c>,
    /// Where a program that is named by a relative path is looked for.
    pub from: &'c Path,
    /// The program and its arguments.
    pub command: &'c [OsString],
    /// What of the operator's home appears in its own.
    pub home: &'c [HomeMount],
    /// Variables that the operator gave it, on top of those that pass.
    pub variables: &'c [(OsString, OsString)],
    /// The operator's own environment.
    pub host: Variables,
    /// Its input and output.
    pub streams: Streams,
    /// How long it may run.
    pub deadline: Deadline,
    /// On whose behalf it is recorded.
    pub subject: Subject,
    /// The name of the tool in the record.
    pub tool: &'c str,
    /// The operator's agents that it may use.
    pub agents: HostAgents,
    /// The caches of package managers that it has.
    pub cache: CacheMode,
    /// Ports of the host that lead into its closed network.
    pub publish: &'c [PublishedPort],
}

/// A file or directory of the host in the home of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeMount {
    /// Its path on the host.
    pub source: PathBuf,
    /// Its path beneath the child's home.
    pub place: PathBuf,
    /// Whether the child may write it.
    pub mode: ExposeMode,
}

/// A running command. Dropping it kills its process tree.
#[derive(Debug)]
pub struct RunningCommand {
    /// The child.
    pub running: Running,
    outcome: OutcomeGuard,
    protected: Watch,
    plan: Arc<Plan>,
    work_dir: PathBuf,
    /// When it was started.
    began: SystemTime,
    /// The names of its variables.
    variables: Vec<OsString>,
    /// Those of a network namespace of its own.
    counters: Option<NetCounters>,
    /// Its network, if others reach it or it reaches hosts by name.
    network: Option<CommandNetwork>,
    /// Held until the child has ended.
    in_use: Option<FileLock>,
}

/// A path that a failed command may have missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenTarget {
    /// A link in its directory, or an argument.
    pub name: PathBuf,
    /// What it leads to, which the cage does not show.
    pub target: PathBuf,
    /// What does not exist yet, and would lie in `target`.
    pub missing: Option<PathBuf>,
}

/// The most names of a directory that are looked at, and the most paths that are named.
const MAX_NAMES: usize = 1_000;
const MAX_HIDDEN: usize = 3;

/// The largest script that is told from a program.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

impl RunningCommand {
    /// Links in the working directory and in the workspace, paths of its manifests, and arguments,
    /// that lead to what the cage does not show. What lies behind a name with a dot is not for a
    /// hint.
    pub fn hidden_targets(&self, arguments: &[OsString]) -> Vec<HiddenTarget> {
        if self.plan.mounts.is_empty() {
            // Nothing is hidden where nothing is mounted.
            return Vec::new();
        }
        let workspaces = self.plan.mounts.iter().filter_map(|rule| match rule {
            MountRule::Bind { source, reason: MountReason::Workspace, .. } => Some(source.as_path()),
            _ => None,
        });
        let dirs = workspaces.filter(|dir| *dir != self.work_dir).chain([self.work_dir.as_path()]);
        let names = dirs.filter_map(|dir| std::fs::read_dir(dir).ok());
        let links = names.flat_map(|names| names.flatten().take(MAX_NAMES));
        let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let of_manifests = manifest_paths(&self.work_dir);
        // A pattern is no path.
        let is_path = |word: &&OsString| !word.as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
        let words = arguments.iter().filter(is_path).chain(&of_manifests);
        let named = words.filter_map(|argument| self.absolute(argument));
        let mut hidden: Vec<HiddenTarget> = Vec::new();
        for name in links.map(|entry| entry.path()).chain(named) {
            let (name, target, missing) = match name.canonicalize() {
                Ok(target) => (name, target, None),
                // It may be to be made.
                Err(_) => match name.parent().and_then(|parent| parent.canonicalize().ok()) {
                    Some(parent) => (parent.clone(), parent, Some(name)),
                    None => continue,
                },
            };
            let common = target.iter().zip(&self.work_dir).take_while(|(one, other)| one == other).count();
            let is_private = target.iter().skip(common).any(|part| part.as_encoded_bytes().starts_with(b"."));
            let is_masked = self.is_socket_of_host(&target) && !self.plan.binds(&target);
            let is_shown =
                (self.plan.shows(&target) && !is_masked) || self.plan.private_dirs().contains(&target);
            let is_known = hidden.iter().any(|known| known.target == target);
            if !is_private && !is_shown && !is_known && !is_system_path(&target) {
                hidden.push(HiddenTarget { name, target, missing });
            }
        }
        hidden.truncate(MAX_HIDDEN);
        hidden
    }

    /// Files of the host that words name, and that private directories of the cage hide.
    pub fn private_files(&self, words: &[OsString]) -> Vec<PathBuf> {
        let private = self.plan.private_dirs();
        let named = words.iter().filter_map(|word| self.absolute(word)).filter(|path| {
            let is_private = ["/tmp", "/var/tmp"].iter().any(|dir| path.starts_with(dir));
            is_private && private.iter().any(|dir| path.starts_with(dir))
        });
        named.filter(|path| path.is_file() && !self.plan.shows(path)).take(MAX_HIDDEN).collect()
    }

    /// The protected entries of its workspace that words of the command name, or that lie in what
    /// other words remove, as `--unprotect` takes them.
    pub fn protected_targets(&self, changed: &[OsString], removed: &[OsString]) -> Vec<String> {
        let paths =
            |words: &[OsString]| words.iter().filter_map(|word| self.absolute(word)).collect::<Vec<_>>();
        let entries = self.protected.entries_at(&paths(changed), &paths(removed));
        entries.into_iter().take(MAX_HIDDEN).collect()
    }

    /// Whether it has a variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|known| known == name)
    }

    /// Whether a path is a socket that was there when the command started.
    fn is_socket_of_host(&self, path: &Path) -> bool {
        // The type among the bits of the mode, and that of sockets.
        let is_socket =
            statat(CWD, path, AtFlags::empty()).is_ok_and(|found| found.st_mode & 0o170_000 == 0o140_000);
        let modified = path.metadata().and_then(|found| found.modified());
        is_socket && modified.is_ok_and(|at| at < self.began)
    }

    /// The path that a word of the command stands for.
    fn absolute(&self, word: &OsString) -> Option<PathBuf> {
        Some(CleanPath::absolute(&self.work_dir.join(word))?.as_path().to_owned())
    }

    /// Whether a command whose network is closed tried to reach a host, as far as that is known.
    pub fn missed_network(&self) -> bool {
        // A broker's answer to a program that is gone counts like a question without a server.
        let has_tried = match self.plan.network {
            Network::Allow(_) => NetCounters::had_no_route,
            _ => NetCounters::has_tried,
        };
        self.counters.as_ref().is_some_and(has_tried)
    }

    /// Whether a command whose network is closed found a port of its loopback closed.
    pub fn was_refused(&self) -> bool {
        self.counters.as_ref().is_some_and(NetCounters::was_refused)
    }

    /// The hosts that a command asked for by name and did not reach.
    pub fn missed_hosts(&self) -> NetworkReport {
        self.network.as_ref().map(CommandNetwork::take_report).unwrap_or_default()
    }

    /// Waits for the end of a child whose output goes to pipes.
    pub fn finish_with_output(self) -> Finished {
        let Self { running, outcome, protected, in_use, .. } = self;
        let finished = running.finish_with_output(&CancelToken::new(), &|_| {});
        let _report = protected.settle(outcome, finished.status);
        drop(in_use);
        finished
    }

    /// Records how the child ended, and returns what became of the protected files.
    pub fn finish(self, status: Status) -> Report {
        let Self { outcome, protected, in_use, .. } = self;
        let report = protected.settle(outcome, status);
        drop(in_use);
        report
    }
}

impl OperatorCommand<'_> {
    /// Starts the child in its cage, and returns when its program runs.
    pub fn start(&self, ledger: Ledger) -> Result<RunningCommand, CommandError> {
        let in_use = self.enter_project()?;
        Ok(RunningCommand { in_use, ..self.start_child(ledger)? })
    }

    /// Keeps the project's user environment from being removed; `None` if no project has it.
    fn enter_project(&self) -> Result<Option<FileLock>, CommandError> {
        let project = match (&self.principal, self.dir) {
            (Principal::Project(path), _) => path.as_path(),
            (Principal::Mcp(_), ChildDir::Path { path, .. } | ChildDir::Project { path, .. }) => path,
            _ => return Ok(None),
        };
        Ok(Some(ProjectEnvs::open(self.instance.home())?.enter(&self.principal, project)?))
    }

    fn start_child(&self, ledger: Ledger) -> Result<RunningCommand, CommandError> {
        let ledger = Arc::new(ledger);
        let path = environment::get(&self.host, "PATH").filter(|path| !path.is_empty());
        let path = path.unwrap_or(OsStr::new(isolate::DEFAULT_PATH));
        let name = self.command.first().ok_or(CommandError::Nothing)?;
        let search = match self.dir {
            ChildDir::Project { path: dir, .. } => SearchPath::All(dir).apply(path),
            _ => path.to_owned(),
        };
        let program = launch::find_program(name, &search, self.from)?;
        let user = UserEnvironment::of(self.instance.home(), &self.principal);
        user.prepare().map_err(|error| CommandError::unusable(user.path(), error))?;
        let reached = self.isolation.network.hosts();
        let reaches = |port: &&PublishedPort| {
            reached.is_some_and(|hosts| hosts.ports("localhost").contains(&port.host))
        };
        if let Some(port) = self.publish.iter().find(reaches) {
            return Err(PublishError::Loop { port: port.host }.into());
        }
        let ports = self.publish.iter().map(|port| port.listen()).collect::<Result<Vec<_>, _>>()?;
        let mut isolation = self.isolation_with_home(&user)?;
        let lent = self.agents.find(&self.host, &user)?;
        isolation.expose_paths.extend(lent.exposures);
        let planned = PlannedCage::new(CageRequest {
            isolation: &isolation,
            instance: self.instance,
            user: &user,
            dir: self.dir,
            source: CommandSource::Operator { program: &program, arguments: self.shown_arguments() },
            protected: self.instance.covered(),
            host: &self.host,
            private: lent.private,
            cache: self.cache,
        })?;
        if tracing::enabled!(target: "isolation", tracing::Level::INFO) {
            for rule in planned.lines() {
                tracing::info!(target: "isolation", rule, "{}", isolate::PLAN_LOG_ENTRY);
            }
        }
        let (work_dir, mut variables) = (self.dir.resolve(&user), lent.variables);
        variables.extend(planned.named_dir().map(|dir| ("PWD".into(), dir.into())));
        let prepared = PreparedCommand { program: &program, planned, work_dir, variables, ports };
        if let Some(backend) = isolate::untried_backend(&isolation) {
            match self.start_on(&backend, &prepared, &ledger) {
                Err(CommandError::Launch(LaunchError::Confinement(_) | LaunchError::Step { .. })) => {}
                done => return done,
            }
        }
        let backend = select_backend(&isolation, path).map_err(|why| match why {
            // Its files have another path in the child's home.
            StartError::CannotEnforce { .. } if !self.home.is_empty() => {
                let (flag, needs) = ("--profile", "a mount namespace");
                CommandError::Flag { flag, needs, backend: "Landlock" }
            }
            why => why.into(),
        })?;
        log_unenforced(&backend, &isolation);
        self.start_on(&backend, &prepared, &ledger)
    }

    /// The cage, with what appears in the child's home. What does not exist is left out.
    fn isolation_with_home(&self, user: &UserEnvironment) -> Result<IsolationConfig, CommandError> {
        let mut isolation = self.isolation.clone();
        for HomeMount { source, place, mode } in self.home {
            let Some(found) = LiveHost.find(source) else { continue };
            let target = user.mount_point(place, found.kind);
            let target = target
                .map_err(|errno| CommandError::unusable(&user.path().join("home").join(place), errno))?;
            isolation.expose_paths.push(Expose { source: found.resolved, target, mode: *mode });
        }
        Ok(isolation)
    }

    /// Arguments whose paths are shown to the child. None for a person's own command: what it may
    /// see beyond its directory is said with flags. The command line of a server is written once
    /// and names what the server is for.
    fn shown_arguments(&self) -> &[OsString] {
        match self.principal {
            Principal::Project(_) => &[],
            _ => self.command.get(1..).unwrap_or_default(),
        }
    }

    /// A flag that this backend cannot hold, and what it needs.
    fn unsupported_flag(&self, backend: &Backend) -> Option<(&'static str, &'static str)> {
        const MOUNTS: &str = "a mount namespace";
        let has_mounts = backend.has_mounts();
        match self.cache {
            CacheMode::Shared if !backend.is_native() => Some(("--cache shared", "a native cage")),
            CacheMode::None if !has_mounts => Some(("--cache none", MOUNTS)),
            _ if self.isolation.network.hosts().is_some() && !backend.is_native() => {
                Some(("--allow-host", "a native cage"))
            }
            _ if self.isolation.tmp_mb.is_some() && !has_mounts => Some(("--tmp", MOUNTS)),
            _ if self.isolation.debug && !has_mounts => Some(("--debug", "a pid namespace")),
            _ => None,
        }
    }

    /// Records the command, then starts the child.
    fn start_on(
        &self,
        backend: &Backend,
        prepared: &PreparedCommand<'_>,
        ledger: &Arc<Ledger>,
    ) -> Result<RunningCommand, CommandError> {
        let PreparedCommand { program, planned, work_dir, variables, ports } = prepared;
        if !ports.is_empty() && !backend.is_native() {
            return Err(PublishError::Backend { backend: backend.name() }.into());
        }
        if let Some((flag, needs)) = self.unsupported_flag(backend) {
            return Err(CommandError::Flag { flag, needs, backend: backend.name() });
        }
        let confined = planned.build(backend)?;
        let handle = WorkDir::open(work_dir).map_err(|errno| CommandError::unusable(work_dir, errno))?;
        let decided = self.decided(work_dir).enforcing(confined.layers());
        ledger.append(std::slice::from_ref(&decided))?;
        let outcome = OutcomeGuard::new(Arc::clone(ledger), decided);
        let (program, argv) = with_shell(program, self.command);
        let (mut names, began) = (Vec::new(), SystemTime::now());
        let started =
            confined.spec(program, argv, handle, self.principal.clone()).and_then(|(spec, protected)| {
                let mut spec = LaunchSpec { streams: self.streams.clone(), deadline: self.deadline, ..spec };
                for (name, value) in variables.iter().chain(self.variables) {
                    environment::set(&mut spec.environment, name, value.clone());
                }
                names.extend(spec.environment.iter().map(|(name, _)| name.clone()));
                let hosts = planned.plan().network.hosts();
                if ports.is_empty() && hosts.is_none() {
                    return Ok((launch::start(spec)?, protected, None));
                }
                let network = CommandNetwork::new(hosts, &outcome)
                    .map_err(|error| LaunchError::step("make its network", error))?;
                network.join(&mut spec.setup);
                let running = launch::start(spec)?;
                ports
                    .iter()
                    .try_for_each(|port| port.relay(network.closed()))
                    .map_err(|error| LaunchError::step("publish a port", error))?;
                Ok((running, protected, Some(network)))
            });
        match started {
            Ok((running, protected, network)) => {
                let (plan, work_dir) = (Arc::clone(planned.plan()), work_dir.clone());
                // With bubblewrap the supervisor is outside of the namespace.
                let is_own = !plan.network.is_open() && backend.is_native();
                let counters = is_own.then(|| running.take_net_counters());
                let in_use = None;
                Ok(RunningCommand {
                    running,
                    outcome,
                    protected,
                    plan,
                    work_dir,
                    began,
                    variables: names,
                    counters,
                    network,
                    in_use,
                })
            }
            Err(why) => {
                outcome.settle_as(&format!("not started: {why}"));
                Err(why.into())
            }
        }
    }

    fn decided(&self, work_dir: &Path) -> Entry {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let intent = format!("run in {}: {}", work_dir.display(), mask_words(&words).join(" "));
        let verdict = Verdict::Allow(Grant { rule: "the operator's own command".to_owned() });
        Entry::decided(&self.subject, self.tool, &intent, &verdict)
    }
}

/// What does not depend on the backend.
struct PreparedCommand<'c> {
    program: &'c Path,
    planned: PlannedCage<'c>,
    work_dir: PathBuf,
    /// Those that name the agents that it may use, and its directory.
    variables: Vec<(OsString, OsString)>,
    /// Ports of the host that lead to it.
    ports: Vec<ListeningPort>,
}

/// The program and its arguments; a script without a `#!` line is the shell's, as for shells and
/// `execvp`.
fn with_shell(program: &Path, command: &[OsString]) -> (PathBuf, Vec<OsString>) {
    let is_script = read_regular_file(program, MAX_SCRIPT_BYTES)
        .is_ok_and(|text| !text.contains(&0) && !text.starts_with(b"#!"));
    if !is_script {
        return (program.to_owned(), command.to_vec());
    }
    let arguments = command.iter().skip(1).cloned();
    ("/bin/sh".into(), ["sh".into(), program.into()].into_iter().chain(arguments).collect())
}

/// Whether a path is the kernel's or the system's, of which a cage has its own selection.
fn is_system_path(path: &Path) -> bool {
    let system = ["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];
    path == Path::new("/") || system.iter().any(|own| path.starts_with(own))
}
