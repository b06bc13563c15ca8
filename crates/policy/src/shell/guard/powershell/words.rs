//! Splits a line for PowerShell into plain words, or says why it cannot.
//!
//! Batch files parse their arguments again, so what `cmd` would expand or split at is not plain in
//! quotes either.

/// One command of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Its words, without quotes.
    pub(super) words: Vec<String>,
    /// The files that its output is redirected to.
    pub(super) targets: Vec<String>,
    /// Its words with one blank between them.
    pub(super) text: String,
    /// Whether it receives the output of the command before.
    pub(super) is_piped: bool,
}

/// Quotes and dashes that PowerShell takes for those of ASCII, and blanks that only some programs
/// take for blanks.
fn is_typographic(c: char) -> bool {
    matches!(c, '\u{2000}'..='\u{206f}' | '\u{180e}' | '\u{feff}') || (c.is_whitespace() && !c.is_ascii())
}

#[derive(Default)]
struct Splitter {
    commands: Vec<Words>,
    current: Words,
    word: Option<String>,
    /// Whether the next word is the target of a redirection.
    to_target: bool,
}

impl Splitter {
    fn end_word(&mut self) -> Result<(), &'static str> {
        let Some(word) = self.word.take() else { return Ok(()) };
        // Windows PowerShell does not pass these to programs as they are.
        if word.is_empty() {
            return Err("an empty word");
        }
        if word.ends_with('\\') && word.contains(' ') {
            return Err("a word with a blank that ends in `\\`");
        }
        if std::mem::take(&mut self.to_target) {
            self.current.targets.push(word);
        } else {
            self.current.words.push(word);
        }
        Ok(())
    }

    /// A pipeline goes on behind line breaks and `&`: an empty command keeps its input.
    fn end_command(&mut self) -> Result<(), &'static str> {
        self.end_word()?;
        if self.to_target {
            return Err("a redirection to nothing");
        }
        if !self.current.words.is_empty() || !self.current.targets.is_empty() {
            let mut command = std::mem::take(&mut self.current);
            command.text = command.words.join(" ");
            self.commands.push(command);
        }
        Ok(())
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }
}

/// The commands of a line; an error says what is not plain.
pub(super) fn split(text: &str) -> Result<Vec<Words>, &'static str> {
    let mut splitter = Splitter::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' => {
                // A dot before quotes would be an operator.
                if splitter.word.is_some() && splitter.current.words.is_empty() {
                    return Err("quotes inside the name of a command");
                }
                let word = splitter.word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("quotes that never end"),
                        Some(end) if end == c => break,
                        Some(inner) if is_active(inner, c) => {
                            return Err("a quoted character with a meaning");
                        }
                        Some(inner) => word.push(inner),
                    }
                }
                // What follows would be a second argument.
                if chars.peek().is_some_and(|next| !next.is_whitespace() && !";|&,".contains(*next)) {
                    return Err("a word that goes on behind its quotes");
                }
            }
            ';' | '\n' | '\r' | '&' => splitter.end_command()?,
            '|' => {
                splitter.end_command()?;
                splitter.current.is_piped = true;
            }
            '>' => {
                // The number of a stream is not an argument.
                if matches!(splitter.word.as_deref(), Some("*" | "1" | "2" | "3" | "4" | "5" | "6")) {
                    splitter.word = None;
                }
                splitter.end_word()?;
                while chars.next_if_eq(&'>').is_some() {}
                if chars.next_if_eq(&'&').is_some() {
                    match chars.next() {
                        Some('1' | '2') => continue,
                        _ => return Err("a redirection to an unknown stream"),
                    }
                }
                splitter.to_target = true;
            }
            '#' | '@' if splitter.word.is_none() => return Err("a comment, a list or a splatted variable"),
            '$' | '`' | '%' | '^' | '(' | ')' | '{' | '}' | '<' | '!' => {
                return Err("a variable, an escape, a block or a substitution");
            }
            // The elements of a list become arguments of their own.
            ' ' | '\t' | ',' => splitter.end_word()?,
            c if c.is_control() || is_typographic(c) => {
                return Err("a character that is not plain text");
            }
            c => splitter.push(c),
        }
    }
    splitter.end_command()?;
    Ok(splitter.commands)
}

/// Whether a character between quotes may mean something, for PowerShell or for a batch file.
fn is_active(c: char, quote: char) -> bool {
    c.is_control() || is_typographic(c) || "%^&|<>\"".contains(c) || (quote == '"' && (c == '$' || c == '`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_blanks_and_commands_at_separators() {
        let commands = split("git commit -m 'a b'; dir > out.txt 2>&1 |\n & more a,b").unwrap();
        let texts: Vec<_> = commands.iter().map(|command| command.text.as_str()).collect();
        assert_eq!(texts, ["git commit -m a b", "dir", "more a b"]);
        assert_eq!(commands[0].words, ["git", "commit", "-m", "a b"]);
        assert_eq!(commands[1].targets, ["out.txt"]);
        assert_eq!(commands.iter().map(|command| command.is_piped).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn a_target_in_the_middle_is_no_argument() {
        let commands = split("git > x push").unwrap();
        assert_eq!(commands[0].words, ["git", "push"]);
        assert_eq!(commands[0].targets, ["x"]);
    }
}
