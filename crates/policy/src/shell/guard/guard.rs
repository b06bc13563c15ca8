//! The guard: compiled once from the configuration, used for every command.
//!
//! A longer deny list never allows more.

use super::context::GuardContext;
use super::finding::{Finding, Kind, Remedy};
use super::interpreter::{Input, Interpreter};
use super::partial_word::{MARK_BYTE, PartialWord, render_marks};
use super::state::{ShellDir, State};
use super::{deny_patterns, rule_examples};
use crate::config::{ExecConfig, Guard as Mode};
use crate::path::CleanPath;
use crate::path_rules::{self, RuleFault};
use crate::policy::Reach;
use crate::shell::{Dialect, NotUnderstood, Span, parse};
use regex::Regex;
use serde::Serialize;
use std::borrow::Cow;
use std::rc::Rc;

/// Maximum number of words of one command in the output.
const MAX_SHOWN_WORDS: usize = 250;

/// The compiled guard.
#[derive(Debug, Clone)]
pub struct Guard {
    mode: Mode,
    denies: bool,
    custom_deny: Vec<Regex>,
    custom_allow: Vec<Regex>,
}

/// One simple command as parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedCommand {
    /// Its words after expansion; `…` stands for what is known only at run time.
    pub argv: Vec<String>,
    /// Its possible working directories.
    pub cwd: Vec<String>,
    /// The rules that it triggered.
    pub rules: Vec<String>,
}

/// The judgement on one command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Judgement {
    /// Every simple command as parsed.
    pub commands: Vec<ParsedCommand>,
    /// The finding that decides, if any: danger before paths.
    pub finding: Option<Finding>,
    /// Every other finding.
    pub others: Vec<Finding>,
}

impl Judgement {
    /// Whether the command may run.
    pub fn is_allowed(&self) -> bool {
        self.finding.is_none()
    }

