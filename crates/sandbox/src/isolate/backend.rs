//! The ways to enforce a plan: our own namespaces, bubblewrap, or Landlock alone.
//!
//! Invariant: whatever a backend does not hold is named in its [`Enforced`].

use crate::isolate::bwrap_landlock;
use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::IsolateError;
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use picoclaw_policy::config::{ExposeMode, IsolationConfig, Network};
use picoclaw_sys::linux::landlock;
use std::path::{Path, PathBuf};

/// What enforces a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Namespaces that picoclaw sets up itself.
    Native,
    /// Bubblewrap, at this path.
    Bwrap(PathBuf),
    /// Landlock and a seccomp filter, without namespaces.
    Landlock,
    /// Nothing; every start is refused.
    Unsupported(&'static str),
}

impl Backend {
    /// Its name for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bwrap(_) => "bubblewrap",
            Self::Landlock => "Landlock",
            Self::Unsupported(_) => "nothing",
        }
    }

    /// Whether children have a file tree of their own.
    pub(crate) fn has_mounts(&self) -> bool {
        matches!(self, Self::Native | Self::Bwrap(_))
    }

    /// How much of each layer this backend holds.
    pub fn enforced(&self, isolation: &IsolationConfig) -> Enforced {
        let network = match (self, isolation.network) {
            (Self::Native | Self::Bwrap(_) | Self::Landlock, Network::None) => Grade::Full,
            (Self::Bwrap(_), Network::Host) if !bwrap_landlock::holds_abstract_sockets() => Grade::None(
                "`isolation.network` is `host`, and abstract sockets are not held (no Landlock inside bubblewrap)"
                    .into(),
            ),
            (_, Network::Host) => Grade::None("`isolation.network` is `host`".into()),
            (Self::Unsupported(why), _) => Grade::None((*why).into()),
        };
        let full = || Grade::Full;
        let counted = || {
            Grade::Partial("memory and processes of the tree are held by a cgroup where one can be made; elsewhere they are counted every 20 ms, without socket buffers".into())
        };
        match self {
            Self::Native => Enforced {
                filesystem: full(),
                network,
                processes: full(),
                syscalls: full(),
                limits: counted(),
            },
            Self::Bwrap(_) => {
                let limits = counted();
                Enforced { filesystem: full(), network, processes: full(), syscalls: full(), limits }
            }
            Self::Landlock => Enforced {
                filesystem: Grade::Partial(
                    if isolation.unix_sockets {
                        "modes and file attributes outside, UNIX sockets and protected files are not held"
                    } else {
                        "modes and file attributes outside and protected files are not held"
                    }
                    .into(),
                ),
                network,
                processes: Grade::Partial(if landlock::abi().is_some_and(|abi| abi >= 6) {
                    "processes are visible; signals and tracing are held".into()
                } else {
                    "processes are visible; tracing is held, signals are not (needs Linux 6.12)".into()
                }),
                syscalls: full(),
                limits: counted(),
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

    /// Refuses a plan that this backend cannot enforce.
    pub fn check(&self, plan: &Plan) -> Result<(), IsolateError> {
        match self {
            Self::Native | Self::Bwrap(_) => Ok(()),
            Self::Unsupported(why) => Err(IsolateError::Unsupported { why }),
            // Without a pid namespace the filter refuses tracing.
            Self::Landlock if plan.debug => {
                Err(IsolateError::DisabledKernelFeatures { what: "tracing".to_owned() })
            }
            Self::Landlock => {
                let unsupported = plan.mounts.iter().find_map(|rule| match rule {
                    MountRule::Bind { source, target, reason: MountReason::Configured, .. }
                        if source != target =>
                    {
                        Some(format!("showing `{}` at `{}`", source.display(), target.display()))
                    }
                    MountRule::Hide { target, .. } if is_shown(plan, target) => {
                        Some(format!("hiding `{}` within something exposed", target.display()))
                    }
                    _ => None,
                });
                unsupported.map_or(Ok(()), |what| Err(IsolateError::DisabledKernelFeatures { what }))
            }
        }
    }
}

/// Whether a hidden path lies in a bind mount, and not only in a private directory.
fn is_shown(plan: &Plan, hidden: &Path) -> bool {
    plan.mounts
        .iter()
        .any(|rule| matches!(rule, MountRule::Bind { target, .. } if hidden.starts_with(target)))
}

/// The host paths that a plan shows, for a backend without mounts.
pub(super) fn host_rights(plan: &Plan) -> Vec<(PathBuf, ExposeMode)> {
    let shown = plan.mounts.iter().filter_map(|rule| match rule {
        MountRule::Bind { source, mode, .. } => Some((source.clone(), *mode)),
        MountRule::Symlink { .. }
        | MountRule::Tmpfs { .. }
        | MountRule::Overlay { .. }
        | MountRule::Hide { .. }
        | MountRule::MaskSocket { .. } => None,
    });
    shown.chain([(PathBuf::from("/proc"), ExposeMode::ReadOnly)]).collect()
}
