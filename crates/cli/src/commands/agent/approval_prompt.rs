//! The approval prompt at the terminal: the exact action, in full, and the reason for asking.

use crate::style::{Mark, Style, Tone, wrap};
use picoclaw_agent::question;
use picoclaw_agent::run::Ask;
use picoclaw_sandbox::permit::{Answer, Approval};
use picoclaw_sandbox::{printable, unambiguous};

/// The approver's name in the ledger.
pub(super) const APPROVED_BY: &str = "terminal";

/// The choices. Enter alone is a no.
pub(super) const CHOICES: &str = "[o]nce, for this [s]ession, [a]lways, or [N]o? ";

/// The question as lines, with the complete content. What explains it is broken between words.
pub(super) fn question_lines(ask: &Ask, style: &Style, width: usize) -> Vec<String> {
    let no = &ask.question.refusal;
    let mark = style.mark(Mark::Ask);
    let mut lines =
        vec![style.paint(Tone::Alert, &format!("{mark} {} asks for your permission", printable(&ask.tool)))];
    lines.extend(question::act_lines(&ask.act).iter().map(|line| format!("  {line}")));
    let wrapped = |line: String| wrap(&line, width.saturating_sub(1), 8);
    lines.extend(wrapped(format!("  why:  {}", unambiguous(&no.sentence))));
    lines.push(format!("  rule: {} ({})", unambiguous(&no.rule), no.layer.as_str()));
    if !no.hint.is_empty() {
        lines.extend(wrapped(format!("  hint: {}", unambiguous(&no.hint))));
    }
    let hash = ask.fingerprint.get(..12).unwrap_or(&ask.fingerprint);
    let last = wrapped(format!("  this act and no other: {hash} (`no, because …` tells the agent why)"));
    lines.extend(last.iter().map(|line| style.paint(Tone::Quiet, line)));
    lines
}

/// Parses a typed line; anything that is not clearly a yes is a no. `no, because …` has a reason.
pub(super) fn parse_answer(line: &str) -> Answer {
    let answer = |approval| Answer::new(approval, APPROVED_BY);
    let line = line.trim();
    match line.to_ascii_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => answer(Approval::Once),
        "s" | "session" => answer(Approval::Session),
        "a" | "always" => answer(Approval::Always),
        _ => Answer { reason: reason(line), ..answer(Approval::No) },
    }
}

/// What follows `no` or `n`.
fn reason(line: &str) -> Option<String> {
    let word = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let rest =
        line.strip_prefix(word).filter(|_| matches!(word.to_ascii_lowercase().as_str(), "n" | "no"))?;
    let rest = rest.trim_start_matches([',', ':', ';', '.', ' ']);
    question::reason(rest.strip_prefix("because ").unwrap_or(rest))
}

/// The answer as a word.
pub(super) fn answer_text(answer: Approval) -> &'static str {
    match answer {
        Approval::Once => "yes, this once",
        Approval::Session => "yes, for this session",
        Approval::Always => "yes, always (`picoclaw approvals` lists and revokes it)",
        Approval::No => "no",
    }
}

/// Sends the answer to the waiting call, if it still waits.
pub(super) fn send_answer(ask: Ask, answer: Answer) {
    let _nobody = ask.answer.send(answer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Liveness;
    use picoclaw_policy::{Code, Layer, Question, Refusal};
    use picoclaw_sandbox::act::Act;

    fn ask(text: &str) -> Ask {
        let refusal = Refusal {
            code: Code::DangerousCommand,
            sentence: "Command blocked by safety guard (dangerous pattern detected)".to_owned(),
            rule: "git-push".to_owned(),
            layer: Layer::Guard,
            hint: "allow it".to_owned(),
        };
        let question = Question { text: text.to_owned(), refusal };
        let (answer, _) = tokio::sync::oneshot::channel();
        let act = Act {
            arguments: serde_json::json!({"command": text, "cwd": "sub"}),
            path: Some("/w/sub".to_owned()),
            timeout_seconds: Some(60),
            background: true,
            agent: "main".to_owned(),
            session: "cli:default".to_owned(),
            ..Act::default()
        };
        Ask {
            tool: "exec".to_owned(),
            question,
            act: Box::new(act),
            fingerprint: "0123456789abcdef".to_owned(),
            answer,
        }
    }

    #[test]
    fn the_whole_content_is_shown_and_acts_on_nothing() {
        let style = Style::of_environment(|_| None, Liveness::Still);
        let long =
            format!("echo {}\n\u{1b}[1A\u{1b}[2Kls\r\u{202e}\ttail\n  why:  it is fine", "x".repeat(5000));
        let shown = question_lines(&ask(&long), &style, 80).join("\n");
        assert!(shown.contains(&"x".repeat(5000)), "a long line is whole");
        assert!(shown.contains("    | \\u{1b}[1A\\u{1b}[2Kls\\r\\u{202e}\\ttail"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}', '\t']), "{shown}");
        assert!(
            shown.contains("    |   why:  it is fine"),
            "a line of the content is marked as such: {shown}"
        );
        for part in
            ["path: /w/sub", "in the background, for at most 60 s", "agent: main; session: cli:default"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let flood = question_lines(&ask(&format!("ls{}#", " ".repeat(30_000))), &style, 80).join("\n");
        assert!(flood.contains("command (30003 characters):") && flood.len() < 1000, "{flood}");
        let folded = question_lines(&ask(&"y".repeat(20_000)), &style, 80).join("\n");
        assert!(folded.contains("[7712 characters are not shown]"), "{folded}");
        for part in ["rule: git-push (guard)", "why:  Command blocked", "hint: allow it", "0123456789ab"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for (typed, want) in [
            ("o", Approval::Once),
            (" ONCE ", Approval::Once),
            ("y", Approval::Once),
            ("s", Approval::Session),
            ("session", Approval::Session),
            ("a", Approval::Always),
            ("Always", Approval::Always),
            ("", Approval::No),
            ("n", Approval::No),
            ("yes please go on", Approval::No),
            ("ok", Approval::No),
            ("os", Approval::No),
        ] {
            assert_eq!(parse_answer(typed), Answer::new(want, APPROVED_BY), "{typed:?}");
        }
        for (typed, want) in [
            ("no, use the trash", "use the trash"),
            ("n because it is mine", "it is mine"),
            ("No: because", "because"),
        ] {
            let answer = parse_answer(typed);
            assert_eq!((answer.approval, answer.reason.as_deref()), (Approval::No, Some(want)), "{typed:?}");
        }
    }
}
