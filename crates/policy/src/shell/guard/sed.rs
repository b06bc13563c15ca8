//! What a sed script does besides editing: every `e`, `r`, `R`, `w` and `W` command.

use super::options::NamedCommand;
use super::partial_word::PartialWord;

/// A side effect of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect<'s> {
    /// Runs this, or the lines themselves if it is empty.
    Runs(&'s str),
    /// Reads a file.
    Reads(&'s str),
    /// Writes a file.
    Writes(&'s str),
}

const VALUED: &str = "e f l expression file line-length";

/// The scripts that a command line gives to sed.
pub(super) fn scripts<'c>(call: &NamedCommand<'c>) -> Vec<&'c str> {
    let mut scripts = call.values(VALUED, "e expression");
    if scripts.is_empty() && call.values(VALUED, "f file").is_empty() {
        scripts.extend(call.operands(VALUED).first());
    }
    scripts
}

/// The arguments without the suffixes of `-i`, which end a cluster.
pub(super) fn without_suffixes(args: &[PartialWord]) -> Vec<PartialWord> {
    let cut = |arg: &PartialWord| {
        let text = arg.as_str();
        let is_cluster = text.starts_with('-') && !text.starts_with("--");
        match text.find(['i', 'e', 'f', 'l']).filter(|at| is_cluster && text[*at..].starts_with('i')) {
            Some(at) => PartialWord::text(&text[..=at]),
            None => arg.clone(),
        }
    };
    args.iter().map(cut).collect()
}

/// The side effects of a script.
pub(super) fn effects(script: &str) -> Vec<Effect<'_>> {
    let mut effects = Vec::new();
    let mut rest = script;
    while let Some(command) = next_command(&mut rest) {
        match command {
            's' => substitution(&mut rest, &mut effects),
            'y' => {
                second_part(&mut rest, false);
            }
            'e' => effects.push(Effect::Runs(take_line(&mut rest))),
            'r' | 'R' => effects.push(Effect::Reads(take_line(&mut rest))),
            'w' | 'W' => effects.push(Effect::Writes(take_line(&mut rest))),
            'a' | 'i' | 'c' => {
                take_line(&mut rest);
            }
            ':' | 'b' | 't' | 'T' => {
                let end = rest.find([';', '\n', '}']).unwrap_or(rest.len());
                rest = &rest[end..];
            }
            _ => {}
        }
    }
    effects
}

/// Skips addresses and blanks, and consumes the letter of the next command.
fn next_command(rest: &mut &str) -> Option<char> {
    loop {
        let c = rest.chars().next()?;
        let tail = &rest[c.len_utf8()..];
        match c {
            '/' => {
                *rest = tail;
                until(rest, '/', true);
            }
            '\\' => {
                let delimiter = tail.chars().next()?;
                *rest = &tail[delimiter.len_utf8()..];
                until(rest, delimiter, true);
            }
            'I' | 'M' if rest.len() < 2 || tail.starts_with([',', ' ', '{', 'p', 'd']) => *rest = tail,
            c if c.is_ascii_digit() || c.is_whitespace() || "$,~+!;{}".contains(c) => *rest = tail,
            letter => {
                *rest = tail;
                return Some(letter);
            }
        }
    }
}

fn substitution<'s>(rest: &mut &'s str, effects: &mut Vec<Effect<'s>>) {
    let Some(with) = second_part(rest, true) else { return };
    while let Some(flag) = rest.chars().next() {
        match flag {
            'e' => effects.push(Effect::Runs(with)),
            'w' => {
                *rest = &rest[1..];
                effects.push(Effect::Writes(take_line(rest)));
                return;
            }
            'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
            _ => return,
        }
        *rest = &rest[1..];
    }
}

/// Skips both parts of `s` or `y`, of which only a regular expression has brackets, and returns the
/// second.
fn second_part<'s>(rest: &mut &'s str, brackets: bool) -> Option<&'s str> {
    let delimiter = rest.chars().next()?;
    *rest = &rest[delimiter.len_utf8()..];
    until(rest, delimiter, brackets);
    Some(until(rest, delimiter, false))
}

/// Skips past the delimiter, and returns the part before it. A backslash hides a delimiter, and so
/// do brackets if they count.
fn until<'s>(rest: &mut &'s str, delimiter: char, brackets: bool) -> &'s str {
    let all = *rest;
    let mut at = 0;
    while let Some(c) = all[at..].chars().next() {
        if c == delimiter {
            *rest = &all[at + c.len_utf8()..];
            return &all[..at];
        }
        at += c.len_utf8();
        match c {
            '\\' => at += all[at..].chars().next().map_or(0, char::len_utf8),
            '[' if brackets => at += bracket_len(&all[at..]),
            _ => {}
        }
    }
    *rest = "";
    all
}

/// The length of what follows `[`, with the `]` that ends it: not a first one, and not that of a
/// class such as `[:alpha:]`.
fn bracket_len(text: &str) -> usize {
    let mut at = usize::from(text.starts_with('^'));
    at += usize::from(text[at..].starts_with(']'));
    while let Some(c) = text[at..].chars().next() {
        let class = [("[:", ":]"), ("[.", ".]"), ("[=", "=]")];
        let end = class.iter().find(|(begin, _)| text[at..].starts_with(begin)).map(|(_, end)| end);
        at += match end.and_then(|end| text[at + 2..].find(end)) {
            Some(inside) => inside + 4,
            None => c.len_utf8(),
        };
        if c == ']' {
            break;
        }
    }
    at
}

fn take_line<'s>(rest: &mut &'s str) -> &'s str {
    let end = rest.find('\n').unwrap_or(rest.len());
    let text = &rest[..end];
    *rest = &rest[end..];
    text.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leaves_the_text_is_an_effect() {
        for (script, want) in [
            ("s/a/b/", vec![]),
            ("s#/etc/#/usr/#g", vec![]),
            ("/start/,/end/p", vec![]),
            ("5,10p", vec![]),
            ("$!d", vec![]),
            ("/^#/d", vec![]),
            ("1e rm -rf x", vec![Effect::Runs("rm -rf x")]),
            ("s/a/rm x/e", vec![Effect::Runs("rm x")]),
            ("s/a/b/gw out", vec![Effect::Writes("out")]),
            ("/x/w /tmp/x", vec![Effect::Writes("/tmp/x")]),
            ("r /etc/passwd", vec![Effect::Reads("/etc/passwd")]),
            ("$e", vec![Effect::Runs("")]),
            ("y/abc/def/;p", vec![]),
            ("a hello w world", vec![]),
            ("/a\\/w b/d", vec![]),
            ("{s/a/b/;e id\n}", vec![Effect::Runs("id")]),
            ("s/[/]/ /e", vec![Effect::Runs(" ")]),
            ("s/[^]/]/x/w out", vec![Effect::Writes("out")]),
            ("s/[[:alpha:]/]/x/w out", vec![Effect::Writes("out")]),
            ("/[/]/e id", vec![Effect::Runs("id")]),
            ("s/[/]/x/g", vec![]),
            ("s/a\\[/b/w out", vec![Effect::Writes("out")]),
            ("s/[^/]*$/e/", vec![]),
            ("y/[/]/;p", vec![]),
        ] {
            assert_eq!(effects(script), want, "`{script}`");
        }
    }
}
