//! How a cage is held on this host: the rungs of the ladder.
//!
//! Invariant: a lower rung is never taken for a higher one; what it lacks is in its [`Enforced`].

use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::{IsolateError, StartError};
use crate::isolate::plan::Plan;
use crate::isolate::view::Rule;
use picoclaw_policy::config::{ExposeMode, IsolationConfig, Network};
use picoclaw_sys::linux::landlock;
use std::path::PathBuf;

/// How a cage is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rung {
    /// Namespaces of our own making.
    Native,
    /// Bubblewrap, at this path.
    Bwrap(PathBuf),
    /// Landlock and a filter, without namespaces.
    Landlock,
    /// Nothing: whatever is asked to start here is refused.
    Unsupported(&'static str),
}

impl Rung {
    /// What a person calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bwrap(_) => "bubblewrap",
            Self::Landlock => "Landlock",
            Self::Unsupported(_) => "nothing",
        }
    }

    /// What a child held this way has around it.
    pub fn enforced(&self, isolation: &IsolationConfig) -> Enforced {
        let network = match (self, isolation.network) {
            (Self::Native | Self::Bwrap(_), Network::None) => Grade::Full,
            (Self::Landlock, Network::None) => Grade::None("no network namespace; UDP is open".into()),
            (Self::Bwrap(_), Network::Host) => Grade::None(
                "`isolation.network` is `host`, and abstract sockets are not held (no Landlock inside bubblewrap)"
                    .into(),
            ),
            (_, Network::Host) => Grade::None("`isolation.network` is `host`".into()),
            (Self::Unsupported(why), _) => Grade::None((*why).into()),
        };
        let full = || Grade::Full;
        let watched = || {
            Grade::Partial("memory of the whole tree is watched every 50 ms and each process held by `RLIMIT_DATA`; processes are held by the namespace's `pid_max` (Linux 6.14) or `RLIMIT_NPROC`".into())
        };
        match self {
            Self::Native => Enforced {
                filesystem: full(),
                network,
                processes: full(),
                syscalls: full(),
                limits: watched(),
            },
            Self::Bwrap(_) => {
                let limits = Grade::Partial(
                    "memory is watched; the number of processes is held, but not root's".into(),
                );
                Enforced { filesystem: full(), network, processes: full(), syscalls: full(), limits }
            }
            Self::Landlock => Enforced {
                filesystem: Grade::Partial(
                    "modes, file attributes and path-name sockets outside are not held".into(),
                ),
                network,
                processes: Grade::Partial(if landlock::abi().is_some_and(|abi| abi >= 6) {
                    "processes are visible; signals and tracing are held".into()
                } else {
                    "processes are visible; tracing is held, signals are not (needs Linux 6.12)".into()
                }),
                syscalls: full(),
                limits: Grade::Partial("memory is watched; the number of processes is the user's".into()),
            },
            Self::Unsupported(why) => {
                let none = || Grade::None((*why).into());
                Enforced {
                    filesystem: none(),
                    network: none(),
                    processes: none(),
                    syscalls: none(),
                    limits: none(),
                }
            }
        }
    }

    /// Refuses a plan that this rung cannot hold as it was asked for.
    pub fn check(&self, plan: &Plan) -> Result<(), IsolateError> {
        match self {
            Self::Native | Self::Bwrap(_) => Ok(()),
            Self::Unsupported(why) => Err(IsolateError::Unsupported { why }),
            Self::Landlock => {
                if plan.network == Network::None {
                    return Err(IsolateError::Lacks { what: "`isolation.network: none`".into() });
                }
                let changed = plan.view.iter().find_map(|rule| match rule {
                    Rule::Show { source, target, why: crate::isolate::view::Why::Configured, .. }
                        if source != target =>
                    {
                        Some(format!("showing `{}` at `{}`", source.display(), target.display()))
                    }
                    Rule::Hide { target, .. } if is_shown(plan, target) => {
                        Some(format!("hiding `{}` within something exposed", target.display()))
                    }
                    _ => None,
                });
                changed.map_or(Ok(()), |what| Err(IsolateError::Lacks { what }))
            }
        }
    }
}

/// Whether something is hidden in what is otherwise shown, as opposed to a private place on the way to it.
fn is_shown(plan: &Plan, hidden: &std::path::Path) -> bool {
    plan.view.iter().any(|rule| matches!(rule, Rule::Show { target, .. } if hidden.starts_with(target)))
}

/// What can be had on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// Our own namespaces, or why not.
    pub native: Result<(), String>,
    /// Bubblewrap, or why not.
    pub bwrap: Result<PathBuf, String>,
    /// Landlock's version, if there is any.
    pub landlock: Option<u32>,
}

/// Takes the highest rung that the configuration allows and the host gives, or says why none.
pub fn choose(isolation: &IsolationConfig, probed: &Probed) -> Result<Rung, StartError> {
    use picoclaw_policy::config::Backend;
    let native = || probed.native.clone().map(|()| Rung::Native);
    let bwrap = || probed.bwrap.clone().map(Rung::Bwrap);
    let rung = match isolation.backend {
        Backend::Native => native().map_err(|reason| StartError::Native { reason })?,
        Backend::Bwrap => bwrap().map_err(|reason| StartError::Bwrap { reason })?,
        Backend::Auto => match (native(), bwrap(), probed.landlock) {
            (Ok(rung), _, _) | (_, Ok(rung), _) => rung,
            // Before version 3 a file could still be cut short, and before 6 anybody signalled.
            (_, _, Some(3..)) => Rung::Landlock,
            (Err(native), Err(bwrap), _) => return Err(StartError::Nothing { native, bwrap }),
        },
    };
    if let Some((layer, grade)) = rung.enforced(isolation).lacks(&isolation.require) {
        return Err(StartError::Required { layer, grade: grade.to_string() });
    }
    if rung == Rung::Landlock && isolation.network == Network::None {
        return Err(StartError::Lacks { what: "`isolation.network: none`" });
    }
    let remapped = isolation.expose_paths.iter().any(|exposure| exposure.source != exposure.target);
    if rung == Rung::Landlock && remapped {
        return Err(StartError::Lacks { what: "an exposure with another target than its source" });
    }
    Ok(rung)
}

/// The rights a plan gives on the host's own paths, for a rung without mounts.
pub(super) fn host_rights(plan: &Plan) -> Vec<(PathBuf, ExposeMode)> {
    let shown = plan.view.iter().filter_map(|rule| match rule {
        Rule::Show { source, mode, .. } => Some((source.clone(), *mode)),
        Rule::Link { .. } | Rule::Scratch { .. } | Rule::Hide { .. } => None,
    });
    shown.chain([(PathBuf::from("/proc"), ExposeMode::ReadOnly)]).collect()
}
