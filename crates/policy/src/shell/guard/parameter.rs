//! `$x`, `${x…}`: parameter expansion. An operation that cannot be followed exactly returns a gap
//! at least as wide as its result.

use super::expand::Values;
use super::glob::Pattern;
use super::interpreter::Interpreter;
use super::partial_word::{ANYTHING, INSIDE, NAME, PartialWord, STAR, activate_globs, is_marked};
use super::redirect::single_value;
use super::state::{State, Variable, dedup_values};
use crate::shell::word::{
    Arithmetic, Check, Match, Operation, Parameter, PieceKind, Quoting, Reference, ReplaceAnchor, Side,
    Subscript, Word,
};
use std::rc::Rc;

/// Longer values and patterns are not matched exactly: trying every offset would take too long.
const MAX_MATCHED_LEN: usize = 256;
/// The same for replacements, which try every offset and every end.
const MAX_REPLACED_LEN: usize = 128;
/// Longest result of replacing a literal text everywhere.
const MAX_REPLACED_VALUE: usize = 16 * 1024;

impl Interpreter<'_> {
    pub(super) fn parameter(
        &mut self,
        parameter: &Parameter,
        quoting: Quoting,
        state: &mut Rc<State>,
    ) -> Values {
        if let Some(Subscript::Index(index)) = &parameter.subscript {
            self.arithmetic(index, state);
        }
        if let Some(list) = self.expand_list(parameter, quoting, state) {
            return list;
        }
        let values = match parameter.reference {
            Reference::Direct => self.expand_single(parameter, state),
            Reference::Indirect => self.indirect(parameter, state),
        };
        Values::One(dedup_values(self.apply_operation(parameter, values, state)))
    }

    /// `$@`, `${a[@]}` and their slices: several arguments.
    fn expand_list(
        &mut self,
        parameter: &Parameter,
        quoting: Quoting,
        state: &mut Rc<State>,
    ) -> Option<Values> {
        let joined = parameter.name == "*" || matches!(parameter.subscript, Some(Subscript::Joined));
        let all = match (parameter.name.as_str(), &parameter.subscript) {
            ("@" | "*", _) => state.arguments.clone(),
            (_, Some(Subscript::All | Subscript::Joined)) if state.namerefs => {
                vec![PartialWord::gap(ANYTHING)]
            }
            (name, Some(Subscript::All | Subscript::Joined)) => match state.variables.get(name) {
                Some(Variable::Array(elements)) => elements.clone(),
                _ => self.lookup(name, state),
            },
            _ => return None,
        };
        self.count_entries(all.len());
        if self.is_spent() {
            return Some(Values::One(vec![PartialWord::gap(ANYTHING)]));
        }
        let all = match &parameter.operation {
            Operation::Value => all,
            Operation::Length | Operation::Keys => return Some(Values::One(vec![PartialWord::gap(NAME)])),
            Operation::Slice(offset, None) => match self.number(offset, state) {
                // `${@:1}` begins with the first argument, `${a[@]:0}` with the first element.
                Some(from) if matches!(parameter.name.as_str(), "@" | "*") && from >= 1 => {
                    all.into_iter().skip(from as usize - 1).collect()
                }
                Some(from) if !matches!(parameter.name.as_str(), "@" | "*") && from >= 0 => {
                    all.into_iter().skip(from as usize).collect()
                }
                _ => vec![PartialWord::gap(ANYTHING)],
            },
            Operation::Slice(offset, Some(length)) => {
                self.number(offset, state);
                self.number(length, state);
                vec![PartialWord::gap(ANYTHING)]
            }
            _ => {
                let each = all.into_iter().map(|value| self.apply_operation(parameter, vec![value], state));
                each.map(single_value).collect()
            }
        };
        if joined && quoting != Quoting::Bare {
            return Some(Values::One(vec![PartialWord::text(
                all.iter().map(PartialWord::as_str).collect::<Vec<_>>().join(" "),
            )]));
        }
        Some(Values::List(all))
    }

    fn expand_single(&mut self, parameter: &Parameter, state: &mut Rc<State>) -> Vec<PartialWord> {
        let name = parameter.name.as_str();
        if name == "0" {
            return vec![state.name.clone()];
        }
        if let Ok(index) = name.parse::<usize>() {
            let open = state.arguments.iter().take(index).any(PartialWord::is_open);
            let value = state.arguments.get(index - 1).cloned().unwrap_or_default();
            return vec![if open { PartialWord::gap(ANYTHING) } else { value }];
        }
        let known = state.variables.get(name).filter(|_| !state.namerefs);
        match (&parameter.subscript, known) {
            (Some(Subscript::Index(index)), Some(Variable::Array(elements))) => {
                let elements = elements.clone();
                match self.number(index, state).and_then(|at| usize::try_from(at).ok()) {
                    Some(at) => vec![elements.get(at).cloned().unwrap_or_default()],
                    None => elements,
                }
            }
            _ => self.lookup(name, state),
        }
    }

    fn indirect(&mut self, parameter: &Parameter, state: &mut Rc<State>) -> Vec<PartialWord> {
        let names = self.expand_single(parameter, state);
        names.iter().for_each(|name| self.judge_variable_name(name));
        let meant = |name: &PartialWord| match name.known() {
            Some(name)
                if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') =>
            {
                self.lookup(name, state)
            }
            _ => vec![PartialWord::gap(ANYTHING)],
        };
        names.iter().flat_map(meant).collect()
    }

    fn apply_operation(
        &mut self,
        parameter: &Parameter,
        values: Vec<PartialWord>,
        state: &mut Rc<State>,
    ) -> Vec<PartialWord> {
        match &parameter.operation {
            Operation::Value => values,
            Operation::Length => vec![PartialWord::gap(NAME)],
            Operation::Error(_, word) => {
                self.expand_scalar(word, state);
                values
            }
            Operation::Default(check, word) => {
                let other = self.expand_scalar(word, state);
                apply_default(values, other, *check)
            }
            Operation::Assign(check, word) => {
                let other = self.expand_scalar(word, state);
                let result = apply_default(values, other, *check);
                Rc::make_mut(state).set(&parameter.name, result.clone());
                self.judge_set(&parameter.name, &state.clone());
                result
            }
            Operation::Alternative(_, word) => {
                let mut other = self.expand_scalar(word, state);
                other.push(PartialWord::default());
                other
            }
            Operation::Remove(side, how, word) => {
                let patterns = self.expand_patterns(word, state);
                self.count_matches(&values, &patterns);
                each(values, &patterns, |value, pattern| remove_match(value, pattern, *side, *how))
            }
            Operation::Replace(place, word, with) => {
                let patterns = self.expand_patterns(word, state);
                let with = with
                    .as_ref()
                    .map_or(vec![PartialWord::default()], |with: &Word| self.expand_scalar(with, state));
                let [with] = with.as_slice() else { return vec![PartialWord::gap(ANYTHING)] };
                self.count_matches(&values, &patterns);
                each(values, &patterns, |value, pattern| replace_match(value, pattern, with, *place))
            }
            Operation::Slice(offset, length) => {
                let from = self.number(offset, state);
                let length = length.as_ref().map(|length| self.number(length, state));
                values.into_iter().map(|value| slice(&value, from, length)).collect()
            }
            Operation::Case(operator, word) => {
                self.expand_scalar(word, state);
                values.into_iter().map(|value| change_case(&value, operator)).collect()
            }
            Operation::Transform(letter) => {
                if *letter == 'P'
                    && values.iter().any(|v| is_marked(v.as_str()) || v.as_str().contains(['$', '`', '\\']))
                {
                    self.report_not_understood("a value that is expanded as a prompt", &parameter.name);
                }
                match letter {
                    'Q' | 'P' => values,
                    'U' => values.into_iter().map(|value| change_case(&value, "^^")).collect(),
                    'u' => values.into_iter().map(|value| change_case(&value, "^")).collect(),
                    'L' => values.into_iter().map(|value| change_case(&value, ",,")).collect(),
                    _ => vec![PartialWord::gap(ANYTHING)],
                }
            }
            Operation::Names => vec![PartialWord::gap(ANYTHING)],
            Operation::Keys => vec![PartialWord::gap(NAME)],
        }
    }

    /// A pattern in an operation. Inside `"${…}"` the AST does not tell a pattern character from a
    /// quoted one, so both readings count.
    fn expand_patterns(&mut self, word: &Word, state: &mut Rc<State>) -> Vec<PartialWord> {
        let mut patterns = self.expand_scalar(word, state);
        let unsure = word.pieces.iter().any(|piece| match &piece.kind {
            PieceKind::Literal(text) => piece.quoting == Quoting::Double && text.contains(['*', '?', '[']),
            _ => false,
        });
        if unsure {
            let active: Vec<PartialWord> =
                patterns.iter().map(|pattern| PartialWord::text(activate_globs(pattern.as_str()))).collect();
            patterns.extend(active);
        }
        patterns
    }

    /// Counts what it takes to match these values at every offset.
    fn count_matches(&self, values: &[PartialWord], patterns: &[PartialWord]) {
        let bytes: usize = values.iter().map(|value| value.as_str().len()).sum();
        self.count_bytes(bytes * MAX_REPLACED_LEN * patterns.len());
    }

    /// An expression that is a plain number.
    fn number(&mut self, expression: &Arithmetic, state: &mut Rc<State>) -> Option<i64> {
        let texts = self.expand_text(&expression.pieces, state);
        let [text] = texts.as_slice() else { return None };
        self.judge_evaluated(text.as_str(), state);
        text.known()?.trim().parse().ok()
    }
}

