//! Option parsing as programs do it: clusters, joined values, abbreviated long options, the end of
//! options.
//!
//! A list of options is words as in `programs.txt`: one letter is a short option, any other word a
//! long one.

use super::builtins::join_words;
use super::interpreter::Input;
use super::partial_word::{ANYTHING, DOWNLOADED, PartialWord, is_marked};
use super::programs::has_word;

/// Where a program accepts options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Anywhere before `--`.
    Free,
    /// Before the first operand only: the operands may be a command.
    First,
}

/// Which options of a program have a value, and where they may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    valued: &'static str,
    order: Order,
}

impl Grammar {
    /// These have a value; options end at the first operand.
    pub(super) const fn leading(valued: &'static str) -> Self {
        Self { valued, order: Order::First }
    }
}

impl From<&'static str> for Grammar {
    fn from(valued: &'static str) -> Self {
        Self { valued, order: Order::Free }
    }
}

/// One parsed argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item<'f> {
    /// `-x`, with its value.
    Short(char, Option<&'f str>),
    /// `--name`, with its value.
    Long(&'f str, Option<&'f str>),
    /// An option that is known only when the command runs.
    Unknown,
    /// Anything else.
    Operand(&'f str),
}

impl Item<'_> {
    fn is_one_of(&self, options: &str) -> bool {
        match self {
            Self::Short(letter, _) => has_letter(options, *letter),
            Self::Long(given, _) => abbreviates(given, options),
            Self::Unknown | Self::Operand(_) => false,
        }
    }
}

/// A command with its base name, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedCommand<'c> {
    /// The name, without its directory.
    pub(super) name: &'c str,
    /// The arguments.
    pub(super) args: &'c [PartialWord],
    /// Its standard input.
    pub(super) input: &'c Input,
    /// All its words, as findings quote them.
    pub(super) argv: &'c [PartialWord],
}

impl<'c> NamedCommand<'c> {
    /// All its words as one text.
    pub(super) fn words(&self) -> String {
        join_words(self.argv)
    }

    /// The arguments, parsed by a grammar.
    pub(super) fn items(&self, grammar: impl Into<Grammar>) -> Vec<Item<'c>> {
        parse(self.args, grammar.into()).0
    }

    /// The arguments that are neither options nor their values.
    pub(super) fn operands(&self, grammar: impl Into<Grammar>) -> Vec<&'c str> {
        let operand = |item| match item {
            Item::Operand(text) => Some(text),
            _ => None,
        };
        self.items(grammar).into_iter().filter_map(operand).collect()
    }

    /// Whether one of these options is certainly given: for options that make a command harmless.
    pub(super) fn surely_has(&self, grammar: impl Into<Grammar>, options: &str) -> bool {
        let items = self.items(grammar);
        !items.contains(&Item::Unknown) && items.iter().any(|item| item.is_one_of(options))
    }

    /// Whether one of these options is given, or may be.
    pub(super) fn has(&self, grammar: impl Into<Grammar>, options: &str) -> bool {
        self.items(grammar).iter().any(|item| *item == Item::Unknown || item.is_one_of(options))
    }

    /// The values of an option, in every spelling.
    pub(super) fn values(&self, grammar: impl Into<Grammar>, options: &str) -> Vec<&'c str> {
        let value = |item: Item<'c>| match item {
            Item::Short(_, value) | Item::Long(_, value) if item.is_one_of(options) => value,
            _ => None,
        };
        self.items(grammar).into_iter().filter_map(value).collect()
    }

    /// Whether an argument is exactly one of these.
    pub(super) fn has_arg(&self, words: &str) -> bool {
        self.args.iter().any(|arg| has_word(words, arg.as_str()))
    }

    /// The first operand: the subcommand.
    pub(super) fn subcommand(&self, valued: &'static str) -> Option<&'c str> {
        self.operands(Grammar::leading(valued)).first().copied()
    }
}

/// Whether `given` is `full` or an abbreviation of it.
pub(super) fn is_abbreviation(given: &str, full: &str) -> bool {
    !given.is_empty() && full.starts_with(given)
}

