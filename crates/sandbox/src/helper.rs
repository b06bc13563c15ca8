//! Helper programs of the operator: MCP servers, hooks, command-line providers.
//!
//! The configuration names them, so they see their own program and the paths in their own command
//! line. Their output is as untrusted as a model's. Each has a user environment of its own and is
//! caged whenever isolation is on.

use crate::agent_writable::AgentWritable;
use crate::broker::CommandNetwork;
use crate::command_error::CommandError;
use crate::confine::{CageRequest, ChildDir, Confined, PlannedCage, Settings, operator_home};
use crate::fetched::{FetchPlace, PackageCommand};
use crate::instance::Workspace;
use crate::isolate::{self, CacheMode, CommandSource, HiddenPath, IsolateError, UserEnvironment};
use crate::launch::{
    self, CancelToken, Deadline, Finished, LaunchError, LaunchSpec, OutputLimit, Principal, Running, Status,
    Streams, WorkDir, environment,
};
use crate::permit::OutcomeGuard;
use crate::protect::{Protection, Watch};
use picoclaw_policy::config::{Expose, OwnIsolation};
use picoclaw_policy::network::AllowedHosts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One helper program. Nothing in here comes from a model.
#[derive(Debug, Clone)]
pub struct HelperSpec<'h> {
    /// Whose user environment it gets: each helper its own.
    pub principal: Principal,
    /// The program and its arguments, no shell.
    pub command: &'h [OsString],
    /// Variables that the operator gave it, on top of those that pass.
    pub variables: &'h [(OsString, OsString)],
    /// Where it works.
    pub dir: ChildDir<'h>,
    /// What its cage has besides that of every child.
    pub isolation: OwnIsolation,
    /// Its input and output.
    pub streams: Streams,
    /// How long it may take.
    pub deadline: Deadline,
    /// How much of its output is kept.
    pub output_limit: OutputLimit,
}

/// Prepares helpers; the backend of their cages was chosen at the start of the program.
#[derive(Debug, Clone)]
pub struct HelperLauncher(Settings, AgentWritable);

/// A helper that is ready to be launched.
pub(crate) struct PreparedHelper {
    pub(crate) spec: LaunchSpec,
    pub(crate) protected: Watch,
    pub(crate) work_dir: PathBuf,
    /// What the kernel will enforce, as the ledger names it.
    pub(crate) layers: Vec<String>,
    /// The hosts that it reaches by name.
    pub(crate) hosts: Option<Arc<AllowedHosts>>,
}

impl HelperLauncher {
    /// Refuses programs that an agent could replace.
    pub(crate) fn new(settings: Settings, writable: AgentWritable) -> Self {
        Self(settings, writable)
    }

    /// Whether helpers are caged. Only then may a helper's own sandbox be switched off.
    pub fn is_caged(&self) -> bool {
        self.0.backend.is_some()
    }

    /// Finds the program and assembles its confinement.
    pub(crate) fn prepare(&self, helper: &HelperSpec<'_>) -> Result<PreparedHelper, CommandError> {
        let user = UserEnvironment::of(self.0.instance.home(), &helper.principal);
        user.prepare().map_err(|error| CommandError::unusable(user.path(), error))?;
        let dir = helper.dir.resolve(&user);
        let command = self.without_network(helper)?;
        let helper = &HelperSpec { command: &command, ..helper.clone() };
        let name = helper.command.first().ok_or(CommandError::Nothing)?;
        let path = environment::get(&self.0.host, "PATH").unwrap_or_default();
        let program = launch::find_program(name, path, &dir)?;
        if let Some(path) = self.1.find_in(helper.command, helper.variables, &dir, path) {
            return Err(CommandError::AgentWritable { path });
        }
        let confined = self.confine(helper, &user, &program, &dir)?;
        let (layers, hosts) = (confined.layers(), confined.hosts().cloned());
        let handle = WorkDir::open(&dir).map_err(|errno| CommandError::unusable(&dir, errno))?;
        let (spec, protected) =
            confined.spec(program, helper.command.to_vec(), handle, helper.principal.clone())?;
        let (streams, deadline, output_limit) =
            (helper.streams.clone(), helper.deadline, helper.output_limit);
        let mut spec = LaunchSpec { streams, deadline, output_limit, ..spec };
        for (name, value) in helper.variables {
            environment::set(&mut spec.environment, name, value.clone());
        }
        Ok(PreparedHelper { spec, protected, work_dir: dir, layers, hosts })
    }

    /// The command of an MCP server; one whose packages were fetched runs them itself where it has
    /// no network.
    fn without_network(&self, helper: &HelperSpec<'_>) -> Result<Vec<OsString>, CommandError> {
        let network = helper.isolation.network.as_ref().unwrap_or(&self.0.isolation.network);
        let is_closed = self.is_caged() && !network.is_open();
        let Some(packages) = PackageCommand::parse(helper.command).filter(|_| is_closed) else {
            return Ok(helper.command.to_vec());
        };
        let place = FetchPlace::new(self.0.instance.home(), &packages)?;
        if let Some(command) = place.find()? {
            return Ok(command);
        }
        let names = packages.packages();
        tracing::warn!(target: "mcp", packages = names, "not fetched, and there is no network: `picoclaw mcp test` fetches it");
        Ok(helper.command.to_vec())
    }

