//! The destination of log lines. An event is one write, so that lines of two processes do not mix.

use super::level::LineSink;
use super::settings::{LogError, LogSettings};
use crate::{platform, progress};
use picoclaw_sandbox::os_file::{CWD, Mode, OFlags, openat};
use std::fs::File;
use std::io::{self, Write};
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Opens the log file, created with mode 0600; without one the line sink or stderr is used.
pub(super) fn open(settings: &LogSettings) -> Result<BoxMakeWriter, LogError> {
    let Some(path) = &settings.file else {
        return Ok(match settings.line_sink.clone() {
            Some(sink) => BoxMakeWriter::new(move || LineWriter(sink.clone())),
            None => BoxMakeWriter::new(progress::stderr),
        });
    };
    let failed = |source| LogError::File { path: path.clone(), source };
    // Opening a FIFO would wait for a reader.
    if path.metadata().is_ok_and(|found| platform::is_fifo(&found)) {
        return Err(failed(io::Error::other("it is a FIFO")));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| failed(errno.into()))?;
    Ok(BoxMakeWriter::new(File::from(file)))
}

/// Passes whole events to a line sink.
struct LineWriter(LineSink);

impl Write for LineWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        (self.0)(&String::from_utf8_lossy(event));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
