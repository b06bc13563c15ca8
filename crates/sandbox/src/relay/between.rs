//! Who stands between a host and a child that talk in lines.
//!
//! Invariant: neither side hears anything of the other but what is said here.

use super::lines::Line;

/// Judges each line, and says what becomes of it.
pub trait Between {
    /// The host said this.
    fn host_said(&mut self, line: Line<'_>, said: &mut Said);
    /// The child said this.
    fn child_said(&mut self, line: Line<'_>, said: &mut Said);
    /// Whether something that the host asked for has no answer yet.
    fn is_waiting(&self) -> bool;
}

/// What is to be sent, and what is to be told on standard error.
#[derive(Debug, Default)]
pub struct Said {
    /// Whole lines for the host.
    pub to_host: Vec<u8>,
    /// Whole lines for the child.
    pub to_child: Vec<u8>,
    /// For the operator, one line each, fit for a terminal.
    pub notes: Vec<String>,
}
