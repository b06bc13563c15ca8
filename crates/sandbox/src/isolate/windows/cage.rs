//! A cage: the token and the job of a child.
//!
//! Invariant: a child that cannot be confined does not start; the launcher reads every restriction
//! back.

use crate::isolate::backend::Backend;
use crate::isolate::enforced::{Enforced, Grade};
use crate::isolate::error::IsolateError;
use crate::isolate::mount_rules::MountRule;
use crate::isolate::plan::Plan;
use crate::launch::{ChildSetup, WorkDir};
use picoclaw_policy::config::{IsolationConfig, Limits};
use picoclaw_sys::windows::JobLimits;
use std::sync::Arc;
use std::time::Duration;

/// A confinement by token and job. Of its plan the limits count.
#[derive(Debug)]
pub struct Cage {
    plan: Arc<Plan>,
    backend: Backend,
}

impl Cage {
    /// A cage for `plan`; refuses what `backend` cannot enforce.
    pub fn new(plan: impl Into<Arc<Plan>>, backend: Backend) -> Result<Self, IsolateError> {
        if backend != Backend::RestrictedToken {
            return Err(IsolateError::Unsupported { why: NOT_WINDOWS });
        }
        Ok(Self { plan: plan.into(), backend })
    }

    /// The plan that it enforces.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether it keeps what is not shown from being read.
    pub(crate) fn hides_files(&self) -> bool {
        false
    }

    /// The backend that enforces it.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The setup of a child in this cage, working in `work_dir`.
    pub(crate) fn setup(
        &self,
        work_dir: WorkDir,
        _protected: Vec<MountRule>,
    ) -> Result<ChildSetup, IsolateError> {
        Ok(ChildSetup {
            limits: job_limits(self.plan.limits),
            is_confined: true,
            ..ChildSetup::unconfined(work_dir)
        })
    }
}

const NOT_WINDOWS: &str = "this is Windows";

/// The limits of a job; those that are 0 are not set. Every console has a process of its own, which
/// counts.
fn job_limits(limits: Limits) -> JobLimits {
    let processes = u32::try_from(limits.processes.saturating_add(1)).unwrap_or(u32::MAX);
    let memory = usize::try_from(limits.memory_mb << 20).unwrap_or(usize::MAX);
    JobLimits {
        processes: (limits.processes > 0).then_some(processes),
        memory: (memory > 0).then_some(memory),
        processor_time: (limits.cpu_seconds > 0).then(|| Duration::from_secs(limits.cpu_seconds)),
        no_desktop: true,
    }
}

impl Backend {
    /// How much of each layer this backend holds.
    pub fn enforced(&self, _isolation: &IsolationConfig) -> Enforced {
        let none = |why: &str| Grade::None(why.to_owned());
        if *self != Self::RestrictedToken {
            let off = || none(NOT_WINDOWS);
            return Enforced {
                filesystem: off(),
                network: off(),
                processes: off(),
                syscalls: off(),
                limits: off(),
            };
        }
        let partial = |why: &str| Grade::Partial(why.to_owned());
        Enforced {
            filesystem: partial("writes are held to what is labelled low; reads are not held"),
            network: none("Windows has no closed network for a command"),
            processes: partial(
                "processes are visible; those of higher integrity cannot be opened for writing",
            ),
            syscalls: none("Windows has no filter for system calls; privileges are deleted from the token"),
            limits: partial("a job limits memory, processes and processor time; files are not limited"),
        }
    }
}
