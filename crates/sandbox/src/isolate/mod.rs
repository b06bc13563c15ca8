//! Confines child processes: a [`Plan`] says what a child sees, a [`Backend`] enforces it, and
//! [`Enforced`] says how much of it the kernel really holds.
//!
//! Invariant: nothing that a model wrote is part of a plan, and a backend that holds less than the
//! configuration requires refuses to start.

mod backend;
mod bwrap;
mod bwrap_landlock;
mod caches;
mod cage;
mod confinement;
mod doctor_checks;
mod enforced;
mod environment;
mod error;
mod expose_paths;
mod fence;
mod git_config;
mod host_files;
mod host_sockets;
mod landlock_rules;
mod mount_rules;
mod mount_table;
mod native;
mod network_settings;
mod passwd;
mod plan;
mod plan_text;
mod probe;
mod proc_masks;
mod project_root;
mod rootfs;
mod seccomp_filter;
mod seccomp_rules;
mod select_backend;
mod sock_diag;
mod toolchain;

pub use backend::Backend;
pub use bwrap::{INSTALL_HINTS, bwrap_arguments, find_bwrap};
pub use bwrap_landlock::enter_landlock_if_asked;
pub use caches::CacheMode;
pub(crate) use caches::cache_mounts;
pub use cage::Cage;
pub use confinement::Confinement;
pub use doctor_checks::{CheckResult, Decoys, DoctorCheck, Visibility, hold_memory, run_doctor_checks};
pub use enforced::{Enforced, Grade};
pub use environment::{UserEnvironment, cage_variables};
pub use error::{IsolateError, PlanError, StartError};
pub use expose_paths::exposure_faults;
pub use fence::Fence;
pub use git_config::filtered_git_config;
pub use host_files::{HostEntry, HostEntryKind, HostFiles, LiveHost};
pub use mount_rules::{MountReason, MountRule};
pub use mount_table::MountTable;
pub(crate) use network_settings::set_network_variables;
pub use passwd::passwd_with_home;
pub use plan::{CommandSource, HiddenPath, InstancePaths, Plan, PlanRequest, WorkspaceMount, plan};
pub use probe::probe;
pub use project_root::{ProjectRoot, RootKind, RootRefused, find_project_root};
pub use select_backend::{ProbeResult, Unusable, choose_backend, select_backend};
pub use toolchain::{cargo_settings, link_python_packages, toolchain_variables};
