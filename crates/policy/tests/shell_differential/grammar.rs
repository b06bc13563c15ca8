//! Random shell texts whose every command is a marker: `m1`, `m2`…, each name used once. The same
//! seed gives the same text.

/// A small random number generator; the texts must be the same on every machine.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options[self.below(options.len())]
    }
}

/// Writes one text.
pub(crate) struct Writer<'a> {
    dice: &'a mut Dice,
    marker: &'a mut usize,
    /// Here-documents that want their body after the next newline: delimiter, and whether it is quoted.
    pending: Vec<(String, bool, bool)>,
    functions: usize,
}

/// Characters that mean something to a shell, for damaging a text.
const SPECIAL: &[&str] = &[
    "'",
    "\"",
    "`",
    "\\",
    "$",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "|",
    "&",
    ";",
    "#",
    "\n",
    " ",
    "!",
    "*",
    "?",
    "~",
    "=",
    ",",
    "$(",
    "${",
    "$((",
    "))",
    "<<",
    "<(",
    ";;",
    "&&",
    "||",
    "\\\n",
    "EOF",
    "\nEOF\n",
    "$'",
    "\t",
    "@(",
    "esac",
    "]]",
    "done",
    "fi",
    "in",
    "do",
    ":-",
    "+=",
    "\\\\",
    "\r",
    "{a,",
    "..",
    "%",
    "time ",
    "! ",
    "case ",
    "coproc ",
    "function ",
];

impl<'a> Writer<'a> {
    pub(crate) fn new(dice: &'a mut Dice, marker: &'a mut usize) -> Self {
        Self { dice, marker, pending: Vec::new(), functions: 0 }
    }

    /// A whole text: from the grammar, sometimes damaged in a place or two, or a soup of tokens.
    pub(crate) fn text(mut self) -> String {
        if self.dice.below(3) == 0 {
            return self.soup();
        }
        let depth = 1 + self.dice.below(3);
        let mut text = self.list(depth);
        if !self.pending.is_empty() {
            text.push_str(&self.newline());
        }
        for _ in 0..[0, 0, 0, 1, 1, 2][self.dice.below(6)] {
            self.damage(&mut text);
        }
        text
    }

    /// Tokens without any grammar, in a frame that has some.
    fn soup(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..2 + self.dice.below(14) {
            let token = match self.dice.below(5) {
                0 | 1 => self.marker(),
                2 => self.dice.pick(&[" ", " ", "\n", "; ", "x", "x=", "a"]).to_owned(),
                _ => self.dice.pick(SPECIAL).to_owned(),
            };
            text.push_str(&token);
        }
        let (before, after) = (self.marker(), self.marker());
        match self.dice.below(16) {
            0 => format!("{before} $({text}); {after}"),
            1 => format!("{before} \"$({text})\"; {after}"),
            2 => format!("{before} `{text}`; {after}"),
            3 => format!("{before} <<EOF; {after}\n{text}\nEOF\n{after}"),
            4 => format!("{before} \"${{x:-{text}}}\"; {after}"),
            5 => format!("{before} ${{x:-{text}}}; {after}"),
            6 => format!("x=({text}); {after}"),
            7 => format!("x=$(y=({text}) {before}); {after}"),
            8 => format!("{before} \"{text}\"; {after}"),
            9 => format!("{before} $(({text})); {after}"),
            11 => format!("x=({text}) {before} <<'EOF'\n{after}\nEOF\n"),
            12 => format!("coproc declare x=({text}) <<'EOF'\n{after}\nEOF\n"),
            13 => format!("shopt -s extglob\n{before} x{text} <<'EOF'\n{after}\nEOF\n"),
            10 => format!("{before} $({after} <<EOF\n{text}\nEOF\n)"),
            _ => format!("{text}\n{after}"),
        }
    }

    fn damage(&mut self, text: &mut String) {
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        if boundaries.is_empty() {
            return;
        }
        let at = boundaries[self.dice.below(boundaries.len())];
        match self.dice.below(4) {
            0 => {
                text.remove(at);
            }
            1 => {
                let from = boundaries[self.dice.below(boundaries.len())];
                let copy: String = text[from..].chars().take(1 + self.dice.below(12)).collect();
                text.insert_str(at, &copy);
            }
            _ => text.insert_str(at, self.dice.pick(SPECIAL)),
        }
    }

