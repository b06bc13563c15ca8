//! The cage as data.
//!
//! Invariant: pure. The same request on the same host gives the same plan, and no word of a model is in the request.

use crate::isolate::error::PlanError;
use crate::isolate::host::{HostFiles, Kind};
use crate::isolate::view::{Rule, Why, ordered};
use crate::isolate::{exposure, toolchain};
use picoclaw_policy::config::{ExposeMode, IsolationConfig, Limits, Network};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a plan is made from.
#[derive(Debug)]
pub struct Request<'r> {
    /// The configuration's `isolation`.
    pub isolation: &'r IsolationConfig,
    /// The instance as this child may see it.
    pub instance: &'r InstanceView,
    /// Who wrote the command.
    pub author: Author<'r>,
    /// Where the child works.
    pub work_dir: &'r Path,
    /// The operator's own home, where toolchains are looked for.
    pub home: &'r Path,
    /// The operator's own environment, which may say that they are elsewhere.
    pub variables: &'r [(OsString, OsString)],
}

/// The part of an instance that one child may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceView {
    /// The instance's root, of which nothing else is visible.
    pub root: PathBuf,
    /// The workspace, if this child has one.
    pub workspace: Option<Workspace>,
    /// The principal's own environment, writable.
    pub user_environment: PathBuf,
    /// The shared skills, read-only; shown when they are there.
    pub skills: PathBuf,
    /// What no child may see, wherever it lies: the instance, configuration files, other agents' workspaces.
    pub protected: Vec<Covered>,
}

/// A workspace as a child sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its path.
    pub path: PathBuf,
    /// Whether the child may write there.
    pub mode: ExposeMode,
}

/// Something Protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
}

/// Who wrote a command.
#[derive(Debug, Clone, Copy)]
pub enum Author<'r> {
    /// A model: nothing follows from what it wrote.
    Model,
    /// The operator, in the configuration or on the command line: what the command needs is shown, read-only.
    Operator {
        /// The program, absolute.
        program: &'r Path,
        /// Its arguments.
        arguments: &'r [OsString],
    },
}

/// The cage as data: what is seen, what is reached, how much is had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The file tree, parents first.
    pub view: Vec<Rule>,
    /// Where the child works.
    pub work_dir: PathBuf,
    /// The network.
    pub network: Network,
    /// The limits.
    pub limits: Limits,
}

impl Plan {
    /// How much private directories hold together, in bytes. They are memory, so they hold no more than the tree may.
    pub(super) fn scratch_bytes(&self) -> u64 {
        const MOST: u64 = 1 << 30;
        match self.limits.memory_mb {
            0 => MOST,
            limit => (limit << 20).min(MOST),
        }
    }
}

/// System directories; on many hosts the last ones are links into the first.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// The small set of `/etc`: names, certificates, time, the loader, what shells and runtimes need. No private keys.
const ETC: [&str; 27] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/java-25-openjdk",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Says what a child will see, reach and have.
pub fn plan(request: &Request<'_>, host: &dyn HostFiles) -> Result<Plan, PlanError> {
    let instance = request.instance;
    if !instance.root.is_absolute() {
        return Err(PlanError::NoInstance);
    }
    let (own, exposed) = (own(instance, host)?, exposure::rules(&request.isolation.expose_paths, host)?);
    let operator = operator(&request.author, instance, host)?;
    toolchain::check(&request.isolation.toolchains)?;
    let mut toolchains =
        toolchain::rules(&request.isolation.toolchains, request.home, request.variables, host);
    toolchains.retain(|rule| !meets_instance(rule, instance));
    let mut rules = system(host);
    rules.extend(scratch(|place| {
        let mut named = own.iter().chain(&exposed).chain(&operator).chain(&toolchains);
        named.any(|shown| lies_beneath(shown.target(), place))
    }));
    rules.retain(|rule| !own.iter().chain(&exposed).any(|shown| replaces(shown, rule)));
    rules.extend(operator);
    rules.extend(toolchains);
    rules.extend(own);
    rules.extend(exposed);
    let rules = hide(without_repeats(rules, host), instance)?;
    let view = ordered(rules);
    mount_points(&view, host)?;
    let work_dir = request.work_dir.to_owned();
    if !is_visible(&view, &work_dir) {
        return Err(PlanError::WorkDirOutside { path: work_dir });
    }
    Ok(Plan { view, work_dir, network: request.isolation.network, limits: request.isolation.limits })
}

fn system(host: &dyn HostFiles) -> Vec<Rule> {
    let shown = SYSTEM.iter().map(|path| (path, Why::System)).chain(ETC.iter().map(|path| (path, Why::Etc)));
    shown.filter_map(|(path, why)| as_on_host(Path::new(path), why, host)).collect()
}

