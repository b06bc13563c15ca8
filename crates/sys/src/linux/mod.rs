//! Linux: children as prepared steps, and the supervisor that ends their process tree.
//!
//! Invariant: after `clone` in a process with threads, another thread may have held the allocator's
//! lock. The code between `clone` and `execve`, and the supervisor for its whole life, neither
//! allocates, locks, panics nor calls back into the caller: a [`ChildSpec`] is complete before the
//! clone.

mod child_spec;
mod fd_limit;
mod hold_memory;
pub mod landlock;
pub mod mount;
mod net_namespace;
mod privilege;
mod proc_stat;
mod process;
mod process_tree;
mod raw_syscall;
mod relro;
mod report;
mod scrub_argv;
mod seccomp;
mod seccomp_listener;
mod signalfd;
mod spawn;
mod step;
mod supervisor;

pub use child_spec::{ChildSpec, Exec, SupervisionMode};
pub use fd_limit::raise_fd_limit;
pub use hold_memory::{HeldMemory, MemoryKind, hold_memory};
pub use net_namespace::NetNamespace;
pub use proc_stat::ProcStat;
pub use process::Process;
pub use process_tree::{descendants, kill_orphans};
pub use raw_syscall::prefer_short_slices;
pub use relro::protect_relro;
pub use report::{Message, Report, SupervisorCommand};
pub use seccomp::{Instruction, SeccompFilter};
pub use signalfd::{SignalFd, die_by, ignore_signal, is_foreground, stop_self, suspend_job};
pub use spawn::{KILLER_SIGNAL, Spawned, confine_and_exec, spawn};
pub use step::{BindMount, OverlayMount, Step};