    fn confine(
        &self,
        helper: &HelperSpec<'_>,
        user: &UserEnvironment,
        program: &Path,
        dir: &Path,
    ) -> Result<Confined, CommandError> {
        let Settings { isolation, secrets, instance, host, backend } = &self.0;
        let Some(backend) = backend else {
            let protection = match helper.dir {
                ChildDir::Private => Protection::none(),
                ChildDir::Path { path, .. } | ChildDir::Project { root: path, .. } => {
                    Protection::of_workspace(path, &isolation.protect, &operator_home(host))
                }
            };
            let environment = environment::without_secrets(host.iter().cloned(), secrets);
            return Ok(Confined::none(environment, protection));
        };
        let isolation = &isolation.with_own(&helper.isolation);
        let mut own = helper.isolation.expose_paths.iter();
        if !backend.has_mounts() && own.any(|exposure| exposure.source != exposure.target) {
            let what = "an exposure with another target than its source".to_owned();
            return Err(IsolateError::CannotEnforce { what }.into());
        }
        let arguments = helper.command.get(1..).unwrap_or_default();
        let planned = PlannedCage::new(CageRequest {
            isolation,
            instance,
            user,
            dir: helper.dir,
            source: CommandSource::Operator { program, arguments },
            protected: self.protected(dir, arguments, &helper.isolation.expose_paths),
            host,
            private: Vec::new(),
            cache: CacheMode::Private,
        })?;
        if tracing::enabled!(target: "isolation", tracing::Level::DEBUG) {
            for rule in planned.lines() {
                tracing::debug!(target: "isolation", principal = %helper.principal.directory().display(), rule, "{}", isolate::PLAN_LOG_ENTRY);
            }
        }
        Ok(planned.build(backend)?)
    }

    /// What the helper may not see: everything Protected, but the workspaces that the operator put
    /// it in, showed to it, or named among its arguments.
    fn protected(&self, dir: &Path, arguments: &[OsString], shown: &[Expose]) -> Vec<HiddenPath> {
        let value = |argument: &OsString| Some(PathBuf::from(argument.to_str()?.split_once('=')?.1));
        let named = arguments.iter().flat_map(|word| [Some(PathBuf::from(word)), value(word)]).flatten();
        let shown = shown.iter().map(|exposure| exposure.source.clone());
        let paths: Vec<PathBuf> = named.chain(shown).chain([dir.to_owned()]).collect();
        let is_open = |own: &&Workspace| {
            paths
                .iter()
                .any(|path| path.starts_with(own.named.as_path()) || path.starts_with(own.real.as_path()))
        };
        let open: Vec<&Workspace> = self.0.instance.workspaces().iter().filter(is_open).collect();
        self.0.instance.covered_except(&open)
    }
}

/// A running helper. Dropping it kills its process tree; its end is recorded once.
#[derive(Debug)]
pub struct RunningHelper {
    /// The child, with its pipes.
    pub running: Running,
    outcome: OutcomeGuard,
    protected: Watch,
    /// Where it reaches hosts by name, for as long as it runs.
    network: Option<CommandNetwork>,
}

impl RunningHelper {
    /// Starts what was prepared and recorded.
    pub(crate) fn start(prepared: PreparedHelper, outcome: OutcomeGuard) -> Result<Self, LaunchError> {
        let PreparedHelper { mut spec, protected, hosts, .. } = prepared;
        let network = hosts.map(|hosts| CommandNetwork::new(Some(&hosts), &outcome)).transpose();
        let started = network.map_err(|why| LaunchError::step("make its network", why)).and_then(|network| {
            if let Some(network) = &network {
                network.join(&mut spec.setup);
            }
            Ok((launch::start(spec)?, network))
        });
        match started {
            Ok((running, network)) => Ok(Self { running, outcome, protected, network }),
            Err(why) => {
                outcome.settle_as(&format!("not started: {why}"));
                Err(why)
            }
        }
    }

    /// Waits for its end, its deadline, or its cancellation; `watch` sees its output as it comes.
    pub fn finish(self, cancel: &CancelToken, watch: &dyn Fn(&[u8])) -> Finished {
        let Self { running, outcome, protected, network } = self;
        let finished = running.finish_with_output(cancel, watch);
        settle(outcome, protected, network, finished.status);
        finished
    }

    /// Records an end that the caller has seen.
    pub fn ended(self, status: Status) {
        settle(self.outcome, self.protected, self.network, status);
    }
}

fn settle(outcome: OutcomeGuard, protected: Watch, network: Option<CommandNetwork>, status: Status) {
    let missed = network.map(|network| network.take_report().lines()).unwrap_or_default();
    for line in protected.settle(outcome, status).line().into_iter().chain(missed) {
        tracing::warn!(target: "isolation", "{line}");
    }
}
