//! Isolate: the cage around a child, as data first and then as the kernel grants it.
//!
//! [`plan`] is pure: it says what a child will see. A backend turns the [`Plan`] into walls and says, as
//! [`Enforced`], what the kernel really holds. Less than the configuration requires means refusing to start.
//!
//! Invariant: no plan follows from what a model wrote, and no backend gives less than it says.

mod bwrap;
mod cage;
mod enforced;
mod environment;
mod error;
mod examine;
mod exposure;
mod fence;
mod filter;
mod host;
mod identity;
mod native;
mod pick;
mod plan;
mod probe;
mod remembered;
mod render;
mod rights;
mod rootfs;
mod rung;
mod toolchain;
mod view;
mod walls;

pub use bwrap::{INSTALL_HINTS, bwrap_arguments, find_bwrap};
pub use cage::Cage;
pub use enforced::{Enforced, Grade};
pub use environment::{UserEnvironment, caged};
pub use error::{IsolateError, PlanError, StartError};
pub use examine::{Baits, Finding, Outcome, Sight, examine};
pub use exposure::exposure_faults;
pub use fence::Fence;
pub use host::{Found, HostFiles, Kind, LiveHost};
pub use identity::git_identity;
pub use pick::pick;
pub use plan::{Author, Covered, InstanceView, Plan, Request, Workspace, plan};
pub use probe::probe;
pub use remembered::pick_remembered;
pub use rung::{Probed, Rung, choose};
pub use toolchain::toolchain_variables;
pub use view::{Rule, Why};
pub(crate) use walls::{Dress, Entry};
