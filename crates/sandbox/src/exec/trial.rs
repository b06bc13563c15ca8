//! Trials: shell lines of our own, run where an agent's commands would run, to see what holds.
//!
//! Invariant: the lines are written here in the house, never by a model; a trial without walls exists to show that
//! the examination can fail.

use super::workshop::Workshop;
use crate::confine::Confined;
use crate::isolate::{Decoys, DoctorCheck, run_doctor_checks};
use crate::launch::environment::Variables;
use crate::launch::{Deadline, Finished, LaunchError, LaunchSpec, Principal, WorkDir, run_to_end};
use picoclaw_policy::AgentId;
use std::path::Path;
use std::time::Duration;

/// How long one trial may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether a trial runs as built, or with its walls taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// As an agent's command would run.
    AsBuilt,
    /// Without walls and with the operator's own environment: the control run.
    Bare,
}

impl Workshop {
    /// Asks a child of `agent`'s, started in `work_dir`, every question of the examination.
    pub fn examine(
        &self,
        agent: &AgentId,
        work_dir: &Path,
        baits: &Decoys<'_>,
        trial: Trial,
        host: &Variables,
    ) -> Vec<DoctorCheck> {
        run_doctor_checks(baits, &|line| self.try_line(agent, work_dir, line, trial, host))
    }

    fn try_line(
        &self,
        agent: &AgentId,
        work_dir: &Path,
        line: &str,
        trial: Trial,
        host: &Variables,
    ) -> Result<Finished, LaunchError> {
        let confined = match (trial, self.quarters(agent)) {
            (Trial::AsBuilt, Some(quarters)) => quarters.confined.clone(),
            (Trial::Bare, _) | (_, None) => Confined::none(host.clone()),
        };
        let handle = WorkDir::open(work_dir).map_err(|errno| LaunchError::Step {
            step: format!("open `{}`", work_dir.display()),
            source: errno.into(),
        })?;
        let argv = vec!["sh".into(), "-c".into(), line.into()];
        let spec = confined.spec("/bin/sh".into(), argv, handle, Principal::Agent(agent.clone()))?;
        run_to_end(LaunchSpec { deadline: Deadline::After(PATIENCE), ..spec })
    }
}
