//! Trials: shell lines of our own, run where an agent's commands would run, to see what holds.
//!
//! Invariant: the lines are written here in the house, never by a model; a trial without walls exists to show that
//! the examination can fail.

use super::workshop::Workshop;
use crate::isolate::{Decoys, DoctorCheck, run_doctor_checks};
use crate::launch::environment::{self, Variables};
use crate::launch::{
    Bounds, Deadline, Finished, LaunchError, LaunchSpec, Output, Principal, Stdin, Streams, Walls, WorkDir,
    run_to_end,
};
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
        let quarters = self.quarters(agent);
        let (walls, mut variables) = match (trial, quarters) {
            (Trial::AsBuilt, Some(quarters)) => (quarters.walls.clone(), quarters.environment.clone()),
            (Trial::Bare, _) | (_, None) => (Walls::Open, host.clone()),
        };
        environment::set_work_dir(&mut variables, work_dir);
        let handle = WorkDir::open(work_dir).map_err(|errno| LaunchError::Step {
            step: format!("open `{}`", work_dir.display()),
            source: errno.into(),
        })?;
        run_to_end(LaunchSpec {
            program: "/bin/sh".into(),
            argv: vec!["sh".into(), "-c".into(), line.into()],
            work_dir: handle,
            environment: variables,
            streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
            deadline: Deadline::After(PATIENCE),
            bounds: Bounds::default(),
            principal: Principal::Agent(agent.clone()),
            walls,
        })
    }
}
