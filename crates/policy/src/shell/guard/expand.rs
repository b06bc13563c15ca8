//! Word expansion: arguments, as far as the text and the state determine them.
//!
//! A word can become several arguments, and several possible lists of arguments if a variable has
//! several possible values. The real arguments are always among the results; a gap stands for what
//! is unknown.

use super::braces::{Part, expand_braces};
use super::interpreter::{Input, Interpreter};
use super::partial_word::{ANYTHING, CLASS, NAME, ONE, PartialWord, STAR, activate_globs, is_marked};
use super::programs::has_word;
use super::state::{ShellDir, State, Variable};
use crate::shell::ast::Script;
use crate::shell::word::{Element, Glob, Piece, PieceKind, Quoting, Subscript, Word};
use std::rc::Rc;

/// Maximum number of possible argument lists of one word.
const MAX_WORD_LISTS: usize = 32;
/// Maximum length of an expanded value with gaps.
const MAX_VALUE_LEN: usize = 4 * 1024;
/// Maximum length of known text, which may be a whole here-document.
pub(super) const MAX_KNOWN_LEN: usize = 32 * 1024;

/// The values of one piece of a word.
pub(super) enum Values {
    /// One of these texts.
    One(Vec<PartialWord>),
    /// These arguments, one after the other: `"$@"`.
    List(Vec<PartialWord>),
}

#[derive(Clone, Default)]
struct Builder {
    done: Vec<PartialWord>,
    current: String,
    open: bool,
}

impl Builder {
    fn push_quoted(&mut self, text: &str) {
        self.open = true;
        self.append(text);
    }

    /// Adds a value, which is split where it is not quoted.
    fn push(&mut self, value: &PartialWord, is_bare: bool, separators: &str) {
        if is_bare {
            self.push_split(value.as_str(), separators);
        } else {
            self.push_quoted(value.as_str());
        }
    }

    fn push_split(&mut self, text: &str, separators: &str) {
        if self.current.len() + text.len() > MAX_VALUE_LEN {
            return self.push_quoted(text);
        }
        let active = activate_globs(text);
        for part in active.split_inclusive(|c| separators.contains(c)) {
            let word = part.trim_end_matches(|c| separators.contains(c));
            if !word.is_empty() {
                self.push_quoted(word);
            }
            if word.len() < part.len() {
                self.close();
            }
        }
    }

    fn append(&mut self, text: &str) {
        append_value(&mut self.current, text);
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.done.push(PartialWord::text(std::mem::take(&mut self.current)));
        }
    }
}

