//! Makes the plan of a cage: mounts, network and limits.
//!
//! Invariant: a plan follows from the request and the host's files alone, and the request holds
//! nothing that a model wrote.

use crate::isolate::error::PlanError;
use crate::isolate::host_files::{HostEntryKind, HostFiles};
use crate::isolate::mount_rules::{MountReason, MountRule, ordered};
use crate::isolate::{expose_paths, toolchain};
use picoclaw_policy::config::{ExposeMode, IsolationConfig, Limits, Network};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a plan is made from.
#[derive(Debug)]
pub struct PlanRequest<'r> {
    /// The configuration's `isolation`.
    pub isolation: &'r IsolationConfig,
    /// The paths of the instance that concern this child.
    pub instance: &'r InstancePaths,
    /// Who wrote the command.
    pub source: CommandSource<'r>,
    /// The child's working directory.
    pub work_dir: &'r Path,
    /// The operator's home, where toolchains are looked for.
    pub home: &'r Path,
    /// The operator's environment, which may name other toolchain directories.
    pub variables: &'r [(OsString, OsString)],
    /// Directories that are empty at first, discarded with the child, and open to its user alone.
    pub private: &'r [PathBuf],
}

/// The paths of an instance that concern one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstancePaths {
    /// The instance's root. Nothing beneath it is visible but the paths below.
    pub root: PathBuf,
    /// The workspace, if this child has one.
    pub workspace: Option<WorkspaceMount>,
    /// The principal's own environment, writable.
    pub user_environment: PathBuf,
    /// The shared skills, read-only, if they exist.
    pub skills: PathBuf,
    /// What stays hidden wherever it lies: the instance, configuration files, other workspaces.
    pub protected: Vec<HiddenPath>,
    /// Workspaces, as named and with links resolved, in which the operator's arguments may name
    /// files for the child to read.
    pub open_workspaces: Vec<PathBuf>,
}

/// A workspace as a child sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceMount {
    /// Its path.
    pub path: PathBuf,
    /// Whether the child may write there.
    pub mode: ExposeMode,
}

/// A Protected path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenPath {
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// What it is.
    pub kind: HostEntryKind,
}

/// Who wrote a command.
#[derive(Debug, Clone, Copy)]
pub enum CommandSource<'r> {
    /// A model. Its text has no influence on the plan.
    Model,
    /// The operator, in the configuration or on the command line. Paths that the command names are
    /// shown read-only.
    Operator {
        /// The program, absolute.
        program: &'r Path,
        /// Its arguments.
        arguments: &'r [OsString],
    },
}

/// What a child sees, which network it reaches, and how much it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The file tree, parents first.
    pub mounts: Vec<MountRule>,
    /// The working directory.
    pub work_dir: PathBuf,
    /// The network.
    pub network: Network,
    /// Whether UNIX sockets can be made where the child has no mounts of its own.
    pub unix_sockets: bool,
    /// The limits.
    pub limits: Limits,
    /// Whether the processes may trace each other.
    pub debug: bool,
    /// The size of the private directories, where the operator gave one.
    pub tmp_mb: Option<u64>,
}

impl Plan {
    /// The same plan with these mounts of host paths over themselves, where it shows those paths.
    pub(crate) fn with_protected(&self, protected: Vec<MountRule>) -> Self {
        let mounts = self.mounts.iter().cloned();
        let mounts = mounts.chain(protected.into_iter().filter(|rule| self.shows_source_of(rule)));
        Self { mounts: ordered(mounts.collect()), ..self.clone() }
    }