fn has_letter(options: &str, letter: char) -> bool {
    options.split_ascii_whitespace().any(|option| option.chars().eq([letter]))
}

/// Whether `given` is one of these long options or an abbreviation of one.
fn abbreviates(given: &str, options: &str) -> bool {
    options.split_ascii_whitespace().any(|full| full.len() > 1 && is_abbreviation(given, full))
}

/// Parses arguments; also returns where the operands begin if options must come first.
pub(super) fn parse<'f>(args: &'f [PartialWord], grammar: Grammar) -> (Vec<Item<'f>>, usize) {
    let mut items = Vec::with_capacity(args.len());
    let mut at = 0;
    while let Some(arg) = args.get(at).map(PartialWord::as_str) {
        at += 1;
        if arg == "--" {
            let rest = at;
            items.extend(args[at..].iter().map(|arg| Item::Operand(arg.as_str())));
            return (items, rest);
        }
        if let Some(long) = arg.strip_prefix("--") {
            at += long_option(long, args.get(at), grammar.valued, &mut items);
        } else if arg.len() > 1 && arg.starts_with('-') {
            at += cluster(&arg[1..], args.get(at), grammar.valued, &mut items);
        } else {
            if grammar.order == Order::First {
                items.extend(args[at - 1..].iter().map(|arg| Item::Operand(arg.as_str())));
                return (items, at - 1);
            }
            items.push(Item::Operand(arg));
            // A word that may be anything may be an option.
            if arg.starts_with([ANYTHING, DOWNLOADED]) {
                items.push(Item::Unknown);
            }
        }
    }
    // An option at the end may lack its value.
    (items, at.min(args.len()))
}

fn long_option<'f>(
    long: &'f str,
    next: Option<&'f PartialWord>,
    valued: &str,
    items: &mut Vec<Item<'f>>,
) -> usize {
    if let Some((name, value)) = long.split_once('=') {
        items.push(Item::Long(name, Some(value)));
        return 0;
    }
    if is_marked(long) {
        items.push(Item::Unknown);
        return 0;
    }
    if abbreviates(long, valued) {
        items.push(Item::Long(long, next.map(PartialWord::as_str)));
        return 1;
    }
    items.push(Item::Long(long, None));
    0
}

fn cluster<'f>(
    letters: &'f str,
    next: Option<&'f PartialWord>,
    valued: &str,
    items: &mut Vec<Item<'f>>,
) -> usize {
    for (at, letter) in letters.char_indices() {
        if is_marked(letter.encode_utf8(&mut [0; 4])) {
            items.push(Item::Unknown);
            return 0;
        }
        if has_letter(valued, letter) {
            let glued = &letters[at + letter.len_utf8()..];
            if glued.is_empty() {
                items.push(Item::Short(letter, next.map(PartialWord::as_str)));
                return 1;
            }
            items.push(Item::Short(letter, Some(glued)));
            return 0;
        }
        items.push(Item::Short(letter, None));
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Vec<PartialWord> {
        line.split(' ').map(PartialWord::text).collect()
    }

    #[test]
    fn options_are_found_in_every_spelling() {
        for (why, line, want) in [
            ("alone", "-r x", true),
            ("in a cluster", "-vr x", true),
            ("behind an operand", "x -r", true),
            ("long", "--recursive x", true),
            ("long, cut short", "--rec x", true),
            ("a value is not an option", "-n -r x", false),
            ("a glued value is not a cluster", "-nr x", false),
            ("a long option's value is not an option", "--signal -r", false),
            ("behind the end of options", "-- -r", false),
            ("another letter", "-x", false),
        ] {
            let args = given(line);
            let call = NamedCommand { name: "t", args: &args, input: &Input::Inherited, argv: &args };
            assert_eq!(call.has("n signal", "r recursive"), want, "{why}: `{line}`");
        }
    }

    #[test]
    fn a_wrapped_command_begins_at_the_first_operand() {
        for (line, want) in [("-n 5 make -j4", 2), ("-n5 make", 1), ("make", 0), ("-- make", 1), ("-n", 1)] {
            assert_eq!(parse(&given(line), Grammar::leading("n")).1, want, "`{line}`");
        }
    }
}
