//! Git: settings that are commands, and subcommands that run other commands.

use super::arg_profile::{self, First, Operands, Profile};
use super::builtins::join_words;
use super::dispatch::Invocation;
use super::interpreter::{Input, Interpreter};
use super::options::{Grammar, NamedCommand, Order, parse};
use super::partial_word::PartialWord;
use super::state::State;
use crate::intent::Access;
use std::rc::Rc;

/// Git's own options, before the subcommand.
pub(super) const GLOBAL: Grammar = Grammar {
    short: "Cc",
    long: &["git-dir", "work-tree", "namespace", "config-env", "super-prefix", "attr-source"],
    order: Order::First,
};

/// Subcommands whose operands are branches, tags and commits before they are files.
const NAMES: &[&str] = &[
    "tag",
    "branch",
    "checkout",
    "switch",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "fetch",
    "pull",
    "describe",
    "rev-parse",
    "log",
    "show",
    "diff",
    "reset",
    "remote",
    "bisect",
    "worktree",
    "config",
    "merge-base",
    "rev-list",
];

impl Interpreter<'_> {
    /// Judges what git runs because of its arguments.
    pub(super) fn git(&mut self, call: &NamedCommand<'_>, invocation: &Invocation<'_>, state: &Rc<State>) {
        let (_, at) = parse(call.args, &GLOBAL);
        let rest = call.args.get(at..).unwrap_or_default();
        let Some(verb) = rest.first() else { return };
        let mut settings: Vec<(String, String)> = Vec::new();
        let mut pairs = call.values(&GLOBAL, "c", &[]);
        if verb.as_str() == "clone" {
            pairs.extend(NamedCommand { args: rest, ..*call }.values(
                &Grammar { short: "cbjou", ..Grammar::default() },
                "c",
                &["config"],
            ));
        }
        settings.extend(
            pairs.iter().filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        if verb.as_str() == "config" {
            let operands = NamedCommand { args: &rest[1..], ..*call }.operands(&Grammar {
                short: "f",
                long: &["file", "blob"],
                ..Grammar::default()
            });
            if let [key, value, ..] = operands.as_slice() {
                settings.push(((*key).to_owned(), (*value).to_owned()));
            }
        }
        for (key, value) in &settings {
            self.git_setting(key, value, state);
            if key.strip_prefix("alias.").is_some_and(|name| name == verb.as_str()) && !value.starts_with('!')
            {
                let alias = value.split_whitespace().map(PartialWord::text).chain(rest[1..].iter().cloned());
                let argv: Vec<PartialWord> = std::iter::once(PartialWord::text("git")).chain(alias).collect();
                if argv.get(1).is_none_or(|next| next != verb) {
                    self.invoke(
                        &Invocation { argv: &argv, input: invocation.input, span: None },
                        state.clone(),
                    );
                }
            }
        }
        let inner = NamedCommand { args: &rest[1..], ..*call };
        self.git_strings(verb.as_str(), &inner, state);
    }

    fn git_setting(&mut self, key: &str, value: &str, state: &Rc<State>) {
        let key = key.to_ascii_lowercase();
        let last = key.rsplit('.').next().unwrap_or_default();
        let shell = value.strip_prefix('!');
        if key == "core.sshcommand" {
            if value.split_whitespace().next().is_some_and(|name| name.rsplit('/').next() != Some("ssh")) {
                self.report_danger(
                    "git-setting",
                    "a setting that runs a command instead of ssh",
                    &format!("{key}={value}"),
                );
            }
        } else if key.starts_with("alias.") || last == "helper" {
            if let Some(code) = shell {
                self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
            }
        } else if matches!(
            last,
            "pager"
                | "editor"
                | "external"
                | "textconv"
                | "clean"
                | "smudge"
                | "process"
                | "program"
                | "cmd"
                | "askpass"
                | "driver"
                | "packobjectshook"
        ) || key.starts_with("pager.")
            || (key == "core.fsmonitor" && !matches!(value, "true" | "false"))
        {
            self.interpret_with_sh(&PartialWord::text(value), state, &Input::Inherited);
        }
    }

    /// Options and operands of single subcommands that are commands.
    fn git_strings(&mut self, verb: &str, call: &NamedCommand<'_>, state: &Rc<State>) {
        let grammar = Grammar {
            short: "xuOcm",
            long: &[
                "exec",
                "upload-pack",
                "receive-pack",
                "extcmd",
                "tree-filter",
                "index-filter",
                "msg-filter",
                "env-filter",
                "commit-filter",
                "tag-name-filter",
                "parent-filter",
                "open-files-in-pager",
            ],
            order: Order::Free,
        };
        let foreach;
        let code: Vec<&str> = match verb {
            "rebase" => call.values(&grammar, "x", &["exec"]),
            "difftool" => call.values(&grammar, "x", &["extcmd"]),
            "grep" => call.values(&grammar, "O", &["open-files-in-pager"]),
            "filter-branch" => {
                grammar.long[4..11].iter().flat_map(|name| call.values(&grammar, "", &[name])).collect()
            }
            "submodule" => {
                // One string for a shell, or the words of one command.
                let behind = call.args.iter().skip_while(|arg| arg.as_str() != "foreach").skip(1);
                foreach = join_words(
                    &behind.skip_while(|arg| arg.as_str().starts_with('-')).cloned().collect::<Vec<_>>(),
                );
                if foreach.is_empty() { Vec::new() } else { vec![foreach.as_str()] }
            }
            _ => Vec::new(),
        };
        for code in code {
            self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
        }
        let remote = ["clone", "fetch", "pull", "ls-remote", "fetch-pack", "archive"].contains(&verb);
        let sides = if remote { call.values(&grammar, "u", &["upload-pack", "exec"]) } else { Vec::new() };
        for side in sides {
            if !side.trim_start().starts_with("git-") && side != "git" {
                self.report_danger("git-setting", "a command that git runs for the other side", side);
            }
        }
        if call.args.iter().any(|arg| arg.as_str().starts_with("ext::")) {
            self.report_danger("git-setting", "a remote that is a command", &join_words(call.args));
        }
        if verb == "bisect" && call.args.first().is_some_and(|arg| arg.as_str() == "run") {
            self.invoke(
                &Invocation { argv: &call.args[1..], input: &Input::Inherited, span: None },
                state.clone(),
            );
        }
    }

    pub(super) fn git_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        for dir in call.values(&GLOBAL, "C", &["git-dir", "work-tree"]) {
            self.judge_argument(dir, Access::Write, state);
        }
        for setting in call.values(&GLOBAL, "c", &[]) {
            self.judge_argument(setting, Access::Read, state);
        }
        let (_, at) = parse(call.args, &GLOBAL);
        let Some((verb, rest)) = call.args.get(at..).and_then(<[PartialWord]>::split_first) else { return };
        // Names of branches and commits need not be known; a path must be.
        let named = NAMES.contains(&verb.as_str());
        let is_path = |arg: &&PartialWord| !(is_remote(arg.as_str()) || named && arg.is_open());
        let rest: Vec<PartialWord> = rest.iter().filter(is_path).cloned().collect();
        self.judge_by_profile(&rest, &profile_of(verb.as_str()), state);
    }
}