    /// Whether it shows the canonical `path` of the host.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        let mut shown = self.mounts.iter();
        shown.any(|rule| matches!(rule, MountRule::Bind { source, .. } if path.starts_with(source)))
    }

    /// Whether a rule of its own shows the canonical `path` of the host.
    pub(crate) fn binds(&self, path: &Path) -> bool {
        let mut shown = self.mounts.iter();
        shown.any(|rule| matches!(rule, MountRule::Bind { source, .. } if path == source))
    }

    /// Whether the target of a rule shows its source already: nothing else is mounted there or
    /// hides it.
    fn shows_source_of(&self, rule: &MountRule) -> bool {
        let MountRule::Bind { source: wanted, target: at, .. } = rule else { return false };
        let above = self.mounts.iter().filter(|own| at.starts_with(own.target()));
        match above.max_by_key(|own| own.target().components().count()) {
            Some(MountRule::Bind { source, target, .. }) => {
                at.strip_prefix(target).is_ok_and(|rest| at != target && source.join(rest) == *wanted)
            }
            _ => false,
        }
    }

    /// Host paths that it shows read-only, or not at all, within a tree that it shows read-write.
    pub(crate) fn read_only_in_writable(&self) -> Vec<PathBuf> {
        let writable = |path: &Path| {
            let mut above = self.mounts.iter();
            above.any(|rule| {
                matches!(rule, MountRule::Bind { source, mode: ExposeMode::ReadWrite, .. } if is_beneath(path, source))
            })
        };
        let read_only = self.mounts.iter().filter_map(|rule| match rule {
            MountRule::Bind { source, mode: ExposeMode::ReadOnly, .. } => Some(source),
            _ => None,
        });
        read_only.filter(|source| writable(source)).cloned().collect()
    }

    /// The size of the tmpfs behind all private directories. Its pages are memory: by default it is
    /// half of the memory limit at most, so that a full one is an error of the write and not the
    /// end of the tree.
    pub(super) fn tmpfs_bytes(&self) -> u64 {
        const MAX_BYTES: u64 = 1 << 30;
        match (self.tmp_mb, self.limits.memory_mb) {
            (Some(size), _) => size << 20,
            (None, 0) => MAX_BYTES,
            (None, limit) => (limit << 19).min(MAX_BYTES),
        }
    }

    /// Directories that lie on a tmpfs of the cage: its root, and what is private.
    pub(crate) fn private_dirs(&self) -> Vec<PathBuf> {
        let private = self.mounts.iter().filter_map(|rule| match rule {
            MountRule::Tmpfs { target, .. } => Some(target.clone()),
            _ => None,
        });
        [PathBuf::from("/"), PathBuf::from("/dev")].into_iter().chain(private).collect()
    }
}

/// System directories, what packages generate beside them, the list of installed packages, and the
/// processors. On hosts with a merged `/usr` most are links into it.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/var/cache/fontconfig",
    "/var/lib/dpkg",
    "/var/lib/gems",
    "/var/lib/ghostscript",
    "/var/lib/texmf",
];

/// The visible part of `/etc`: names, certificates, time, the loader, shells, fonts, and the
/// settings of common programs. It holds no private keys.
const ETC: [&str; 75] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/chromium.d",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/dictionaries-common",
    "/etc/emacs",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/gdb",
    "/etc/gitconfig",
    "/etc/glvnd",
    "/etc/groff",
    "/etc/group",
    "/etc/gtk-3.0",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ImageMagick-6",
    "/etc/ImageMagick-7",
    "/etc/inputrc",
    "/etc/iproute2",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/java-25-openjdk",
    "/etc/java-8-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/magic.mime",
    "/etc/manpath.config",
    "/etc/maven",
    "/etc/mime.types",
    "/etc/nanorc",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/OpenCL",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/php",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/python3.12",
    "/etc/python3.13",
    "/etc/python3.14",
    "/etc/R",
    "/etc/resolv.conf",
    "/etc/screenrc",
    "/etc/services",
    "/etc/sgml",
    "/etc/shells",
    "/etc/ssh/ssh_config",
    "/etc/ssh/ssh_config.d",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/texmf",
    "/etc/timezone",
    "/etc/tmux.conf",
    "/etc/vim",
    "/etc/vulkan",
    "/etc/wgetrc",
    "/etc/X11",
    "/etc/xdg",
    "/etc/xml",
];