impl Interpreter<'_> {
    /// The possible argument lists of a word.
    pub(super) fn expand_word(&mut self, word: &Word, state: &mut Rc<State>) -> Vec<Vec<PartialWord>> {
        if !self.count_step() {
            return vec![vec![PartialWord::gap(ANYTHING)]];
        }
        if let Some(text) = word.literal() {
            return vec![vec![PartialWord::text(text)]];
        }
        let mut made = Vec::new();
        let Some(words) = expand_braces(&word.pieces, &mut made) else {
            // The result is unknown, but what it runs is judged.
            self.expand_text(&word.pieces, state);
            return vec![vec![PartialWord::gap(ANYTHING)]];
        };
        let mut lists = vec![Vec::new()];
        for parts in words {
            let next = self.argument_lists(&parts, &made, state);
            lists = product(lists, next);
        }
        lists
    }

    /// The possible texts of a word that is neither split nor globbed.
    pub(super) fn expand_scalar(&mut self, word: &Word, state: &mut Rc<State>) -> Vec<PartialWord> {
        if let Some(text) = word.literal() {
            return vec![PartialWord::text(text)];
        }
        self.expand_text(&word.pieces, state)
    }

    /// The possible texts of pieces that are not split: a value, a here-document, arithmetic.
    pub(super) fn expand_text(&mut self, pieces: &[Piece], state: &mut Rc<State>) -> Vec<PartialWord> {
        let mut texts = vec![String::new()];
        for piece in pieces {
            if let PieceKind::Literal(literal) = &piece.kind {
                texts.iter_mut().for_each(|text| append_value(text, literal));
                continue;
            }
            let values = match self.expand_piece(piece, state) {
                Values::One(values) => values,
                Values::List(list) => {
                    vec![PartialWord::text(
                        list.iter().map(PartialWord::as_str).collect::<Vec<_>>().join(" "),
                    )]
                }
            };
            if let [only] = values.as_slice() {
                texts.iter_mut().for_each(|text| append_value(text, only.as_str()));
                continue;
            }
            texts = if texts.len() * values.len() > MAX_WORD_LISTS {
                vec![ANYTHING.to_string()]
            } else {
                let longer = |text: &String| {
                    values.iter().map(|value| glued(text, value.as_str())).collect::<Vec<_>>()
                };
                texts.iter().flat_map(longer).collect()
            };
        }
        texts.into_iter().map(PartialWord::text).collect()
    }

    fn argument_lists(
        &mut self,
        parts: &[usize],
        made: &[Part<'_>],
        state: &mut Rc<State>,
    ) -> Vec<Vec<PartialWord>> {
        let separators = separators(state);
        let mut builders = vec![Builder::default()];
        for part in parts {
            match made[*part] {
                Part::Made(text) => builders.iter_mut().for_each(|b| b.push_quoted(text)),
                Part::Number => {
                    builders.iter_mut().for_each(|b| b.push_quoted(NAME.encode_utf8(&mut [0; 4])))
                }
                Part::Piece(piece) => {
                    let bare = piece.quoting == Quoting::Bare && is_computed(&piece.kind);
                    match self.expand_piece(piece, state) {
                        Values::One(values) if values.len() == 1 => {
                            builders.iter_mut().for_each(|b| b.push(&values[0], bare, &separators));
                        }
                        Values::One(mut values) => {
                            if builders.len() * values.len() > MAX_WORD_LISTS {
                                values = vec![PartialWord::gap(ANYTHING)];
                            }
                            let longer = |builder: &Builder, value: &PartialWord| {
                                let mut next = builder.clone();
                                next.push(value, bare, &separators);
                                next
                            };
                            let all = builders
                                .iter()
                                .flat_map(|b| values.iter().map(move |value| longer(b, value)));
                            builders = all.collect();
                        }
                        Values::List(list) => {
                            for builder in &mut builders {
                                for (at, value) in list.iter().enumerate() {
                                    if at > 0 {
                                        builder.close();
                                    }
                                    builder.push(value, bare, &separators);
                                }
                            }
                        }
                    }
                }
            }
        }
        builders
            .into_iter()
            .map(|mut builder| {
                builder.close();
                builder.done
            })
            .collect()
    }

    /// The values of one piece, whatever its quoting.
    fn expand_piece(&mut self, piece: &Piece, state: &mut Rc<State>) -> Values {
        Values::One(match &piece.kind {
            PieceKind::Literal(text) => vec![PartialWord::text(text.as_str())],
            PieceKind::Parameter(parameter) => {
                return self.parameter(parameter, piece.quoting, state);
            }
            PieceKind::Command(script) => vec![self.expand_substitution(script, state)],
            PieceKind::Process(script) => {
                self.parallel += 1;
                let input = Input::Piped(PartialWord::gap(ANYTHING));
                self.subshell(script, state, &input);
                self.parallel -= 1;
                vec![PartialWord::text("/dev/fd/63")]
            }
            PieceKind::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic, state);
                vec![PartialWord::gap(NAME)]
            }
            PieceKind::Tilde(user) => self.tilde(user, state),
            PieceKind::Glob(glob) => vec![match glob {
                Glob::Any => PartialWord::gap(STAR),
                Glob::One => PartialWord::gap(ONE),
                Glob::Class => PartialWord::gap(CLASS),
                Glob::Extended(_, words) => {
                    for word in words {
                        self.expand_scalar(word, state);
                    }
                    PartialWord::gap(ANYTHING)
                }
            }],
            PieceKind::Braces(words) => {
                words.iter().flat_map(|word| self.expand_scalar(word, state)).collect()
            }
            PieceKind::Sequence(_) => vec![PartialWord::gap(NAME)],
            PieceKind::Array(elements) => return Values::List(self.expand_elements(elements, state)),
        })
    }

    /// The elements of an array literal.
    pub(super) fn expand_elements(
        &mut self,
        elements: &[Element],
        state: &mut Rc<State>,
    ) -> Vec<PartialWord> {
        let mut all = Vec::new();
        for element in elements {
            if let Some(subscript) = &element.subscript {
                if let Subscript::Index(index) = subscript {
                    self.arithmetic(index, state);
                }
                // Which element this is need not be known.
                self.expand_scalar(&element.value, state);
                all.push(PartialWord::gap(ANYTHING));
                continue;
            }
            let mut lists = self.expand_word(&element.value, state);
            match lists.len() {
                1 => all.append(&mut lists[0]),
                _ => all.push(PartialWord::gap(ANYTHING)),
            }
        }
        all
    }

    /// The value of a command substitution: its output without trailing newlines.
    fn expand_substitution(&mut self, script: &Script, state: &mut Rc<State>) -> PartialWord {
        // A substitution goes on after an error, also under `set -e`.
        let strict = state.exits_on_error;
        if strict {
            Rc::make_mut(state).exits_on_error = false;
        }
        let output = self.subshell(script, state, &Input::Inherited);
        if strict {
            Rc::make_mut(state).exits_on_error = true;
        }
        PartialWord::text(output.as_str().trim_end_matches('\n').to_owned())
    }

    fn tilde(&mut self, user: &str, state: &State) -> Vec<PartialWord> {
        match user {
            "" => self.lookup("HOME", state),
            "+" => self.lookup("PWD", state),
            "-" => self.lookup("OLDPWD", state),
            // Other users' homes are not in a workspace, and finding them would need a lookup.
            other => vec![PartialWord::text(format!("/~{other}"))],
        }
    }

    /// The possible texts of a variable.
    pub(super) fn lookup(&self, name: &str, state: &State) -> Vec<PartialWord> {
        if state.namerefs {
            return vec![PartialWord::gap(ANYTHING)];
        }
        match state.variables.get(name) {
            Some(Variable::Scalar(values)) => return values.clone(),
            Some(Variable::Array(values)) => return vec![values.first().cloned().unwrap_or_default()],
            Some(Variable::Unset) => return vec![PartialWord::default()],
            None => {}
        }
        match name {
            "HOME" => vec![self.context.home.map_or(PartialWord::gap(ANYTHING), |home| {
                PartialWord::text(home.as_path().to_string_lossy())
            })],
            "PWD" => state.cwd.iter().map(place).collect(),
            "OLDPWD" => state.previous.iter().map(place).collect(),
            "IFS" => vec![PartialWord::text(" \t\n")],
            _ if has_word(PLAIN, name) => vec![PartialWord::gap(NAME)],
            _ => vec![PartialWord::gap(ANYTHING)],
        }
    }
}

