//! Which programs of an instance run: the one gateway, and a registry of all of them.
//!
//! The PID file says where the gateway listens and which token it takes. Whether it runs is decided
//! by the lock on `.picoclaw.lock` alone, which the kernel releases with the process: a PID in a
//! file may belong to another machine, to a container, or by now to another process. Every program
//! that works for the instance is in the registry as well, under a lock of its own, so that
//! `picoclaw stop` finds it.

mod error;
mod gateway;
mod pid_file;
mod processes;

pub use error::PresenceError;
pub use gateway::{GatewayLock, random_token};
pub use pid_file::PidFile;
pub use processes::{ProcessRegistry, Registration, Role, RunningProcess, Stopped};
