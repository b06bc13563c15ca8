//! Errors of plans, cages and the start-up check.
//!
//! Invariant: every error is returned before the child's program runs.

use crate::printable::{printable_path, shell_word};
use crate::state_dir::StateError;
use picoclaw_sys::SYSTEM;
use std::io;
use std::path::{Path, PathBuf};

/// Why a plan was refused.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// An exposure without a source.
    #[error("`isolation.expose_paths`: source is required")]
    NoSource,
    /// A relative path, or one with dots.
    #[error(
        "`isolation.expose_paths`: source and target must be absolute paths without `.` and `..`: `{source_path}` -> `{target}`", source_path = printable_path(source_path), target = printable_path(target))]
    NotAbsolute {
        /// The source as written.
        source_path: PathBuf,
        /// The target as written.
        target: PathBuf,
    },
    /// A target that the cage itself mounts.
    #[error("`isolation.expose_paths`: the target `{}` belongs to the cage itself", printable_path(target))]
    Reserved {
        /// The target.
        target: PathBuf,
    },
    /// A command can write where the link lies, and choose what it leads to.
    #[error(
        "`{}` is to be shown in the cage and leads through the link `{}`, which a command may have made; name what it leads to",
        printable_path(path),
        printable_path(link)
    )]
    PlantedLink {
        /// The source.
        path: PathBuf,
        /// The link.
        link: PathBuf,
    },
    /// A kernel file system or a device.
    #[error(
        "`isolation.expose_paths`: the source `{}` belongs to the kernel and cannot be exposed",
        printable_path(path)
    )]
    KernelSource {
        /// The source.
        path: PathBuf,
    },
    /// The files of the cage's own name service.
    #[error("could not write the files by which the cage finds its name server")]
    NameService {
        /// Why not.
        source: StateError,
    },
    /// The whole file tree.
    #[error("`isolation.expose_paths`: exposing `/` would leave no cage")]
    WholeHost,
    /// A source that does not exist.
    #[error("`{}` is to be shown in the cage, but does not exist", printable_path(path))]
    Missing {
        /// The source.
        path: PathBuf,
    },
    /// A source that holds a Protected file.
    #[error(
        "`{}` holds `{}`, which is protected, and cannot be shown in the cage",
        printable_path(path),
        printable_path(hidden)
    )]
    Holds {
        /// The source.
        path: PathBuf,
        /// The file.
        hidden: PathBuf,
    },
    /// A source that is Protected.
    #[error("`{}` is protected and cannot be shown in the cage", printable_path(path))]
    Protected {
        /// The source.
        path: PathBuf,
    },
    /// Too many exposures.
    #[error("`isolation.expose_paths` has {count} entries; the maximum is {most}")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A target beneath a bind mount that has no mount point on the host.
    #[error(
        "`isolation.expose_paths`: the target `{target}` lies in a path that is shown, and its mount point `{place}` does not exist; create it first", target = printable_path(target), place = printable_path(place))]
    NoMountPoint {
        /// The target.
        target: PathBuf,
        /// The missing mount point on the host.
        place: PathBuf,
    },
    /// Paths are to be mapped on Windows.
    #[error("`isolation.expose_paths` is not supported on Windows: paths cannot be mapped there")]
    NotOnWindows,
    /// The system has no cage.
    #[error("subprocess isolation is not supported here: {SYSTEM} has no cage")]
    NoCage,
    /// An unknown toolchain.
    #[error("there is no toolchain `{name}`; `auto`, `none` and these are known: {known}")]
    Toolchain {
        /// Its name.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// `PICOCLAW_HOME` fell back to the current directory.
    #[error("instance root resolved to current directory")]
    NoInstance,
    /// A working directory that is not visible in the cage.
    #[error("the working directory `{}` is not in the cage's view", printable_path(path))]
    WorkDirOutside {
        /// The directory.
        path: PathBuf,
    },
}

