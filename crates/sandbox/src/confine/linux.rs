//! The cage of a child on Linux: its plan, its environment, and the files that stand in for the
//! host's.

use super::{CageRequest, ChildDir, Confined, operator_home};
use crate::broker::show_name_service;
use crate::fetched::packages_of;
use crate::instance::{Instance, Workspace};
use crate::isolate::{
    Backend, Cage, CommandSource, Confinement, HostEntryKind, InstancePaths, IsolateError, LiveHost,
    MountReason, MountRule, PassedGitConfig, Plan, PlanError, PlanRequest, SearchPath, Untrusted,
    UserEnvironment, cache_mounts, cage_variables, cargo_settings, link_python_packages, passwd_with_home,
    plan, set_network_variables, toolchain_variables,
};
use crate::launch::environment::{self, Variables};
use crate::os_file::read_regular_file;
use crate::protect::Protection;
use crate::state_dir::StateDir;
use picoclaw_policy::CleanPath;
use picoclaw_policy::config::{ExposeMode, IsolationConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A cage as planned, for any backend.
pub(crate) struct PlannedCage<'r> {
    isolation: &'r IsolationConfig,
    plan: Arc<Plan>,
    environment: Variables,
    protection: Protection,
    /// The operator's home.
    home: PathBuf,
    /// The working directory as the operator's shell named it, if that is another name.
    named_dir: Option<PathBuf>,
    /// Whether the plan has a link to the child's temporary directory.
    has_temp_link: bool,
    /// The child's own `/run/user/UID`, if the plan has one.
    runtime_dir: Option<PathBuf>,
}

/// A link to the temporary directory of a command of `picoclaw run`, whose path is long. The path
/// of a UNIX socket holds 107 bytes, and programs (Chromium, tmux) put sockets deep into their
/// temporary directory.
const TEMP_LINK: &str = "/run/tmp";

/// A link to the home of a child, which its `/etc/passwd` names.
const HOME_LINK: &str = "/run/home";

/// The largest `/etc/passwd` that is read.
const MAX_PASSWD_BYTES: u64 = 1 << 20;

/// The longest path of a temporary directory that needs no link.
const MAX_TEMP_BYTES: usize = 60;

impl<'r> PlannedCage<'r> {
    /// Plans the cage and its environment from the host's files as they are now.
    pub(crate) fn new(request: CageRequest<'r>) -> Result<Self, PlanError> {
        let CageRequest { isolation, instance, user, dir, source, protected, host, mut private, cache } =
            request;
        let work_dir = dir.resolve(user);
        let workspace = dir.workspace();
        let writable = match &workspace {
            Some(workspace) if workspace.mode == ExposeMode::ReadOnly => None,
            Some(workspace) => Some(workspace.path.clone()),
            None => Some(work_dir.clone()),
        };
        let search = match dir {
            // Whatever is in the project is the operator's own, and so is the command.
            ChildDir::Project { path, .. } => SearchPath::All(path),
            _ => SearchPath::Outside(writable.as_deref()),
        };
        let home = operator_home(host);
        let is_open = |own: &&Workspace| !protected.iter().any(|hidden| hidden.path == own.real.as_path());
        let open = instance.workspaces().iter().filter(is_open).flat_map(|own| [&own.named, &own.real]);
        let fetched = match source {
            CommandSource::Operator { program, .. } => packages_of(instance.home(), program),
            _ => None,
        };
        let view = InstancePaths {
            open_workspaces: open.map(|path| path.as_path().to_owned()).chain(fetched).collect(),
            root: instance.home().to_owned(),
            workspace,
            user_environment: user.path().to_owned(),
            skills: instance.join("skills"),
            protected,
        };
        let runtime_dir = runtime_dir();
        private.push(runtime_dir.clone());
        let request = PlanRequest {
            isolation,
            instance: &view,
            source,
            work_dir: &work_dir,
            home: &home,
            variables: host,
            private: &private,
        };
        let mut plan = plan(&request, &LiveHost)?;
        let has_temp_link = matches!(dir, ChildDir::Project { .. }) && link_temp(&mut plan, user);
        let named_dir = match (dir, environment::get(host, "PWD")) {
            (ChildDir::Project { path, root }, Some(named)) => {
                link_named_dir(&mut plan, Path::new(named), (path, root), instance.home())
            }
            _ => None,
        };
        show_passwd(&mut plan, instance, user, host);
        if isolation.network.hosts().is_some() {
            show_name_service(&mut plan, instance).map_err(|source| PlanError::NameService { source })?;
        }
        let has_runtime_dir = plan
            .mounts
            .iter()
            .any(|rule| matches!(rule, MountRule::Tmpfs { target, .. } if *target == runtime_dir));
        let runtime_dir = has_runtime_dir.then_some(runtime_dir);
        link_python_packages(&isolation.toolchains, &home, user);
        let project = view.workspace.as_ref().map_or(work_dir.as_path(), |workspace| &workspace.path);
        let git = PassedGitConfig::of(&home, project);
        let mut environment = cage_environment(host, user, isolation, (&home, &git), search);
        let closed = view.protected.iter().map(|hidden| hidden.path.as_path()).chain([instance.home()]);
        // A root that is only read came with the project too; the home is the operator's.
        let is_projects = |source: &Path| work_dir.starts_with(source) && !home.starts_with(source);
        let trees = plan.mounts.iter().filter_map(|rule| match rule {
            MountRule::Bind { source, mode, .. } if *mode == ExposeMode::ReadWrite || is_projects(source) => {
                Some(source.as_path())
            }
            _ => None,
        });
        let untrusted = Untrusted { closed: closed.collect(), trees: trees.collect() };
        let caches = cache_mounts(cache, user, &environment, (host, &home), &untrusted);
        plan.mounts.extend(caches);
        let plan = Arc::new(plan);
        let is_shown = |path: &Path| path.canonicalize().is_ok_and(|path| plan.shows(&path));
        set_network_variables(&mut environment, host, &isolation.network, &is_shown);
        if let Some(venv) = environment::get(host, "VIRTUAL_ENV")
            && matches!(dir, ChildDir::Project { .. })
            && is_shown(Path::new(venv))
        {
            environment::set(&mut environment, "VIRTUAL_ENV", venv);
        }
        let protection = Protection::of_plan(&plan, &isolation.protect, &home);
        Ok(Self { isolation, plan, environment, protection, home, named_dir, has_temp_link, runtime_dir })
    }