fn apply_default(values: Vec<PartialWord>, other: Vec<PartialWord>, check: Check) -> Vec<PartialWord> {
    let mut result = Vec::new();
    for value in values {
        let missing = value.as_str().is_empty();
        let unsure = value.is_open() || (missing && check == Check::Unset);
        if !missing || unsure {
            result.push(value);
        }
        if missing || unsure {
            result.extend(other.iter().cloned());
        }
    }
    result
}

fn each(
    values: Vec<PartialWord>,
    patterns: &[PartialWord],
    operation: impl Fn(&PartialWord, &PartialWord) -> PartialWord,
) -> Vec<PartialWord> {
    values.iter().flat_map(|value| patterns.iter().map(|pattern| operation(value, pattern))).collect()
}

fn remove_match(value: &PartialWord, pattern: &PartialWord, side: Side, how: Match) -> PartialWord {
    let text = value.as_str();
    if pattern.is_open() {
        return PartialWord::gap(ANYTHING);
    }
    if let Some(literal) = pattern.known() {
        let cut = match side {
            Side::Prefix => text.strip_prefix(literal),
            Side::Suffix => text.strip_suffix(literal),
        };
        match cut {
            Some(rest) => return PartialWord::text(rest),
            None if !is_marked(text) => return value.clone(),
            None => {}
        }
    }
    if side == Side::Prefix && how == Match::Longest && pattern.as_str() == format!("{STAR}/") {
        let name = text.rsplit('/').next().unwrap_or(text);
        return if is_marked(name) && !value.is_open() {
            PartialWord::gap(NAME)
        } else {
            PartialWord::text(name)
        };
    }
    if is_marked(text) || text.len().max(pattern.as_str().len()) > MAX_MATCHED_LEN {
        return widen(value);
    }
    let matcher = Pattern::new(pattern.as_str());
    let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let longest = how == Match::Longest;
    if (side == Side::Prefix) == longest {
        cuts.reverse();
    }
    let fits = |at: &usize| match side {
        Side::Prefix => matcher.matches(&text[..*at]),
        Side::Suffix => matcher.matches(&text[*at..]),
    };
    match cuts.iter().find(|at| fits(at)) {
        Some(at) if side == Side::Prefix => PartialWord::text(&text[*at..]),
        Some(at) => PartialWord::text(&text[..*at]),
        None => value.clone(),
    }
}

