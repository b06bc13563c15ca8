//! One row of the schema.

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its spelling.
    pub(crate) name: &'static str,
    /// Other spellings.
    pub(crate) aliases: Aliases,
    /// Its type.
    pub(crate) shape: Shape,
    /// Its default.
    pub(crate) default: DefaultValue,
    /// Whether it is supported here.
    pub(crate) serving: KeySupport,
    /// A second environment variable that sets it.
    pub(crate) variable: Option<&'static str>,
    /// One line of documentation.
    pub(crate) doc: &'static str,
}

/// Other spellings of a key.
#[derive(Debug)]
pub(crate) enum Aliases {
    /// Of older files: the current spelling wins if both are present.
    Older(&'static [&'static str]),
    /// Of equal rank: both at once are an error.
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

/// Whether a key is supported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeySupport {
    /// Supported.
    Served,
    /// A key of the original that is not supported: it loads with a warning.
    Foreign,
}

/// The type of a key.
#[derive(Debug)]
pub(crate) enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number within bounds.
    Whole(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// Any string.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words; `true` stands for the first and `false` for the last.
    FlagOrChoice(&'static [&'static str]),
    /// One of these words, in any case.
    Word(&'static [&'static str]),
    /// An absolute path, `~` allowed.
    Path,
    /// A program: a name, or a path in which `~` is allowed.
    Program,
    /// A regular expression.
    Pattern,
    /// A value that is never shown.
    Secret,
    /// A URL, whose password is masked.
    Address,
    /// An IP address, or a network of them.
    Network,
    /// A host that a cage reaches by name.
    Host,
    /// The name of an environment variable.
    Variable,
    /// `auto`, `none`, or names with commas between them.
    Toolchains,
    /// Any number of one shape.
    List(&'static Shape),
    /// User-defined keys with values of one type.
    Map(&'static Shape),
    /// User-defined keys with strings that may be secret.
    Environment,
    /// An object with these keys.
    Section(&'static [Key]),
    /// One of these words, or an object with these keys.
    ChoiceOr(&'static [&'static str], &'static [Key]),
    /// A string, or an object with these keys.
    TextOr(&'static [Key]),
    /// Anything, unchecked.
    Any,
}

/// The default of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DefaultValue {
    /// Nothing.
    Unset,
    /// A boolean.
    Flag(bool),
    /// An integer.
    Whole(i64),
    /// A string.
    Text(&'static str),
    /// Strings.
    Texts(&'static [&'static str]),
}

impl Key {
    /// A supported key without a default.
    pub(crate) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            name,
            aliases: Aliases::Older(&[]),
            shape,
            default: DefaultValue::Unset,
            serving: KeySupport::Served,
            variable: None,
            doc,
        }
    }

    /// A boolean.
    pub(crate) const fn flag(name: &'static str, default: bool, doc: &'static str) -> Self {
        Self { default: DefaultValue::Flag(default), ..Self::new(name, Shape::Flag, doc) }
    }

    /// An integer from zero.
    pub(crate) const fn count(name: &'static str, default: i64, most: i64, doc: &'static str) -> Self {
        Self { default: DefaultValue::Whole(default), ..Self::new(name, Shape::Whole(0, most), doc) }
    }

    /// One of several words.
    pub(crate) const fn choice(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        Self { default: DefaultValue::Text(default), ..Self::new(name, Shape::Choice(words), doc) }
    }

    /// An object with these keys.
    pub(crate) const fn section(name: &'static str, keys: &'static [Key], doc: &'static str) -> Self {
        Self::new(name, Shape::Section(keys), doc)
    }

    /// A key of the original that is not supported.
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

    /// The same key with a default string.
    pub(crate) const fn default(self, text: &'static str) -> Self {
        Self { default: DefaultValue::Text(text), ..self }
    }

    /// The same key with one more variable.
    pub(crate) const fn variable(self, name: &'static str) -> Self {
        Self { variable: Some(name), ..self }
    }
}