/// Plans a cage.
pub fn plan(request: &PlanRequest<'_>, host: &dyn HostFiles) -> Result<Plan, PlanError> {
    let instance = request.instance;
    if !instance.root.is_absolute() {
        return Err(PlanError::NoInstance);
    }
    let own = instance_rules(instance, host)?;
    let exposed = expose_paths::rules(&request.isolation.expose_paths, host)?;
    let operator = operator_rules(&request.source, instance, host);
    let toolchains = &request.isolation.toolchains;
    toolchain::check(toolchains)?;
    let mut toolchains = toolchain::rules(toolchains, request.home, request.variables, host);
    toolchains.retain(|rule| !overlaps_protected(rule, instance));

    let mut rules = system_rules(host);
    rules.retain(|rule| !overlaps_protected(rule, instance));
    // `/opt` gives way to what the operator shows there, which would need mount points on the host.
    if exposed.iter().any(|rule| is_beneath(rule.target(), Path::new("/opt"))) {
        rules.retain(|rule| rule.target() != Path::new("/opt"));
    }
    rules.extend(private_directories(|directory| {
        let mut shown = own.iter().chain(&exposed).chain(&operator).chain(&toolchains);
        shown.any(|rule| is_beneath(rule.target(), directory))
    }));
    // What lies beneath a directory of the host comes from the host: a mount point or a link there
    // would have to be made on the host.
    let is_replaced =
        |rule: &MountRule| own.iter().chain(&exposed).any(|shown| is_beneath(rule.target(), shown.target()));
    rules.retain(|rule| !is_replaced(rule));
    // Later rules win over earlier ones for the same target.
    rules.extend(operator);
    rules.extend(toolchains);
    rules.extend(own);
    let is_the_hosts = |path: &&PathBuf| exposed.iter().any(|shown| is_beneath(path, shown.target()));
    let private = request.private.iter().filter(|path| !is_the_hosts(path)).cloned();
    rules.extend(private.map(|target| MountRule::Tmpfs { target, mode: 0o700 }));
    rules.extend(exposed);
    refuse_planted_links(request, &rules, host)?;
    let mounts = ordered(hide_protected(without_repeats(rules, host), instance)?);
    check_mount_points(&mounts, host)?;
    let work_dir = request.work_dir.to_owned();
    if !is_visible(&mounts, &work_dir) {
        return Err(PlanError::WorkDirOutside { path: work_dir });
    }
    let IsolationConfig { unix_sockets, limits, debug, tmp_mb, .. } = *request.isolation;
    let network = request.isolation.network.clone();
    Ok(Plan { mounts, work_dir, network, unix_sockets, limits, debug, tmp_mb })
}

/// Refuses exposures that lead through a link which a command may have made.
fn refuse_planted_links(
    request: &PlanRequest<'_>,
    rules: &[MountRule],
    host: &dyn HostFiles,
) -> Result<(), PlanError> {
    let instance = request.instance;
    let written = rules.iter().filter_map(|rule| match rule {
        MountRule::Bind { source, mode: ExposeMode::ReadWrite, .. } => Some(source),
        _ => None,
    });
    let written: Vec<&PathBuf> =
        written.chain(instance.protected.iter().map(|hidden| &hidden.path)).collect();
    for exposure in &request.isolation.expose_paths {
        let mut links = host.links(&exposure.source).into_iter();
        if let Some(link) = links.find(|link| written.iter().any(|tree| is_beneath(link, tree))) {
            return Err(PlanError::PlantedLink { path: exposure.source.clone(), link });
        }
    }
    Ok(())
}

fn is_beneath(path: &Path, directory: &Path) -> bool {
    beneath(path, directory).is_some()
}

/// The part of `path` beneath `directory`, which is another one.
fn beneath<'p>(path: &'p Path, directory: &Path) -> Option<&'p Path> {
    path.strip_prefix(directory).ok().filter(|rest| !rest.as_os_str().is_empty())
}

fn system_rules(host: &dyn HostFiles) -> Vec<MountRule> {
    let system = SYSTEM.iter().map(|path| (path, MountReason::System));
    let etc = ETC.iter().map(|path| (path, MountReason::Etc));
    system.chain(etc).filter_map(|(path, reason)| system_rule(Path::new(path), reason, host)).collect()
}

/// Shows `path` read-only. A link into `/usr` stays a link.
fn system_rule(path: &Path, reason: MountReason, host: &dyn HostFiles) -> Option<MountRule> {
    let found = host.find(path)?;
    let target = path.to_owned();
    if found.resolved != path && found.resolved.starts_with("/usr") {
        return Some(MountRule::Symlink { target, to: found.resolved });
    }
    let (source, kind) = (found.resolved, found.kind);
    Some(MountRule::Bind { source, target, mode: ExposeMode::ReadOnly, kind, reason })
}

