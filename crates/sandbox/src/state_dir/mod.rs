//! The program's own files: small, private, beneath `<home>/state`.
//!
//! Sessions, histories, stores and pins are not effects of a call: no permit is needed, and no
//! model can name them. Names are single file names below a directory handle; links are never
//! followed.

mod dir;
mod error;
mod line_file;

pub use dir::{FileInfo, StateDir};
pub use error::StateError;
pub use line_file::{LineFile, SyncHandle};
