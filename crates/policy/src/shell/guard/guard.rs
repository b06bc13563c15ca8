//! The guard itself: compiled once from the configuration, asked for every command.
//!
//! Invariant: a judgement follows from the guard, the text and the scene alone; a longer deny list never allows more.

use super::context::GuardContext;
use super::finding::{Finding, Kind, Remedy};
use super::interpreter::{Input, Interpreter};
use super::partial_word::{MARK_BYTE, PartialWord, shown};
use super::state::{ShellDir, State};
use super::{deny_patterns, rule_examples};
use crate::config::{ExecConfig, Guard as Mode};
use crate::path::CleanPath;
use crate::path_rules::{self, RuleFault};
use crate::policy::Reach;
use crate::shell::{NotUnderstood, Span, parse};
use regex::Regex;
use serde::Serialize;
use std::borrow::Cow;
use std::rc::Rc;

/// Nobody reads more words of one command than this.
const MOST_SHOWN: usize = 250;

/// The compiled guard.
#[derive(Debug, Clone)]
pub struct Guard {
    mode: Mode,
    denies: bool,
    custom_deny: Vec<Regex>,
    custom_allow: Vec<Regex>,
}

/// One simple command as the guard understood it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedCommand {
    /// Its words after expansion; `…` stands for what is only known when it runs.
    pub argv: Vec<String>,
    /// Where it would run.
    pub cwd: Vec<String>,
    /// The rules that it met.
    pub rules: Vec<String>,
}

/// What the guard says about one command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use = "a judgement nobody reads protects nobody"]
pub struct Judgement {
    /// Every simple command, as it was understood.
    pub commands: Vec<ParsedCommand>,
    /// The reason that decides, when there is one: danger before paths.
    pub finding: Option<Finding>,
    /// Every other reason.
    pub others: Vec<Finding>,
}

impl Judgement {
    /// Whether the command may run.
    pub fn is_allowed(&self) -> bool {
        self.finding.is_none()
    }

    fn decided(commands: Vec<ParsedCommand>, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| match (finding.kind, &finding.remedy) {
            (Kind::Danger, Remedy::Smart) => 2,
            (Kind::Danger, _) => 0,
            (Kind::NotUnderstood, _) => 1,
            (Kind::PathOutside, _) => 3,
        });
        let mut findings = findings.into_iter();
        Self { commands, finding: findings.next(), others: findings.collect() }
    }
}

impl ParsedCommand {
    pub(super) fn new(argv: &[PartialWord], state: &State) -> Self {
        let place = |place: &ShellDir| match place {
            ShellDir::At(path) => shown_path(path),
            ShellDir::Within => "a directory of the workspace".to_owned(),
            ShellDir::Unknown => "nobody knows".to_owned(),
        };
        let mut words: Vec<String> = argv.iter().take(MOST_SHOWN).map(|arg| shown(arg.as_str())).collect();
        if argv.len() > MOST_SHOWN {
            words.push(format!("(and {} more)", argv.len() - MOST_SHOWN));
        }
        Self { argv: words, cwd: state.cwd.iter().map(place).collect(), rules: Vec::new() }
    }
}

impl Guard {
    /// Compiles the patterns of the configuration, or names the first that is none.
    pub fn compile(config: &ExecConfig) -> Result<Self, RuleFault> {
        // The built-in rules are constants: a debug build checks their examples, a release build relies on that.
        if cfg!(debug_assertions)
            && let Some(fault) = rule_examples::broken()
        {
            return Err(fault);
        }
        let all = |patterns: &[String]| {
            patterns.iter().map(|pattern| path_rules::compile_pattern(pattern)).collect::<Result<_, _>>()
        };
        Ok(Self {
            mode: config.guard,
            denies: config.enable_deny_patterns,
            custom_deny: all(&config.custom_deny_patterns)?,
            custom_allow: all(&config.custom_allow_patterns)?,
        })
    }

    /// The built-in rules alone.
    pub(super) fn smart() -> Self {
        Self { mode: Mode::Smart, denies: true, custom_deny: Vec::new(), custom_allow: Vec::new() }
    }

