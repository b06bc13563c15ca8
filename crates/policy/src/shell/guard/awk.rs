//! The commands of an awk program: its pipes, and its calls of `system`.

use super::programs::has_word;

/// Whether a program of awk runs something else than one literal: by a pipe to or from it, or by
/// `system`.
pub(super) fn has_computed_command(text: &str) -> bool {
    const EXPECTS_OPERAND: &str = "print printf return else do in case getline";
    if !text.contains('|') && !text.contains("system") {
        return false;
    }
    // The program without comments, with `"` for a string and `v` for a regular expression.
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let ahead = rest.as_str();
        match c {
            '"' => {
                rest = ahead[quoted_len(ahead, '"')..].chars();
                plain.push('"');
            }
            '/' => {
                let before = plain.trim_end();
                let word =
                    before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                let is_division = before.ends_with(|c: char| c.is_alphanumeric() || "_)]$\"".contains(c))
                    || before.ends_with("++")
                    || before.ends_with("--");
                let length = regex_len(ahead);
                let inside = &ahead[..length];
                // `if (x) /"/` or `(x) / y`: which one it is decides what is a string.
                if before.ends_with(')') && inside.ends_with('/') && inside.contains('"') {
                    return true;
                }
                if is_division && !has_word(EXPECTS_OPERAND, word) {
                    plain.push('/');
                } else {
                    rest = ahead[length..].chars();
                    plain.push('v');
                }
            }
            '#' => rest = ahead[ahead.find('\n').unwrap_or(ahead.len())..].chars(),
            '\n' => plain.push(';'),
            c => plain.push(c),
        }
    }
    let plain = plain.replace("||", "&&").replace("|&", "|");
    let is_computed_call = |(at, name): (usize, &str)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let argument = plain[at + name.len()..].trim_start().strip_prefix('(');
        !plain[..at].ends_with(is_word)
            && argument.is_some_and(|argument| {
                let rest = argument.trim_start().strip_prefix('"').map(str::trim_start);
                !rest.is_some_and(|rest| rest.starts_with(')'))
            })
    };
    if plain.match_indices("system").any(is_computed_call) {
        return true;
    }
    plain.match_indices('|').any(|(at, _)| {
        let (before, after) = (plain[..at].trim_end(), plain[at + 1..].trim_start());
        let is_literal = if after.starts_with("getline") {
            let before = before.strip_suffix('"').map(str::trim_end);
            before.is_some_and(|rest| rest.is_empty() || rest.ends_with(['{', '}', ';', '(', '!', '=', '&']))
        } else {
            let after = after.strip_prefix('"').map(str::trim_start);
            after.is_some_and(|rest| rest.is_empty() || rest.starts_with(['}', ';']))
        };
        !is_literal
    })
}

/// The length of a text up to and with a delimiter that no backslash hides.
fn quoted_len(text: &str, delimiter: char) -> usize {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == delimiter && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |at| at + delimiter.len_utf8())
}

/// The length of a regular expression of awk, whose brackets hide a slash.
fn regex_len(text: &str) -> usize {
    let mut at = 0;
    while let Some(stop) = text[at..].find(['/', '\\', '[']) {
        at += stop + 1;
        match text.as_bytes()[at - 1] {
            b'/' => return at,
            b'[' => {
                let first = if text[at..].starts_with('^') { at + 1 } else { at };
                let mut end = if text[first..].starts_with(']') { first + 1 } else { first };
                // The bracket that ends `[:alpha:]` does not end the list that it is in.
                while let Some(close) = text[end..].find(']') {
                    let part = &text[end..end + close];
                    end += close + 1;
                    if !(part.contains("[:") && part.ends_with(':') || part.ends_with('\\')) {
                        break;
                    }
                }
                at = end;
            }
            _ => at += text[at..].chars().next().map_or(0, char::len_utf8),
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_only_if_it_is_one_literal() {
        for (program, want) in [
            (r#"{print | "sort"}"#, false),
            (r#""date" | getline d"#, false),
            (r#"/a|b/ || /[/|]/ || /[[:alpha:]/|]/"#, false),
            (r#"{print a / 2 "|" b / 2}"#, false),
            (r#"{print (a) / 2 "|" b}"#, false),
            (r#"{print "\"|"}"#, false),
            (r#"/\/|x/"#, false),
            (r#"{system("")} {print "system(x)"} {filesystem(x)}"#, false),
            ("{system($0)}", true),
            (r#"BEGIN {system ("rm " x)}"#, true),
            ("{cmd | getline}", true),
            ("{x++ / 2; cmd | getline; y = x++ / 2}", true),
            (r#"/[\]/"]/ {cmd | getline} /"/"#, true),
            (r#"{print | "sort " x}"#, true),
            (r#"{x " y" | getline}"#, true),
            (r#"{print |& cmd}"#, true),
            (r#"{print /"/; cmd | getline; print /"/}"#, true),
            (r#"{if (1) /"/; cmd | getline; /"/}"#, true),
        ] {
            assert_eq!(has_computed_command(program), want, "`{program}`");
        }
    }
}
