//! Reads a text into its tree.
//!
//! One pass, character by character, in the order in which bash's own parser works: no token is ever read twice
//! under another meaning. Where bash would go back and try again (`$((` that turns out to be a subshell), or
//! where the meaning hangs on what ran before (`!(…)`), the text is refused.
//!
//! Invariant: no command that the shell would run from an accepted text is missing from the tree.

mod ansi;
mod arithmetic;
mod assignment;
mod backticks;
mod braces;
mod brackets;
mod cases;
mod command;
mod compound;
mod conditional;
mod cursor;
mod dollar;
mod entry;
mod extglob;
mod function;
mod heredoc;
mod list;
mod loops;
mod operand;
mod parameter;
mod quotes;
mod redirect;
mod reserved;
mod simple;
mod subscript;
mod tilde;
mod word_builder;
mod words;

pub use entry::{DEEPEST, LONGEST, read};