/// Shows `path` read-only; where the host has a link into `/usr`, the child gets the link.
fn as_on_host(path: &Path, why: Why, host: &dyn HostFiles) -> Option<Rule> {
    let found = host.find(path)?;
    let target = path.to_owned();
    if found.resolved.as_os_str() != path.as_os_str() && found.resolved.starts_with("/usr") {
        return Some(Rule::Link { target, to: found.resolved });
    }
    Some(Rule::Show { source: found.resolved, target, mode: ExposeMode::ReadOnly, kind: found.kind, why })
}

/// Places to write to that end with the child. Where something is shown in a directory, it is a directory and no link.
fn scratch(holds_something: impl Fn(&Path) -> bool) -> Vec<Rule> {
    let mut rules: Vec<Rule> = ["/tmp", "/dev/shm"].map(|path| Rule::Scratch { target: path.into() }).into();
    if holds_something(Path::new("/var/tmp")) {
        rules.push(Rule::Scratch { target: "/var/tmp".into() });
    } else {
        rules.push(Rule::Link { target: "/var/tmp".into(), to: "/tmp".into() });
    }
    if !holds_something(Path::new("/var/run")) {
        rules.push(Rule::Link { target: "/var/run".into(), to: "/run".into() });
    }
    rules
}

/// Whether `shown` lies above a place of the default view. What is shown there then comes from the host; a mount point
/// or a link beneath it would have to be made on the host.
fn replaces(shown: &Rule, default: &Rule) -> bool {
    lies_beneath(default.target(), shown.target())
}

fn lies_beneath(path: &Path, place: &Path) -> bool {
    path.starts_with(place) && path != place
}

/// The workspace, the principal's environment and the skills: all there is of the instance.
fn own(instance: &InstanceView, host: &dyn HostFiles) -> Result<Vec<Rule>, PlanError> {
    let mut rules = Vec::new();
    let mut show = |path: &Path, mode, why| -> Result<(), PlanError> {
        let found = host.find(path).ok_or_else(|| PlanError::Missing { path: path.to_owned() })?;
        rules.push(Rule::Show {
            source: found.resolved,
            target: path.to_owned(),
            mode,
            kind: found.kind,
            why,
        });
        Ok(())
    };
    if let Some(workspace) = &instance.workspace {
        show(&workspace.path, workspace.mode, Why::Workspace)?;
    }
    show(&instance.user_environment, ExposeMode::ReadWrite, Why::UserEnvironment)?;
    if host.find(&instance.skills).is_some() {
        show(&instance.skills, ExposeMode::ReadOnly, Why::Skills)?;
    }
    Ok(rules)
}

/// What an operator's command needs: its program, the program's directory, and paths among its arguments.
fn operator(
    author: &Author<'_>,
    instance: &InstanceView,
    host: &dyn HostFiles,
) -> Result<Vec<Rule>, PlanError> {
    let Author::Operator { program, arguments } = author else { return Ok(Vec::new()) };
    let mut rules = Vec::new();
    let mut show = |path: &Path| {
        // Kernel views and the top are the cage's own; a path that is not there needs no place (W73).
        let reserved = path == Path::new("/")
            || ["/proc", "/dev", "/sys", "/usr"].iter().any(|own| path.starts_with(own));
        if let Some(found) = host.find(path).filter(|_| !reserved)
            && !covers_instance(&found.resolved, instance)
        {
            let (target, mode, why) = (path.to_owned(), ExposeMode::ReadOnly, Why::Operator);
            rules.push(Rule::Show { source: found.resolved, target, mode, kind: found.kind, why });
        }
    };
    for path in [Some(*program), host.find(program).as_ref().map(|found| found.resolved.as_path())]
        .into_iter()
        .flatten()
    {
        show(path);
        // A directory that is somebody's home, or holds homes, is more than the program needs (W72).
        let parent = path.parent().filter(|parent| parent.components().count() > 3);
        parent.into_iter().chain(belongings(path, host)).for_each(&mut show);
    }
    for argument in *arguments {
        let text = argument.as_encoded_bytes();
        let value =
            text.iter().position(|byte| *byte == b'=').and_then(|at| argument.to_str()?.get(at + 1..));
        for path in [Some(Path::new(argument)), value.map(Path::new)].into_iter().flatten() {
            if path.is_absolute() {
                show(path);
                belongings(path, host).into_iter().for_each(&mut show);
            }
        }
    }
    Ok(rules)
}

/// The tree that a program cannot run without: the Node modules that it is one of, or its Python environment.
fn belongings<'p>(path: &'p Path, host: &dyn HostFiles) -> Option<&'p Path> {
    let modules =
        path.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "node_modules"));
    if let Some(outermost) = modules.last() {
        return Some(outermost);
    }
    // A home directory that is one, too, is more than the program needs (W72).
    let environment = path.parent()?.parent().filter(|above| above.components().count() > 3)?;
    host.find(&environment.join("pyvenv.cfg")).map(|_| environment)
}

