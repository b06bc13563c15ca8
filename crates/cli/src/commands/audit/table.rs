//! Renders records as a table or as JSON. Text from a record is escaped before it reaches a
//! terminal.

use super::Streams;
use crate::style::{Liveness, Style, Tone};
use picoclaw_sandbox::ledger::{Record, Stored};
use picoclaw_sandbox::printable;
use std::io;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The fewest columns of an action.
const MIN_ACTION_WIDTH: usize = 20;

/// The output format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// A table.
    Table,
    /// One JSON object per line, exactly as in the ledger.
    Json,
}

impl OutputForm {
    pub(super) fn from_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Table }
    }
}

/// Prints records, with the table's head before the first. In a table a call is one line: its
/// decision and its end belong together.
pub(super) struct Printer<'s, 'w> {
    streams: &'s mut Streams<'w>,
    form: OutputForm,
    pub(super) printed: u64,
    /// Decisions whose end did not come yet.
    open: Vec<Record>,
}

impl<'s, 'w> Printer<'s, 'w> {
    pub(super) fn new(streams: &'s mut Streams<'w>, form: OutputForm) -> Self {
        Self { streams, form, printed: 0, open: Vec::new() }
    }

    /// Prints a record if it `fits`; an unreadable one becomes a note.
    pub(super) fn line(&mut self, stored: &Stored, fits: impl FnOnce(&Record) -> bool) -> io::Result<()> {
        match &stored.record {
            Ok(record) if fits(record) => self.record(record, &stored.text),
            Ok(_) => Ok(()),
            Err(why) => {
                let (segment, line) = (stored.segment, stored.line);
                writeln!(self.streams.notes, "segment {segment}, line {line} cannot be read: {why}")?;
                writeln!(self.streams.notes, "hint: see `picoclaw audit verify`")
            }
        }
    }

    /// Prints the calls that have no end yet, and a note if there was no record.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.flush()?;
        if self.printed == 0 && self.form == OutputForm::Table {
            writeln!(self.streams.out, "no records yet")?;
        }
        Ok(())
    }

    /// Prints the calls that have no end yet.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        for record in std::mem::take(&mut self.open) {
            self.row(&record, record.seq)?;
        }
        self.streams.out.flush()
    }

    fn record(&mut self, record: &Record, text: &str) -> io::Result<()> {
        if self.form == OutputForm::Json {
            self.printed += 1;
            return writeln!(self.streams.out, "{text}");
        }
        if record.phase == "decided" {
            self.open.push(record.clone());
            return Ok(());
        }
        let is_same = |open: &Record| {
            (&open.agent, &open.session, &open.tool, &open.intent)
                == (&record.agent, &record.session, &record.tool, &record.intent)
        };
        let began = self.open.iter().position(is_same).map(|at| self.open.remove(at).seq);
        self.row(record, began.unwrap_or(record.seq))
    }

    fn row(&mut self, record: &Record, seq: u64) -> io::Result<()> {
        self.printed += 1;
        if self.printed == 1 {
            self.cells(["SEQ", "TIME", "VERDICT", "AGENT", "TOOL"], "WHAT")?;
        }
        let time = truncate_to_seconds(&record.time);
        let cells = [&record.verdict, &record.agent, &record.tool].map(|text| printable(text));
        self.cells([&seq.to_string(), &time, &cells[0], &cells[1], &cells[2]], &action_text(record))
    }

    /// One line: a pipe gets it whole, a terminal narrower columns and what fits of the action.
    fn cells(&mut self, [seq, time, verdict, agent, tool]: [&str; 5], what: &str) -> io::Result<()> {
        let Some(width) = self.streams.width else {
            let row = format!("{seq:>7}  {time:<20}  {verdict:<7}  {agent:<12}  {tool:<12}  {what}");
            return writeln!(self.streams.out, "{row}");
        };
        // The day and the time to the minute.
        let time = time.get(5..16).map_or_else(|| time.to_owned(), |time| time.replace('T', " "));
        let (start, end) = (format!("{seq:>5} {time:<11} "), format!(" {agent:<6} {tool:<10} "));
        let verdict = format!("{verdict:<7}");
        let room = width.saturating_sub(start.width() + verdict.width() + end.width()).max(MIN_ACTION_WIDTH);
        // The directory of a command is longer than the command.
        let in_dir = what.strip_prefix(&format!("{tool} in ")).and_then(|rest| rest.split_once(": "));
        let what = cut_middle(in_dir.map_or(what, |(_, command)| command), room);
        let tone = match verdict.trim() {
            "deny" => Tone::Bad,
            "ask" => Tone::Alert,
            _ => Tone::Quiet,
        };
        let liveness = Liveness::of(io::stdout(), std::env::var("TERM").ok().as_deref());
        let style = Style::of_environment(|name| std::env::var(name).ok(), liveness);
        writeln!(self.streams.out, "{start}{}{end}{what}", style.paint(tone, &verdict))
    }
}

