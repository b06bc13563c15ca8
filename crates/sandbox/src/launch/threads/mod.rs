//! Children of systems without a supervisor. Threads read and write their pipes, and wait for their
//! end.

mod background_child;
mod child_streams;
mod no_network;
mod run;
mod running;

pub(super) use background_child::BackgroundChild;
pub(super) use child_streams::open as open_streams;
pub use no_network::{ClosedNetwork, NetCounters};
pub use run::run_with_output;
pub use running::{Running, wait_for_supervisors};
