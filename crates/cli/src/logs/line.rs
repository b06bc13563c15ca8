//! Renders one event: one or two plain lines, or one JSON line.

use super::settings::LogFormat;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::{Redactor, printable, printable_json};
use serde_json::{Map, Value};
use std::fmt::{self, Write};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The format of events. Spans are not shown.
pub(super) struct LineFormat {
    pub(super) format: LogFormat,
    pub(super) redactor: Redactor,
}

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = EventText::default();
        event.record(&mut text);
        let (level, component) = (*event.metadata().level(), event.metadata().target());
        writer.write_str(&match self.format {
            LogFormat::Plain => text.render_plain(level, component, &self.redactor),
            LogFormat::Json => text.render_json(level, component, &self.redactor),
        })
    }
}

/// The message of an event and its fields, in order.
#[derive(Debug, Default)]
struct EventText {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl EventText {
    fn record_value(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("message", other) => self.message = other.to_string(),
            (name, value) => self.fields.push((name, value)),
        }
    }

    /// The event with its line feed.
    fn render_plain(&self, level: tracing::Level, component: &str, redactor: &Redactor) -> String {
        let message = redactor.clean(&self.message);
        let mut out = format!("[{level}] {}: {}\n", printable(component), printable(&message));
        for (n, (name, value)) in self.fields.iter().enumerate() {
            out.push_str(if n == 0 { "{" } else { ", " });
            let text = match value {
                Value::String(text) => redactor.clean(without_hint(text)).into_owned(),
                other => other.to_string(),
            };
            let _ = write!(out, "{name}={}", printable(&text));
        }
        if !self.fields.is_empty() {
            out.push_str("}\n");
        }
        out
    }

    fn render_json(&self, level: tracing::Level, component: &str, redactor: &Redactor) -> String {
        let mut object = Map::new();
        object.insert("time".to_owned(), Timestamp::now().to_string().into());
        object.insert("level".to_owned(), level.as_str().into());
        object.insert("component".to_owned(), component.into());
        object.insert("message".to_owned(), redactor.clean(&self.message).into());
        for (name, value) in &self.fields {
            let value = match value {
                Value::String(text) => redactor.clean(without_hint(text)).into(),
                other => other.clone(),
            };
            // A field cannot replace the time or the level of its event.
            let name = if object.contains_key(*name) { format!("field.{name}") } else { (*name).to_owned() };
            object.insert(name, value);
        }
        printable_json(&object).map(|line| line + "\n").unwrap_or_default()
    }
}

/// A refusal without its hint, which is for the caller and not for the log.
fn without_hint(text: &str) -> &str {
    text.split_once("\nhint: ").map_or(text, |(sentence, _)| sentence)
}

impl Visit for EventText {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_value(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record_value(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record_value(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_value(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record_value(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_value(field, format!("{value:?}").into());
    }
}
