//! How much of each layer the backends hold, and what one without mounts shows.

use crate::isolate::backend::Backend;
use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::linux::bwrap_landlock;
use crate::isolate::mount_rules::MountRule;
use crate::isolate::plan::Plan;
use picoclaw_policy::config::{ExposeMode, IsolationConfig, Network};
use picoclaw_sys::linux::landlock;
use std::path::PathBuf;

impl Backend {
    /// How much of each layer this backend holds.
    pub fn enforced(&self, isolation: &IsolationConfig) -> Enforced {
        let network = match (self, &isolation.network) {
            (
                Self::Native | Self::NativeHostProc | Self::Bwrap(_) | Self::Landlock,
                Network::None,
            ) => Grade::Full,
            (
                Self::Native | Self::NativeHostProc | Self::Bwrap(_) | Self::Landlock,
                Network::Allow(hosts),
            ) => Grade::FullBut(hosts.to_string()),
            (Self::Bwrap(_), Network::Host) if !bwrap_landlock::holds_abstract_sockets() => Grade::None(
                "`isolation.network` is `host`, and abstract sockets are not held (no Landlock inside bubblewrap)"
                    .into(),
            ),
            (_, Network::Host) => Grade::None("`isolation.network` is `host`".into()),
            (Self::RestrictedToken | Self::Unsupported(_), Network::None | Network::Allow(_)) => {
                Grade::None(self.unsupported().into())
            }
        };
        let full = || Grade::Full;
        let counted = || {
            Grade::Partial("memory and processes of the tree are held by a cgroup where one can be made; elsewhere they are counted every 20 ms, without socket buffers".into())
        };
        match self {
            Self::Native | Self::NativeHostProc | Self::Bwrap(_) => {
                let processes = match self {
                    Self::NativeHostProc => Grade::Partial(
                        "processes are visible, since `/proc` cannot be mounted here; signals and tracing are held"
                            .into(),
                    ),
                    _ => full(),
                };
                Enforced { filesystem: full(), network, processes, syscalls: full(), limits: counted() }
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
            Self::RestrictedToken | Self::Unsupported(_) => {
                let none = || Grade::None(self.unsupported().into());
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

    /// Why a backend is none of this platform.
    pub(super) fn unsupported(&self) -> &'static str {
        match self {
            Self::Unsupported(why) => why,
            _ => "this is Linux",
        }
    }
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
