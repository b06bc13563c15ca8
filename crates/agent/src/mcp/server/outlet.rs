//! Where a client hears: one message at a time.
//!
//! Invariant: a message is written whole before another begins.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The way out; copies are the same way.
#[derive(Clone)]
pub(super) struct Outlet(Arc<Mutex<Box<dyn Write + Send>>>);

impl Outlet {
    pub(super) fn new(output: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(output)))
    }

    /// The way out, for one message.
    pub(super) fn take(&self) -> MutexGuard<'_, Box<dyn Write + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one message that is there already.
    pub(super) fn write(&self, message: &[u8]) -> io::Result<()> {
        let mut output = self.take();
        output.write_all(message)?;
        output.flush()
    }
}
