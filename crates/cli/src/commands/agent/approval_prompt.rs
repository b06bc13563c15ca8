//! The approval prompt at the terminal: the exact action, in full, and the reason for asking.

use super::style::{Mark, Style, Tone};
use picoclaw_agent::run::Ask;
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::{printable, printable_lines};

/// The approver's name in the ledger.
pub(super) const APPROVED_BY: &str = "terminal";

/// The choices. Enter alone is a no.
pub(super) const CHOICES: &str = "[o]nce, for this [s]ession, or [N]o? ";

/// The question as lines, with the complete content.
pub(super) fn question_lines(ask: &Ask, style: &Style) -> Vec<String> {
    let no = &ask.question.refusal;
    let mark = style.mark(Mark::Ask);
    let mut lines =
        vec![style.paint(Tone::Alert, &format!("{mark} {} asks for your permission", printable(&ask.tool)))];
    // A carriage return or an escape in the content is printed as text.
    for line in printable_lines(&ask.question.text).replace('\t', "\\t").split('\n') {
        lines.push(format!("  {} {line}", style.paint(Tone::Alert, style.mark(Mark::Edge))));
    }
    lines.push(format!("  why:  {}", printable(&no.sentence)));
    lines.push(format!("  rule: {} ({})", printable(&no.rule), no.layer.as_str()));
    if !no.hint.is_empty() {
        lines.push(format!("  hint: {}", printable(&no.hint)));
    }
    let hash = ask.fingerprint.get(..12).unwrap_or(&ask.fingerprint);
    lines.push(style.paint(Tone::Quiet, &format!("  this content and no other: {hash}")));
    lines
}

/// Parses a typed line; anything that is not clearly a yes is a no.
pub(super) fn parse_answer(line: &str) -> Approval {
    match line.trim().to_ascii_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Approval::Once,
        "s" | "session" => Approval::Session,
        _ => Approval::No,
    }
}

/// The answer as a word.
pub(super) fn answer_text(answer: Approval) -> &'static str {
    match answer {
        Approval::Once => "yes, this once",
        Approval::Session => "yes, for this session",
        Approval::No => "no",
    }
}

/// Sends the answer to the waiting call, if it still waits.
pub(super) fn send_answer(ask: Ask, answer: Approval) {
    let _nobody = ask.answer.send((answer, APPROVED_BY.to_owned()));
}

#[cfg(test)]
mod tests {
    use super::super::style::Liveness;
    use super::*;
    use picoclaw_policy::{Code, Grant, Layer, Question, Refusal, Zone};

    fn ask(text: &str) -> Ask {
        let refusal = Refusal {
            code: Code::DangerousCommand,
            sentence: "Command blocked by safety guard (dangerous pattern detected)".to_owned(),
            rule: "git-push".to_owned(),
            layer: Layer::Guard,
            hint: "allow it".to_owned(),
        };
        let question = Question {
            text: text.to_owned(),
            refusal,
            grant: Grant { zone: Zone::Workspace, rule: "asked".to_owned() },
        };
        let (answer, _) = tokio::sync::oneshot::channel();
        Ask { tool: "exec".to_owned(), question, fingerprint: "0123456789abcdef".to_owned(), answer }
    }

    #[test]
    fn the_whole_content_is_shown_and_acts_on_nothing() {
        let style = Style::of_environment(|_| None, Liveness::Still);
        let long = format!("echo {}\n\u{1b}[1A\u{1b}[2Kls\r\u{202e}\ttail", "x".repeat(5000));
        let shown = question_lines(&ask(&long), &style).join("\n");
        assert!(shown.contains(&"x".repeat(5000)), "a long line is whole");
        assert!(shown.contains("  | \\u{1b}[1A\\u{1b}[2Kls\\r\\u{202e}\\ttail"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}', '\t']), "{shown}");
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
            ("", Approval::No),
            ("n", Approval::No),
            ("yes please go on", Approval::No),
            ("ok", Approval::No),
            ("os", Approval::No),
        ] {
            assert_eq!(parse_answer(typed), want, "{typed:?}");
        }
    }
}
