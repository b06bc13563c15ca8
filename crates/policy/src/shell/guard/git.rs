//! Git: settings that are commands, and subcommands that run other commands.

use super::builtins::join_words;
use super::interpreter::{Input, Interpreter};
use super::options::{Grammar, NamedCommand, parse};
use super::partial_word::PartialWord;
use super::programs;
use super::state::{ShellDir, State};
use crate::intent::Access;
use crate::path::CleanPath;
use std::path::Path;
use std::rc::Rc;

/// Git's own options, before the subcommand.
pub(super) const GLOBAL: Grammar =
    Grammar::leading("C c git-dir work-tree namespace config-env super-prefix attr-source");

/// Subcommands whose operands are branches, tags and commits before they are files.
const NAMES: &str = "tag branch checkout switch merge rebase cherry-pick revert fetch pull describe \
    rev-parse log show diff reset remote bisect worktree config merge-base rev-list";

/// Settings whose value is a command.
const RUN_BY_GIT: &str =
    "pager editor external textconv clean smudge process program cmd askpass driver packobjectshook command";
/// Sections, and settings, that run nothing and name no file.
const HARMLESS: &str = "color user init pull push merge diff log commit tag branch fetch rebase advice status gc pack \
    index feature rerere i18n column grep blame apply format notes stash versionsort transfer checkout clone \
    core.autocrlf core.quotepath core.filemode core.ignorecase core.eol core.safecrlf core.abbrev core.commentchar \
    core.longpaths core.bare core.precomposeunicode core.untrackedcache core.preloadindex core.compression \
    core.bigfilethreshold core.logallrefupdates core.symlinks core.whitespace http.postbuffer http.version \
    http.lowspeedlimit http.lowspeedtime protocol.version submodule.recurse submodule.fetchjobs safe.directory \
    credential.username credential.usehttppath lfs.concurrenttransfers lfs.url maintenance.auto http.proxy \
    http.extraheader core.excludesfile commit.template merge.tool merge.guitool diff.tool diff.guitool \
    uploadpack.allowfilter uploadpack.allowanysha1inwant uploadpack.allowreachablesha1inwant \
    uploadpack.allowtipsha1inwant";

fn is_harmless(key: &str, value: &str) -> bool {
    let (section, last) =
        (key.split('.').next().unwrap_or_default(), key.rsplit('.').next().unwrap_or_default());
    let among = match section {
        "remote" => matches!(last, "url" | "fetch" | "pushurl" | "tagopt" | "prune"),
        "url" => last.ends_with("insteadof") && !key.contains("::"),
        "gpg" => key == "gpg.format" && matches!(value, "ssh" | "openpgp" | "x509"),
        "http" => last == "extraheader",
        // Its text becomes lines of the list of commits, which may be commands.
        "rebase" => last != "instructionformat",
        _ => {
            let ends = ["file", "dir", "directory", "path", "template", "tool"];
            programs::has_word(HARMLESS, section) && !ends.iter().any(|end| last.ends_with(end))
        }
    };
    among || programs::has_word(HARMLESS, key)
}

/// Whether a command is `ssh` with options that run nothing on this side.
pub(super) fn is_plain_ssh(command: &str) -> bool {
    let name = command.split_whitespace().next().unwrap_or_default();
    name.rsplit('/').next() == Some("ssh")
        && !command.to_ascii_lowercase().contains("command")
        && !command.contains([';', '&', '|', '`', '$', '<', '>', '\n'])
}

