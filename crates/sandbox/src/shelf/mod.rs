//! The program's own files: small, private, beneath `<home>/state`.
//!
//! Sessions, histories, stores and pins are the program's own affair, not effects of a call: nothing here needs a permit,
//! and nothing here can be named by a model. Names are single file names below a directory handle; links are never followed.
//!
//! Invariant: a shelf reaches nothing outside its directory, and what it writes only its owner can read.

mod book;
mod error;
mod keep;
mod name;

pub use book::{Book, Durability, Line};
pub use error::ShelfError;
pub use keep::{Item, Shelf};
