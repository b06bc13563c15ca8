//! Log files of the instance, one line an event.

use picoclaw_sandbox::state_dir::{StateDir, StateError};
use picoclaw_sandbox::{first_chars, printable};
use std::path::Path;
use std::time::Duration;

/// A larger file is rotated; one old file is kept.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The longest text of a line, in characters.
const MAX_TEXT_CHARS: usize = 4 << 10;

/// How long a writer waits for another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// One log file.
#[derive(Debug, Clone)]
pub struct LogFile {
    dir: StateDir,
    name: String,
}

impl LogFile {
    /// The file `<home>/logs/<name>`.
    pub fn open(home: &Path, name: &str) -> Result<Self, StateError> {
        Ok(Self { dir: StateDir::of_logs(home)?, name: name.to_owned() })
    }

    /// Writes a line of level INFO.
    pub fn info(&self, text: &str) {
        self.log("INFO", text);
    }

    /// Writes a line of level ERROR.
    pub fn error(&self, text: &str) {
        self.log("ERROR", text);
    }

    fn log(&self, level: &str, text: &str) {
        if let Err(why) = self.write(level, text) {
            tracing::warn!(target: "schedule", error = %why, "A log line could not be written");
        }
    }

    fn write(&self, level: &str, text: &str) -> Result<(), StateError> {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S");
        let line = format!("[{now}] [{level}] {}\n", printable(first_chars(text.trim_end(), MAX_TEXT_CHARS)));
        let mut line_file = self.dir.lock(&self.name, LOCK_TIMEOUT)?;
        if line_file.length() > MAX_FILE_BYTES {
            let old = self.dir.read(&self.name, 2 * MAX_FILE_BYTES)?.unwrap_or_default();
            self.dir.replace(&format!("{}.1", self.name), &old)?;
            line_file.truncate(0)?;
        }
        line_file.append(line.as_bytes())
    }
}
