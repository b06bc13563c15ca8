//! What Landlock leaves a caged child, under the mounts: should a mount ever be wrong, this still holds.
//!
//! Invariant: a right to write is given back only where the plan shows something writable.

use crate::isolate::host::Kind;
use crate::isolate::plan::Plan;
use crate::isolate::view::Rule;
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::landlock::access;
use std::path::Path;

/// The rights taken away from a caged child.
pub(super) const TAKEN: u64 = access::READS | access::WRITES;

/// The rights given back, place by place.
pub(super) fn given(plan: &Plan) -> Vec<(&Path, u64)> {
    let everything = access::READS | access::WRITES;
    let mut rights =
        vec![(Path::new("/"), access::READS), (Path::new("/dev"), access::WRITE_FILE | access::TRUNCATE)];
    for rule in &plan.view {
        match rule {
            Rule::Show { target, mode: ExposeMode::ReadWrite, kind, .. } => {
                let all = if *kind == Kind::Directory { everything } else { everything & access::OF_A_FILE };
                rights.push((target, all));
            }
            Rule::Scratch { target } => rights.push((target, everything)),
            Rule::Show { .. } | Rule::Link { .. } | Rule::Hide { .. } => {}
        }
    }
    rights
}
