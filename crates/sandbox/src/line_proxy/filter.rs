//! The filter between the host and the child of a line proxy.

use crate::bounded_lines::Line;

/// Decides what becomes of each line. Neither side gets anything but what the filter puts into its
/// output.
pub trait LineFilter {
    /// The host has written a line.
    fn host_line(&mut self, line: Line, output: &mut FilterOutput);
    /// The child has written a line.
    fn child_line(&mut self, line: Line, output: &mut FilterOutput);
    /// Whether a request of the host has no response yet.
    fn is_waiting(&self) -> bool;
}

/// What a filter wants to be written.
#[derive(Debug, Default)]
pub struct FilterOutput {
    /// Whole lines for the host.
    pub to_host: Vec<u8>,
    /// Whole lines for the child.
    pub to_child: Vec<u8>,
    /// Messages for the operator on standard error, one line each, without control characters.
    pub notes: Vec<String>,
}
