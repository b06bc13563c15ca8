//! Log files of the instance: what time brought about, a line each.
//!
//! Invariant: a line holds no control character and no line end of somebody else's; a file is bounded.

use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::printable;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use std::path::Path;
use std::time::Duration;

/// A file that has grown longer than this begins anew; the old one is kept once.
const LONGEST: u64 = 1 << 20;

/// The most of one text that is written.
const MOST: usize = 4 << 10;

const PATIENCE: Duration = Duration::from_secs(1);

/// One log file.
#[derive(Debug, Clone)]
pub struct Diary {
    dir: StateDir,
    name: String,
}

impl Diary {
    /// The file `<home>/logs/<name>`.
    pub fn open(home: &Path, name: &str) -> Result<Self, StateError> {
        Ok(Self { dir: StateDir::of_logs(home)?, name: name.to_owned() })
    }

    /// Notes something that went well.
    pub fn info(&self, text: &str) {
        self.note("INFO", text);
    }

    /// Notes something that did not.
    pub fn error(&self, text: &str) {
        self.note("ERROR", text);
    }

    fn note(&self, level: &str, text: &str) {
        if let Err(why) = self.write(level, text) {
            tracing::warn!(target: "schedule", error = %why, "A log line could not be written");
        }
    }

    fn write(&self, level: &str, text: &str) -> Result<(), StateError> {
        let now = Timestamp::now().to_string();
        let cut: String = text.trim_end().chars().take(MOST).collect();
        let (date, clock) = (now.get(..10).unwrap_or_default(), now.get(11..19).unwrap_or_default());
        let line = format!("[{date} {clock}] [{level}] {}\n", printable(&cut));
        let mut line_file = self.dir.lock(&self.name, PATIENCE)?;
        if line_file.length() > LONGEST {
            let old = self.dir.read(&self.name, 2 * LONGEST)?.unwrap_or_default();
            self.dir.replace(&format!("{}.1", self.name), &old)?;
            line_file.truncate(0)?;
        }
        line_file.append(line.as_bytes())
    }
}
