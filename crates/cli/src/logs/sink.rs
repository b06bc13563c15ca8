//! The destination of log lines. An event is one write, so that lines of two processes do not mix.

use super::level::LineSink;
use super::settings::{LogError, LogSettings};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

/// The destination.
pub(super) enum Sink {
    Stderr,
    LineSink(LineSink),
    File(File),
}

impl Sink {
    /// Opens the log file, created with mode 0600; without one the line sink or stderr is used.
    pub(super) fn open(settings: &LogSettings) -> Result<Self, LogError> {
        let Some(path) = &settings.file else {
            return Ok(settings.line_sink.clone().map_or(Self::Stderr, Self::LineSink));
        };
        let failed = |source| LogError::File { path: path.clone(), source };
        // Opening a FIFO would wait for a reader.
        if path.metadata().is_ok_and(|found| found.file_type().is_fifo()) {
            return Err(failed(io::Error::other("it is a FIFO")));
        }
        OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(Self::File).map_err(failed)
    }

    /// Writes `text`. A failed write is ignored: a closed stderr or a full disk must not stop the
    /// work.
    pub(super) fn write(&self, text: &str) {
        let _ = match self {
            Self::LineSink(write) => {
                write(text);
                Ok(())
            }
            Self::Stderr => io::stderr().lock().write_all(text.as_bytes()),
            Self::File(file) => (&*file).write_all(text.as_bytes()),
        };
    }
}
