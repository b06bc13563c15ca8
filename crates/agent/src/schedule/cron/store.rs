//! Where jobs are kept: `<home>/state/cron/jobs.json`.
//!
//! Invariant: an edit begins with what the last one left, and is there whole or not at all.

use super::error::CronError;
use super::job::Job;
use picoclaw_sandbox::state_dir::{LineFile, StateDir, StateError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

const FILE: &str = "jobs.json";

const LOCK: &str = "jobs.lock";

/// The largest file that is read.
const MOST: u64 = 16 << 20;

/// How long an edit waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The jobs of an instance. Copies are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    dir: StateDir,
}

/// The lock on a job that runs; the kernel lets go of it with the process.
#[derive(Debug)]
#[must_use = "the job counts as interrupted at once"]
pub struct RunLock {
    dir: StateDir,
    name: String,
    _held: LineFile,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    version: u64,
    jobs: Vec<Job>,
}

impl Store {
    /// The store of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, CronError> {
        Ok(Self { dir: StateDir::open(home, "cron")? })
    }

    /// Every job, in the order in which they were made.
    pub fn read(&self) -> Result<Vec<Job>, CronError> {
        let Some(bytes) = self.dir.read(FILE, MOST)? else { return Ok(Vec::new()) };
        let broken =
            |why: String| CronError::Broken { path: self.dir.path().join(FILE).display().to_string(), why };
        let document: Document = serde_json::from_slice(&bytes).map_err(|why| broken(why.to_string()))?;
        match document.version {
            1 => Ok(document.jobs),
            other => Err(broken(format!("version {other} is not known"))),
        }
    }

    /// Changes the jobs, one editor at a time; nothing is written when `act` fails or changes nothing.
    pub fn edit<T>(&self, act: impl FnOnce(&mut Vec<Job>) -> Result<T, CronError>) -> Result<T, CronError> {
        let _held = self.dir.lock(LOCK, PATIENCE)?;
        let before = self.read()?;
        let mut jobs = before.clone();
        let done = act(&mut jobs)?;
        if jobs != before {
            let document = Document { version: 1, jobs };
            let text = serde_json::to_vec_pretty(&document);
            let text = text.map_err(|why| CronError::Misfit(why.to_string()))?;
            if text.len() as u64 > MOST {
                return Err(CronError::Misfit("there are too many jobs".to_owned()));
            }
            self.dir.replace(FILE, &text)?;
        }
        Ok(done)
    }

    /// Takes the lock of a run; `None` when the job runs already.
    pub fn hold(&self, id: &str) -> Result<Option<RunLock>, CronError> {
        let name = format!("run-{id}.lock");
        match self.dir.lock(&name, Duration::ZERO) {
            Ok(held) => Ok(Some(RunLock { dir: self.dir.clone(), name, _held: held })),
            Err(StateError::Busy { .. }) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Left behind, it is an empty file that nobody holds.
        let _ = self.dir.remove(&self.name);
    }
}
