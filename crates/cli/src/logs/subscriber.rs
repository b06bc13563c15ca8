//! The `tracing` subscriber: the `fmt` layer of `tracing-subscriber` with the documented line
//! format.

use super::level::level_filter;
use super::line::LineFormat;
use super::settings::{LogError, LogSettings};
use super::sink;
use picoclaw_sandbox::Redactor;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// Starts logging for the whole process, once.
pub(crate) fn start(settings: &LogSettings, redactor: Redactor) -> Result<(), LogError> {
    tracing::subscriber::set_global_default(subscriber(settings, redactor)?).map_err(|_| LogError::Started)
}

fn subscriber(settings: &LogSettings, redactor: Redactor) -> Result<impl Subscriber + use<>, LogError> {
    let (level, muted) = (level_filter(settings.level), settings.muted);
    let is_logged = FilterFn::new(move |metadata| {
        *metadata.level() <= max_level_of(level, metadata.module_path())
            && !muted.contains(&metadata.target())
    });
    let lines = tracing_subscriber::fmt::layer()
        .event_format(LineFormat { format: settings.format, redactor })
        .with_writer(sink::open(settings)?)
        // A closed stderr or a full disk must not stop the work, nor be reported on that stderr.
        .log_internal_errors(false)
        .with_filter(is_logged.with_max_level_hint(level));
    Ok(tracing_subscriber::registry().with(lines))
}

