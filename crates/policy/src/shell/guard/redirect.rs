//! Redirections: what a command reads, and which files it creates.

use super::arithmetic::holds_code;
use super::expand::MAX_KNOWN_LEN;
use super::interpreter::{Flow, Input, Interpreter};
use super::interpreters::is_stream;
use super::partial_word::{ANYTHING, DOWNLOADED, PartialWord, is_marked};
use super::state::{Content, State};
use crate::intent::Access;
use crate::path::CleanPath;
use crate::shell::ast::{Descriptor, Duplicate, FileMode, Redirection, RedirectionKind};
use std::rc::Rc;

/// The effects of a command's redirections.
pub(super) struct RedirectionEffects {
    pub(super) input: Option<Input>,
    pub(super) outputs: Vec<OutputFile>,
    /// Whether the output goes only to files.
    pub(super) quiet: bool,
    /// Whether one of them may fail.
    pub(super) may_fail: bool,
}

/// A file that a redirection opens for writing.
pub(super) struct OutputFile {
    path: CleanPath,
    mode: FileMode,
    /// Whether it is standard output; else another descriptor, to which that may be copied.
    is_standard: bool,
}

impl Interpreter<'_> {
    /// Judges every redirection, and returns what the command reads and writes.
    pub(super) fn judge_redirections(
        &mut self,
        redirections: &[Redirection],
        state: &mut Rc<State>,
    ) -> RedirectionEffects {
        let mut all = RedirectionEffects { input: None, outputs: Vec::new(), quiet: false, may_fail: false };
        for redirection in redirections {
            let number = match &redirection.descriptor {
                None => None,
                Some(Descriptor::Number(number)) => Some(*number),
                Some(Descriptor::Variable(_)) => Some(u32::MAX),
            };
            match &redirection.kind {
                RedirectionKind::File(mode, word) => {
                    for target in self.expand_scalar(word, state) {
                        self.redirected(&target, *mode, number, state, &mut all);
                    }
                }
                RedirectionKind::Duplicate(way, word) => {
                    for target in self.expand_scalar(word, state) {
                        let text = target.as_str();
                        let descriptor = !text.is_empty()
                            && text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                        if *way == Duplicate::Output && !descriptor {
                            self.redirected(&target, FileMode::WriteBoth, None, state, &mut all);
                        } else if *way == Duplicate::Input && number.unwrap_or(0) == 0 && text != "-" {
                            all.input = Some(Input::Piped(PartialWord::gap(ANYTHING)));
                        }
                    }
                }
                RedirectionKind::HereString(word) => {
                    let text = single_value(self.expand_scalar(word, state));
                    self.has_quoted_code |= holds_code(&text);
                    if number.unwrap_or(0) == 0 {
                        all.input = Some(Input::Text(text));
                    }
                }
                RedirectionKind::HereDocument(document) => {
                    let text = single_value(self.expand_text(document.body(), state));
                    self.has_quoted_code |= holds_code(&text);
                    if number.unwrap_or(0) == 0 {
                        all.input = Some(Input::Text(text));
                    }
                }
            }
        }
        all
    }

    fn redirected(
        &mut self,
        target: &PartialWord,
        mode: FileMode,
        number: Option<u32>,
        state: &State,
        all: &mut RedirectionEffects,
    ) {
        let access = if mode == FileMode::Read { Access::Read } else { Access::Write };
        let text = target.as_str();
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.report_danger("raw-connection", "a redirection that is a network connection", text);
            return;
        }
        let places = self.judge_path(text, access, state);
        all.may_fail |= text != "/dev/null";
        if matches!(mode, FileMode::Read | FileMode::ReadWrite) && number.unwrap_or(0) == 0 {
            let stream = is_stream(text) || places.iter().any(|place| is_stream(&place.to_string()));
            let input =
                if stream { Input::Piped(PartialWord::gap(ANYTHING)) } else { Input::File(places.clone()) };
            all.input = Some(input);
        }
        if mode == FileMode::Read {
            return;
        }
        let is_standard = number.map_or(mode != FileMode::ReadWrite, |number| number == 1);
        all.outputs.extend(places.into_iter().map(|path| OutputFile { path, mode, is_standard }));
        all.quiet |= is_standard;
    }

    /// Records the content that a redirection leaves in its files.
    pub(super) fn record_output(&mut self, outputs: &[OutputFile], output: &PartialWord, flow: &mut Flow) {
        for OutputFile { path, mode, is_standard } in outputs {
            for state in [&mut flow.ok, &mut flow.fail].into_iter().flatten() {
                let mut content = match content_of(output) {
                    Content::Known(_) if !is_standard => Content::Computed,
                    content => content,
                };
                if matches!(mode, FileMode::Append | FileMode::AppendBoth | FileMode::ReadWrite) {
                    content = match (state.files.get(path), content) {
                        (Some(Content::Downloaded), _) | (_, Content::Downloaded) => Content::Downloaded,
                        (Some(Content::Known(old)), Content::Known(new))
                            if *mode != FileMode::ReadWrite && old.len() < MAX_KNOWN_LEN =>
                        {
                            Content::Known(format!("{old}{new}"))
                        }
                        _ => Content::Computed,
                    };
                }
                Rc::make_mut(&mut Rc::make_mut(state).files).insert(path.clone(), content);
            }
        }
    }
}

pub(super) fn single_value(mut values: Vec<PartialWord>) -> PartialWord {
    if values.len() == 1 { values.remove(0) } else { PartialWord::gap(ANYTHING) }
}

/// The content of a file after this output is written to it.
pub(super) fn content_of(output: &PartialWord) -> Content {
    let text = output.as_str();
    if text.contains(DOWNLOADED) {
        Content::Downloaded
    } else if is_marked(text) {
        Content::Computed
    } else {
        Content::Known(text.to_owned())
    }
}
