//! The guard: decides from the text of a command, and from what it would do, whether it may run.
//! Pure.
//!
//! The interpreter follows the AST as a shell would, with every unknown value left open. Wrappers
//! are unwrapped, strings that would be run are parsed again, and each simple command is checked
//! against the rules and its paths are judged.

mod arguments;
mod arithmetic;
mod awk;
mod braces;
mod builtins;
mod cd;
mod command_options;
mod compound;
mod context;
mod deny_patterns;
mod dispatch;
mod effects;
mod environment;
mod expand;
mod explain;
mod finding;
mod git;
mod glob;
#[expect(clippy::module_inception, reason = "the file is named after the type it defines")]
mod guard;
mod inline_code;
mod input_script;
mod interpreter;
mod interpreters;
mod options;
mod parameter;
mod partial_word;
mod paths;
mod powershell;
mod programs;
mod redirect;
mod remedies;
mod rule_examples;
mod rules;
mod sed;
mod simple;
mod special_tools;
mod state;
mod wrappers;
mod xargs_find;

pub use context::{Confinement, FileSystem, GuardContext, NoFileSystem, Resolved};
pub use explain::{DANGEROUS, Explanation, OUTSIDE};
pub use finding::{Finding, Kind, Remedy};
pub use guard::{Guard, Judgement, ParsedCommand};
pub use interpreters::is_shell;
