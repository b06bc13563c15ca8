//! Renders records as a table or as JSON. Text from a record is escaped before it reaches a
//! terminal.

use super::Streams;
use picoclaw_sandbox::ledger::{Record, Stored};
use picoclaw_sandbox::printable;
use std::io;

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

/// Prints records, with the table's head before the first. In a table a call is one line: its decision
/// and its end belong together.
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
            writeln!(
                self.streams.out,
                "{:>7}  {:<20}  {:<7}  {:<12}  {:<12}  WHAT",
                "SEQ", "TIME", "VERDICT", "AGENT", "TOOL"
            )?;
        }
        let row = format!(
            "{:>7}  {:<20}  {:<7}  {:<12}  {:<12}  {}",
            seq,
            truncate_to_seconds(&record.time),
            printable(&record.verdict),
            printable(&record.agent),
            printable(&record.tool),
            action_text(record)
        );
        writeln!(self.streams.out, "{row}")
    }
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