    /// Judges a command line as the shell of the scene would run it.
    pub fn judge(&self, text: &str, scene: &GuardContext<'_>) -> Judgement {
        if !self.denies && scene.reach != Reach::Workspace {
            return Judgement { commands: Vec::new(), finding: None, others: Vec::new() };
        }
        let mut walker = Interpreter::new(self, scene, text);
        match self.follow(text, scene, &mut walker) {
            Ok(()) => {}
            Err(fault) => walker.report(unread(&fault, text)),
        }
        walker.finish();
        if self.denies {
            let rest = without(text, &walker.allowed);
            for pattern in self.custom_deny.iter().filter(|pattern| pattern.is_match(&rest)) {
                walker.report(custom(pattern.as_str(), text));
            }
            if self.mode == Mode::Strict
                && let Some(pattern) = deny_patterns::matching(&rest)
            {
                // Where the patterns that are suggested anyway would do, the text alone asks for nothing more.
                let excused = walker.excused.iter().map(|(span, _)| *span);
                let spans: Vec<Span> = walker.allowed.iter().copied().chain(excused).collect();
                let remedy = match walker.excused.first() {
                    Some((_, suggested)) if deny_patterns::matching(&without(text, &spans)).is_none() => {
                        Remedy::AllowPattern(suggested.clone())
                    }
                    _ => Remedy::Smart,
                };
                walker.report(documented(pattern, text, remedy));
            }
        }
        Judgement::decided(walker.commands, walker.findings)
    }

    fn follow(
        &self,
        text: &str,
        scene: &GuardContext<'_>,
        walker: &mut Interpreter<'_>,
    ) -> Result<(), NotUnderstood> {
        if let Some(at) = text.bytes().position(|byte| byte == MARK_BYTE) {
            return Err(NotUnderstood {
                what: "a private-use character".to_owned(),
                span: Span { start: at, end: at },
            });
        }
        let script = parse(text, scene.dialect)?;
        walker.script(&script, Rc::new(State::new(scene.cwd)), &Input::Inherited);
        Ok(())
    }

    /// Whether deny rules are in force.
    pub(super) fn denies(&self) -> bool {
        self.denies
    }

    /// Whether the configuration has patterns of its own.
    pub(super) fn has_patterns(&self) -> bool {
        !self.custom_allow.is_empty() || !self.custom_deny.is_empty()
    }

    /// Whether an allow pattern covers this simple command.
    pub(super) fn allows(&self, command: &str) -> bool {
        self.custom_allow.iter().any(|pattern| pattern.is_match(command))
    }

    /// The first deny pattern of the configuration that matches this simple command.
    pub(super) fn custom_denied(&self, command: &str) -> Option<&str> {
        self.custom_deny.iter().find(|pattern| pattern.is_match(command)).map(Regex::as_str)
    }
}

fn shown_path(path: &CleanPath) -> String {
    path.as_path().to_str().map_or_else(|| path.to_string(), str::to_owned)
}

/// The text without the simple commands that an allow pattern covers.
fn without<'t>(text: &'t str, allowed: &[Span]) -> Cow<'t, str> {
    if allowed.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut rest = text.to_owned();
    let mut spans: Vec<Span> = allowed.to_vec();
    spans.sort_by_key(|span| std::cmp::Reverse(span.start));
    for span in spans {
        if rest.get(span.start..span.end).is_some() {
            rest.replace_range(span.start..span.end, &"_".repeat(span.end - span.start));
        }
    }
    Cow::Owned(rest)
}

fn unread(fault: &NotUnderstood, text: &str) -> Finding {
    let (line, column) = fault.position(text);
    Finding {
        kind: Kind::NotUnderstood,
        rule: "not-understood".to_owned(),
        why: format!("line {line}, column {column}: {}", fault.what),
        words: fault.span.of(text).to_owned(),
        remedy: Remedy::Rewrite("write it in plainer shell".to_owned()),
    }
}

fn custom(pattern: &str, text: &str) -> Finding {
    Finding {
        kind: Kind::Danger,
        rule: format!("custom_deny_patterns:{pattern}"),
        why: "a pattern of the configuration matches".to_owned(),
        words: text.to_owned(),
        remedy: Remedy::DropDeny(pattern.to_owned()),
    }
}

fn documented(pattern: &str, text: &str, remedy: Remedy) -> Finding {
    let words = Regex::new(pattern).ok().and_then(|pattern| {
        let lower = text.to_lowercase();
        pattern.find(&lower).map(|found| found.as_str().to_owned())
    });
    Finding {
        kind: Kind::Danger,
        rule: format!("deny_patterns:{pattern}"),
        why: "a documented pattern matches the text".to_owned(),
        words: words.unwrap_or_else(|| text.to_owned()),
        remedy,
    }
}