fn replace_match(
    value: &PartialWord,
    pattern: &PartialWord,
    with: &PartialWord,
    place: ReplaceAnchor,
) -> PartialWord {
    let text = value.as_str();
    let too_long = text.len().max(pattern.as_str().len()) > MAX_REPLACED_LEN;
    if let (Some(text), Some(literal), Some(with)) = (value.known(), pattern.known(), with.known())
        && place == ReplaceAnchor::All
        && !literal.is_empty()
        && text.len() * with.len().max(1) <= MAX_REPLACED_VALUE
    {
        return PartialWord::text(text.replace(literal, with));
    }
    if is_marked(text) || too_long || is_marked(with.as_str()) || pattern.is_open() {
        let harmless = !with.as_str().contains(['/', '.', ANYTHING, INSIDE]);
        return if harmless && !pattern.is_open() { widen(value) } else { PartialWord::gap(ANYTHING) };
    }
    if pattern.as_str().is_empty() {
        return value.clone();
    }
    let matcher = Pattern::new(pattern.as_str());
    let mut result = String::new();
    let mut at = 0;
    let mut done = false;
    while at <= text.len() {
        let ends = text[at..].char_indices().map(|(o, _)| at + o).chain([text.len()]).rev();
        let allowed = match place {
            ReplaceAnchor::First => !done,
            ReplaceAnchor::All => true,
            ReplaceAnchor::Prefix => at == 0,
            ReplaceAnchor::Suffix => true,
        };
        let fits = |end: &usize| {
            let is_end = place != ReplaceAnchor::Suffix || *end == text.len();
            allowed && is_end && *end > at && matcher.matches(&text[at..*end])
        };
        let hit = ends.into_iter().find(fits);
        match hit {
            Some(end) => {
                result.push_str(with.as_str());
                done = true;
                at = end;
            }
            None => {
                let Some(c) = text[at..].chars().next() else { break };
                result.push(c);
                at += c.len_utf8();
            }
        }
    }
    PartialWord::text(result)
}