/// `text` in so many columns; what is left out is in the middle, because the end has the outcome.
fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let end_width = width / 2;
    let fits = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut taken = 0;
        let kept = chars.take_while(|c| {
            taken += c.width().unwrap_or(0);
            taken <= room
        });
        kept.collect::<Vec<char>>()
    };
    let end = fits(&mut text.chars().rev(), end_width);
    let start = fits(&mut text.chars(), width - end_width - 1);
    start.into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
}

/// The timestamp without its fraction.
fn truncate_to_seconds(time: &str) -> String {
    printable(time)
        .split_once('.')
        .map_or_else(|| printable(time).into_owned(), |(whole, _)| format!("{whole}Z"))
}

/// The action and its outcome.
fn action_text(record: &Record) -> String {
    let mut out = printable(record.intent.as_deref().unwrap_or("-")).into_owned();
    if let Some(code) = &record.code {
        out.push_str(&format!(" [{}]", printable(code)));
    }
    match (&record.outcome, record.phase.as_str()) {
        (Some(outcome), _) => out.push_str(&format!(" -> {}", printable(outcome))),
        (None, "decided") => out.push_str(" (not ended)"),
        (None, phase) => out.push_str(&format!(" -> {}", printable(phase))),
    }
    if let Some(micros) = record.duration_us {
        out.push_str(&format!(" ({})", duration_text(micros)));
    }
    out
}

/// A duration as people read it.
fn duration_text(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..1_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{}.{} s", micros / 1_000_000, micros / 100_000 % 10),
    }
}

/// One record with all its fields, one per line.
pub(super) fn print_full(record: &Record, out: &mut dyn io::Write) -> io::Result<()> {
    let none = || "-".to_owned();
    let text = |text: &Option<String>| text.as_deref().map_or_else(none, |text| printable(text).into_owned());
    for (name, value) in [
        ("seq", record.seq.to_string()),
        ("time", printable(&record.time).into_owned()),
        ("phase", printable(&record.phase).into_owned()),
        ("origin", printable(&record.origin).into_owned()),
        ("agent", printable(&record.agent).into_owned()),
        ("session", printable(&record.session).into_owned()),
        ("depth", record.depth.to_string()),
        (
            "lineage",
            record.lineage.as_ref().map_or_else(none, |above| printable(&above.join(", ")).into_owned()),
        ),
        ("principal", text(&record.principal)),
        ("tool", printable(&record.tool).into_owned()),
        ("intent", text(&record.intent)),
        ("verdict", printable(&record.verdict).into_owned()),
        ("code", text(&record.code)),
        ("rule", text(&record.rule)),
        ("layer", text(&record.layer)),
        ("enforced", text(&record.enforced.as_ref().map(|layers| layers.join(", ")))),
        ("outcome", text(&record.outcome)),
        ("duration_us", record.duration_us.map_or_else(none, |micros| micros.to_string())),
        ("prev", printable(&record.prev).into_owned()),
        ("hash", printable(&record.hash).into_owned()),
    ] {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_keeps_its_beginning_and_its_outcome() {
        for (text, width, want) in [
            ("exec in /w: ls -> ok", 20, "exec in /w: ls -> ok"),
            ("exec in /w: a long command -> ok", 20, "exec in /…mand -> ok"),
            ("日本語日本語日本語", 9, "日本…本語"),
        ] {
            assert_eq!(cut_middle(text, width), want);
            assert!(cut_middle(text, width).width() <= width);
        }
    }
}
