//! Which arguments of a command are paths, and the judgement on each. An argument that is not known
//! to be text is a path.

use super::arg_profile::{self, First, Operands, Profile};
use super::interpreter::Interpreter;
use super::options::NamedCommand;
use super::partial_word::{PartialWord, is_marked};
use super::state::State;
use crate::intent::Access;
use std::rc::Rc;

impl Interpreter<'_> {
    /// Judges every argument that can name a path.
    pub(super) fn judge_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        match call.name {
            "find" => self.find_operands(call, state),
            "git" => self.git_operands(call, state),
            "curl" => self.curl_operands(call, state),
            "sed" | "gsed" => self.sed_operands(call, state),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk_operands(call, state),
            "dd" => self.dd_operands(call, state),
            "ln" => self.ln_operands(call, state),
            "tar" | "bsdtar" | "gtar" => self.tar_operands(call, state),
            "sqlite3" => self.sqlite_operands(call, state),
            "docker" | "podman" | "kubectl"
                if call.args.first().is_some_and(|verb| verb.as_str() == "cp") =>
            {
                for arg in &call.args[1..] {
                    if !arg.as_str().split('/').next().is_some_and(|host| host.contains(':')) {
                        self.judge_argument(arg.as_str(), Access::Write, state);
                    }
                }
            }
            "export" | "declare" | "set" | "let" | "unset" | "read" => {}
            // `-d` lists the names themselves: `.` and `..` stay closed.
            "ls" if call.has(&super::options::Grammar::default(), "d", &["directory"]) => {
                let dots = |arg: &&PartialWord| arg.as_str() != format!(".{}", super::partial_word::STAR);
                let args: Vec<PartialWord> = call.args.iter().filter(dots).cloned().collect();
                self.judge_by_profile(&args, arg_profile::of("ls"), state);
            }
            // `+/pattern` is the start position of an editor or a pager.
            "vim" | "vi" | "nvim" | "view" | "ex" | "less" | "more" | "nano" | "emacs" => {
                let args: Vec<PartialWord> =
                    call.args.iter().filter(|arg| !arg.as_str().starts_with('+')).cloned().collect();
                let text = Profile {
                    short: "cS",
                    text: "c",
                    long: &["cmd"],
                    text_long: &["cmd"],
                    ..*arg_profile::of(call.name)
                };
                self.judge_by_profile(&args, &text, state);
            }
            // The operands after the file are patterns.
            "csplit" => {
                let grammar = super::options::Grammar { short: "bfn", ..Default::default() };
                let patterns = call.operands(&grammar).into_iter().skip(1).collect::<Vec<_>>();
                let args: Vec<PartialWord> =
                    call.args.iter().filter(|arg| !patterns.contains(&arg.as_str())).cloned().collect();
                self.judge_by_profile(
                    &args,
                    &Profile { short: "bfn", text: "bn", ..arg_profile::UNKNOWN },
                    state,
                );
            }
            // `//dir:target` is a label in the project.
            "bazel" | "bazelisk" | "buck" | "buck2" | "pants" | "plz" => {
                let args: Vec<PartialWord> = call
                    .args
                    .iter()
                    .filter(|arg| !arg.as_str().trim_start_matches('-').starts_with("//"))
                    .cloned()
                    .collect();
                self.judge_by_profile(&args, &arg_profile::UNKNOWN, state);
            }
            "openssl" => {
                let named = |at: &usize| {
                    *at > 0
                        && matches!(call.args[at - 1].as_str(), "-subj" | "-addext" | "-name" | "-passout")
                };
                let args: Vec<PartialWord> =
                    (0..call.args.len()).filter(|at| !named(at)).map(|at| call.args[at].clone()).collect();
                self.judge_by_profile(&args, &arg_profile::UNKNOWN, state);
            }
            name => self.judge_by_profile(call.args, arg_profile::of(name), state),
        }
    }

    /// Judges arguments by the program's profile.
    pub(super) fn judge_by_profile(&mut self, args: &[PartialWord], profile: &Profile, state: &Rc<State>) {
        let mut files: Vec<&str> = Vec::new();
        let mut given = Vec::new();
        let mut options = true;
        let mut args = args.iter().map(PartialWord::as_str);
        while let Some(arg) = args.next() {
            if options && arg == "--" {
                options = false;
            } else if options && let Some(long) = arg.strip_prefix("--") {
                let (name, glued) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                given.push(name.to_owned());
                let value = match glued {
                    None if profile.long.contains(&name) => args.next(),
                    glued => glued,
                };
                if let Some(value) = value
                    && !profile.text_long.contains(&name)
                {
                    let value = &self.expand_home(value, state);
                    let written = profile.out_long.contains(&name)
                        || profile.operands == Operands::Files(Access::Write);
                    self.judge_argument(value, if written { Access::Write } else { Access::Read }, state);
                }
            } else if options && arg.len() > 1 && arg.starts_with('-') {
                let valued = arg.char_indices().skip(1).find(|(_, letter)| profile.short.contains(*letter));
                match valued {
                    Some((at, letter)) => {
                        given.push(letter.to_string());
                        let glued = &arg[at + letter.len_utf8()..];
                        let value = if glued.is_empty() { args.next() } else { Some(glued) };
                        if let Some(value) = value
                            && !profile.text.contains(letter)
                        {
                            let out = profile.out.contains(letter)
                                || profile.operands == Operands::Files(Access::Write);
                            self.judge_argument(value, if out { Access::Write } else { Access::Read }, state);
                        }
                    }
                    None => self.judge_joined_value(arg, profile, state),
                }
            } else {
                files.push(arg);
            }
        }
        let first_is_text = match profile.first {
            First::File => false,
            First::Text => true,
            First::TextUnless(shorts, longs) => !given.iter().any(|name| {
                longs.contains(&name.as_str()) || (name.len() == 1 && shorts.contains(name.as_str()))
            }),
        };
        self.judge_files(&files[usize::from(first_is_text && !files.is_empty())..], profile, state);
    }

    fn judge_files(&mut self, files: &[&str], profile: &Profile, state: &Rc<State>) {
        for (at, file) in files.iter().enumerate() {
            let access = match profile.operands {
                Operands::Text => continue,
                Operands::Files(access) => access,
                Operands::IntoLast if at + 1 == files.len() && at > 0 => Access::Write,
                Operands::IntoLast => Access::Read,
            };
            self.judge_argument(file, access, state);
        }
    }

    /// `-I/etc`, `-isystem/usr`, `-d@/etc/passwd`: a path joined to an unknown option.
    fn judge_joined_value(&mut self, arg: &str, profile: &Profile, state: &Rc<State>) {
        if profile.operands == Operands::Text {
            return;
        }
        let start = ["/", "../", "@", "~/"].iter().filter_map(|mark| arg.find(mark)).min();
        let ends_up = arg.ends_with("..") && arg.len() > 3;
        let start = start.or(ends_up.then(|| arg.len() - 2));
        if let Some(start) = start {
            // A relative path may be joined as well: `-Iinclude/x` begins at `include`.
            let relative =
                arg[..start].len() > 2 && arg.as_bytes()[start] == b'/' && !arg[1..start].contains('=');
            let known = arg[1..start].len() > 1
                && ["isystem", "idirafter", "iquote", "include", "imacros", "isysroot"]
                    .contains(&&arg[1..start]);
            if relative && !known {
                self.judge_path(arg.get(2..).unwrap_or_default(), Access::Read, state);
            } else {
                self.judge_argument(&arg[start..], Access::Read, state);
            }
        } else if is_marked(arg) && arg.contains(super::partial_word::ANYTHING) && arg.len() > 6 {
            self.judge_path(arg.get(2..).unwrap_or_default(), Access::Read, state);
        }
    }
}