/// Private temporary directories, and the usual links beneath `/var`. A link could not hold a
/// mount, so it gives way to a directory where something is shown beneath it.
fn private_directories(holds_mounts: impl Fn(&Path) -> bool) -> Vec<MountRule> {
    let tmpfs = |path: &str| MountRule::Tmpfs { target: path.into(), mode: 0o1777 };
    let symlink = |path: &str, to: &str| MountRule::Symlink { target: path.into(), to: to.into() };
    let mut rules = vec![tmpfs("/tmp"), tmpfs("/dev/shm")];
    if holds_mounts(Path::new("/var/tmp")) {
        rules.push(tmpfs("/var/tmp"));
    } else {
        rules.push(symlink("/var/tmp", "/tmp"));
    }
    if !holds_mounts(Path::new("/var/run")) {
        rules.push(symlink("/var/run", "/run"));
    }
    rules
}

/// The visible parts of the instance: workspace, user environment and skills.
fn instance_rules(instance: &InstancePaths, host: &dyn HostFiles) -> Result<Vec<MountRule>, PlanError> {
    let bind = |path: &Path, mode, reason| {
        let found = host.find(path).ok_or_else(|| PlanError::Missing { path: path.to_owned() })?;
        let (source, kind) = (found.resolved, found.kind);
        Ok(MountRule::Bind { source, target: path.to_owned(), mode, kind, reason })
    };
    let mut rules = Vec::new();
    if let Some(workspace) = &instance.workspace {
        rules.push(bind(&workspace.path, workspace.mode, MountReason::Workspace)?);
    }
    rules.push(bind(&instance.user_environment, ExposeMode::ReadWrite, MountReason::UserEnvironment)?);
    if host.find(&instance.skills).is_some() {
        rules.push(bind(&instance.skills, ExposeMode::ReadOnly, MountReason::Skills)?);
    }
    Ok(rules)
}

/// What an operator's command names: its program, the program's directory, and paths among its
/// arguments.
fn operator_rules(
    source: &CommandSource<'_>,
    instance: &InstancePaths,
    host: &dyn HostFiles,
) -> Vec<MountRule> {
    let CommandSource::Operator { program, arguments } = source else { return Vec::new() };
    let mut rules = Vec::new();
    let mut show = |path: &Path| {
        // These have mounts of their own. A path that does not exist needs no mount (W73).
        let reserved = path == Path::new("/")
            || ["/proc", "/dev", "/sys", "/usr"].iter().any(|own| path.starts_with(own));
        if let Some(found) = host.find(path).filter(|_| !reserved)
            && !contains_protected(&found.resolved, instance)
        {
            let (source, kind, target) = (found.resolved, found.kind, path.to_owned());
            let (mode, reason) = (ExposeMode::ReadOnly, MountReason::Operator);
            rules.push(MountRule::Bind { source, target, mode, kind, reason });
        }
    };
    let resolved = host.find(program).map(|found| found.resolved);
    let place = program.parent().and_then(|parent| host.find(parent)).map(|found| found.resolved);
    let is_agents = |path: &Path| {
        let workspace = instance.workspace.iter().map(|workspace| &workspace.path);
        workspace.chain(&instance.open_workspaces).any(|own| path.starts_with(own))
    };
    let may_be_a_trap = is_agents(program) || place.as_deref().is_some_and(is_agents);
    for path in [Some(*program), resolved.as_deref()].into_iter().flatten() {
        show(path);
        // An earlier command may have put the link there: it leads to a file, and not to all that
        // lies beside it.
        if may_be_a_trap && !is_agents(path) {
            continue;
        }
        // A home directory, or one that holds homes, is more than the program needs (W72).
        let parent = path.parent().filter(|parent| parent.components().count() > 3);
        parent.into_iter().chain(program_tree(path, host)).for_each(&mut show);
    }
    for argument in *arguments {
        // `--option=/path` names a path too.
        let value = argument.to_str().and_then(|text| text.split_once('=')).map(|(_, value)| value);
        for path in [Some(Path::new(argument)), value.map(Path::new)].into_iter().flatten() {
            if path.is_absolute() {
                show(path);
                program_tree(path, host).into_iter().for_each(&mut show);
            }
        }
    }
    rules
}