    /// The plan for the log, one line a rule, with the protected files that exist now: for them the
    /// workspace is searched.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.plan.with_protected(self.protection.watch().mounts()).lines()
    }

    /// Whether the plan shows `path` of the host.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.plan.shows(&path))
    }

    /// Another name of the working directory, which holds in the cage too.
    pub(crate) fn named_dir(&self) -> Option<&Path> {
        self.named_dir.as_deref()
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Shows one more path of the host, for a backend without mounts.
    pub(crate) fn show(&mut self, path: PathBuf, mode: ExposeMode) {
        Arc::make_mut(&mut self.plan).mounts.push(file_rule(path, mode));
    }

    /// The cage on this backend; refuses what the backend cannot hold.
    pub(crate) fn build(&self, backend: &Backend) -> Result<Confined, IsolateError> {
        let mut plan = Arc::clone(&self.plan);
        if !backend.has_mounts() && Path::new("/etc/passwd").exists() {
            // Without mounts the file is the host's own.
            Arc::make_mut(&mut plan).mounts.push(file_rule("/etc/passwd".into(), ExposeMode::ReadOnly));
        }
        if !backend.has_mounts() && self.isolation.toolchains != "none" {
            let settings = cargo_settings(&self.home).map(|path| file_rule(path, ExposeMode::ReadOnly));
            Arc::make_mut(&mut plan).mounts.extend(settings);
        }
        let cage = Cage::new(plan, backend.clone())?;
        let mut environment = self.environment.clone();
        if self.has_temp_link && backend.has_mounts() {
            environment::set(&mut environment, "TMPDIR", TEMP_LINK);
        }
        if let Some(runtime_dir) = self.runtime_dir.as_ref().filter(|_| backend.has_mounts()) {
            environment::set(&mut environment, "XDG_RUNTIME_DIR", runtime_dir);
        }
        Ok(Confined {
            confinement: Confinement::Cage(Arc::new(cage)),
            environment,
            protection: self.protection.clone(),
            enforced: backend.enforced(self.isolation),
        })
    }
}

/// Where programs put their sockets: a short path, whatever the child's home is called. GnuPG uses
/// it without asking the environment.
pub(crate) fn runtime_dir() -> PathBuf {
    PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()))
}

fn file_rule(path: PathBuf, mode: ExposeMode) -> MountRule {
    let (target, kind, reason) = (path.clone(), HostEntryKind::File, MountReason::Configured);
    MountRule::Bind { source: path, target, mode, kind, reason }
}

/// Adds the link to a temporary directory with a long path; whether it did.
fn link_temp(plan: &mut Plan, user: &UserEnvironment) -> bool {
    let (target, to) = (PathBuf::from(TEMP_LINK), user.path().join("tmp"));
    let is_taken = plan.mounts.iter().any(|rule| target.starts_with(rule.target()));
    if is_taken || to.as_os_str().len() <= MAX_TEMP_BYTES {
        return false;
    }
    plan.mounts.push(MountRule::Symlink { target, to });
    true
}

