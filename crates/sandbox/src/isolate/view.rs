//! What a child sees, rule by rule.
//!
//! Invariant: rules are ordered so that a nested one comes after the one it lies in.

use crate::isolate::host::Kind;
use picoclaw_policy::config::ExposeMode;
use std::path::{Path, PathBuf};

/// One thing in the child's file tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// A path of the host.
    Show {
        /// Where it is on the host.
        source: PathBuf,
        /// Where the child finds it.
        target: PathBuf,
        /// Whether the child may change it.
        mode: ExposeMode,
        /// What it is.
        kind: Kind,
        /// For what reason it is there.
        why: Why,
    },
    /// A symbolic link, as the host has it.
    Link {
        /// Where the child finds it.
        target: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// A private directory that is gone with the child.
    Scratch {
        /// Where the child finds it.
        target: PathBuf,
    },
    /// Nothing, in place of something that is Protected.
    Hide {
        /// Where the child finds nothing.
        target: PathBuf,
        /// What it would have been.
        kind: Kind,
    },
}

/// For what reason a path is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The system's programs and libraries.
    System,
    /// The small set of `/etc`.
    Etc,
    /// The agent's workspace.
    Workspace,
    /// The principal's own environment.
    UserEnvironment,
    /// The shared skills.
    Skills,
    /// `isolation.expose_paths`.
    Configured,
    /// A command that the operator wrote needs it.
    Operator,
    /// A toolchain of this host.
    Toolchain,
}

impl Rule {
    /// Where the child finds it.
    pub fn target(&self) -> &Path {
        match self {
            Self::Show { target, .. }
            | Self::Link { target, .. }
            | Self::Scratch { target }
            | Self::Hide { target, .. } => target,
        }
    }
}

/// Puts parents before children; of two rules for one target the later wins, and a hidden place stays hidden
/// whatever else was said about it.
pub(super) fn ordered(rules: Vec<Rule>) -> Vec<Rule> {
    let depth = |rule: &Rule| rule.target().components().count();
    let mut rules = rules;
    // Stable, so that rules for one target stay in the order in which they were said.
    rules.sort_by(|a, b| depth(a).cmp(&depth(b)).then_with(|| a.target().cmp(b.target())));
    let mut kept: Vec<Rule> = Vec::with_capacity(rules.len());
    for rule in rules {
        match kept.last_mut() {
            Some(known) if known.target() == rule.target() => {
                if !matches!(known, Rule::Hide { .. }) {
                    *known = rule;
                }
            }
            _ => kept.push(rule),
        }
    }
    kept
}