    fn from_findings(commands: Vec<ParsedCommand>, mut findings: Vec<Finding>) -> Self {
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
    pub(super) fn from_argv(argv: &[PartialWord], state: &State) -> Self {
        let place = |place: &ShellDir| match place {
            ShellDir::At(path) => render_path(path),
            ShellDir::Within => "a directory of the workspace".to_owned(),
            ShellDir::Unknown => "unknown".to_owned(),
        };
        let mut words: Vec<String> =
            argv.iter().take(MAX_SHOWN_WORDS).map(|arg| render_marks(arg.as_str())).collect();
        if argv.len() > MAX_SHOWN_WORDS {
            words.push(format!("(and {} more)", argv.len() - MAX_SHOWN_WORDS));
        }
        Self { argv: words, cwd: state.cwd.iter().map(place).collect(), rules: Vec::new() }
    }
}

impl Guard {
    /// Compiles the configured patterns, or returns the first that does not compile.
    pub fn compile(config: &ExecConfig) -> Result<Self, RuleFault> {
        // The built-in rules are constants: a debug build checks their examples, a release build
        // relies on that.
        if cfg!(debug_assertions)
            && let Some(fault) = rule_examples::first_broken()
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

    /// The built-in rules only.
    pub(super) fn smart() -> Self {
        Self { mode: Mode::Smart, denies: true, custom_deny: Vec::new(), custom_allow: Vec::new() }
    }

    /// Judges a command line for the shell of `context`.
    pub fn judge(&self, text: &str, context: &GuardContext<'_>) -> Judgement {
        if !self.denies && context.reach != Reach::Workspace {
            return Judgement { commands: Vec::new(), finding: None, others: Vec::new() };
        }
        let mut interpreter = Interpreter::new(self, context, text);
        if let Err(fault) = self.interpret(text, context, &mut interpreter) {
            interpreter.report(refused_text(&fault, text));
        }
        interpreter.finish();
        if self.denies {
            let rest = mask_spans(text, &interpreter.allowed);
            for pattern in self.custom_deny.iter().filter(|pattern| pattern.is_match(&rest)) {
                interpreter.report(Finding::custom(pattern.as_str(), text));
            }
            if self.mode == Mode::Strict
                && let Some(pattern) = deny_patterns::matching(&rest)
            {
                // Where the patterns suggested anyway would do, no further remedy is needed.
                let excused = interpreter.suggested.iter().map(|(span, _)| *span);
                let spans: Vec<Span> = interpreter.allowed.iter().copied().chain(excused).collect();
                let remedy = match interpreter.suggested.first() {
                    Some((_, suggested)) if deny_patterns::matching(&mask_spans(text, &spans)).is_none() => {
                        Remedy::AllowPattern(suggested.clone())
                    }
                    _ => Remedy::Smart,
                };
                interpreter.report(documented_finding(pattern, text, remedy));
            }
        }
        Judgement::from_findings(interpreter.commands, interpreter.findings)
    }

    fn interpret(
        &self,
        text: &str,
        context: &GuardContext<'_>,
        interpreter: &mut Interpreter<'_>,
    ) -> Result<(), NotUnderstood> {
        if let Some(at) = text.bytes().position(|byte| byte == MARK_BYTE) {
            return Err(NotUnderstood {
                what: "a private-use character".to_owned(),
                span: Span { start: at, end: at },
            });
        }
        if context.dialect == Dialect::PowerShell {
            interpreter.powershell(text);
            return Ok(());
        }
        let script = parse(text, context.dialect)?;
        if context.script_is_input {
            interpreter.judge_history(text);
            interpreter.judge_lines(text, &script);
        }
        interpreter.script(&script, Rc::new(State::new(context.cwd)), &Input::Inherited);
        Ok(())
    }

    /// Whether the parsed command alone decides.
    pub(super) fn is_smart(&self) -> bool {
        self.mode == Mode::Smart
    }

    /// Whether deny rules are enabled.
    pub(super) fn denies(&self) -> bool {
        self.denies
    }

    /// Whether the configuration has its own patterns.
    pub(super) fn has_patterns(&self) -> bool {
        !self.custom_allow.is_empty() || !self.custom_deny.is_empty()
    }

    /// Whether an allow pattern covers this simple command, wherever it runs.
    pub(super) fn allows(&self, command: &str) -> bool {
        self.custom_allow.iter().any(|pattern| !is_placed(pattern) && pattern.is_match(command))
    }

    /// Whether an allow pattern covers this simple command in its directory: `cd DIR && COMMAND`.
    pub(super) fn allows_placed(&self, command: &str) -> bool {
        self.custom_allow.iter().any(|pattern| is_placed(pattern) && pattern.is_match(command))
    }

    /// The first configured deny pattern that matches this simple command.
    pub(super) fn custom_denied(&self, command: &str) -> Option<&str> {
        self.custom_deny.iter().find(|pattern| pattern.is_match(command)).map(Regex::as_str)
    }
}

/// Whether a pattern names a directory. No simple command has this text, so others never match it.
fn is_placed(pattern: &Regex) -> bool {
    pattern.as_str().starts_with("^cd ") && pattern.as_str().contains(" && ")
}

fn render_path(path: &CleanPath) -> String {
    path.as_path().to_str().map_or_else(|| path.to_string(), str::to_owned)
}

/// The text without the simple commands that an allow pattern covers.
fn mask_spans<'t>(text: &'t str, allowed: &[Span]) -> Cow<'t, str> {
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

fn refused_text(fault: &NotUnderstood, text: &str) -> Finding {
    let (line, column) = fault.position(text);
    let why = format!("line {line}, column {column}: {}", fault.what);
    let remedy = Remedy::Rewrite("write it in plainer shell".to_owned());
    Finding::new(Kind::NotUnderstood, "not-understood", why, fault.span.of(text), remedy)
}

fn documented_finding(pattern: &str, text: &str, remedy: Remedy) -> Finding {
    let lower = text.to_lowercase();
    let compiled = Regex::new(pattern).ok();
    let words = compiled.and_then(|pattern| pattern.find(&lower)).map_or(text, |found| found.as_str());
    let rule = format!("deny_patterns:{pattern}");
    Finding::new(Kind::Danger, rule, "a documented pattern matches the text", words, remedy)
}
