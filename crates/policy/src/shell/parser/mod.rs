//! Parses a shell text into its AST. No command that the shell would run from an accepted text is
//! missing from the AST.
//!
//! One pass, character by character, in the order of bash's own parser: no token is parsed twice
//! with different meanings. Where bash would backtrack (`$((` that turns out to be a subshell), or
//! where the meaning depends on what ran before (`!(…)`), the text is refused.

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

pub use entry::{MAX_DEPTH, MAX_TEXT_LEN, parse};
