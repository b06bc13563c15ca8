//! Linux: a child as a list of steps, a keeper that ends its tree.
//!
//! After `clone` in a program with threads only raw system calls are allowed: another thread may have held the
//! allocator's lock at that moment. So a [`Script`] is complete before the clone, and the code that runs after it
//! (`step`, `keeper`, `tree`) neither allocates nor unwinds.
//!
//! Invariant: between `clone` and `execve` nothing allocates, locks, panics or calls back into the caller.

mod descriptors;
mod filter;
mod keeper;
pub mod landlock;
pub mod mount;
mod own;
mod privilege;
mod raw;
mod relro;
mod report;
mod script;
mod signals;
mod spawn;
mod step;
mod tree;
mod words;

pub use descriptors::raise_descriptors;
pub use filter::{Filter, Instruction};
pub use own::own_stat;
pub use relro::protect_relro;
pub use report::Report;
pub use script::{Exec, Keeping, News, Script};
pub use signals::{Signals, end_by, ignore, stop_self, suspend_job};
pub use spawn::{Order, Spawned, spawn};
pub use step::{Bind, Step};
pub use tree::end_strays;
