//! What the arguments of everyday programs are: the table `programs.txt`, which says how to read
//! it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Text, never a path.
    Text,
    /// Text, unless it names a file after `@` or `<`.
    At,
    /// A path, read.
    Read,
    /// A path, written.
    Write,
    /// A path, used in an unknown way.
    Path,
    /// A file with names of other files, or with options: what it leads to is unknown.
    Names,
    /// A command for a shell.
    Shell,
    /// Code of another language.
    Code,
}

/// The roles that values of options have in the table.
const ROLES: [(&str, Role); 7] = [
    ("text", Role::Text),
    ("at", Role::At),
    ("read", Role::Read),
    ("write", Role::Write),
    ("names", Role::Names),
    ("shell", Role::Shell),
    ("code", Role::Code),
];

/// What the operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Each has this role.
    All(Role),
    /// Files to read, the last one written.
    IntoLast,
    /// The first is a file, the others are text.
    FirstOnly,
}

/// The arguments of one program: an entry of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    names: &'static str,
    flags: &'static str,
    joined: &'static str,
    pairs: &'static str,
    /// Options with a value, by role, in the order of [`ROLES`].
    values: [&'static str; ROLES.len()],
    /// Options that make the program read names from its input or its operands.
    pub(super) lists_if: &'static str,
    /// The first operand is text, unless one of these options is given.
    pub(super) first_text: Option<&'static str>,
    pub(super) operands: Operands,
    /// The operands are a command, after this number of the program's own.
    pub(super) wraps: Option<usize>,
}

/// A program without an entry.
pub(super) const UNKNOWN: Program = Program {
    names: "",
    flags: "",
    joined: "",
    pairs: "",
    values: [""; ROLES.len()],
    lists_if: "",
    first_text: None,
    operands: Operands::All(Role::Path),
    wraps: None,
};

impl Program {
    /// Parses an entry; an unknown field, which a test excludes, is `None`.
    fn parse(entry: &'static str) -> Option<Self> {
        let (names, fields) = entry.split_once('=')?;
        let mut program = Self { names, ..UNKNOWN };
        for field in fields.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (key, words) = field.split_once(char::is_whitespace).unwrap_or((field, ""));
            let words = words.trim();
            match key {
                "reads" => program.operands = Operands::All(Role::Read),
                "writes" => program.operands = Operands::All(Role::Write),
                "takes" => program.operands = Operands::All(Role::Text),
                "into" => program.operands = Operands::IntoLast,
                "first" => program.operands = Operands::FirstOnly,
                "wraps" => program.wraps = words.parse().ok(),
                "first-text" => program.first_text = Some(words),
                "flags" => program.flags = words,
                "joined" => program.joined = words,
                "pairs" => program.pairs = words,
                "lists-if" => program.lists_if = words,
                role => program.values[ROLES.iter().position(|(known, _)| *known == role)?] = words,
            }
        }
        Some(program)
    }

    /// The role of an option's value; `None` if the option has none, or is not known.
    pub(super) fn value_role(&self, option: &str) -> Option<Role> {
        let at = self.values.iter().position(|options| has_word(options, option))?;
        Some(ROLES[at].1)
    }

    fn valued_options(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.values.into_iter().flat_map(str::split_whitespace)
    }

    /// The option with one dash that this begins with, and the value joined to it.
    pub(super) fn joined_value<'a>(&self, arg: &'a str) -> Option<(&'static str, &'a str, Role)> {
        self.valued_options().filter(|option| option.starts_with('-')).find_map(|option| {
            let value = arg.strip_prefix(option).filter(|value| value.starts_with(['/', '.', '~', '=']))?;
            Some((option, value.trim_start_matches('='), self.value_role(option)?))
        })
    }

    /// Every long option with a value that this may abbreviate.
    pub(super) fn abbreviated<'p>(&self, given: &'p str) -> impl Iterator<Item = &'static str> + use<'p> {
        self.valued_options()
            .filter(move |full| full.len() > 1 && !given.is_empty() && full.starts_with(given))
    }

    /// Whether an option of the program is a command.
    pub(super) fn runs_options(&self) -> bool {
        let runs = |role| matches!(role, Role::Shell | Role::Code);
        self.values.iter().zip(ROLES).any(|(options, (_, role))| runs(role) && !options.is_empty())
    }

    pub(super) fn with_operands(self, operands: Operands) -> Self {
        Self { operands, ..self }
    }

    pub(super) fn is_flag(&self, letter: char) -> bool {
        self.flags.contains(letter)
    }

    pub(super) fn is_joined(&self, letter: char) -> bool {
        self.joined.contains(letter)
    }

    pub(super) fn is_pair(&self, option: &str) -> bool {
        has_word(self.pairs, option)
    }
}

/// Whether a list of words contains one.
pub(super) fn has_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|known| known == word)
}

/// Whether a text contains one of these signs, which `|` separates.
pub(super) fn contains_any(text: &str, signs: &str) -> bool {
    signs.split('|').any(|sign| text.contains(sign))
}

const TABLE: &str = include_str!("programs.txt");

/// The entries of the table; a line that begins with a blank continues one.
fn entries() -> impl Iterator<Item = &'static str> {
    let mut rest = TABLE;
    std::iter::from_fn(move || {
        loop {
            let begins = |(at, _): &(usize, &str)| !rest[at + 1..].starts_with(' ');
            let end = rest.match_indices('\n').find(begins)?.0;
            let (entry, tail) = rest.split_at(end + 1);
            rest = tail;
            if !entry.starts_with('#') && !entry.trim().is_empty() {
                return Some(entry);
            }
        }
    })
}

/// The table's entry for a program.
pub(super) fn find(name: &str) -> Option<&'static Program> {
    static INDEX: OnceLock<BTreeMap<&'static str, Program>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let all = entries().filter_map(Program::parse);
        all.flat_map(|program| program.names.split_whitespace().map(move |name| (name, program))).collect()
    });
    // The dynamic loader has a name for every machine: `ld-linux-x86-64.so.2`,
    // `ld-musl-x86_64.so.1`.
    let is_loader = name.contains(".so") && ["ld-", "ld64."].iter().any(|start| name.starts_with(start));
    let name = if is_loader { "ld.so" } else { name };
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    index.get(name).or_else(|| index.get(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_and_nothing_has_two_meanings() {
        let programs: Vec<Program> = entries().map(|entry| Program::parse(entry).expect(entry)).collect();
        assert!(programs.len() > 100, "{}", programs.len());
        let twice = |mut words: Vec<&'static str>| {
            words.sort_unstable();
            words.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
        };
        assert_eq!(
            twice(programs.iter().flat_map(|program| program.names.split_whitespace()).collect()),
            None
        );
        for program in &programs {
            let letters =
                program.flags.split("").chain(program.joined.split("")).filter(|word| !word.is_empty());
            assert_eq!(twice(program.valued_options().chain(letters).collect()), None, "{}", program.names);
        }
    }
}
