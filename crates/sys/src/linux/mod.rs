//! Linux: a child as a list of steps, a keeper that ends its tree.
//!
//! After `clone` in a program with threads only raw system calls are allowed: another thread may have held the
//! allocator's lock at that moment. So a [`Script`] is complete before the clone, and the code that runs after it
//! (`step`, `keeper`, `tree`) neither allocates nor unwinds.
//!
//! Invariant: between `clone` and `execve` nothing allocates, locks, panics or calls back into the caller.

#[cfg(any(test, all(target_env = "musl", target_arch = "x86_64")))]
mod addresses;
mod clone;
mod descriptors;
mod filter;
mod first;
mod heap;
mod image;
mod keeper;
pub mod landlock;
#[cfg(target_arch = "x86_64")]
mod memory;
pub mod mount;
mod own;
mod privilege;
mod raw;
mod report;
mod script;
mod signals;
mod spawn;
mod step;
#[cfg(all(target_env = "musl", target_arch = "x86_64"))]
mod tables;
#[cfg(not(all(target_env = "musl", target_arch = "x86_64")))]
mod tables {
    /// Elsewhere the C library writes every table before the program begins.
    pub fn complete_tables() {}
}
mod tree;
mod words;

pub use descriptors::raise_descriptors;
pub use filter::{Filter, Instruction};
pub use heap::Heap;
pub use image::let_go_of_code;
pub use own::own_stat;
pub use report::Report;
pub use script::{Exec, Keeping, Memory, News, Script};
pub use signals::{Signals, end_by, ignore, stop_self, suspend_job};
pub use spawn::{Order, Spawned, spawn};
pub use step::{Bind, Step};
pub use tables::complete_tables;
pub use tree::end_strays;
