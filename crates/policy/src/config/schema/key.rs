//! One row of the table.
//!
//! Invariant: a row says all there is to know about its key; nothing else in the code lists keys.

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    /// As it is written.
    pub(crate) name: &'static str,
    /// Other spellings.
    pub(crate) aliases: Aliases,
    /// What it takes.
    pub(crate) shape: Shape,
    /// What it is when nobody says.
    pub(crate) preset: DefaultValue,
    /// Whether anything here reads it.
    pub(crate) serving: KeySupport,
    /// A variable that names it beside the regular one.
    pub(crate) variable: Option<&'static str>,
    /// One line for people.
    pub(crate) doc: &'static str,
}

/// Other spellings of a key.
#[derive(Debug)]
pub(crate) enum Aliases {
    /// Of older files: the current spelling wins where both stand.
    Older(&'static [&'static str]),
    /// Of equal rank: both at once is an error.
    Twin(&'static str),
}

impl Aliases {
    /// The spellings.
    pub(crate) fn names(&self) -> &[&'static str] {
        match self {
            Self::Older(names) => names,
            Self::Twin(name) => std::slice::from_ref(name),
        }
    }
}

/// Whether a key is read here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeySupport {
    /// It is.
    Served,
    /// The original knows it; here it loads with a warning that says this.
    Foreign,
}

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number within bounds.
    Whole(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, in capitals or not.
    Word(&'static [&'static str]),
    /// An absolute path, `~` allowed.
    Path,
    /// A program: a name, or a path in which `~` is allowed.
    Program,
    /// A regular expression.
    Pattern,
    /// A value that is never shown.
    Secret,
    /// A web address, in which a password is never shown.
    Address,
    /// An IP address, or a network of them.
    Network,
    /// The name of an environment variable.
    Variable,
    /// `auto`, `none`, or names with commas between them.
    Toolchains,
    /// Any number of one shape.
    List(&'static Shape),
    /// Names of the operator's own, each with one shape.
    Map(&'static Shape),
    /// Names of the operator's own, each with a text that may be a secret.
    Environment,
    /// Keys of ours.
    Section(&'static [Key]),
    /// A text, or keys of ours.
    TextOr(&'static [Key]),
    /// Anything; nobody looks inside.
    Any,
}

/// What a key is when nobody says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DefaultValue {
    /// Nothing.
    Unset,
    /// A switch.
    Flag(bool),
    /// A number.
    Whole(i64),
    /// A text.
    Text(&'static str),
}

impl Key {
    /// A key that is read here and is nothing when nobody says.
    pub(crate) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            name,
            aliases: Aliases::Older(&[]),
            shape,
            preset: DefaultValue::Unset,
            serving: KeySupport::Served,
            variable: None,
            doc,
        }
    }

    /// A switch.
    pub(crate) const fn flag(name: &'static str, preset: bool, doc: &'static str) -> Self {
        Self { preset: DefaultValue::Flag(preset), ..Self::new(name, Shape::Flag, doc) }
    }

    /// A whole number from zero up.
    pub(crate) const fn count(name: &'static str, preset: i64, most: i64, doc: &'static str) -> Self {
        Self { preset: DefaultValue::Whole(preset), ..Self::new(name, Shape::Whole(0, most), doc) }
    }

    /// One of several words.
    pub(crate) const fn choice(
        name: &'static str,
        preset: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        Self { preset: DefaultValue::Text(preset), ..Self::new(name, Shape::Choice(words), doc) }
    }

    /// Keys of ours under a name.
    pub(crate) const fn section(name: &'static str, keys: &'static [Key], doc: &'static str) -> Self {
        Self::new(name, Shape::Section(keys), doc)
    }

    /// A key of the original that is not read here.
    pub(crate) const fn foreign(name: &'static str, doc: &'static str) -> Self {
        Self { serving: KeySupport::Foreign, ..Self::new(name, Shape::Any, doc) }
    }

    /// The same key with older spellings.
    pub(crate) const fn older(self, names: &'static [&'static str]) -> Self {
        Self { aliases: Aliases::Older(names), ..self }
    }

    /// The same key with a second spelling of equal rank.
    pub(crate) const fn twin(self, name: &'static str) -> Self {
        Self { aliases: Aliases::Twin(name), ..self }
    }

    /// The same key with a preset text.
    pub(crate) const fn preset(self, text: &'static str) -> Self {
        Self { preset: DefaultValue::Text(text), ..self }
    }

    /// The same key with one more variable.
    pub(crate) const fn variable(self, name: &'static str) -> Self {
        Self { variable: Some(name), ..self }
    }
}
