//! How a child is connected.

/// How a child is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Streams {
    /// By pipes or inherited descriptors.
    Plain {
        /// Where its standard input comes from.
        stdin: Stdin,
        /// Where its standard output and error go.
        output: Output,
    },
    /// By a pseudo-terminal of this size, the controlling terminal of its session.
    Pty(WindowSize),
    /// With the standard streams of this process; see [`crate::launch::own_streams`].
    Own,
}

/// Where a child's standard input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// A pipe with these bytes.
    Bytes(Vec<u8>),
    /// A pipe that the caller writes to.
    Pipe,
}

/// Where a child's standard output and error go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A pipe for each.
    Pipes,
    /// One pipe for both, which keeps their order.
    Merged,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
}

impl Default for WindowSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}