/// The tree that a program cannot run without: its `node_modules`, or its Python environment.
fn program_tree<'p>(path: &'p Path, host: &dyn HostFiles) -> Option<&'p Path> {
    let modules =
        path.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "node_modules"));
    if let Some(outermost) = modules.last() {
        return Some(outermost);
    }
    // A home directory that is a Python environment is more than the program needs (W72).
    let environment = path.parent()?.parent().filter(|above| above.components().count() > 3)?;
    host.find(&environment.join("pyvenv.cfg")).map(|_| environment)
}

/// Drops rules for an operator's command that another rule covers: a second mount beneath the first
/// could meet links there, which are refused.
fn without_repeats(mut rules: Vec<MountRule>, host: &dyn HostFiles) -> Vec<MountRule> {
    let is_shown = |path: &Path| {
        rules.iter().any(|rule| matches!(rule, MountRule::Bind { target, .. } if path.starts_with(target)))
    };
    let is_repeated = |rule: &MountRule| {
        let MountRule::Bind { source: own, target, reason: MountReason::Operator, .. } = rule else {
            return false;
        };
        rules.iter().any(|other| match other {
            MountRule::Bind { source, target: above, .. } if is_beneath(target, above) => {
                // A tree that is shown under the name of a link holds the same files under that
                // name.
                let is_same =
                    |rest: &Path| host.find(&source.join(rest)).is_some_and(|found| found.resolved == *own);
                target.strip_prefix(above).is_ok_and(|rest| source == above || is_same(rest))
            }
            // `/bin` leads into `/usr`, which is shown; `/var/tmp` leads to a private directory.
            MountRule::Symlink { target: above, to } => target.starts_with(above) && is_shown(to),
            MountRule::Bind { .. }
            | MountRule::Tmpfs { .. }
            | MountRule::Overlay { .. }
            | MountRule::Hide { .. }
            | MountRule::MaskSocket { .. } => false,
        })
    };
    let mut repeated = rules.iter().map(is_repeated).collect::<Vec<_>>().into_iter();
    rules.retain(|_| !repeated.next().unwrap_or(false));
    rules
}

/// Whether a rule's source contains a Protected path or lies in one.
fn overlaps_protected(rule: &MountRule, instance: &InstancePaths) -> bool {
    let MountRule::Bind { source, .. } = rule else { return false };
    contains_protected(source, instance)
        || instance.protected.iter().any(|hidden| source.starts_with(&hidden.path))
}

fn contains_protected(path: &Path, instance: &InstancePaths) -> bool {
    instance.root.starts_with(path) || instance.protected.iter().any(|hidden| hidden.path.starts_with(path))
}

/// Refuses rules whose source lies in a Protected path, and hides Protected paths that lie in a
/// source.
fn hide_protected(mut rules: Vec<MountRule>, instance: &InstancePaths) -> Result<Vec<MountRule>, PlanError> {
    let is_own = |reason: MountReason| {
        matches!(reason, MountReason::Workspace | MountReason::UserEnvironment | MountReason::Skills)
    };
    let lies_in_own = |path: &Path| {
        rules.iter().any(|rule| {
            matches!(rule, MountRule::Bind { source, reason, .. } if is_own(*reason) && path.starts_with(source))
        })
    };
    let mut hidden_rules = Vec::new();
    for rule in &rules {
        let MountRule::Bind { source, target, reason, .. } = rule else { continue };
        let is_open = |path: &Path| instance.open_workspaces.iter().any(|own| path.starts_with(own));
        let is_named = *reason == MountReason::Operator && is_open(source);
        // An agent may have put a link there.
        if *reason == MountReason::Operator && is_open(target) && !is_named {
            return Err(PlanError::Protected { path: target.clone() });
        }
        let rest_of_root = beneath(&instance.root, source);
        for hidden in &instance.protected {
            if source.starts_with(&hidden.path) && !is_own(*reason) && !lies_in_own(source) && !is_named {
                return Err(PlanError::Protected { path: source.clone() });
            }
            if let Some(rest) = beneath(&hidden.path, source)
                && !(rest_of_root.is_some() && hidden.path.starts_with(&instance.root))
            {
                // A mount over a file is gone when a program outside replaces the file.
                if hidden.kind == HostEntryKind::File && *reason == MountReason::Configured {
                    return Err(PlanError::Holds { path: source.clone(), hidden: hidden.path.clone() });
                }
                hidden_rules.push(MountRule::Hide { target: target.join(rest), kind: hidden.kind });
                hidden_rules.extend(mounts_above(rest, rule, &rules, instance));
            }
        }
        // As a whole: its files are replaced. What a child may see of it has rules of its own.
        if let Some(rest) = rest_of_root {
            let (target, kind) = (target.join(rest), HostEntryKind::Directory);
            hidden_rules.push(MountRule::Hide { target, kind });
            hidden_rules.extend(mounts_above(rest, rule, &rules, instance));
        }
    }
    // In a private directory a child could otherwise make files at the instance's path.
    let is_private = |rule: &MountRule| matches!(rule, MountRule::Tmpfs { target, .. } if instance.root.starts_with(target));
    if rules.iter().any(is_private) {
        let (target, kind) = (instance.root.clone(), HostEntryKind::Directory);
        hidden_rules.push(MountRule::Hide { target, kind });
    }
    rules.extend(hidden_rules);
    Ok(rules)
}

