//! The guard: decides from its text, and from what the text would do, whether a command may run.
//!
//! The reader gives a tree; the walk follows it as a shell would, with every value it cannot know left open; wrappers
//! are unwrapped, strings that would be run are read again, and each simple command meets the rules and has its paths
//! judged.
//!
//! Invariant: pure. The same text in the same scene earns the same judgement.

mod arg_profile;
mod arg_profile_readers;
mod arg_profile_tools;
mod arithmetic;
mod braces;
mod builtins;
mod cd;
mod command_options;
mod compound;
mod context;
mod curl;
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
mod interpreter;
mod interpreters;
mod operands;
mod options;
mod parameter;
mod partial_word;
mod paths;
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