fn slice(value: &PartialWord, from: Option<i64>, length: Option<Option<i64>>) -> PartialWord {
    let Some(text) = value.known() else { return widen(value) };
    let (Some(from), None | Some(Some(_))) = (from, length) else { return PartialWord::gap(ANYTHING) };
    let chars: Vec<char> = text.chars().collect();
    let count = chars.len() as i64;
    let from = if from < 0 { count + from } else { from };
    let to = match length {
        Some(Some(length)) if length < 0 => count + length,
        Some(Some(length)) => from.saturating_add(length),
        _ => count,
    };
    let range = from.clamp(0, count) as usize..to.clamp(0, count) as usize;
    PartialWord::text(chars.get(range).unwrap_or_default().iter().collect::<String>())
}

fn change_case(value: &PartialWord, operator: &str) -> PartialWord {
    let text = value.as_str();
    let first = |change: fn(&str) -> String| {
        let end = text.chars().next().map_or(0, char::len_utf8);
        format!("{}{}", change(&text[..end]), &text[end..])
    };
    PartialWord::text(match operator {
        "^^" => text.to_uppercase(),
        ",," => text.to_lowercase(),
        "^" => first(str::to_uppercase),
        "," => first(str::to_lowercase),
        _ => return PartialWord::gap(ANYTHING),
    })
}

/// The narrowest gap that contains every possible result of a cut or replacement.
fn widen(value: &PartialWord) -> PartialWord {
    let text = value.as_str();
    if value.is_open() || text.starts_with('/') || text.contains("..") {
        return PartialWord::gap(ANYTHING);
    }
    PartialWord::gap(if text.contains(['/', INSIDE]) { INSIDE } else { NAME })
}
