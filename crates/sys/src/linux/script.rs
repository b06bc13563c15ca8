//! A child as data: what its keeper does, what it does itself, what it executes.
//!
//! Invariant: a script is complete; carrying it out needs no memory but its own.

use crate::linux::step::Step;
use std::ffi::CString;

/// How a keeper finds what belongs to its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It adopts orphans and looks through `/proc`, for children without a pid namespace.
    Descendants,
    /// The same, where the command's own process is a program that builds walls and dies of the first signal, taking
    /// everybody in them along: whoever asks politely spares it.
    Builder,
    /// It is the first process of a pid namespace; the kernel ends the rest with it.
    Namespace,
}

/// Which facts about a child its parent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// That its program runs, and its end.
    StartAndEnd,
    /// Its end, or that it never ran: one wake-up less.
    End,
}

/// Everything about one child, prepared before it exists.
#[derive(Debug)]
pub struct Script {
    /// `CLONE_NEW…` flags for the keeper.
    pub namespaces: u32,
    /// How the tree is found when it must end.
    pub keeping: Keeping,
    /// What the keeper does before the command starts.
    pub setup: Vec<Step>,
    /// What the command does before it executes its program.
    pub command: Vec<Step>,
    /// The program.
    pub exec: Exec,
    /// Whether anybody waits for the start.
    pub news: News,
    /// Private memory of the whole tree, in bytes, that the keeper watches over; zero is no watch.
    pub memory_watch: u64,
}

/// A program with its arguments and environment.
#[derive(Debug)]
pub struct Exec {
    /// The absolute path.
    pub path: CString,
    /// The arguments, the program's own name first.
    pub argv: Vec<CString>,
    /// `NAME=value` strings.
    pub envp: Vec<CString>,
}