    fn newline(&mut self) -> String {
        let mut text = String::from("\n");
        for (delimiter, quoted, tabs) in std::mem::take(&mut self.pending) {
            for _ in 0..self.dice.below(3) {
                if tabs && self.dice.below(2) == 0 {
                    text.push('\t');
                }
                text.push_str(&self.body_line(quoted));
                text.push('\n');
            }
            if tabs && self.dice.below(2) == 0 {
                text.push('\t');
            }
            text.push_str(&delimiter);
            text.push('\n');
        }
        text
    }

    fn body_line(&mut self, quoted: bool) -> String {
        match self.dice.below(if quoted { 5 } else { 9 }) {
            0 => "plain text with ' and \" and ; | &".to_owned(),
            1 => "\\$(no) \\`no\\` \\\\".to_owned(),
            2 => self.dice.pick(&["back\\\\", "back\\a", "a \\ b", "back\\"]).to_owned(),
            3 => format!("{}EOF x )", self.dice.pick(&["", " ", "x", "x", "'"])),
            4 => "${x:-y} $x {a,b} ~".to_owned(),
            5 => format!("$({})", self.inline(1)),
            6 => format!("`{}` $((1+{}))", self.ticked(), self.dice.below(9)),
            7 => format!("${{x:-$({})}}", self.marked()),
            _ => format!("'$({})' \"$({})\"", self.marked(), self.marked()),
        }
    }

    fn marker(&mut self) -> String {
        *self.marker += 1;
        format!("m{}", self.marker)
    }

    /// A marker's name, spelled in some way.
    fn marked(&mut self) -> String {
        let name = self.marker();
        match self.dice.below(12) {
            0 => format!("{}''{}", &name[..1], &name[1..]),
            1 => format!("\\{name}"),
            2 => format!("\"{}\"{}", &name[..1], &name[1..]),
            3 => format!("$'\\x6d'{}", &name[1..]),
            4 if self.dice.below(3) == 0 => format!("{}\\\n{}", &name[..1], &name[1..]),
            5 => format!("{}'{}'", &name[..1], &name[1..]),
            _ => name,
        }
    }

    /// A command for backticks, where no line may be continued and double quotes may be lost.
    fn ticked(&mut self) -> String {
        let name = self.marker();
        match self.dice.below(6) {
            0 => format!("{name} 'a b' | {}", self.marker()),
            1 => format!("{name} \\\\$x \\$x # c"),
            2 => format!("{name} $({})", self.marker()),
            _ => name,
        }
    }