/// Makes the working directory visible under the name by which the operator's shell entered it, if
/// that leads through a link to the project; then returns the name. Programs write such names into
/// their files: CMake, and all that are told `$PWD`.
fn link_named_dir(
    plan: &mut Plan,
    named: &Path,
    (dir, root): (&Path, &Path),
    instance: &Path,
) -> Option<PathBuf> {
    let named = CleanPath::absolute(named)?.as_path().to_owned();
    let is_kernels = ["/proc", "/dev", "/sys"].iter().any(|own| named.starts_with(own));
    if named == dir || is_kernels || named.starts_with(instance) || named.canonicalize().ok()? != dir {
        return None;
    }
    let in_root = |path: &Path| path.canonicalize().ok().filter(|real| real.starts_with(root));
    let above: Vec<_> = named.ancestors().collect();
    let (link, to) = above.into_iter().rev().find_map(|path| Some((path.to_owned(), in_root(path)?)))?;
    if link != to {
        let is_taken = plan.mounts.iter().any(|rule| {
            let is_private = matches!(rule, MountRule::Tmpfs { .. });
            rule.target().starts_with(&link) || link.starts_with(rule.target()) && !is_private
        });
        if is_taken {
            return None;
        }
        plan.mounts.push(MountRule::Symlink { target: link, to });
    }
    Some(named)
}

/// Shows an `/etc/passwd` in which the child's user has the child's home. Java, ssh and others ask
/// it and not `HOME`. Its text names a link, so it is the same for every child. Where it cannot be
/// had, the host's stays.
fn show_passwd(plan: &mut Plan, instance: &Instance, user: &UserEnvironment, host: &Variables) {
    let is_passwd = |rule: &MountRule| rule.target() == Path::new("/etc/passwd");
    let is_taken = plan.mounts.iter().any(|rule| Path::new(HOME_LINK).starts_with(rule.target()));
    let Some(at) = plan.mounts.iter().position(is_passwd).filter(|_| !is_taken) else { return };
    let Ok(text) = read_regular_file(Path::new("/etc/passwd"), MAX_PASSWD_BYTES) else { return };
    let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let name = ["USER", "LOGNAME"].iter().find_map(|name| environment::get(host, name)?.to_str());
    let text = passwd_with_home(&String::from_utf8_lossy(&text), ids, name.unwrap_or_default(), HOME_LINK);
    // Not in the user environment, where the child could put a link in its place.
    let directory = StateDir::open(instance.home(), "passwd");
    let Ok(file) = directory.and_then(|own| own.ensure("passwd", text.as_bytes())) else { return };
    if let Some(MountRule::Bind { source, .. }) = plan.mounts.get_mut(at) {
        *source = file;
        plan.mounts.push(MountRule::Symlink { target: HOME_LINK.into(), to: user.path().join("home") });
    }
}

/// The whole environment inside a cage: what passes, what is redirected, toolchains, git's
/// configuration.
fn cage_environment(
    host: &Variables,
    user: &UserEnvironment,
    isolation: &IsolationConfig,
    (home, git): (&Path, &PassedGitConfig),
    search: SearchPath<'_>,
) -> Variables {
    let mut environment = cage_variables(host.iter().cloned(), user, &isolation.env_pass, search);
    for (name, place) in toolchain_variables(&isolation.toolchains, (home, host), &LiveHost, user) {
        environment::set(&mut environment, name, place);
    }
    if let Some(config) = write_git_config(user, git) {
        environment::set(&mut environment, "GIT_CONFIG_SYSTEM", config);
    }
    if !isolation.debug && environment::get(&environment, "LSAN_OPTIONS").is_none() {
        // LeakSanitizer traces its own process, which the filter refuses; without this every
        // program that is built with AddressSanitizer would fail at its end.
        environment::set(&mut environment, "LSAN_OPTIONS", "detect_leaks=0");
    }
    if environment::get(&environment, "FAKEROOTDONTTRYCHOWN").is_none() {
        // fakeroot tries each chown, and knows EPERM alone as a refusal: for a user that is not
        // mapped it is EINVAL.
        environment::set(&mut environment, "FAKEROOTDONTTRYCHOWN", "1");
    }
    if rustix::process::geteuid().is_root() && environment::get(&environment, "TAR_OPTIONS").is_none() {
        // One user is mapped in the cage, so root's tar cannot give files away either.
        environment::set(&mut environment, "TAR_OPTIONS", "--no-same-owner");
    }
    let is_config_protected = isolation.protect.git_paths().any(|(_, path)| path == "config")
        && !isolation.protect.is_unprotected(Path::new("/"), Path::new(".git/config"));
    if is_config_protected && environment::get(&environment, "GIT_CONFIG_COUNT").is_none() {
        // A new branch would otherwise write to the configuration of its repository.
        for (name, value) in [("COUNT", "1"), ("KEY_0", "branch.autoSetupMerge"), ("VALUE_0", "false")] {
            environment::set(&mut environment, format!("GIT_CONFIG_{name}"), value);
        }
    }
    environment
}

/// Writes what passes of the operator's git configuration into the child's user environment, and
/// returns its path. It stands in for the system's, which it includes, so that repositories and the
/// child's own home come before it. The child owns the directory: `None` where it has spoilt it.
fn write_git_config(user: &UserEnvironment, git: &PassedGitConfig) -> Option<PathBuf> {
    let directory = StateDir::open(user.path(), "git").ok()?;
    let ignored = directory.ensure("ignore", git.ignored.as_bytes()).ok()?;
    let text = format!("[include]\n\tpath = /etc/gitconfig\n{}", git.config_with_ignored(&ignored));
    directory.ensure("config", text.as_bytes()).ok()
}
