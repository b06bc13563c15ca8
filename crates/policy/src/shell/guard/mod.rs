//! The guard: decides from its text, and from what the text would do, whether a command may run.
//!
//! The reader gives a tree; the walk follows it as a shell would, with every value it cannot know left open; wrappers
//! are unwrapped, strings that would be run are read again, and each simple command meets the rules and has its paths
//! judged.
//!
//! Invariant: pure. The same text in the same scene earns the same judgement.

mod arithmetic;
mod braces;
mod builtins;
mod compound;
mod curl;
mod effects;
mod environment;
mod examples;
mod expand;
mod explain;
mod field;
mod finding;
mod git;
mod glob;
mod inline;
mod interpret;
mod invoke;
mod judge;
mod lists;
mod operands;
mod options;
mod parameter;
mod paths;
mod patterns;
mod place;
mod profile;
mod profile_readers;
mod profile_tools;
mod programs;
mod redirect;
mod remedies;
mod rules;
mod scene;
mod sed;
mod simple;
mod state;
mod tools;
mod unwrap;
mod walk;

pub use explain::{DANGEROUS, Explanation, OUTSIDE};
pub use finding::{Finding, Kind, Remedy};
pub use judge::{Guard, Judgement, Understood};
pub use scene::{Blank, Hold, Landed, Scene, Terrain};
