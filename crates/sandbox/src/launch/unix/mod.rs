//! Programs and shells on Unix.

mod find_program;
mod shell;

pub use find_program::find_program;
pub(crate) use shell::{SHELL_NAMES, is_program, shells};
