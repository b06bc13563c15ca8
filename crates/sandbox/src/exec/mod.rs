//! Commands under a key: what is looked into, and the effects that a permit pays for.
//!
//! Invariant: a command that runs was judged as the very text, in the very directory, that it runs as and in.

pub mod attend;
mod errand;
mod kind;
mod quarters;
mod run;
mod session;
mod terrain;
mod trial;
mod workshop;

pub use errand::{Away, Errand, ErrandError};
pub use kind::{Attend, Exec};
pub use run::{ExecError, run, start};
pub use session::{Program, Session};
pub use terrain::HostTerrain;
pub use trial::Trial;
pub use workshop::{Workshop, WorkshopError};