/// Leaves out what an operator's command needs and sees anyway: a second mount beneath the first would only stumble over
/// links there.
fn without_repeats(mut rules: Vec<Rule>, host: &dyn HostFiles) -> Vec<Rule> {
    let is_shown = |path: &Path| {
        rules.iter().any(|rule| matches!(rule, Rule::Show { target, .. } if path.starts_with(target)))
    };
    let shown_anyway = |rule: &Rule| {
        let Rule::Show { source: own, target, why: Why::Operator, .. } = rule else { return false };
        rules.iter().any(|other| match other {
            Rule::Show { source, target: above, .. } if target.starts_with(above) && target != above => {
                // A tree that is named by way of a link shows the same files, under that name.
                let is_there =
                    |rest: &Path| host.find(&source.join(rest)).is_some_and(|found| found.resolved == *own);
                target.strip_prefix(above).is_ok_and(|rest| source == above || is_there(rest))
            }
            Rule::Show { .. } => false,
            // `/bin` leads into `/usr`, which is shown; `/var/tmp` leads to a private directory.
            Rule::Link { target: above, to } => target.starts_with(above) && is_shown(to),
            Rule::Scratch { .. } | Rule::Hide { .. } => false,
        })
    };
    let mut repeated = rules.iter().map(shown_anyway).collect::<Vec<_>>().into_iter();
    rules.retain(|_| !repeated.next().unwrap_or(false));
    rules
}

/// Whether a toolchain's place and something Protected lie in one another.
fn meets_instance(rule: &Rule, instance: &InstanceView) -> bool {
    let Rule::Show { source, .. } = rule else { return false };
    covers_instance(source, instance)
        || instance.protected.iter().any(|covered| source.starts_with(&covered.path))
}

fn covers_instance(path: &Path, instance: &InstanceView) -> bool {
    instance.root.starts_with(path) || instance.protected.iter().any(|covered| covered.path.starts_with(path))
}

/// Refuses what lies in something Protected, and puts nothing over whatever Protected lies in something shown.
fn hide(mut rules: Vec<Rule>, instance: &InstanceView) -> Result<Vec<Rule>, PlanError> {
    let mut hidden = Vec::new();
    for rule in &rules {
        let Rule::Show { source, target, why, .. } = rule else { continue };
        let own = matches!(why, Why::Workspace | Why::UserEnvironment | Why::Skills);
        for covered in &instance.protected {
            let within_own = || rules.iter().any(|other| is_own(other, source));
            if source.starts_with(&covered.path) && !own && !within_own() {
                return Err(PlanError::Protected { path: source.clone() });
            }
            if let Ok(rest) = covered.path.strip_prefix(source)
                && !rest.as_os_str().is_empty()
            {
                hidden.push(Rule::Hide { target: target.join(rest), kind: covered.kind });
            }
        }
    }
    // A private directory on the way to the instance must not pass for the instance.
    let in_scratch =
        |rule: &Rule| matches!(rule, Rule::Scratch { target } if instance.root.starts_with(target));
    if rules.iter().any(in_scratch) {
        hidden.push(Rule::Hide { target: instance.root.clone(), kind: Kind::Directory });
    }
    rules.extend(hidden);
    Ok(rules)
}

/// Whether `rule` shows a part of the instance that this child may have, and `source` lies in it.
fn is_own(rule: &Rule, source: &Path) -> bool {
    matches!(rule, Rule::Show { source: own, why: Why::Workspace | Why::UserEnvironment | Why::Skills, .. } if source.starts_with(own))
}

/// Refuses an exposure that has nowhere to be mounted: a missing directory can be made where the child may write, and stays
/// behind empty; a missing file would stay behind as one, and nothing can be made in what is read-only.
fn mount_points(view: &[Rule], host: &dyn HostFiles) -> Result<(), PlanError> {
    for rule in view {
        let Rule::Show { target, kind, why: Why::Configured, .. } = rule else { continue };
        let above = view.iter().rev().find_map(|other| match other {
            Rule::Show { source, target: above, mode, kind: Kind::Directory, .. } if target != above => {
                Some((source, target.strip_prefix(above).ok()?, *mode))
            }
            Rule::Scratch { target: above } | Rule::Hide { target: above, .. } if target != above => {
                // Our own ground: anything can be made there.
                target.starts_with(above).then(|| (above, Path::new(""), ExposeMode::ReadWrite))
            }
            _ => None,
        });
        let Some((source, rest, mode)) = above.filter(|(_, rest, _)| !rest.as_os_str().is_empty()) else {
            continue;
        };
        let place = source.join(rest);
        let is_there = host.find(&place).is_some_and(|found| found.kind == *kind);
        if !is_there && (*kind == Kind::File || mode == ExposeMode::ReadOnly) {
            return Err(PlanError::NoMountPoint { target: target.clone(), place });
        }
    }
    Ok(())
}

fn is_visible(view: &[Rule], path: &Path) -> bool {
    view.iter()
        .any(|rule| path.starts_with(rule.target()) && !matches!(rule, Rule::Link { .. } | Rule::Hide { .. }))
}
