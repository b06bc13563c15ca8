//! The description of one child: what its supervisor does, what the command does before its
//! program, and the program.

use crate::linux::net_namespace::NetNamespace;
use crate::linux::step::Step;
use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

/// How a supervisor finds the processes of its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisionMode {
    /// As a subreaper: for children without a pid namespace.
    Descendants,
    /// As a subreaper of a program that builds namespaces (bubblewrap) and dies of the first
    /// signal, and when its parent dies, with everything in them: it is spared when a signal is
    /// forwarded or the tree is asked to terminate.
    Builder,
    /// As the first process of a pid namespace: the kernel ends the rest with it.
    Namespace,
}

/// A complete description of one child. Descriptors are given by number; the caller keeps them open
/// until [`spawn`](crate::linux::spawn) has returned.
#[derive(Debug)]
pub struct ChildSpec {
    /// `CLONE_NEW…` flags for the supervisor.
    pub namespaces: u32,
    /// The network that it enters, instead of a new one.
    pub network: Option<Arc<NetNamespace>>,
    /// How the supervisor finds its tree.
    pub mode: SupervisionMode,
    /// Whether a setup step puts the supervisor into a Landlock domain of its own that scopes
    /// signals: -1 is then every process of its tree. Otherwise a tree without a pid namespace is
    /// looked for in `/proc`.
    pub is_scoped: bool,
    /// Steps of the supervisor before the command starts.
    pub setup: Vec<Step>,
    /// What the supervisor opens for its parent before the command starts, and sends with its
    /// position: file systems and counters of its namespaces, which are there for as long as they
    /// are open.
    pub opened: Vec<CString>,
    /// Steps of the command before it executes its program.
    pub command: Vec<Step>,
    /// The program.
    pub exec: Exec,
    /// Limit in bytes on the System V memory of the supervisor's IPC namespace; zero is no limit.
    pub system_v_limit: u64,
    /// How long the tree may run. Its parent keeps the time too; among a thousand busy processes it
    /// may be late, since it counts their memory.
    pub deadline: Option<Duration>,
}

/// A program with its arguments and environment.
#[derive(Debug)]
pub struct Exec {
    /// The absolute path.
    pub path: CString,
    /// The arguments, beginning with the program's name.
    pub argv: Vec<CString>,
    /// `NAME=value` strings.
    pub envp: Vec<CString>,
}
