//! Confines child processes: a [`Plan`] says what a child sees, a [`Backend`] enforces it, and
//! [`Enforced`] says how much of it the kernel really holds.
//!
//! Invariant: nothing that a model wrote is part of a plan, and a backend that holds less than the
//! configuration requires refuses to start.

mod backend;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are Linux's"))]
mod caches;
mod confinement;
mod doctor_check;
mod enforced;
mod environment;
mod error;
mod expose_paths;
mod git_config;
mod git_settings;
mod host_files;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod mount_rules;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are Linux's"))]
mod network_settings;
#[cfg(not(target_os = "linux"))]
mod no_fence;
#[cfg(not(target_os = "linux"))]
mod not_here;
mod passwd;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are Linux's"))]
mod plan;
mod plan_text;
mod probe_result;
mod project_root;
mod toolchain;
#[cfg(windows)]
mod windows;
pub mod windows_rules;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
use windows as platform;

pub use backend::Backend;
pub use caches::CacheMode;
#[cfg(target_os = "linux")]
pub(crate) use caches::{Untrusted, cache_mounts};
pub use confinement::Confinement;
pub use doctor_check::{CheckResult, Decoys, DoctorCheck, Visibility};
pub use enforced::{Enforced, Grade};
pub(crate) use environment::DEFAULT_PATH;
pub use environment::{SearchPath, UserEnvironment, cage_variables};
pub use error::{IsolateError, PlanError, StartError};
pub use expose_paths::exposure_faults;
pub use git_config::PassedGitConfig;
pub(crate) use git_settings::git_settings;
pub(crate) use host_files::follow;
pub use host_files::{HostEntry, HostEntryKind, HostFiles, LiveHost};
#[cfg(target_os = "linux")]
pub use linux::{bwrap_arguments, choose_backend, find_bwrap};
pub use mount_rules::{MountReason, MountRule};
#[cfg(target_os = "linux")]
pub(crate) use network_settings::set_network_variables;
pub use passwd::passwd_with_home;
pub use plan::{CommandSource, HiddenPath, InstancePaths, Plan, PlanRequest, WorkspaceMount, plan};
pub use platform::{
    Cage, DecoyListener, Fence, INSTALL_HINTS, MAPS_PATHS, enter_landlock_if_asked, hold_memory, probe,
    run_doctor_checks, select_backend,
};
pub(crate) use platform::{PLAN_LOG_ENTRY, untried_backend};
pub use probe_result::{ProbeResult, Unusable};
pub(crate) use project_root::is_git_dir;
pub use project_root::{ProjectRoot, RootKind, RootRefused, find_project_root};
pub use toolchain::{cargo_settings, link_python_packages, toolchain_variables};