    /// A list that fits into a substitution: on one line, where a here-document waits for the end of it.
    fn inline(&mut self, depth: usize) -> String {
        if !self.pending.is_empty() {
            return format!("{}; {}", self.marker(), self.marker());
        }
        let outer = std::mem::take(&mut self.pending);
        let mut text = if self.dice.below(2) == 0 { self.list(depth) } else { self.pipeline(depth) };
        if !self.pending.is_empty() {
            text.push_str(&self.newline());
        }
        self.pending = outer;
        text
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = self.dice.pick(&["", "", " ", "# it's (a) comment\n"]).to_owned();
        let count = 1 + self.dice.below(if depth > 1 { 3 } else { 2 });
        for index in 0..count {
            text.push_str(&self.pipeline(depth));
            if index + 1 == count {
                text.push_str(self.dice.pick(&["", "", ";", " ", " # c ) }"]));
                if text.ends_with(" # c ) }") || self.dice.below(6) == 0 {
                    text.push_str(&self.newline());
                }
                break;
            }
            let join =
                self.dice.pick(&["; ", ";", " && ", " || ", "\n", "\n", " & ", "&&", "||\n", " # c '\n"]);
            match join.strip_suffix('\n') {
                Some(before) => {
                    text.push_str(before);
                    text.push_str(&self.newline());
                }
                None => text.push_str(join),
            }
        }
        text
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut text = self.dice.pick(&["", "", "", "", "! ", "time ", "time -p "]).to_owned();
        text.push_str(&self.command(depth));
        for _ in 0..[0, 0, 0, 1][self.dice.below(4)] {
            text.push_str(self.dice.pick(&[" | ", "|", "|& ", " \\\n| "]));
            text.push_str(&self.command(depth));
        }
        text
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple(0);
        }
        let inner = depth - 1;
        let mut text = match self.dice.below(25) {
            0 => format!("({})", self.list(inner)),
            1 => format!("{{ {}\n}}", self.closed_list(inner)),
            2 => format!("if {}\nthen {}\nfi", self.closed_list(inner), self.closed_list(inner)),
            3 => {
                let (a, b, c) = (self.closed_list(0), self.closed_list(inner), self.closed_list(inner));
                format!("if {a}\nthen {b}\nelse {c}\nfi")
            }
            4 => format!("while {}\ndo {}\nbreak; done", self.closed_list(0), self.closed_list(inner)),
            5 => {
                let words = format!("{} {}", self.word(inner), self.word(inner));
                format!("for x in {words}; do {}\nbreak; done", self.closed_list(inner))
            }
            6 => {
                let word = self.word(inner);
                let (a, b) = (self.closed_list(inner), self.closed_list(inner));
                let end = self.dice.pick(&[";;", ";&", ";;&"]);
                let pattern = self.dice.pick(&["a", "(a", "\"$x\"", "a|b", "*", "(*", "esac|a", "[ab]*"]);
                format!("case {word} in {pattern}) {a}\n{end} *) {b}\nesac")
            }
            7 => {
                self.functions += 1;
                let name = format!("f{}", self.functions);
                let body = self.closed_list(inner);
                let call = self.dice.pick(&["", "", "no"]).to_owned() + &name;
                match self.dice.below(4) {
                    0 => format!("{name}() {{ {body}\n}}; {call}"),
                    1 => format!("function {name} {{ {body}\n}}; {call}"),
                    2 => format!("function {name} () ( {body}\n); {call}"),
                    _ => format!("{name} ( )\n{{ {body}\n}} 2>&1; {call}"),
                }
            }
            8 => format!(
                "[[ {} {} {} ]]",
                self.word(inner),
                self.dice.pick(&["==", "=", "!=", "<", "-eq", "=~"]),
                self.word(0)
            ),
            15 => {
                let pattern = self.dice.pick(&[
                    "(a|b)",
                    "^(\\')$",
                    "(a b)",
                    "[[:space:]]",
                    "\\(",
                    "($x)",
                    "('q')",
                    "a|b",
                ]);
                format!("[[ {} =~ {pattern} ]]", self.word(inner))
            }
            16 => format!("select x in {}; do {}\nbreak; done", self.word(inner), self.closed_list(inner)),
            9 => format!("[[ -n {} && ! ( {} == a* ) ]]", self.word(inner), self.word(0)),
            10 => format!("(( x = 1 + $({}) ))", self.inline(inner)),
            11 => format!("for ((i=0; i<1; i++)); do {}\ndone", self.closed_list(inner)),
            12 => format!("coproc {}", self.simple(inner)),
            13 => format!("coproc C {{ {}\n}}", self.closed_list(inner)),
            14 => format!("until {}\ndo {}\nbreak; done", self.closed_list(0), self.closed_list(inner)),
            _ => return self.simple(depth),
        };
        if self.dice.below(4) == 0 {
            text.push(' ');
            text.push_str(&self.redirection(inner));
        }
        text
    }

    /// A list whose here-documents are closed: the caller appends a newline.
    fn closed_list(&mut self, depth: usize) -> String {
        let mut text = self.list(depth);
        if !self.pending.is_empty() {
            text.push_str(&self.newline());
        }
        text
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..[0, 0, 0, 1, 2][self.dice.below(5)] {
            text.push_str(&self.assignment(depth));
            text.push(' ');
        }
        if self.dice.below(10) == 0 {
            text.push_str(&self.redirection(depth));
            text.push(' ');
        }
        match self.dice.below(16) {
            0 => text.push_str(&format!(
                "declare x{}=({} {})",
                self.dice.below(9),
                self.word(0),
                self.word(depth)
            )),
            1 => text.push_str(&format!("export y={}", self.word(depth))),
            _ => text.push_str(&self.marked()),
        }
        for _ in 0..self.dice.below(4) {
            text.push_str(self.dice.pick(&[" ", " ", "\t", " \\\n ", "  "]));
            let part = if self.dice.below(5) == 0 { self.redirection(depth) } else { self.word(depth) };
            text.push_str(&part);
        }
        text
    }

    fn assignment(&mut self, depth: usize) -> String {
        let name = self.dice.pick(&["x", "y", "z1", "_w"]);
        match self.dice.below(7) {
            0 => format!("{name}=({} {})", self.element(), self.element()),
            1 => format!("{name}[$({})]={}", self.marked(), self.word(0)),
            2 => format!("{name}+={}", self.word(depth)),
            3 => format!("{name}="),
            4 => format!("{name}=([1]={} [2]=b)", self.element()),
            _ => format!("{name}={}", self.word(depth)),
        }
    }

    /// A word of an array: rarely with the backslashes that are refused inside a substitution.
    fn element(&mut self) -> String {
        match self.dice.below(12) {
            0 => self.word(1),
            1 => format!("$({})", self.marker()),
            2 => format!("\"$({})\"", self.marker()),
            _ => self
                .dice
                .pick(&["a", "'b )c'", "\"$x )\"", "{a,b}", "*", "# c )\n", "$x", "<(:)", "c\n", "$'d'"])
                .to_owned(),
        }
    }

    fn redirection(&mut self, depth: usize) -> String {
        match self.dice.below(12) {
            0 => "2>&1".to_owned(),
            1 => ">/dev/null".to_owned(),
            2 => "&>/dev/null".to_owned(),
            3 => "</dev/null".to_owned(),
            4 => format!("<<<{}", self.word(depth)),
            5 => format!("< <({})", self.inline(depth.min(1))),
            6 => "{fd}>/dev/null".to_owned(),
            7 => format!("> /dev/null$({})", self.marked()),
            8 => ">| /dev/null".to_owned(),
            _ => {
                let delimiter = self.dice.pick(&["EOF", "E", "END_1"]).to_owned();
                let quoted = self.dice.below(3) == 0;
                let tabs = self.dice.below(3) == 0;
                let spelled = match (quoted, self.dice.below(3)) {
                    (false, _) => delimiter.clone(),
                    (true, 0) => format!("'{delimiter}'"),
                    (true, 1) => format!("\"{delimiter}\""),
                    (true, _) => format!("\\{delimiter}"),
                };
                self.pending.push((delimiter, quoted, tabs));
                format!("<<{}{spelled}", if tabs { "-" } else { "" })
            }
        }
    }

    fn word(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.dice.below(3) {
            let part = self.part(depth);
            text.push_str(&part);
        }
        text
    }

    fn part(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.below(4) > 0 {
            let plain = [
                "a",
                "b1",
                "-x",
                "/p",
                "'q r'",
                "\"q r\"",
                "\\ ",
                "\\'",
                "$'\\t\\'\\x41\\101'",
                "''",
                "\"\"",
                "'#'",
                "a#b",
                "$x",
                "${x}",
                "${#x}",
                "{a,b}",
                "{1..3}",
                "a=b",
                "~",
                "\"\\\"\\$x\"",
                "é",
                "'\\'",
                "\"it's\"",
                "$1",
                "$#",
                "%",
                "@",
                ":",
                "{}",
                "$",
                "x\\\ny",
                "${x:1}",
                "*",
                "\"`'\"",
                "!",
                "}",
                "]",
                "[",
                "=",
                "${x/a/b}",
                "${x#\\}}",
                "\\\\",
                "\"\\\\\"",
            ];
            // One of these is a backtick that would open a substitution: leave it to the damage.
            return match self.dice.pick(&plain) {
                "\"`'\"" => "\"'\"".to_owned(),
                part => part.to_owned(),
            };
        }
        let inner = depth - 1;
        match self.dice.below(17) {
            0..=2 => format!("$({})", self.inline(inner)),
            3 => format!("\"$({})\"", self.inline(inner)),
            4 => format!("`{}`", self.ticked()),
            5 => format!("\"`{} \\`{}\\``\"", self.ticked(), self.marker()),
            6 => format!("${{x:-$({})}}", self.inline(inner)),
            7 => format!("\"${{y:-{}}}\"", self.dice.pick(&["a", "\"b c\"", "$x", "{", "\\}"])),
            8 => format!("$((1 + $({})))", self.marked()),
            9 => format!("<({})", self.inline(inner)),
            10 => format!("${{x[$({})]}}", self.marked()),
            11 => format!("${{x/$({})/{}}}", self.marked(), self.dice.pick(&["a", "'b'", "\"$x\""])),
            12 => format!("\"${{x:+`{}`}}${{y:-'a b'}}\"", self.ticked()),
            13 => format!("{{$({}),b}}", self.marked()),
            14 => format!("$[ 1 + $({}) ]", self.marked()),
            15 => format!("\"${{x#$({})}} ${{#x}}\"", self.inline(0)),
            _ => format!("$( ({}) )", self.inline(inner)),
        }
    }
}