fn profile_of(verb: &str) -> Profile {
    const BASE: Profile = Profile {
        short: "",
        long: &[
            "message", "author", "date", "grep", "since", "until", "after", "before", "format", "pretty",
            "exec",
        ],
        text_long: &[
            "message",
            "author",
            "date",
            "grep",
            "since",
            "until",
            "after",
            "before",
            "format",
            "pretty",
            "exec",
            "committer",
            "trailer",
            "abbrev-ref",
            "upload-pack",
            "chmod",
            "decorate",
            "color",
            "stat",
            "depth",
            "branch",
            "tree-filter",
            "index-filter",
            "msg-filter",
            "env-filter",
            "commit-filter",
        ],
        ..arg_profile::UNKNOWN
    };
    match verb {
        "commit" | "tag" | "merge" | "notes" | "stash" | "revert" | "cherry-pick" => {
            Profile { short: "mFtu", text: "mtu", ..BASE }
        }
        "log" | "show" | "diff" | "shortlog" | "rev-list" | "whatchanged" | "blame" => {
            Profile { short: "SGLnUMO", text: "SGLnUM", operands: Operands::Files(Access::Read), ..BASE }
        }
        "grep" => Profile {
            short: "eABCmO",
            text: "eABCmO",
            first: First::TextUnless("e", &[]),
            operands: Operands::Files(Access::Read),
            ..BASE
        },
        "rebase" | "difftool" => Profile { short: "xX", text: "xX", ..BASE },
        "clone" | "fetch" | "pull" => Profile { short: "bcjou", text: "bcjou", ..BASE },
        "submodule" => Profile { operands: Operands::Files(Access::Write), ..BASE },
        "bisect" => Profile { operands: Operands::Text, ..BASE },
        _ => BASE,
    }
}

/// `git@host:path`, which is not a local path.
fn is_remote(word: &str) -> bool {
    word.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}
