//! Argument profiles of everyday programs: which arguments are files, and which are text that only
//! looks like a path.
//!
//! Each argument of an unlisted program is a path that it may write. An entry can only state that
//! an argument is *not* a file, or that a file is only read.

use super::arg_profile_readers::READERS;
use super::arg_profile_tools::TOOLS;
use crate::intent::Access;

/// Whether the first operand is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It is a file like the others.
    File,
    /// It is text.
    Text,
    /// It is text, unless one of these options gives the text.
    TextUnless(&'static str, &'static [&'static str]),
}

/// What the operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Files, with this access.
    Files(Access),
    /// Files to read, the last one written.
    IntoLast,
    /// Text.
    Text,
}

/// The arguments of one program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profile {
    pub(super) names: &'static [&'static str],
    /// Short options that take a value.
    pub(super) short: &'static str,
    /// Long options that take a value as their next argument.
    pub(super) long: &'static [&'static str],
    /// Those whose value is text.
    pub(super) text: &'static str,
    pub(super) text_long: &'static [&'static str],
    /// Those whose value is written.
    pub(super) out: &'static str,
    pub(super) out_long: &'static [&'static str],
    pub(super) first: First,
    pub(super) operands: Operands,
}

pub(super) const READS: Profile = Profile {
    names: &[],
    short: "",
    long: &[],
    text: "",
    text_long: &[],
    out: "",
    out_long: &[],
    first: First::File,
    operands: Operands::Files(Access::Read),
};
pub(super) const WRITES: Profile = Profile { operands: Operands::Files(Access::Write), ..READS };
pub(super) const TEXT: Profile = Profile { operands: Operands::Text, ..READS };
pub(super) const INTO: Profile = Profile { operands: Operands::IntoLast, ..READS };

/// The profile of an unlisted program.
pub(super) const UNKNOWN: Profile = WRITES;

/// All profiles.
const TABLES: &[&[Profile]] = &[READERS, TOOLS];

/// The profile of a program.
pub(super) fn of(name: &str) -> &'static Profile {
    let name = if name.starts_with("python") { "python" } else { name };
    TABLES.iter().copied().flatten().find(|profile| profile.names.contains(&name)).unwrap_or(&UNKNOWN)
}
