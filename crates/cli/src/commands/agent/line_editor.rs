//! The line editor: history, completion of commands, multi-line input.

use super::slash_parse;
use crate::style::{Liveness, Style};
use rustyline::completion::{Completer, Pair};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use std::borrow::Cow;
use std::path::PathBuf;

/// The most files that are offered.
const MAX_FILES: usize = 100;

/// The result of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// One or more lines.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The editor.
pub(super) struct LineEditor {
    editor: Editor<EditorHelper, MemHistory>,
    text: String,
}

impl LineEditor {
    /// An editor with `history`.
    pub(super) fn new(
        history: Vec<String>,
        style: Style,
        liveness: Liveness,
        workspace: PathBuf,
    ) -> rustyline::Result<Self> {
        let config = Config::builder()
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            .bracketed_paste(liveness == Liveness::Live)
            .build();
        let mut editor = Editor::with_history(config, MemHistory::new())?;
        editor.set_color_mode(if style.is_coloured() { ColorMode::Enabled } else { ColorMode::Disabled });
        editor.set_helper(Some(EditorHelper { style, workspace }));
        for entry in history {
            editor.add_history_entry(entry)?;
        }
        Ok(Self { editor, text: String::new() })
    }

    /// Sets the prompt.
    pub(super) fn set_prompt(&mut self, text: String) {
        self.text = text;
    }

    /// Adds a line to this session's history.
    pub(super) fn add_history(&mut self, line: String) {
        let _full = self.editor.add_history_entry(line);
    }

    /// Reads a line; `started` is its initial text.
    pub(super) fn read(&mut self, started: &str) -> rustyline::Result<Input> {
        match self.editor.readline_with_initial(self.text.as_str(), (started, "")) {
            Ok(line) => Ok(Input::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Input::Interrupt),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(why) => Err(why),
        }
    }
}

/// Whether the input continues: a trailing backslash, or an open code fence.
fn is_unfinished(input: &str) -> bool {
    let fences = input.lines().filter(|line| line.trim_start().starts_with("```")).count();
    input.ends_with('\\') || fences % 2 == 1
}

/// Completion and validation.
struct EditorHelper {
    style: Style,
    /// Where `@file` is completed.
    workspace: PathBuf,
}

impl EditorHelper {
    /// The files of the workspace that begin as typed; hidden ones only if a dot was typed.
    fn files(&self, typed: &str) -> Vec<Pair> {
        let (dir, start) = typed.rsplit_once('/').map_or(("", typed), |(dir, start)| (dir, start));
        // Names beneath the workspace; what a tool may read is judged when it is read.
        if dir.starts_with('/') || dir.split('/').any(|part| part == "..") {
            return Vec::new();
        }
        let Ok(entries) = self.workspace.join(dir).read_dir() else { return Vec::new() };
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let mut found: Vec<Pair> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let is_meant = name.starts_with(start) && (start.starts_with('.') || !name.starts_with('.'));
                let is_printable = !name.chars().any(|c| c.is_control() || c.is_whitespace());
                let end = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
                let pair =
                    Pair { display: format!("{name}{end}"), replacement: format!("@{prefix}{name}{end}") };
                (is_meant && is_printable).then_some(pair)
            })
            .collect();
        found.sort_by(|one, other| one.display.cmp(&other.display));
        found.truncate(MAX_FILES);
        found
    }
}

impl Helper for EditorHelper {}

impl Hinter for EditorHelper {
    type Hint = String;
}

impl Completer for EditorHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..pos).unwrap_or(line);
        let word = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        if let Some(name) = typed.get(word..).and_then(|word| word.strip_prefix('@')) {
            return Ok((word, self.files(name)));
        }
        let names = slash_parse::NAMES.iter().map(|(name, _)| *name);
        let pair = |name: &str| Pair { display: name.to_owned(), replacement: name.to_owned() };
        let fits = names.filter(|name| typed.starts_with('/') && name.starts_with(typed));
        Ok((0, fits.map(pair).collect()))
    }
}

impl Highlighter for EditorHelper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, default: bool) -> Cow<'b, str> {
        if default && self.style.is_coloured() {
            Cow::Owned(format!("\x1b[1;36m{prompt}\x1b[0m"))
        } else {
            Cow::Borrowed(prompt)
        }
    }
}

impl Validator for EditorHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let more = is_unfinished(context.input());
        Ok(if more { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_whole_when_nothing_must_follow() {
        for (why, input, unfinished) in [
            ("plain", "ls -la", false),
            ("a backslash goes on", "one \\", true),
            ("and ends", "one \\\ntwo", false),
            ("an open fence", "look:\n```rust\nfn x() {}", true),
            ("a closed one", "look:\n```\nx\n```", false),
            ("a fence in the middle of a line is text", "say ``` here", false),
        ] {
            assert_eq!(is_unfinished(input), unfinished, "{why}");
        }
    }
}
