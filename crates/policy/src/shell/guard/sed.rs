//! What a sed script does besides editing: every `e`, `r`, `R`, `w` and `W` command.

use super::options::NamedCommand;

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

/// The side effects of a script.
pub(super) fn effects(script: &str) -> Vec<Effect<'_>> {
    let mut effects = Vec::new();
    let mut rest = script;
    while let Some(command) = next_command(&mut rest) {
        match command {
            's' => substitution(&mut rest, &mut effects),
            'y' => {
                delimited(&mut rest, 2);
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
                until(rest, '/');
            }
            '\\' => {
                let delimiter = tail.chars().next()?;
                *rest = &tail[delimiter.len_utf8()..];
                until(rest, delimiter);
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
    let Some(with) = delimited(rest, 2) else { return };
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

/// Skips parts between delimiters, and returns the last one.
fn delimited<'s>(rest: &mut &'s str, parts: usize) -> Option<&'s str> {
    let delimiter = rest.chars().next()?;
    *rest = &rest[delimiter.len_utf8()..];
    let mut last = "";
    for _ in 0..parts {
        let before = *rest;
        let length = until(rest, delimiter);
        last = &before[..length];
    }
    Some(last)
}

/// Skips past the delimiter, and returns the length of the part before it. Brackets and backslashes
/// hide a delimiter.
fn until(rest: &mut &str, delimiter: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            *rest = &rest[at + c.len_utf8()..];
            return at;
        }
    }
    let length = rest.len();
    *rest = "";
    length
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
        ] {
            assert_eq!(effects(script), want, "`{script}`");
        }
    }
}
