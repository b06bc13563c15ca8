//! Which arguments of a command are paths, and the judgement on each.
//!
//! Invariant: an argument that is not known to be text is judged as a path.

use super::builtins::Language;
use super::field::{Field, is_marked};
use super::options::Invocation;
use super::profile::{self, First, Operands, Profile};
use super::sed;
use super::state::State;
use super::walk::Walker;
use crate::intent::Access;
use std::rc::Rc;

impl Walker<'_> {
    /// Judges every argument that can name a path.
    pub(super) fn operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
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
                        self.argument(arg.as_str(), Access::Write, state);
                    }
                }
            }
            "export" | "declare" | "set" | "let" | "unset" | "read" => {}
            // `-d` shows the names themselves: `.` and `..` stay closed.
            "ls" if call.has(&super::options::Grammar::default(), "d", &["directory"]) => {
                let dots = |arg: &&Field| arg.as_str() != format!(".{}", super::field::STAR);
                let args: Vec<Field> = call.args.iter().filter(dots).cloned().collect();
                self.by_profile(&args, profile::of("ls"), state);
            }
            // `+/pattern` is where an editor or a pager begins.
            "vim" | "vi" | "nvim" | "view" | "ex" | "less" | "more" | "nano" | "emacs" => {
                let args: Vec<Field> =
                    call.args.iter().filter(|arg| !arg.as_str().starts_with('+')).cloned().collect();
                let text = Profile {
                    short: "cS",
                    text: "c",
                    long: &["cmd"],
                    text_long: &["cmd"],
                    ..*profile::of(call.name)
                };
                self.by_profile(&args, &text, state);
            }
            "openssl" => {
                let named = |at: &usize| {
                    *at > 0
                        && matches!(call.args[at - 1].as_str(), "-subj" | "-addext" | "-name" | "-passout")
                };
                let args: Vec<Field> =
                    (0..call.args.len()).filter(|at| !named(at)).map(|at| call.args[at].clone()).collect();
                self.by_profile(&args, &profile::UNKNOWN, state);
            }
            name => self.by_profile(call.args, profile::of(name), state),
        }
    }

    /// Judges arguments by what is known of the program.
    pub(super) fn by_profile(&mut self, args: &[Field], profile: &Profile, state: &Rc<State>) {
        let mut files: Vec<&str> = Vec::new();
        let mut given = Vec::new();
        let mut options = true;
        let mut args = args.iter().map(Field::as_str);
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
                    let value = &self.home_in(value, state);
                    let written = profile.out_long.contains(&name)
                        || profile.operands == Operands::Files(Access::Write);
                    self.argument(value, if written { Access::Write } else { Access::Read }, state);
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
                            self.argument(value, if out { Access::Write } else { Access::Read }, state);
                        }
                    }
                    None => self.glued(arg, profile, state),
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
        self.files(&files[usize::from(first_is_text && !files.is_empty())..], profile, state);
    }

    fn files(&mut self, files: &[&str], profile: &Profile, state: &Rc<State>) {
        for (at, file) in files.iter().enumerate() {
            let access = match profile.operands {
                Operands::Text => continue,
                Operands::Files(access) => access,
                Operands::IntoLast if at + 1 == files.len() && at > 0 => Access::Write,
                Operands::IntoLast => Access::Read,
            };
            self.argument(file, access, state);
        }
    }

    /// `-I/etc`, `-isystem/usr`, `-d@/etc/passwd`: a path glued to an option nobody knows.
    fn glued(&mut self, arg: &str, profile: &Profile, state: &Rc<State>) {
        if profile.operands == Operands::Text {
            return;
        }
        let start = ["/", "../", "@", "~/"].iter().filter_map(|mark| arg.find(mark)).min();
        let ends_up = arg.ends_with("..") && arg.len() > 3;
        let start = start.or(ends_up.then(|| arg.len() - 2));
        if let Some(start) = start {
            // A relative path has its beginning glued on as well: `-Iinclude/x` starts at `include`.
            let relative =
                arg[..start].len() > 2 && arg.as_bytes()[start] == b'/' && !arg[1..start].contains('=');
            let known = arg[1..start].len() > 1
                && ["isystem", "idirafter", "iquote", "include", "imacros", "isysroot"]
                    .contains(&&arg[1..start]);
            if relative && !known {
                self.path(arg.get(2..).unwrap_or_default(), Access::Read, state);
            } else {
                self.argument(&arg[start..], Access::Read, state);
            }
        } else if is_marked(arg) && arg.contains(super::field::ANYTHING) && arg.len() > 6 {
            self.path(arg.get(2..).unwrap_or_default(), Access::Read, state);
        }
    }

    fn find_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        let mut args = call.args.iter().map(Field::as_str);
        let mut starts = true;
        while let Some(arg) = args.next() {
            if starts && matches!(arg, "-H" | "-L" | "-P") {
                continue;
            }
            if arg.starts_with('-') || matches!(arg, "(" | "!" | ")" | ",") {
                starts = false;
            } else if starts {
                self.argument(arg, Access::Read, state);
                continue;
            }
            match arg {
                "-newer" | "-anewer" | "-cnewer" | "-samefile" | "-files0-from" => {
                    self.argument(args.next().unwrap_or_default(), Access::Read, state);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    self.argument(args.next().unwrap_or_default(), Access::Write, state);
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    for word in args.by_ref() {
                        if word == ";" || word == "+" {
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn curl_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        const SHORT: &str = "dFHTouAebcKEwXxmyYrCPtQzUD";
        let mut args = call.args.iter().map(Field::as_str);
        while let Some(arg) = args.next() {
            let (name, value) = if let Some(long) = arg.strip_prefix("--") {
                let (name, glued) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let valued = CURL_LONG.contains(&name);
                (name.to_owned(), if valued { glued.or_else(|| args.next()) } else { glued })
            } else if arg.len() > 1 && arg.starts_with('-') {
                let Some((at, letter)) =
                    arg.char_indices().skip(1).find(|(_, letter)| SHORT.contains(*letter))
                else {
                    continue;
                };
                let glued = &arg[at + 1..];
                (letter.to_string(), if glued.is_empty() { args.next() } else { Some(glued) })
            } else {
                self.argument(arg, Access::Read, state);
                continue;
            };
            let Some(value) = value else { continue };
            match name.as_str() {
                "d" | "data" | "data-binary" | "data-ascii" | "data-urlencode" | "json" | "H" | "header"
                | "w" | "write-out" => {
                    if let Some(file) =
                        value.strip_prefix('@').or_else(|| value.split_once("=@").map(|(_, file)| file))
                    {
                        self.path(file, Access::Read, state);
                    }
                }
                "F" | "form" => {
                    let body = value.split_once('=').map_or(value, |(_, body)| body);
                    if let Some(file) = body.strip_prefix(['@', '<']) {
                        self.path(file.split(';').next().unwrap_or_default(), Access::Read, state);
                    }
                }
                "o" | "output" | "D" | "dump-header" | "c" | "cookie-jar" | "output-dir" | "trace"
                | "trace-ascii" | "stderr" | "etag-save" | "hsts" => {
                    self.path(value, Access::Write, state);
                }
                "T" | "upload-file" | "K" | "config" | "E" | "cert" | "key" | "cacert" | "capath"
                | "netrc-file" | "unix-socket" | "etag-compare" => {
                    self.path(value, Access::Read, state);
                }
                "b" | "cookie" if !value.contains('=') => {
                    self.path(value, Access::Read, state);
                }
                _ => {}
            }
        }
    }

    fn sed_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        let in_place = call
            .args
            .iter()
            .any(|arg| arg.as_str().starts_with("-i") || arg.as_str().starts_with("--in-place"));
        let access = if in_place { Access::Write } else { Access::Read };
        let profile = Profile {
            short: "efl",
            text: "el",
            long: &["expression", "file", "line-length"],
            text_long: &["expression", "line-length", "in-place"],
            first: First::TextUnless("ef", &["expression", "file"]),
            operands: Operands::Files(access),
            ..profile::UNKNOWN
        };
        let args: Vec<Field> = call
            .args
            .iter()
            .filter(|arg| !arg.as_str().starts_with("-i") || !arg.as_str().contains('/'))
            .cloned()
            .collect();
        self.by_profile(&args, &profile, state);
        for script in sed::scripts(call) {
            for effect in sed::effects(script) {
                match effect {
                    sed::Effect::Runs(code) if code.is_empty() => {
                        self.deny("sed-exec", "this script of sed runs its lines as commands", script);
                    }
                    sed::Effect::Runs(code) => {
                        self.deny("sed-exec", "this script of sed runs a command", script);
                        self.reread(&Field::text(code), state, call.input);
                    }
                    sed::Effect::Reads(file) => {
                        self.path(file, Access::Read, state);
                    }
                    sed::Effect::Writes(file) => {
                        self.path(file, Access::Write, state);
                    }
                }
            }
        }
    }

    fn awk_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        let profile = Profile {
            short: "Fvfie",
            text: "Fe",
            long: &["field-separator", "assign", "file", "source", "include"],
            text_long: &["field-separator", "source"],
            first: First::TextUnless("fe", &["file", "source"]),
            operands: Operands::Files(Access::Read),
            ..profile::UNKNOWN
        };
        self.by_profile(call.args, &profile, state);
        let grammar = super::options::Grammar { short: "Fvfie", long: profile.long, ..Default::default() };
        let mut programs = call.values(&grammar, "e", &["source"]);
        if !call.has(&grammar, "fe", &["file", "source"]) {
            programs.extend(call.operands(&grammar).first());
        }
        for program in programs {
            self.inline(&Field::text(program), Language::Awk, state);
        }
    }

    fn dd_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        for arg in call.args.iter().map(Field::as_str) {
            match arg.split_once('=') {
                Some(("of", file)) => self.argument(file, Access::Write, state),
                Some(("if", file)) => self.argument(file, Access::Read, state),
                _ => {}
            }
        }
    }

    /// A symbolic link's target is read from where the link lies, and remembered.
    fn ln_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        let grammar = super::options::Grammar {
            short: "tS",
            long: &["target-directory", "suffix"],
            ..Default::default()
        };
        let symbolic = call.has(&grammar, "s", &["symbolic"]);
        for dir in call.values(&grammar, "t", &["target-directory"]) {
            self.argument(dir, Access::Write, state);
        }
        if !symbolic {
            for operand in call.operands(&grammar) {
                self.argument(operand, Access::Write, state);
            }
            return;
        }
        for (target, link) in super::effects::links(call) {
            self.argument(&link, Access::Write, state);
            let from = match link.rsplit_once('/') {
                Some((dir, _)) if !target.starts_with('/') && !dir.is_empty() => format!("{dir}/{target}"),
                _ => target.to_owned(),
            };
            self.argument(&from, Access::Read, state);
        }
    }

    fn tar_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        let profile = Profile {
            short: "fCTXIgLNVbK",
            text: "IgLNVbK",
            long: &[
                "file",
                "directory",
                "exclude",
                "transform",
                "files-from",
                "use-compress-program",
                "to-command",
                "checkpoint-action",
                "strip-components",
                "owner",
                "group",
                "mode",
            ],
            text_long: &[
                "exclude",
                "transform",
                "xform",
                "use-compress-program",
                "to-command",
                "checkpoint-action",
                "checkpoint",
                "strip-components",
                "owner",
                "group",
                "mode",
                "rsh-command",
                "info-script",
                "new-volume-script",
                "exclude-vcs",
            ],
            ..profile::UNKNOWN
        };
        // The first word may be a cluster without its dash: `tar czf out.tgz src`.
        let mut args = call.args.to_vec();
        if let Some(first) = args.first_mut()
            && !first.as_str().starts_with('-')
            && !first.as_str().contains(['/', '.'])
        {
            *first = Field(format!("-{}", first.as_str()));
        }
        let args = args
            .into_iter()
            .map(|arg| if arg.as_str() == "-" { Field::text("./-") } else { arg })
            .collect::<Vec<_>>();
        self.by_profile(&args, &profile, state);
    }

    fn sqlite_operands(&mut self, call: &Invocation<'_>, state: &Rc<State>) {
        let operands = call.operands(&super::options::Grammar::default());
        for (at, operand) in operands.iter().enumerate() {
            if at == 0 {
                self.argument(operand, Access::Write, state);
            } else if operand.trim_start().starts_with(".sh") || operand.trim_start().starts_with(".sys") {
                self.deny("inline-shell", "a database command that runs a shell", operand);
            } else if let Some((command, file)) = operand.trim_start().split_once(' ')
                && matches!(
                    command,
                    ".read"
                        | ".open"
                        | ".import"
                        | ".output"
                        | ".once"
                        | ".backup"
                        | ".restore"
                        | ".save"
                        | ".clone"
                )
            {
                self.argument(file.trim(), Access::Write, state);
            }
        }
    }
}

const CURL_LONG: &[&str] = &[
    "data",
    "data-binary",
    "data-ascii",
    "data-urlencode",
    "data-raw",
    "json",
    "header",
    "write-out",
    "form",
    "form-string",
    "output",
    "dump-header",
    "cookie-jar",
    "cookie",
    "output-dir",
    "trace",
    "trace-ascii",
    "stderr",
    "etag-save",
    "hsts",
    "upload-file",
    "config",
    "cert",
    "key",
    "cacert",
    "capath",
    "netrc-file",
    "unix-socket",
    "etag-compare",
    "request",
    "user",
    "user-agent",
    "referer",
    "max-time",
    "connect-timeout",
    "retry",
    "retry-delay",
    "proxy",
    "url",
    "range",
    "limit-rate",
    "resolve",
    "interface",
    "oauth2-bearer",
];