impl Interpreter<'_> {
    /// Judges what git runs because of its arguments.
    pub(super) fn git(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        let (_, at) = parse(call.args, GLOBAL);
        let rest = call.args.get(at..).unwrap_or_default();
        for option in call.args[..at.min(call.args.len())].iter().map(PartialWord::as_str) {
            if let Some(long) = option.strip_prefix("--")
                && ["exec-path=", "config-env", "config-e", "super-prefix"]
                    .iter()
                    .any(|risky| long.starts_with(risky))
            {
                self.report_danger("git-setting", "says where git takes programs or settings from", option);
            }
        }
        let Some(verb) = rest.first() else { return };
        let mut settings: Vec<(String, String)> = Vec::new();
        let mut pairs = call.values(GLOBAL, "c");
        if verb.as_str() == "clone" {
            pairs.extend(NamedCommand { args: rest, ..*call }.values("c b j o u", "c config"));
        }
        settings.extend(
            pairs
                .iter()
                .filter_map(|pair| pair.split_once('='))
                .map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned())),
        );
        if verb.as_str() == "config" {
            let operands =
                NamedCommand { args: &rest[1..], ..*call }.operands("f file blob type default comment value");
            let operands = match operands.as_slice() {
                ["set" | "get" | "unset", rest @ ..] => rest,
                all => all,
            };
            let renames = rest.iter().any(|arg| arg.as_str().trim_start_matches('-') == "rename-section");
            if renames
                && operands.last().is_some_and(|to| !to.starts_with("remote.") && !to.starts_with("branch."))
            {
                self.report_danger("git-setting", "gives settings another meaning", &join_words(rest));
            }
            if let [key, value, ..] = operands {
                settings.push((key.to_ascii_lowercase(), (*value).to_owned()));
            }
        }
        for (key, value) in settings {
            self.git_setting(&key, &value, state);
            if let Some(name) = key.strip_prefix("alias.") {
                let name = name.strip_suffix(".command").unwrap_or(name);
                self.git_aliases.insert((name.to_owned(), value));
            }
        }
        let name = verb.as_str().to_ascii_lowercase();
        let values: Vec<String> = self
            .git_aliases
            .iter()
            // Git runs its own subcommand where an alias names itself.
            .filter(|(alias, value)| *alias == name && value.split_whitespace().next() != Some(&name))
            .map(|(_, value)| value.clone())
            .collect();
        for value in values {
            self.git_alias(&value, &rest[1..], call.input, state);
        }
        let inner = NamedCommand { args: &rest[1..], ..*call };
        self.git_strings(verb.as_str(), &inner, state);
    }

    /// Judges what an alias runs with these arguments.
    fn git_alias(&mut self, value: &str, args: &[PartialWord], input: &Input, state: &Rc<State>) {
        if let Some(code) = value.strip_prefix('!') {
            let code = format!("{code} {}", join_words(args));
            self.interpret_with_sh(&PartialWord::text(code), &self.at_top_level(state), input);
            return;
        }
        if value.contains(['\'', '"', '\\']) {
            // Git splits an alias by quotes like a shell.
            let code = format!("git {value} {}", join_words(args));
            self.interpret_with_sh(&PartialWord::text(code), state, input);
            return;
        }
        let words = std::iter::once("git").chain(value.split_whitespace()).map(PartialWord::text);
        let argv: Vec<PartialWord> = words.chain(args.iter().cloned()).collect();
        self.run_words(&argv, input, state);
    }

    /// The state of a command that git runs at the top of the repository: any directory from this
    /// one up, if it is not known which has it.
    fn at_top_level(&self, state: &Rc<State>) -> Rc<State> {
        let root = self.repository_root(state);
        let mut top = (**state).clone();
        let above = |dir: &ShellDir| match dir {
            ShellDir::At(dir) => dir
                .as_path()
                .ancestors()
                .filter_map(CleanPath::absolute)
                .take_while(|dir| self.context.zones.in_workspace(dir).is_some())
                .filter(|dir| root.known().is_none_or(|root| dir.as_path() == Path::new(root)))
                .map(ShellDir::At)
                .collect(),
            other => vec![other.clone()],
        };
        top.change_dir(state.cwd.iter().flat_map(above).collect::<Vec<_>>());
        Rc::new(top)
    }

    /// A setting that is not known to be harmless is not.
    fn git_setting(&mut self, key: &str, value: &str, state: &Rc<State>) {
        let key = key.to_ascii_lowercase();
        let (section, last) =
            (key.split('.').next().unwrap_or_default(), key.rsplit('.').next().unwrap_or_default());
        let words = format!("{key}={value}");
        if key == "core.sshcommand" {
            if !is_plain_ssh(value) {
                self.report_danger("git-setting", "a setting that runs a command instead of ssh", &words);
            }
        } else if section == "alias" {
            self.git_alias(value, &[], &Input::Inherited, state);
        } else if last == "helper" {
            match value.strip_prefix('!') {
                Some(code) => {
                    self.interpret_with_sh(&PartialWord::text(code), state, &Input::Inherited);
                }
                // Git runs `git credential-` and this.
                None if value.contains([';', '&', '|', '`', '$', '\n']) => {
                    self.interpret_with_sh(&PartialWord::text(value), state, &Input::Inherited);
                }
                None if value.contains('/') => {
                    self.judge_path(value, Access::Read, state);
                }
                None => {}
            }
        } else if programs::has_word(RUN_BY_GIT, last) || section == "pager" {
            self.interpret_with_sh(&PartialWord::text(value), state, &Input::Inherited);
        } else if !(is_harmless(&key, value) || key == "core.fsmonitor" && matches!(value, "true" | "false"))
        {
            self.report_danger("git-setting", "a setting that is not known to be harmless", &words);
        }
    }

    /// Options and operands of single subcommands that are commands.
    fn git_strings(&mut self, verb: &str, call: &NamedCommand<'_>, state: &Rc<State>) {
        const VALUED: &str = "x u O c m exec upload-pack receive-pack extcmd open-files-in-pager tree-filter \
            index-filter msg-filter env-filter commit-filter tag-name-filter parent-filter";
        const FILTERS: &str = "tree-filter index-filter msg-filter env-filter commit-filter tag-name-filter \
            parent-filter";
        let values = |options| call.values(VALUED, options);
        let foreach;
        let code: Vec<&str> = match verb {
            "rebase" => values("x exec"),
            "difftool" => values("x extcmd"),
            "grep" => values("O open-files-in-pager"),
            "filter-branch" => values(FILTERS),
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
        let top = if verb == "rebase" { self.at_top_level(state) } else { state.clone() };
        for code in code {
            self.interpret_with_sh(&PartialWord::text(code), &top, &Input::Inherited);
        }
        let remote = ["clone", "fetch", "pull", "ls-remote", "fetch-pack", "archive"].contains(&verb);
        let sides = if remote { values("u upload-pack exec") } else { Vec::new() };
        for side in sides {
            let plain = side.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_. ".contains(&b));
            if !plain || !side.starts_with("git-") && side != "git" {
                self.report_danger("git-setting", "a command that git runs for the other side", side);
            }
        }
        let ext = call.args.iter().any(|arg| arg.as_str().starts_with("ext::"));
        if ext || matches!(verb, "remote-ext" | "remote-fd") {
            self.report_danger("git-setting", "a remote that is a command", &join_words(call.args));
        }
        if verb == "bisect" && call.args.first().is_some_and(|arg| arg.as_str() == "run") {
            self.run_words(&call.args[1..], &Input::Inherited, state);
        }
    }

    pub(super) fn git_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        for dir in call.values(GLOBAL, "git-dir work-tree") {
            self.judge_argument(dir, Access::Write, state);
        }
        let mut place = state.clone();
        for dir in call.values(GLOBAL, "C") {
            let to = self.judge_directory(dir, &place);
            Rc::make_mut(&mut place).change_dir(to);
        }
        let state = &place;
        for setting in call.values(GLOBAL, "c") {
            self.judge_argument(setting, Access::Read, state);
        }
        let (_, at) = parse(call.args, GLOBAL);
        let Some((verb, rest)) = call.args.get(at..).and_then(<[PartialWord]>::split_first) else { return };
        // Names of branches and commits need not be known; a path must be.
        let named = programs::has_word(NAMES, verb.as_str());
        let is_path = |arg: &&PartialWord| !(is_remote(arg.as_str()) || named && arg.is_open());
        let rest: Vec<PartialWord> = rest.iter().filter(is_path).cloned().collect();
        let program = programs::find(&format!("git-{}", verb.as_str())).or_else(|| programs::find("git-any"));
        self.judge_arguments(&rest, program.unwrap_or(&programs::UNKNOWN), state);
    }
}

/// `git@host:path`, which is not a local path.
fn is_remote(word: &str) -> bool {
    word.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}
