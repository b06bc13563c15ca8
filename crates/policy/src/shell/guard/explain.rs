//! Renders findings: for the model in two lines, for a person in full, for a program as JSON.
//!
//! A refusal begins with the documented sentence, and control characters of the command are
//! escaped.

use super::finding::{Finding, Kind, Remedy};
use super::guard::{Judgement, ParsedCommand};
use super::remedies::json_entry;
use crate::refusal::{Code, Layer, Refusal};
use serde::Serialize;

/// The documented sentence for a dangerous command, and for one that is not understood.
pub const DANGEROUS: &str = "Command blocked by safety guard (dangerous pattern detected)";
/// The documented sentence for a path outside.
pub const OUTSIDE: &str = "Command blocked by safety guard (path outside working dir)";

/// Length limit of a quoted command in a hint.
const MAX_QUOTE_LEN: usize = 160;

/// A judgement for `picoclaw check exec --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation<'j> {
    /// `allow` or `deny`.
    pub verdict: &'static str,
    /// The documented sentence, if denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<&'static str>,
    /// The stable code, if denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The layer that decided.
    pub layer: &'static str,
    /// The finding that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<&'j Finding>,
    /// The two lines that the model gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Every other finding.
    pub others: &'j [Finding],
    /// Each simple command as parsed.
    pub commands: &'j [ParsedCommand],
}

impl Judgement {
    /// The refusal for model, ledger and terminal; `None` if the command may run.
    pub fn refusal(&self) -> Option<Refusal> {
        let finding = self.finding.as_ref()?;
        Some(Refusal {
            code: finding.code(),
            sentence: finding.sentence().to_owned(),
            rule: finding.rule.clone(),
            layer: Layer::Guard,
            hint: self.hint(finding),
        })
    }

    /// The judgement as JSON.
    pub fn explanation(&self) -> Explanation<'_> {
        let finding = self.finding.as_ref();
        Explanation {
            verdict: if self.is_allowed() { "allow" } else { "deny" },
            sentence: finding.map(Finding::sentence),
            code: finding.map(|finding| finding.code().as_str()),
            layer: Layer::Guard.as_str(),
            finding,
            hint: finding.map(|finding| self.hint(finding)),
            others: &self.others,
            commands: &self.commands,
        }
    }
}

impl Finding {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self.kind {
            Kind::Danger => Code::DangerousCommand,
            Kind::NotUnderstood => Code::CommandNotUnderstood,
            Kind::PathOutside => Code::CommandPathOutside,
        }
    }

    /// The documented sentence.
    pub fn sentence(&self) -> &'static str {
        match self.kind {
            Kind::Danger | Kind::NotUnderstood => DANGEROUS,
            Kind::PathOutside => OUTSIDE,
        }
    }

    /// What a model can do instead.
    fn instead(&self) -> &'static str {
        let rule = self.rule.as_str();
        match self.kind {
            Kind::PathOutside => {
                "use a path inside the workspace, a file tool or `list_dir`, or ask the person"
            }
            Kind::NotUnderstood => "write the command out in plain shell, one step at a time",
            Kind::Danger if rule.contains("deletion") => {
                "delete single files with `rm FILE`, or ask the person"
            }
            Kind::Danger if rule.contains("run") || rule.contains("interpreter") => {
                "save the code as a file, read it, and run the file by its name"
            }
            Kind::Danger if rule.starts_with("deny_patterns") => {
                "say it without these words, or ask the person"
            }
            Kind::Danger => "find a way without it, or ask the person",
        }
    }

    /// The words and the reason.
    pub(super) fn describe(&self) -> String {
        let about = match self.words.is_empty() {
            true => format!("{} (rule `{}`)", self.why, self.rule),
            false => format!("`{}`: {} (rule `{}`)", quote_words(&self.words), self.why, self.rule),
        };
        match self.remedy {
            // The remedy says what to do instead.
            Remedy::Rewrite(_) => format!("{about}; do not retry"),
            _ => format!("{about}; do not retry, {}", self.instead()),
        }
    }
}

impl Remedy {
    /// The change that would allow it, as a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::AllowPattern(pattern) => {
                format!(
                    "`tools.exec.custom_allow_patterns`: [{}] would allow exactly this command, in this directory",
                    json_entry(pattern)
                )
            }
            Self::Smart => {
                "`tools.exec.guard`: \"smart\" judges the parsed command and would not match words alone"
                    .to_owned()
            }
            Self::ReadPath(pattern) => format!(
                "`tools.allow_read_paths`: [{}] would allow reading exactly this path",
                json_entry(pattern)
            ),
            Self::WritePath(pattern) => format!(
                "`tools.allow_write_paths`: [{}] would allow writing exactly this path",
                json_entry(pattern)
            ),
            Self::DropDeny(pattern) => format!(
                "`tools.exec.custom_deny_patterns` holds {}; without it this would be allowed",
                json_entry(pattern)
            ),
            Self::Ask => "`tools.exec.on_block`: \"ask\" lets a person approve it".to_owned(),
            Self::Cage => {
                "`isolation.enabled`: true would hold it in a cage, or write the path out".to_owned()
            }
            Self::Rewrite(how) => how.clone(),
            Self::None => "no setting opens it to an agent".to_owned(),
        }
    }
}