/// Variables that the shell or the login sets to a plain name or number.
const PLAIN: &str = "RANDOM SRANDOM SECONDS LINENO UID EUID PPID BASHPID EPOCHSECONDS EPOCHREALTIME SHLVL COLUMNS LINES \
    OPTIND BASH_VERSION OSTYPE HOSTTYPE MACHTYPE USER LOGNAME HOSTNAME LANG TERM ? $ ! # -";

fn place(place: &ShellDir) -> PartialWord {
    match place {
        ShellDir::At(path) => PartialWord::text(path.as_path().to_string_lossy()),
        ShellDir::Within => PartialWord::gap(super::partial_word::INSIDE),
        ShellDir::Unknown => PartialWord::gap(ANYTHING),
    }
}

fn separators(state: &State) -> String {
    match state.variables.get("IFS") {
        Some(Variable::Scalar(values)) => {
            values.iter().map(PartialWord::as_str).collect::<String>() + " \t\n"
        }
        _ => " \t\n".to_owned(),
    }
}

fn is_computed(kind: &PieceKind) -> bool {
    matches!(kind, PieceKind::Parameter(_) | PieceKind::Command(_) | PieceKind::Arithmetic(_))
}

fn glued(text: &str, more: &str) -> String {
    let mut text = text.to_owned();
    append_value(&mut text, more);
    text
}

/// Appends a value to a text; too long a result becomes unknown.
fn append_value(text: &mut String, more: &str) {
    if text.is_empty() {
        text.push_str(more);
        return;
    }
    let limit = if is_marked(text) || is_marked(more) { MAX_VALUE_LEN } else { MAX_KNOWN_LEN };
    if text.len() + more.len() > limit {
        *text = ANYTHING.to_string();
    } else {
        text.push_str(more);
    }
}

fn product(lists: Vec<Vec<PartialWord>>, next: Vec<Vec<PartialWord>>) -> Vec<Vec<PartialWord>> {
    let joined = |mut a: Vec<PartialWord>, b: &[PartialWord]| {
        a.extend_from_slice(b);
        a
    };
    match next.as_slice() {
        [only] => lists.into_iter().map(|list| joined(list, only)).collect(),
        _ if lists.len() * next.len() > MAX_WORD_LISTS => {
            lists.into_iter().map(|list| joined(list, &[PartialWord::gap(ANYTHING)])).collect()
        }
        _ => lists.iter().flat_map(|list| next.iter().map(|more| joined(list.clone(), more))).collect(),
    }
}