/// Why a cage could not be built.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// The plan itself.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A source that was removed or cannot be opened.
    #[error("could not inspect `{}`, which is to be shown in the cage", printable_path(path))]
    Source {
        /// The source.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A directory in which a socket of the host may lie.
    #[error(
        "could not search `{}` for UNIX sockets of the host, which a command must not reach",
        printable_path(path)
    )]
    Unsearched {
        /// The directory.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A workspace that its owner may not search for protected files.
    #[error(
        "`{1}` cannot be searched for protected files; `chmod u+rx {0}` opens it again, and \
         `picoclaw run --unprotect {0}` protects nothing in it",
        quoted(path),
        printable_path(path)
    )]
    Closed {
        /// The workspace.
        path: PathBuf,
    },
    /// A workspace whose protected files could not be looked up for another reason.
    #[error("could not search `{}` for protected files", printable_path(path))]
    NotSearched {
        /// The workspace.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A path with a NUL byte.
    #[error("`{}` contains a NUL byte", printable_path(path))]
    Nul {
        /// The path.
        path: PathBuf,
    },
    /// A request that the backend cannot enforce.
    #[error("{what} was requested, but the isolation of this host cannot enforce it")]
    CannotEnforce {
        /// What was asked for.
        what: String,
    },
    /// No backend at all.
    #[error("subprocess isolation is not supported here: {why}")]
    Unsupported {
        /// Why.
        why: &'static str,
    },
    /// A failed system call.
    #[error("could not {what}")]
    Kernel {
        /// What was being done.
        what: String,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// Why a program does not start with isolation enabled.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The native backend was requested and does not work.
    #[error("isolation is enabled with the native backend, which this host does not support: {reason}")]
    Native {
        /// Why not.
        reason: String,
    },
    /// Bubblewrap was requested and does not work.
    #[error("linux isolation requires bwrap and does not fall back automatically: {reason}")]
    Bwrap {
        /// Why not.
        reason: String,
    },
    /// No backend works.
    #[error(
        "isolation is enabled but is not available on this host: native: {native}; bwrap: {bwrap}; Landlock: too old or absent"
    )]
    Nothing {
        /// Why not native.
        native: String,
        /// Why not bubblewrap.
        bwrap: String,
    },
    /// A backend could not be tried. No lower one is taken, since the reason may be gone at the
    /// next start.
    #[error("the {backend} backend could not be tried: {reason}")]
    Trial {
        /// The backend.
        backend: &'static str,
        /// Why not.
        reason: String,
    },
    /// A layer of `isolation.require` is not held in full.
    #[error("`isolation.require` names `{layer}`, which this host does not enforce in full: {grade}")]
    Required {
        /// The layer.
        layer: &'static str,
        /// How far it is held.
        grade: String,
    },
    /// Paths are to be mapped on Windows.
    #[error("`isolation.expose_paths` is not supported on Windows: paths cannot be mapped there")]
    ExposePaths,
    /// A token cannot be restricted, or its integrity level cannot be lowered.
    #[error("isolation is enabled but is not available on this host: {reason}")]
    Token {
        /// Why not.
        reason: String,
    },
    /// The system has no cage.
    #[error("isolation is enabled but is not available on this host: {reason}")]
    NoCage {
        /// Why not.
        reason: String,
    },
    /// A request that the backend cannot enforce.
    #[error("{what} was requested, but the isolation of this host cannot enforce it")]
    CannotEnforce {
        /// What was asked for.
        what: &'static str,
    },
}

/// How the reason begins if a backend's program ran and failed.
pub(super) const TRIAL_ENDED: &str = "a trial child ended with";

impl StartError {
    /// The remedy, and how to disable isolation at what risk.
    pub fn hint(&self) -> String {
        let remedy = match self {
            // Where it is installed and fails, installing it again helps nothing.
            Self::Bwrap { reason } | Self::Nothing { bwrap: reason, .. }
                if reason.starts_with(TRIAL_ENDED) =>
            {
                "bubblewrap is installed: allow what this host refuses it".to_owned()
            }
            Self::Bwrap { .. } | Self::Nothing { .. } => {
                format!("install bubblewrap: {}", crate::isolate::INSTALL_HINTS)
            }
            Self::Native { .. } => "`isolation.backend`: \"auto\" also tries bubblewrap".to_owned(),
            Self::Trial { .. } => {
                "try again; a temporary shortage is no reason for a lower level of isolation".to_owned()
            }
            Self::ExposePaths => "remove `isolation.expose_paths`".to_owned(),
            Self::Token { .. } => "`picoclaw doctor` says what this host refuses".to_owned(),
            Self::NoCage { .. } => "run picoclaw on Linux, also in a virtual machine".to_owned(),
            Self::Required { .. } => {
                "leave the layer out of `isolation.require` to start with less".to_owned()
            }
            Self::CannotEnforce { .. } => {
                "leave it out, or run where there is a cage: `picoclaw doctor` says why there is none here"
                    .to_owned()
            }
        };
        let price = "child processes can then access or modify more host files";
        format!("{remedy}\n`isolation.enabled`: false switches isolation off; {price}")
    }
}

/// A path as one shell word.
pub(super) fn quoted(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}
