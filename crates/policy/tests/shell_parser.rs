//! The parser in tables: the commands it finds, the strings it knows, the texts it refuses.

use picoclaw_policy::shell::*;
use std::borrow::Cow;

/// The names of all commands in order, `?` where a name must be computed; compound commands by their kind.
fn names(text: &str, dialect: Dialect) -> Result<Vec<String>, NotUnderstood> {
    #[derive(Default)]
    struct Names(Vec<String>);
    impl Visitor for Names {
        fn command(&mut self, command: &Command) {
            let name = match &command.kind {
                CommandKind::Simple(simple) => match simple.words.first() {
                    Some(word) => word.literal().map_or_else(|| "?".to_owned(), Cow::into_owned),
                    None => "-".to_owned(),
                },
                CommandKind::Subshell(_) => "()".to_owned(),
                CommandKind::Group(_) => "{}".to_owned(),
                CommandKind::If(_) => "if".to_owned(),
                CommandKind::Loop(_) => "loop".to_owned(),
                CommandKind::For(_) => "for".to_owned(),
                CommandKind::ArithmeticFor(_) => "for((".to_owned(),
                CommandKind::Case(_) => "case".to_owned(),
                CommandKind::Function(inner) => format!("{}()", inner.name),
                CommandKind::Test(_) => "[[".to_owned(),
                CommandKind::Arithmetic(_) => "((".to_owned(),
                CommandKind::Coprocess(_) => "coproc".to_owned(),
            };
            self.0.push(name);
        }
    }
    let mut names = Names::default();
    parse(text, dialect)?.visit(&mut names);
    Ok(names.0)
}

fn check_names(rows: &[(&str, &str, &str)]) {
    for (why, text, want) in rows {
        let found = names(text, Dialect::Bash).map(|names| names.join(" "));
        assert_eq!(found.as_deref(), Ok(*want), "{why}: `{text}`");
    }
}

/// The words of the only command; none if there is no such command.
fn words(text: &str, dialect: Dialect) -> Vec<Word> {
    let Ok(script) = parse(text, dialect) else { return Vec::new() };
    match script.statements.first().and_then(|statement| statement.first.commands.first().cloned()) {
        Some(Command { kind: CommandKind::Simple(simple), .. }) => simple.words,
        _ => Vec::new(),
    }
}

