//! The terminal of this program: its size, its modes, and its standard streams.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    InputModes, STOPS_READING, Stream, discard_input, is_stdout_closed, own_streams, read_input, window_size,
};
#[cfg(windows)]
pub(crate) use windows::{
    InputModes, STOPS_READING, Stream, discard_input, is_stdout_closed, own_streams, read_input, window_size,
};
