//! Runs the doctor's shell lines where an agent's commands would run.
//!
//! The lines are the program's own, never a model's. A control run without confinement shows that a
//! check can fail.

use super::exec_env::ExecEnv;
use crate::confine::Confined;
use crate::isolate::{Decoys, DoctorCheck, run_doctor_checks};
use crate::launch::environment::Variables;
use crate::launch::{Deadline, Finished, LaunchError, LaunchSpec, WorkDir, run_to_end};
use crate::printable::printable_path;
use crate::protect::Protection;
use picoclaw_policy::AgentId;
use std::path::Path;
use std::time::Duration;

/// How long one line may take.
const LINE_TIMEOUT: Duration = Duration::from_secs(20);

/// How the doctor's lines run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorMode {
    /// As an agent's command would run.
    Confined,
    /// Without confinement and with the operator's own environment.
    Control,
}

impl ExecEnv {
    /// Runs every check as a child of `agent` in `work_dir`.
    pub fn examine(
        &self,
        agent: &AgentId,
        work_dir: &Path,
        decoys: &Decoys<'_>,
        mode: DoctorMode,
        host: &Variables,
    ) -> Vec<DoctorCheck> {
        run_doctor_checks(decoys, &|line| self.run_line(agent, work_dir, line, mode, host))
    }

    fn run_line(
        &self,
        agent: &AgentId,
        work_dir: &Path,
        line: &str,
        mode: DoctorMode,
        host: &Variables,
    ) -> Result<Finished, LaunchError> {
        let confined = match (mode, self.agent(agent)) {
            (DoctorMode::Confined, Some(env)) => env.confined.clone(),
            (DoctorMode::Control, _) | (_, None) => Confined::none(host.clone(), Protection::none()),
        };
        let handle = WorkDir::open(work_dir).map_err(|errno| LaunchError::Step {
            step: format!("open `{}`", printable_path(work_dir)),
            source: errno.into(),
        })?;
        let argv = vec!["sh".into(), "-c".into(), line.into()];
        let (spec, _) = confined.spec("/bin/sh".into(), argv, handle, self.principal(agent))?;
        run_to_end(LaunchSpec { deadline: Deadline::After(LINE_TIMEOUT), ..spec })
    }
}