#[test]
fn every_command_of_a_text_is_found() {
    check_names(&[
        ("nothing", "", ""),
        ("blanks and comments", " \t# rm -rf /\n # x\n", ""),
        ("one", "echo hi", "echo"),
        ("a pipeline", "a | b |& c", "a b c"),
        ("all the ways to go on", "a; b & c && d || e\nf", "a b c d e f"),
        ("an operator may end its line", "a |\n b &&\n\n c ||\n# x\nd", "a b c d"),
        ("negation and timing", "! a; time b; time -p -- c | d; ! time ! e", "a b c d e"),
        ("timing nothing", "time; a", "a"),
        ("`time` behind a pipe is an ordinary command", "a | time b", "a time"),
        ("subshell and group", "(a; b) && { c; d; }", "() a b {} c d"),
        ("operators need no blanks", "{(a)};(b)&(c)|d", "{} () a () b () c d"),
        ("a brace that is part of a word", "{a b; }c", "{a }c"),
        ("if", "if a; then b; elif c; then d; else e; fi", "if a b c d e"),
        ("if across lines", "if a\nthen\n b\nelse\n c\nfi", "if a b c"),
        ("loops", "while a; do b; done; until c; do d; done", "loop a b loop c d"),
        ("for", "for x in $(a) b; do c; done; for x; do d; done; for x do e; done", "for a c for d for e"),
        ("for over nothing, across lines", "for x\nin\ndo a\ndone", "for a"),
        ("for with braces", "for x in 1; { a; }", "for a"),
        ("arithmetic for", "for ((i=$(a); i<3; i++)); do b; done", "for(( a b"),
        ("select", "select x in a b; do c; done", "for c"),
        ("case", "case $(a) in x) b;; (y|z) c;; *) d; esac", "case a b c d"),
        ("case falls through", "case x in a) b;& c) d;;& e) esac", "case b d"),
        ("case without arms", "case x in esac; a", "case a"),
        ("reserved words as patterns", "case x in if|then) a;; in) b;; (x|esac) c;; esac", "case a b c"),
        (
            "function spellings",
            "f() { a; }; g () (b); function h { c; }; function i() { d; }",
            "f() {} a g() () b h() {} c i() {} d",
        ),
        ("a function on the next line", "f ( )\n\n# x\n{ a; }", "f() {} a"),
        (
            "a function whose body is a loop",
            "f() for x in a; do b; done; function g if c; then d; fi",
            "f() for b g() if c d",
        ),
        ("a function with a subshell for a body", "function f (a)", "f() () a"),
        ("a function named like a command", "ls() { a; }; ls", "ls() {} a ls"),
        ("a fork bomb", ":(){ :|:& };:", ":() {} : : :"),
        ("conditional", "[[ -f $(a) && ( $x == b* || ! -d c ) ]]", "[[ a"),
        ("conditional with a regular expression", "[[ $x =~ ^(a|b c)+$(d)$ ]] && e", "[[ d e"),
        ("conditional across lines", "[[ a ==\n b ]]; c", "[[ c"),
        ("arithmetic", "((x = $(a) + 1)); b $((2*(3+$(c)))) $[4+`d`]", "(( a b c d"),
        ("arithmetic with shifts is no here-document", "((x<<2)); a", "(( a"),
        (
            "coprocesses",
            "coproc a b; coproc N { c; }; coproc { d; }; coproc N (e)",
            "coproc a coproc {} c coproc {} d coproc () e",
        ),
        ("redirections alone", "> x; < y", "- -"),
        ("redirections anywhere", "> x a 2>&1 b < y", "a"),
        ("assignments alone, and before a command", "x=1; y=$(a) b", "- b a"),
        ("the word behind an assignment is a command", "if=1 then=2 a", "a"),
        ("a quoted reserved word is a command", "\\if; 'then'; {\\ ; e\"\"lse", "if then {  else"),
        ("a comment needs a word's beginning", "a#b c # d", "a#b"),
        ("a computed name", "$x a; `b`; {c,d}; *; ~/e", "? ? b ? ? ?"),
        ("a name in pieces", "r''m; \\rm; \"r\"m; $'\\x72m'; r\\\nm", "rm rm rm rm rm"),
        ("line continuation inside a keyword", "i\\\nf a; th\\\nen b; f\\\ni", "if a b"),
        ("line continuation inside an operator", "a &\\\n& b |\\\n| c", "a b c"),
        ("carriage returns are letters", "a\r\nb\r", "a\r b\r"),
        ("no-break space is a letter", "a\u{a0}b", "a\u{a0}b"),
    ]);
}

#[test]
fn substitutions_are_found_wherever_they_stand() {
    check_names(&[
        ("bare and quoted", "a $(b) \"x $(c) y\"", "a b c"),
        ("nested", "a $(b $(c \"$(d)\"))", "a b c d"),
        ("backticks", "a `b` \"`c`\"", "a b c"),
        ("nested backticks", "a `b \\`c \\\\\\`d\\\\\\`\\``", "a b c d"),
        ("a dollar in backticks", "a `b \\$(c) $(d)`", "a b c d"),
        ("a parenthesis in quotes does not close", "a $(b ')' \")\" \\) # )\n) c", "a b"),
        ("case arms do not close", "a $(case x in b) c;; esac)", "a case c"),
        ("process substitution", "a <(b) >(c) x<(d) 2<(e)", "a b c d e"),
        ("process substitution as a target", "a < <(b) > >(c)", "a b c"),
        ("not in double quotes", "a \"<(b)\"", "a"),
        ("the operator may be split", "a $\\\n(b) \"$\\\n(c)\" <\\\n(d)", "a b c d"),
        ("in a parameter", "a ${x:-$(b)} \"${x:=`c`}\" ${x:+${y:-$(d)}}", "a b c d"),
        (
            "in patterns and replacements",
            "a ${x#$(b)} ${x%%$(c)} ${x/$(d)/$(e)} \"${x//$(f)/\"$(g)\"}\"",
            "a b c d e f g",
        ),
        (
            "in slices and subscripts",
            "a ${x:$(b):$(c)} ${x[$(d)]} \"${x[\"$(e)\"]}\" ${#x[`f`]}",
            "a b c d e f",
        ),
        ("in case changes", "a ${x^^$(b)} ${x,$(c)}", "a b c"),
        ("in assignments", "x=$(a) y+=\"$(b)\" z[$(c)]=$(d) e", "e a b c d"),
        ("in arrays", "x=($(a) \"$(b)\" [$(c)]=$(d))", "- a b c d"),
        ("in declarations", "declare x=($(a) b) y=$(c)", "declare a c"),
        ("in redirections", "a > $(b) 2>> \"$(c)\" <<< $(d) {fd}< $(e)", "a b c d e"),
        ("in braces", "a {$(b),x`c`}{1..2}", "a b c"),
        ("in extended patterns", "shopt -s extglob\na @($(b)|x`c`); [[ x == +($(d)) ]]", "shopt a b c [[ d"),
        ("in case subjects and patterns", "case $(a) in $(b)|\"$(c)\") d;; esac", "case a b c d"),
        ("in conditionals", "[[ $(a) -eq $(b) ]]", "[[ a b"),
        ("in a for list", "for x in $(a); do :; done", "for a :"),
        ("in single quotes there is none", "a '$(b)' '`c`' $'$(d)'", "a"),
        ("escaped there is none", "a \\$\\(b\\) \"\\$(c)\" \\`d\\` \"\\`e\\`\"", "a"),
        ("reading a file", "a $(<x)", "a -"),
        ("empty", "a $() $( ) ``", "a"),
        ("a comment hides the closing parenthesis", "a $(b # )\n)", "a b"),
        ("a subshell in a substitution", "a $( (b) )", "a () b"),
        ("arithmetic hides nothing", "a $((x[$(b)] + `c`))", "a b c"),
    ]);
}

