//! The jobs of an instance: `<home>/state/cron/jobs.json`.

use super::error::CronError;
use super::job::Job;
use picoclaw_sandbox::state_dir::{LineFile, StateDir, StateError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

const FILE: &str = "jobs.json";

const LOCK: &str = "jobs.lock";

/// The largest file.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// How long an edit waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The jobs of an instance. Clones share the file.
#[derive(Debug, Clone)]
pub struct Store {
    dir: StateDir,
}

/// The lock of a running job; the kernel releases it with the process.
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

    /// All jobs, oldest first.
    pub fn read(&self) -> Result<Vec<Job>, CronError> {
        let Some(bytes) = self.dir.read(FILE, MAX_FILE_BYTES)? else { return Ok(Vec::new()) };
        let broken =
            |why: String| CronError::Broken { path: self.dir.path().join(FILE).display().to_string(), why };
        let document: Document = serde_json::from_slice(&bytes).map_err(|why| broken(why.to_string()))?;
        match document.version {
            1 => Ok(document.jobs),
            other => Err(broken(format!("version {other} is not known"))),
        }
    }

    /// Edits the jobs under a lock; nothing is written when `edit` fails or changes nothing.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut Vec<Job>) -> Result<T, CronError>) -> Result<T, CronError> {
        let _held = self.dir.lock(LOCK, LOCK_TIMEOUT)?;
        let before = self.read()?;
        let mut jobs = before.clone();
        let done = edit(&mut jobs)?;
        if jobs != before {
            let document = Document { version: 1, jobs };
            let text = serde_json::to_vec_pretty(&document);
            let text = text.map_err(|why| CronError::Invalid(why.to_string()))?;
            if text.len() as u64 > MAX_FILE_BYTES {
                return Err(CronError::Invalid("there are too many jobs".to_owned()));
            }
            self.dir.replace(FILE, &text)?;
        }
        Ok(done)
    }

    /// Takes the lock of a job; `None` when it runs already.
    pub fn lock_run(&self, id: &str) -> Result<Option<RunLock>, CronError> {
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
        // An empty file that is left behind does no harm.
        let _ = self.dir.remove(&self.name);
    }
}
