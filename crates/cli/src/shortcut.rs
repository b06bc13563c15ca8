//! The shortcut through the command line: of what every agent and script types, only the part that is named is built.
//!
//! A full parser describes every command and flag there is before it looks at a word, which takes longer than reading the
//! configuration. Of `run` as scripts type it, flags and their values as words of their own and then `--`, nothing is
//! described at all. Whatever is not plainly right is left to the full parser: its words about mistakes are the only ones.
//!
//! Invariant: what the shortcut understands, the full parser understands alike.

use crate::arguments::{
    AgentArguments, Arguments, CageArguments, CheckArguments, Command, GlobalArgs, RunArguments,
    ToolArguments,
};
use clap::{Args, FromArgMatches};
use std::ffi::{OsStr, OsString};

/// Reads a command line: the short way where it can be gone.
pub(crate) fn read(words: &[OsString]) -> Arguments {
    shortcut(words).unwrap_or_else(|| <Arguments as clap::Parser>::parse_from(words))
}

fn shortcut(words: &[OsString]) -> Option<Arguments> {
    let (name, rest) = (words.get(1)?.to_str()?, words.get(2..)?);
    match name {
        "run" => plain_run(rest).or_else(|| part::<RunArguments>(rest, Command::Run)),
        "tool" => part::<ToolArguments>(rest, Command::Tool),
        "check" => part::<CheckArguments>(rest, Command::Check),
        "agent" => part::<AgentArguments>(rest, Command::Agent),
        _ => None,
    }
}

fn part<A: Args + FromArgMatches>(words: &[OsString], whole: fn(A) -> Command) -> Option<Arguments> {
    let bare = clap::Command::default().no_binary_name(true).disable_help_flag(true);
    let parser = A::augment_args(GlobalArgs::augment_args(bare));
    let mut found = parser.try_get_matches_from(words).ok()?;
    let everywhere = GlobalArgs::from_arg_matches_mut(&mut found).ok()?;
    Some(Arguments { global: everywhere, command: whole(A::from_arg_matches_mut(&mut found).ok()?) })
}

fn plain_run(words: &[OsString]) -> Option<Arguments> {
    let end = words.iter().position(|word| word == "--")?;
    let (flags, command) = (words.get(..end)?, words.get(end + 1..)?.to_vec());
    if command.is_empty() {
        return None;
    }
    let (mut config, mut workspace, mut timeout) = (None, None, None);
    let (mut net, mut toolchain, mut memory) = (None, None, None);
    let (mut ro, mut rw, mut expose, mut env) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for pair in flags.chunks(2) {
        let [flag, value] = pair else { return None };
        // What could be a flag in the place of a value, or stands for nothing, is for the full parser to judge.
        if value.is_empty() || value.as_encoded_bytes().starts_with(b"-") {
            return None;
        }
        match flag.to_str()? {
            "--config" => once(&mut config, value.into())?,
            "--workspace" => once(&mut workspace, value.into())?,
            "--timeout" => once(&mut timeout, text(value)?)?,
            "--net" if value == "none" || value == "host" => once(&mut net, text(value)?)?,
            "--toolchain" => once(&mut toolchain, text(value)?)?,
            "--memory" => once(&mut memory, text(value)?)?,
            "--ro" => ro.push(value.into()),
            "--rw" => rw.push(value.into()),
            "--expose" => expose.push(text(value)?),
            "--env" => env.push(text(value)?),
            _ => return None,
        }
    }
    let net = net.unwrap_or_else(|| "none".to_owned());
    let cage = CageArguments { ro, rw, expose, net, toolchain, env, memory };
    let run = RunArguments { workspace, cage, timeout, command };
    Some(Arguments { global: GlobalArgs { config }, command: Command::Run(run) })
}

/// A flag that is given twice is a mistake.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn text(value: &OsStr) -> Option<String> {
    value.to_str().map(str::to_owned)
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
            &["run", "--net", "none", "--", "--", "x"],
            &["run", "--rw", "/a", "--rw", "b", "--expose", "/a:/b:ro", "--env", "A=", "--", "x"],
            &["run", "--toolchain", "rust,node", "--memory", "2G", "--timeout", "5s", "--", "x", ""],
            &["run", "--config", "c", "--workspace", "w", "--env", "A=1", "--env", "B=-", "--", "x"],
            &["run", "ls", "--", "--net", "host"],
            &["run", "--env=A", "--", "x"],
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
    fn whatever_the_shortcut_reads_of_any_words_the_full_parser_reads_too() {
        const WORDS: [&str; 40] = [
            "--",
            "--",
            "--",
            "-",
            "",
            "--net",
            "none",
            "host",
            "--net=host",
            "--ro",
            "--rw",
            "--expose",
            "--env",
            "--config",
            "--workspace",
            "--timeout",
            "--toolchain",
            "--memory",
            "--ro=/a",
            "--env=",
            "--timeout=",
            "/a",
            "A=b",
            "A=-",
            "=",
            "/a:/b:ro",
            "5s",
            "2G",
            "rust,node",
            "-h",
            "--help",
            "-V",
            "--version",
            "help",
            "run",
            "x",
            "-x",
            "--nonsense",
            "\u{e9}",
            "a b",
        ];
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        let mut plain = 0;
        for _ in 0..4_000 {
            let count = next(9);
            let mut line = vec!["run"];
            for _ in 0..count {
                let pair = ["--net", "--ro", "--env", "--config", "--timeout", "--expose"];
                if next(2) == 0 {
                    line.extend([pair[next(pair.len())], WORDS[next(WORDS.len())]]);
                } else {
                    line.push(WORDS[next(WORDS.len())]);
                }
            }
            let mut line = typed(&line);
            if next(8) == 0 {
                line.insert(
                    2 + next(line.len() - 1),
                    std::os::unix::ffi::OsStringExt::from_vec(vec![0xff, b'=']),
                );
            }
            let Some(short) = shortcut(&line) else { continue };
            plain += usize::from(plain_run(&line[2..]).is_some());
            let full = <Arguments as clap::Parser>::try_parse_from(&line);
            let full = full.unwrap_or_else(|why| panic!("{line:?}: {why}"));
            assert_eq!(format!("{short:?}"), format!("{full:?}"), "{line:?}");
        }
        assert!(plain > 100, "{plain} are too few to tell");
    }

    #[test]
    fn what_is_plain_needs_no_parser_at_all() {
        for (why, line, plain) in [
            ("as scripts type it", &["--net", "host", "--", "true"][..], true),
            ("no flags", &["--", "true"], true),
            ("no `--`", &["true"], false),
            ("a value behind `=`", &["--net=host", "--", "true"], false),
            ("a command before `--`", &["ls", "-l", "--", "x"], false),
        ] {
            let line: Vec<_> = line.iter().copied().map(OsString::from).collect();
            assert_eq!(plain_run(&line).is_some(), plain, "{why}: {line:?}");
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
            &["run", "--net", "host", "--net", "host", "--", "true"],
            &["run", "--timeout", "1s", "--timeout", "2s", "--", "true"],
            &["run", "--workspace", "", "--", "true"],
            &["run", "--workspace", "--", "true"],
            &["run", "--env", "-x", "--", "true"],
            &["run", "--"],
            &["run", "--net", "host", "--"],
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