/// Words of a command on one line, truncated and without control characters.
pub(super) fn quote_words(words: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = words.chars().take(MAX_QUOTE_LEN).map(plain).collect();
    if words.chars().nth(MAX_QUOTE_LEN).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: Kind, remedy: Remedy) -> Judgement {
        let finding = Finding {
            kind,
            rule: "rule".to_owned(),
            why: "it does harm".to_owned(),
            words: "x\u{1b}[2J\ny".to_owned(),
            remedy,
        };
        Judgement { commands: Vec::new(), finding: Some(finding), others: Vec::new() }
    }

    #[test]
    fn a_refusal_begins_with_the_documented_sentence_and_ends_with_what_would_lift_it() {
        for (kind, sentence, code, instead) in [
            (
                Kind::Danger,
                "Command blocked by safety guard (dangerous pattern detected)",
                "dangerous_command",
                "find a way without it, or ask the person",
            ),
            (
                Kind::NotUnderstood,
                "Command blocked by safety guard (dangerous pattern detected)",
                "command_not_understood",
                "write the command out in plain shell, one step at a time",
            ),
            (
                Kind::PathOutside,
                "Command blocked by safety guard (path outside working dir)",
                "command_path_outside",
                "use a path inside the workspace, a file tool or `list_dir`, or ask the person",
            ),
        ] {
            let refusal = finding(kind, Remedy::ReadPath("^/etc/hosts$".to_owned())).refusal().unwrap();
            assert_eq!(
                refusal.to_string(),
                format!(
                    "{sentence}\nhint: `x [2J y`: it does harm (rule `rule`); do not retry, {instead}; \
                     `tools.allow_read_paths`: [\"^/etc/hosts$\"] would allow reading exactly this path"
                )
            );
            assert_eq!(refusal.code.as_str(), code);
        }
    }

    #[test]
    fn several_reasons_are_answered_by_all_that_they_take() {
        let allow = |pattern: &str| Remedy::AllowPattern(pattern.to_owned());
        let read = |pattern: &str| Remedy::ReadPath(pattern.to_owned());
        for (why, remedies, end) in [
            (
                "one is told as ever",
                vec![allow("^a$")],
                "would allow exactly this command, in this directory",
            ),
            ("twice the same is one", vec![Remedy::Cage, Remedy::Cage], "or write the path out"),
            (
                "entries of one list stand together",
                vec![allow("^a$"), allow("^b$")],
                "; 2 reasons in all, which take `tools.exec.custom_allow_patterns`: [\"^a$\", \"^b$\"]",
            ),
            (
                "settings stand beside each other",
                vec![allow("^a$"), read("^/b$"), Remedy::Cage],
                "; 3 reasons in all, which take `tools.exec.custom_allow_patterns`: [\"^a$\"], \
                 `tools.allow_read_paths`: [\"^/b$\"] and `isolation.enabled`: true",
            ),
            (
                "what no setting opens is said first",
                vec![allow("^a$"), Remedy::None],
                "; 2 reasons in all, and no setting opens `x [2J y`",
            ),
            (
                "what has to be rewritten has to be",
                vec![allow("^a$"), Remedy::Rewrite("write it out".to_owned())],
                "; 2 reasons in all: write it out",
            ),
            ("a lone none says enough", vec![Remedy::None], "or ask the person"),
        ] {
            let mut findings = remedies.into_iter().map(|remedy| {
                let judgement = finding(Kind::Danger, remedy);
                judgement.finding.unwrap()
            });
            let judgement =
                Judgement { commands: Vec::new(), finding: findings.next(), others: findings.collect() };
            let hint = judgement.refusal().unwrap().hint;
            assert!(hint.ends_with(end), "{why}: {hint}");
        }
    }

    #[test]
    fn a_program_gets_the_same_answer_as_json() {
        let judgement = finding(Kind::Danger, Remedy::Smart);
        let json = serde_json::to_value(judgement.explanation()).unwrap();
        assert_eq!(json["verdict"], "deny");
        assert_eq!(json["sentence"], DANGEROUS);
        assert_eq!(json["code"], "dangerous_command");
        assert_eq!(json["layer"], "guard");
        assert_eq!(json["finding"]["remedy"]["setting"], "smart");
        let allowed = Judgement { commands: Vec::new(), finding: None, others: Vec::new() };
        assert_eq!(serde_json::to_value(allowed.explanation()).unwrap()["verdict"], "allow");
        assert_eq!(allowed.refusal(), None);
    }
}
