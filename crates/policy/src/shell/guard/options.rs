//! Option parsing as programs do it: clusters, joined values, abbreviated long options, the end of
//! options.

use super::interpreter::Input;
use super::partial_word::{ANYTHING, DOWNLOADED, PartialWord, is_marked};

/// Which options of a program have a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Grammar {
    /// Short ones.
    pub(super) short: &'static str,
    /// Long ones, without their dashes.
    pub(super) long: &'static [&'static str],
    /// Whether options may follow operands.
    pub(super) order: Order,
}

/// Where a program accepts options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    /// Anywhere before `--`.
    #[default]
    Free,
    /// Before the first operand only.
    First,
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

/// A command with its base name, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedCommand<'c> {
    /// The name, without its directory.
    pub(super) name: &'c str,
    /// The arguments.
    pub(super) args: &'c [PartialWord],
    /// Its standard input.
    pub(super) input: &'c Input,
}

impl<'c> NamedCommand<'c> {
    /// The arguments, parsed by a grammar.
    pub(super) fn items(&self, grammar: &Grammar) -> Vec<Item<'c>> {
        parse(self.args, grammar).0
    }

    /// The arguments that are neither options nor their values.
    pub(super) fn operands(&self, grammar: &Grammar) -> Vec<&'c str> {
        let operand = |item| match item {
            Item::Operand(text) => Some(text),
            _ => None,
        };
        self.items(grammar).into_iter().filter_map(operand).collect()
    }

    /// Whether one of these options is certainly given: for options that make a command harmless.
    pub(super) fn surely_has(&self, grammar: &Grammar, shorts: &str, longs: &[&str]) -> bool {
        !self.items(grammar).contains(&Item::Unknown) && self.has(grammar, shorts, longs)
    }

    /// Whether one of these options is given, or may be; `longs` are without dashes.
    pub(super) fn has(&self, grammar: &Grammar, shorts: &str, longs: &[&str]) -> bool {
        self.items(grammar).iter().any(|item| match item {
            Item::Short(letter, _) => shorts.contains(*letter),
            Item::Long(given, _) => longs.iter().any(|full| is_abbreviation(given, full)),
            Item::Unknown => true,
            Item::Operand(_) => false,
        })
    }

    /// The values of an option, in every spelling.
    pub(super) fn values(&self, grammar: &Grammar, shorts: &str, longs: &[&str]) -> Vec<&'c str> {
        let value = |item| match item {
            Item::Short(letter, value) if shorts.contains(letter) => value,
            Item::Long(given, value) if longs.iter().any(|full| is_abbreviation(given, full)) => value,
            _ => None,
        };
        self.items(grammar).into_iter().filter_map(value).collect()
    }

    /// Whether an argument is exactly one of these.
    pub(super) fn has_arg(&self, words: &[&str]) -> bool {
        self.args.iter().any(|arg| words.contains(&arg.as_str()))
    }

    /// The first operand: the subcommand.
    pub(super) fn subcommand(&self, grammar: &Grammar) -> Option<&'c str> {
        let grammar = Grammar { order: Order::First, ..*grammar };
        self.operands(&grammar).first().copied()
    }
}

/// Whether `given` is `full` or an abbreviation of it.
pub(super) fn is_abbreviation(given: &str, full: &str) -> bool {
    !given.is_empty() && full.starts_with(given)
}

/// Parses arguments; also returns where the operands begin if options must come first.
pub(super) fn parse<'f>(args: &'f [PartialWord], grammar: &Grammar) -> (Vec<Item<'f>>, usize) {
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
            at += long_option(long, args.get(at), grammar, &mut items);
        } else if arg.len() > 1 && arg.starts_with('-') {
            at += cluster(&arg[1..], args.get(at), grammar, &mut items);
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
    grammar: &Grammar,
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
    if grammar.long.iter().any(|full| is_abbreviation(long, full)) {
        items.push(Item::Long(long, next.map(PartialWord::as_str)));
        return 1;
    }
    items.push(Item::Long(long, None));
    0
}

fn cluster<'f>(
    letters: &'f str,
    next: Option<&'f PartialWord>,
    grammar: &Grammar,
    items: &mut Vec<Item<'f>>,
) -> usize {
    for (at, letter) in letters.char_indices() {
        if is_marked(letter.encode_utf8(&mut [0; 4])) {
            items.push(Item::Unknown);
            return 0;
        }
        if grammar.short.contains(letter) {
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
        let grammar = Grammar { short: "n", long: &["signal"], ..Grammar::default() };
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
            let call = NamedCommand { name: "t", args: &args, input: &Input::Inherited };
            assert_eq!(call.has(&grammar, "r", &["recursive"]), want, "{why}: `{line}`");
        }
    }

    #[test]
    fn a_wrapped_command_begins_at_the_first_operand() {
        let grammar = Grammar { short: "n", long: &[], order: Order::First };
        for (line, want) in [("-n 5 make -j4", 2), ("-n5 make", 1), ("make", 0), ("-- make", 1), ("-n", 1)] {
            assert_eq!(parse(&given(line), &grammar).1, want, "`{line}`");
        }
    }
}
