//! The ways to enforce a plan: our own namespaces, bubblewrap or Landlock alone; on Windows a
//! restricted token.
//!
//! Invariant: whatever a backend does not hold is named in its
//! [`Enforced`](crate::isolate::Enforced).

use crate::isolate::error::IsolateError;
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use crate::printable::printable_path;
use std::path::{Path, PathBuf};

/// What enforces a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Namespaces that picoclaw sets up itself.
    Native,
    /// The same with the host's `/proc`, where none can be mounted: in a container that masks parts
    /// of its own.
    NativeHostProc,
    /// Bubblewrap, at this path.
    Bwrap(PathBuf),
    /// Landlock and a seccomp filter, without namespaces.
    Landlock,
    /// A restricted token of low integrity, and a job: on Windows.
    RestrictedToken,
    /// Nothing; every start is refused.
    Unsupported(&'static str),
}

impl Backend {
    /// Its name for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Native | Self::NativeHostProc => "native",
            Self::Bwrap(_) => "bubblewrap",
            Self::Landlock => "Landlock",
            Self::RestrictedToken => "a restricted token",
            Self::Unsupported(_) => "nothing",
        }
    }

    /// Whether picoclaw makes the namespaces itself.
    pub(crate) fn is_native(&self) -> bool {
        matches!(self, Self::Native | Self::NativeHostProc)
    }

    /// Whether it is a cage of Linux.
    pub fn is_cage(&self) -> bool {
        self.has_mounts() || *self == Self::Landlock
    }

    /// Whether children have a file tree of their own.
    pub(crate) fn has_mounts(&self) -> bool {
        self.is_native() || matches!(self, Self::Bwrap(_))
    }

    /// Refuses a plan that this backend cannot enforce.
    pub fn check(&self, plan: &Plan) -> Result<(), IsolateError> {
        match self {
            Self::Unsupported(why) => Err(IsolateError::Unsupported { why }),
            _ if plan.network.hosts().is_some() && !self.is_native() => {
                Err(IsolateError::CannotEnforce { what: "reaching hosts by name".to_owned() })
            }
            Self::Native | Self::NativeHostProc | Self::Bwrap(_) | Self::RestrictedToken => Ok(()),
            // Without a pid namespace the filter refuses tracing.
            Self::Landlock if plan.debug => Err(IsolateError::CannotEnforce { what: "tracing".to_owned() }),
            Self::Landlock => {
                let unsupported = plan.mounts.iter().find_map(|rule| match rule {
                    MountRule::Bind { source, target, reason: MountReason::Configured, .. }
                        if source != target =>
                    {
                        Some(format!("showing `{}` at `{}`", printable_path(source), printable_path(target)))
                    }
                    MountRule::Hide { target, .. } if is_shown(plan, target) => {
                        Some(format!("hiding `{}` within something exposed", printable_path(target)))
                    }
                    _ => None,
                });
                unsupported.map_or(Ok(()), |what| Err(IsolateError::CannotEnforce { what }))
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