/// The directories above a hidden path in a tree that the child may write, mounted over themselves:
/// a mount point cannot be renamed, and the next child would see what is hidden under another name.
/// `rest` is the path in the tree of `rule`.
fn mounts_above(
    rest: &Path,
    rule: &MountRule,
    rules: &[MountRule],
    instance: &InstancePaths,
) -> Vec<MountRule> {
    let MountRule::Bind { source, target, mode: ExposeMode::ReadWrite, reason, .. } = rule else {
        return Vec::new();
    };
    let is_last = rules.iter().rfind(|other| other.target() == target).is_some_and(|last| last == rule);
    let is_hidden = |path: &Path| {
        let mut hidden = instance.protected.iter().filter(|hidden| is_beneath(&hidden.path, source));
        hidden.any(|hidden| path.starts_with(&hidden.path))
    };
    let is_in_other = |path: &Path| {
        let mut deeper = rules.iter().map(MountRule::target).filter(|other| is_beneath(other, target));
        deeper.any(|other| path.starts_with(other))
    };
    let above = rest.ancestors().skip(1).filter(|above| is_last && !above.as_os_str().is_empty());
    above
        .map(|above| (source.join(above), target.join(above)))
        .filter(|(source, target)| !is_hidden(source) && !is_in_other(target))
        .map(|(source, target)| MountRule::Bind {
            source,
            target,
            mode: ExposeMode::ReadWrite,
            kind: HostEntryKind::Directory,
            reason: *reason,
        })
        .collect()
}

/// Refuses an exposure without a mount point. A missing directory can be made where the child may
/// write, and stays behind empty; a missing file would stay behind too, and nothing can be made in
/// a read-only tree.
fn check_mount_points(mounts: &[MountRule], host: &dyn HostFiles) -> Result<(), PlanError> {
    for rule in mounts {
        let MountRule::Bind { target, kind, reason: MountReason::Configured, .. } = rule else { continue };
        let innermost = mounts.iter().rev().find(|other| match other {
            MountRule::Bind { kind: HostEntryKind::File, .. } | MountRule::Symlink { .. } => false,
            other => is_beneath(target, other.target()),
        });
        // Anything can be made in the cage's own directories.
        let Some(MountRule::Bind { source, target: above, mode, .. }) = innermost else { continue };
        let place = source.join(target.strip_prefix(above).unwrap_or(target));
        let is_there = host.find(&place).is_some_and(|found| found.kind == *kind);
        if !is_there && (*kind == HostEntryKind::File || *mode == ExposeMode::ReadOnly) {
            return Err(PlanError::NoMountPoint { target: target.clone(), place });
        }
    }
    Ok(())
}

fn is_visible(mounts: &[MountRule], path: &Path) -> bool {
    let is_there = |rule: &&MountRule| matches!(rule, MountRule::Bind { .. } | MountRule::Tmpfs { .. });
    mounts.iter().filter(is_there).any(|rule| path.starts_with(rule.target()))
}
