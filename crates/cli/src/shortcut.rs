//! The shortcut through the command line: of what every agent and script types, only the part that is named is built.
//!
//! A full parser describes every command and flag there is before it looks at a word, which takes longer than reading the
//! configuration. Whatever is not plainly right is left to it: its words about mistakes are the only ones.
//!
//! Invariant: what the shortcut understands, the full parser understands alike.

use crate::arguments::{
    AgentArguments, Arguments, CheckArguments, Command, Everywhere, RunArguments, ToolArguments,
};
use clap::{Args, FromArgMatches};
use std::ffi::OsString;

/// Reads a command line: the short way where it can be gone.
pub(crate) fn read(words: &[OsString]) -> Arguments {
    shortcut(words).unwrap_or_else(|| <Arguments as clap::Parser>::parse_from(words))
}

fn shortcut(words: &[OsString]) -> Option<Arguments> {
    let (name, rest) = (words.get(1)?.to_str()?, words.get(2..)?);
    match name {
        "run" => part::<RunArguments>(rest, Command::Run),
        "tool" => part::<ToolArguments>(rest, Command::Tool),
        "check" => part::<CheckArguments>(rest, Command::Check),
        "agent" => part::<AgentArguments>(rest, Command::Agent),
        _ => None,
    }
}

fn part<A: Args + FromArgMatches>(words: &[OsString], whole: fn(A) -> Command) -> Option<Arguments> {
    let bare = clap::Command::default().no_binary_name(true).disable_help_flag(true);
    let parser = A::augment_args(Everywhere::augment_args(bare));
    let mut found = parser.try_get_matches_from(words).ok()?;
    let everywhere = Everywhere::from_arg_matches_mut(&mut found).ok()?;
    Some(Arguments { everywhere, command: whole(A::from_arg_matches_mut(&mut found).ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &[&str]) -> Vec<OsString> {
        std::iter::once("picoclaw").chain(line.iter().copied()).map(OsString::from).collect()
    }

    #[test]
    fn the_shortcut_reads_what_the_full_parser_reads() {
        for line in [
            &["run", "--", "true"][..],
            &["run", "true", "--help"],
            &["run", "--net", "host", "--ro", "/a", "--ro=/b", "--env", "A=b", "--", "sh", "-c", "x -- y"],
            &["run", "--config", "c.json", "--workspace", "w", "--timeout", "5s", "ls", "-la"],
            &["run", "--", "ls", "--config", "theirs"],
            &["tool", "list"],
            &["tool", "read_file", r#"{"path": "a"}"#, "--agent", "b"],
            &["tool", "exec", "-", "--config=c"],
            &["check", "exec", "ls -la"],
            &["agent"],
            &["agent", "-m", "-x", "-s", "a", "--json", "-d"],
        ] {
            let line = typed(line);
            let short = shortcut(&line).unwrap_or_else(|| panic!("{line:?}: no shortcut"));
            let full = <Arguments as clap::Parser>::try_parse_from(&line).unwrap();
            assert_eq!(format!("{short:?}"), format!("{full:?}"), "{line:?}");
        }
    }

    #[test]
    fn what_is_not_plainly_right_goes_the_long_way() {
        for line in [
            &[][..],
            &["run"],
            &["run", "--help"],
            &["run", "-h"],
            &["run", "--nonsense", "--", "true"],
            &["run", "--net", "elsewhere", "--", "true"],
            &["tool"],
            &["tool", "read_file", "{}", "more"],
            &["--config", "c", "run", "--", "true"],
            &["agent", "--help"],
            &["help", "run"],
            &["version"],
        ] {
            assert!(shortcut(&typed(line)).is_none(), "{line:?}");
        }
    }
}