#[test]
fn here_documents_are_read_where_their_line_ends() {
    check_names(&[
        ("text may follow the operator", "a <<E; b $(c) | d\nx\nE\ne", "a b c d e"),
        (
            "bare delimiters expand",
            "a <<E\n$(b) `c` ${x:-$(d)} $((1+$(e)))\n'$(f)' \"$(g)\" \\$(h)\nE\n",
            "a b c d e f g",
        ),
        (
            "quoted delimiters do not",
            "a <<'E'\n$(b)\nE\na <<\\E\n`b`\nE\na <<\"E\"\n$(b)\nE\na <<E''\n$(b)\nE",
            "a a a a",
        ),
        ("two on a line", "a <<A <<'B'\n$(b)\nA\n$(c)\nB\nd", "a b d"),
        ("tabs", "a <<-E\n\t$(b)\n\tE\nc", "a b c"),
        ("tabs are kept", "a <<E\n\tE\n$(b)\nE\nc", "a b c"),
        ("a delimiter that is only the beginning", "a <<E\nEE\nE \n E\nE\nb", "a b"),
        ("the last line needs no end", "a <<E\nx\nE", "a"),
        ("operators in a body mean nothing", "a <<E\n; b | c & (d) {\nE\ne", "a e"),
        ("a body inside a compound command", "if a <<E; then\n$(b)\nE\nc; fi", "if a b c"),
        ("a body behind a subshell", "(a <<E)\n$(b)\nE\nc", "() a b c"),
        ("a body behind a comment", "a <<E # it's <<F\n$(b)\nE\nc", "a b c"),
        ("a quoted line end comes before the body", "a <<E 'x\ny'\n$(b)\nE\nc", "a b c"),
        ("a continued line comes before the body", "a <<E \\\n $(b)\n$(c)\nE\nd", "a b c d"),
        ("a body in a substitution", "a \"$(b <<'E'\n$(c) it's\nE\n)\" d", "a b"),
        ("a body in backticks", "a `b <<E\n$(c)\nE\nd`", "a b c d"),
        ("a continued line is joined", "a <<E\nx \\\n$(b)\nE\nc", "a b c"),
        ("here-strings have no body", "a <<<E\nb <<< $(c)", "a b c"),
    ]);
}