/// The maximum level of a module. Libraries log from WARN up.
fn max_level_of(level: LevelFilter, module: Option<&str>) -> LevelFilter {
    match module {
        // Errors of a peer are returned to the caller, which logs them.
        Some(path) if path.starts_with("rmcp") && level < LevelFilter::DEBUG => LevelFilter::OFF,
        Some(path) if !path.starts_with("picoclaw") => level.min(LevelFilter::WARN),
        _ => level,
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::LogFormat;
    use super::*;
    use picoclaw_policy::config::LogLevel as Level;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    const REFUSAL: &str = "access denied: path is outside the workspace\nhint: add a rule";

    fn settings(path: &Path, level: Level, shape: LogFormat) -> LogSettings {
        LogSettings { level, format: shape, file: Some(path.to_owned()), muted: &[], line_sink: None }
    }

    /// The log while `work` runs.
    fn logged(level: Level, shape: LogFormat, work: impl FnOnce()) -> String {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let redactor = Redactor::new(&["sk-secret-1".to_owned()]);
        let listener = subscriber(&settings(&path, level, shape), redactor).unwrap();
        tracing::subscriber::with_default(listener, work);
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn an_event_is_printed_as_the_documentation_prints_it() {
        let blocked = "Command blocked by safety guard (dangerous pattern detected)";
        let text = logged(Level::Warn, LogFormat::Plain, || {
            tracing::error!(target: "tool", tool = "read_file", error = %REFUSAL, "Tool execution failed");
            tracing::error!(target: "tool", tool = "exec", error = blocked, "Tool execution failed");
            tracing::warn!(target: "config", "isolation is off");
        });
        assert_eq!(
            text,
            "[ERROR] tool: Tool execution failed\n\
             {tool=read_file, error=access denied: path is outside the workspace}\n\
             [ERROR] tool: Tool execution failed\n\
             {tool=exec, error=Command blocked by safety guard (dangerous pattern detected)}\n\
             [WARN] config: isolation is off\n"
        );
    }

    #[test]
    fn what_a_trace_tells_is_not_told_twice() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let settings = LogSettings { muted: &["tool"], ..settings(&path, Level::Warn, LogFormat::Plain) };
        let listener = subscriber(&settings, Redactor::default()).unwrap();
        tracing::subscriber::with_default(listener, || {
            tracing::error!(target: "tool", "Tool execution failed");
            tracing::warn!(target: "config", "isolation is off");
        });
        assert_eq!(fs::read_to_string(path).unwrap(), "[WARN] config: isolation is off\n");
    }

    #[test]
    fn a_value_stays_on_its_line_and_keeps_its_secrets() {
        let text = logged(Level::Debug, LogFormat::Plain, || {
            tracing::debug!(target: "tool", command = "a\nb\u{1b}[2J sk-secret-1", count = 3u64, ok = true, "ran sk-secret-1\n[ERROR] x");
        });
        assert_eq!(
            text,
            "[DEBUG] tool: ran [FILTERED]\\n[ERROR] x\n{command=a\\nb\\u{1b}[2J [FILTERED], count=3, ok=true}\n"
        );
    }

    #[test]
    fn json_is_one_object_a_line() {
        let text = logged(Level::Info, LogFormat::Json, || {
            tracing::info!(target: "tool", tool = "exec", level = "fake", error = %REFUSAL, n = -1, "said \u{9b} sk-secret-1");
        });
        assert_eq!(text.lines().count(), 1);
        assert!(!text.contains('\u{9b}'), "{text}");
        let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert!(Timestamp::parse(object.remove("time").unwrap().as_str().unwrap()).is_some());
        let want = serde_json::json!({
            "level": "INFO", "component": "tool", "message": "said \u{9b} [FILTERED]", "tool": "exec",
            "field.level": "fake", "error": "access denied: path is outside the workspace", "n": -1,
        });
        assert_eq!(serde_json::Value::from(object), want);
    }

    use picoclaw_sandbox::ledger::Timestamp;

    #[test]
    fn the_level_decides_what_is_heard() {
        for (level, want) in [
            (Level::Debug, "DEBUG INFO WARN ERROR"),
            (Level::Info, "INFO WARN ERROR"),
            (Level::Warn, "WARN ERROR"),
            (Level::Error, "ERROR"),
            (Level::Fatal, ""),
        ] {
            let text = logged(level, LogFormat::Plain, || {
                tracing::trace!("x");
                tracing::debug!("x");
                tracing::info!("x");
                tracing::warn!("x");
                tracing::error!("x");
            });
            let heard: Vec<_> =
                text.lines().filter_map(|line| line.strip_prefix('[')?.split(']').next()).collect();
            assert_eq!(heard.join(" "), want, "{level:?}");
        }
    }

    #[test]
    fn libraries_are_heard_from_warn_up() {
        for (why, level, module, want) in [
            ("our own", LevelFilter::DEBUG, Some("picoclaw_agent::tools"), LevelFilter::DEBUG),
            ("without a module", LevelFilter::DEBUG, None, LevelFilter::DEBUG),
            ("a library at debug", LevelFilter::DEBUG, Some("hyper::proto"), LevelFilter::WARN),
            ("a library at error", LevelFilter::ERROR, Some("hyper::proto"), LevelFilter::ERROR),
            ("a library when nothing is", LevelFilter::OFF, Some("hyper::proto"), LevelFilter::OFF),
        ] {
            assert_eq!(max_level_of(level, module), want, "{why}");
        }
    }

    #[test]
    fn a_log_file_is_added_to_and_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        for _ in 0..2 {
            let listener =
                subscriber(&settings(&path, Level::Warn, LogFormat::Plain), Redactor::default()).unwrap();
            tracing::subscriber::with_default(listener, || tracing::warn!(target: "t", "x"));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "[WARN] t: x\n[WARN] t: x\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_file_that_cannot_be_had_stops_the_start() {
        let home = tempfile::tempdir().unwrap();
        let error = subscriber(&settings(home.path(), Level::Warn, LogFormat::Plain), Redactor::default())
            .err()
            .unwrap();
        assert!(error.to_string().contains("log file"), "{error}");
    }

    #[test]
    fn a_sink_that_fails_fails_no_event() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            picoclaw_testing::skip!("no /dev/full here, so no failing sink was tried");
            return;
        }
        let listener =
            subscriber(&settings(full, Level::Warn, LogFormat::Plain), Redactor::default()).unwrap();
        let mut control = fs::OpenOptions::new().write(true).open(full).unwrap();
        assert!(control.write_all(b"x").is_err(), "the control: writing there fails");
        tracing::subscriber::with_default(listener, || tracing::error!("x"));
    }
}
