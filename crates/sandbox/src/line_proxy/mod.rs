//! A line proxy between a host, on this process's standard input and output, and a caged child.
//!
//! Either side may stop reading, flood, hang or vanish. When the host is gone the child is ended;
//! when the child has ended, its remaining output is passed on.

mod filter;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod threads;

use crate::bounded_lines::Line;
use crate::printable;
pub use filter::{FilterOutput, LineFilter};
#[cfg(target_os = "linux")]
pub use linux::proxy_lines;
#[cfg(not(target_os = "linux"))]
pub use threads::proxy_lines;

/// The longest line that is passed on.
pub const MAX_LINE: usize = 16 << 20;

/// The longest line of the child's standard error that is shown.
const MAX_STDERR_LINE: usize = 4 << 10;

/// Prefixes of lines on standard error.
#[derive(Debug, Clone, Copy)]
pub struct StderrPrefixes<'p> {
    /// For messages of the filter.
    pub own: &'p str,
    /// For the child's standard error.
    pub child: &'p str,
}

/// A line of the child's standard error for the operator: with a prefix and without control
/// characters.
fn stderr_line(prefix: &str, line: &Line) -> String {
    let line = match line {
        Line::Whole(bytes) => String::from_utf8_lossy(bytes),
        Line::TooLong { .. } => "(a longer line than is shown)".into(),
    };
    format!("{prefix}{}\n", printable(line.trim_end_matches('\r')))
}