#[test]
fn quote_removal_gives_the_exact_string() {
    for (why, text, want) in [
        ("quotes inside a word", "r''m \"/\"etc '/'etc'/'passwd \\/etc", "rm|/etc|/etc/passwd|/etc"),
        ("empty strings are arguments", "a '' \"\" $''", "a|||"),
        ("double quotes keep most backslashes", r#"a "\a\$\`\"\\""#, "a|\\a$`\"\\"),
        ("single quotes keep everything", r"a '\a\n'", r"a|\a\n"),
        ("a continued line leaves nothing", "a b\\\nc \"d\\\ne\" 'f\\\ng'", "a|bc|de|f\\\ng"),
        (
            "escapes",
            r"a $'\a\b\e\E\f\n\r\t\v\\\'\x22\?\101\x41\u0041\U00000041\q'",
            "a|\x07\x08\x1b\x1b\x0c\n\r\t\x0b\\'\"?AAAA\\q",
        ),
        ("octal and hexadecimal slashes", r"a $'\057etc\x2fpasswd'", "a|/etc/passwd"),
        ("UTF-8 in bytes", r"a $'\xc3\xa9\u00e9'", "a|éé"),
        ("a dollar for itself", "a $ a$ \"$\" $. \"$'x'\"", "a|$|a$|$|$.|$'x'"),
        ("braces without an expansion", "a {} {x} HEAD@{1} {{.ID}} a,b", "a|{}|{x}|HEAD@{1}|{{.ID}}|a,b"),
        ("a tilde for itself", "a x~ '~' \\~ ~\"root\" a/~", "a|x~|~|~|~root|a/~"),
        ("brackets for themselves", "[ a '[x]' \\[x] a] ]", "[|a|[x]|[x]|a]|]"),
        ("comments and operators in quotes", "a '#' b#c '|' \\; \"&&\"", "a|#|b#c|||;|&&"),
        ("letters beyond ASCII", "a ünï\"çö\"dé", "a|ünïçödé"),
        ("carriage returns stay", "a b\r", "a|b\r"),
    ] {
        let found: Vec<String> = words(text, Dialect::Bash)
            .iter()
            .map(|word| word.literal().map_or_else(|| "?".to_owned(), Cow::into_owned))
            .collect();
        assert_eq!(found.join("|"), want, "{why}: `{text}`");
    }
}

#[test]
fn what_is_computed_is_never_text() {
    for text in [
        "$x",
        "${x}",
        "a$x",
        "\"$x\"",
        "$(a)",
        "`a`",
        "$((1))",
        "$[1]",
        "<(a)",
        "~",
        "~/x",
        "~root",
        "~+/x",
        "*",
        "a?",
        "[ab]",
        "{a,b}",
        "x{1..3}",
        "\"${x:-a}\"",
        "a=~/x",
        "a=b:~/x",
        "$1",
        "$@",
        "\"$*\"",
    ] {
        assert_eq!(words(&format!("a {text}"), Dialect::Bash)[1].literal(), None, "`{text}`");
    }
}

#[test]
fn pieces_carry_their_kind_and_quoting() {
    let kinds = |text: &str| {
        let word = words(&format!("a {text}"), Dialect::Bash).remove(1);
        word.pieces.into_iter().map(|piece| (piece.quoting, piece.kind)).collect::<Vec<_>>()
    };
    let literal = |text: &str| PieceKind::Literal(text.to_owned());
    let parameter = |name: &str| {
        let name = name.to_owned();
        PieceKind::Parameter(Box::new(Parameter {
            name,
            subscript: None,
            reference: Reference::Direct,
            operation: Operation::Value,
        }))
    };
    assert_eq!(
        kinds("a'b'\"c$x\"\\d"),
        [
            (Quoting::Bare, literal("a")),
            (Quoting::Single, literal("b")),
            (Quoting::Double, literal("c")),
            (Quoting::Double, parameter("x")),
            (Quoting::Backslash, literal("d")),
        ]
    );
    assert_eq!(kinds("$HOME/x"), [(Quoting::Bare, parameter("HOME")), (Quoting::Bare, literal("/x"))]);
    assert_eq!(
        kinds("~bob/x"),
        [(Quoting::Bare, PieceKind::Tilde("bob".to_owned())), (Quoting::Bare, literal("/x"))]
    );
    assert_eq!(
        kinds("a*[b]"),
        [
            (Quoting::Bare, literal("a")),
            (Quoting::Bare, PieceKind::Glob(Glob::Any)),
            (Quoting::Bare, PieceKind::Glob(Glob::Class)),
            (Quoting::Bare, literal("b]")),
        ]
    );
    assert_eq!(
        kinds("{01..10..2}"),
        [(Quoting::Bare, PieceKind::Sequence(Sequence::Numbers { first: 1, last: 10, step: 2, width: 2 }),)]
    );
    assert_eq!(
        kinds("{c..a}"),
        [(Quoting::Bare, PieceKind::Sequence(Sequence::Letters { first: 'c', last: 'a', step: 1 }))]
    );
    assert_eq!(kinds("$\"a\""), [(Quoting::Locale, literal("a"))]);
}

#[test]
fn braces_hold_their_alternatives() {
    let word = words("a x{b,'c',{d,$e/}}y", Dialect::Bash).remove(1);
    let [_, Piece { kind: PieceKind::Braces(alternatives), .. }, last] = word.pieces.as_slice() else {
        panic!("{word:?}");
    };
    assert_eq!(last.kind, PieceKind::Literal("y".to_owned()));
    assert_eq!(alternatives[0].literal().as_deref(), Some("b"));
    assert_eq!(alternatives[1].literal().as_deref(), Some("c"));
    assert!(
        matches!(alternatives[2].pieces.as_slice(), [Piece { kind: PieceKind::Braces(inner), .. }] if inner.len() == 2)
    );
}

#[test]
fn parameters_are_taken_apart() {
    let operation = |text: &str| {
        let word = words(&format!("a {text}"), Dialect::Bash).remove(1);
        match word.pieces.into_iter().next().map(|piece| piece.kind) {
            Some(PieceKind::Parameter(parameter)) => *parameter,
            other => panic!("`{text}`: {other:?}"),
        }
    };
    for (text, name, want) in [
        ("${#}", "#", "Value"),
        ("${#x}", "x", "Length"),
        ("${#*}", "*", "Length"),
        ("${!}", "!", "Value"),
        ("${!x*}", "x", "Names"),
        ("${!x[@]}", "x", "Keys"),
        ("${10}", "10", "Value"),
        ("${x:-y}", "x", "Default"),
        ("${x=y}", "x", "Assign"),
        ("${x:?}", "x", "Error"),
        ("${x+y}", "x", "Alternative"),
        ("${x##*/}", "x", "Remove"),
        ("${x%.*}", "x", "Remove"),
        ("${x//\\//-}", "x", "Replace"),
        ("${x/#a/b}", "x", "Replace"),
        ("${x: -1}", "x", "Slice"),
        ("${@:2}", "@", "Slice"),
        ("${x^^}", "x", "Case"),
        ("${x@P}", "x", "Transform"),
        ("${x[1]:-y}", "x", "Default"),
    ] {
        let parameter = operation(text);
        assert_eq!(parameter.name, name, "`{text}`");
        let found = format!("{:?}", parameter.operation);
        assert!(found.starts_with(want), "`{text}` is {found}");
    }
    assert_eq!(operation("${!x}").reference, Reference::Indirect);
    assert_eq!(operation("${x@P}").operation, Operation::Transform('P'));
    assert_eq!(operation("${x[@]}").subscript, Some(Subscript::All));
}

#[test]
fn redirections_are_taken_apart() {
    let script = parse("a 2>&1 <x >>y >|z <>w &>v &>>u {fd}>t 3<&- <<<s >&r", Dialect::Bash).expect("plain");
    let redirections = &script.statements[0].first.commands[0].redirections;
    let shown: Vec<String> = redirections
        .iter()
        .map(|redirection| {
            let (kind, word) = match &redirection.kind {
                RedirectionKind::File(mode, word) => (format!("{mode:?}"), word.literal()),
                RedirectionKind::Duplicate(way, word) => (format!("{way:?}"), word.literal()),
                RedirectionKind::HereString(word) => ("String".to_owned(), word.literal()),
                RedirectionKind::HereDocument(_) => ("Document".to_owned(), None),
            };
            let descriptor = match &redirection.descriptor {
                Some(Descriptor::Number(number)) => number.to_string(),
                Some(Descriptor::Variable(name)) => name.clone(),
                None => String::new(),
            };
            format!("{descriptor}{kind} {}", word.unwrap_or_default())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "2Output 1",
            "Read x",
            "Append y",
            "Clobber z",
            "ReadWrite w",
            "WriteBoth v",
            "AppendBoth u",
            "fdWrite t",
            "3Input -",
            "String s",
            "Output r",
        ]
    );
}

#[test]
fn spans_name_the_place() {
    let text = "a 'b' `c \\`d\\`` <<E\n$(e)\nE\n";
    struct Spans<'a>(&'a str, Vec<&'a str>);
    impl Visitor for Spans<'_> {
        fn command(&mut self, command: &Command) {
            self.1.push(command.span.of(self.0));
        }
    }
    let mut spans = Spans(text, Vec::new());
    parse(text, Dialect::Bash).expect("plain").visit(&mut spans);
    assert_eq!(spans.1, ["a 'b' `c \\`d\\`` <<E", "c \\`d\\`", "d", "e"]);
    let refusal = parse("a\n b ${x;y}", Dialect::Bash).expect_err("no such form");
    assert_eq!(refusal.position("a\n b ${x;y}"), (2, 7), "{refusal}");
}
