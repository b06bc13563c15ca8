//! What the parser refuses: texts that bash parses in an unexpected way, whose meaning depends on
//! the run, or that are not shell text at all.

use picoclaw_policy::shell::{Dialect, MAX_TEXT_LEN, parse};

fn check(dialect: Dialect, rows: &[(&str, &str, &str)]) {
    for (why, text, part) in rows {
        let refusal = parse(text, dialect).err();
        let what = refusal.as_ref().map_or("accepted", |refusal| &refusal.what);
        assert!(what.contains(part), "{why}: `{text}`: {what}");
        let place = refusal.map(|refusal| refusal.span);
        assert!(place.is_some_and(|span| text.get(span.start..span.end).is_some()), "{why}: {place:?}");
    }
}

#[test]
fn broken_texts_are_refused() {
    check(
        Dialect::Bash,
        &[
            ("unclosed", "a 'b", "single quote"),
            ("unclosed", "a \"b", "double quote"),
            ("unclosed", "a `b", "backtick"),
            ("unclosed", "a $(b", "`)`"),
            ("unclosed", "a ${x", "in `${"),
            ("unclosed", "(a", "`)`"),
            ("unclosed", "{ a; ", "compound"),
            ("unclosed", "if a; then b", "compound"),
            ("unclosed", "case x in a) b", "compound"),
            ("unclosed", "[[ a ", "word"),
            ("unclosed", "a $((1", "arithmetic"),
            ("unclosed", "x=(a", "word"),
            ("a word that ends what did not begin", "a; fi", "`f`"),
            ("a word that ends what did not begin", "a; done", "`d`"),
            ("a word that ends what did not begin", "}", "`}`"),
            ("a word that ends what did not begin", "a)", "`)`"),
            ("nothing between", "a;;b", "behind a command"),
            ("nothing between", "; a", "where a command"),
            ("nothing between", "a | | b", "where a command"),
            ("nothing between", "a & && b", "where a command"),
            ("nothing inside", "()", "where a command"),
            ("nothing inside", "{ }", "where a command"),
            ("nothing inside", "if; then a; fi", "where a command"),
            ("a negation in the middle of a pipeline", "a | ! b", "where a command"),
            ("no target", "a >", "where a word"),
            ("no target", "a > ; b", "where a word"),
            ("parentheses in arguments", "a (b)", "behind a word"),
            ("parentheses in arguments", "a b (c)", "in a command"),
            ("an array as an argument", "a x=(b)", "in a command"),
            ("a function with a simple command", "f() a", "body of a function"),
            ("a backslash at the end", "a \\", "backslash"),
            ("bash does not see this `case`", "a $(time case x in b) c;; esac)", "`time` before"),
            ("bash does not see this `case`", "a $(time -p { case x in b) c;; esac; })", "`time` before"),
        ],
    );
}

#[test]
fn what_is_no_text_is_refused() {
    check(
        Dialect::Bash,
        &[
            ("NUL", "a\0b", "control"),
            ("escape", "a \x1b[2J", "control"),
            ("delete", "a\x7f", "control"),
            ("C1", "a\u{9b}", "control"),
            ("a NUL ends a string", "a $'b\\0c'", "NUL"),
            ("bytes that are no text", "a $'\\xff'", "UTF-8"),
            ("too long", &"a".repeat(MAX_TEXT_LEN + 1), "limit"),
            ("too deep", &format!("a {}b{}", "$(".repeat(65), ")".repeat(65)), "nesting"),
            ("too deep", &"( ".repeat(2000), "nesting"),
            ("too deep", &"{ ".repeat(2000), "nesting"),
            ("too deep", &format!("a {}", "{b,".repeat(2000)), "nesting"),
            ("too deep", &format!("a {}", "${x:-".repeat(2000)), "nesting"),
            ("too deep", &"if ".repeat(2000), "nesting"),
            ("too deep", &format!("shopt -s extglob\na {}", "@(".repeat(2000)), "nesting"),
            ("too deep", &"coproc ".repeat(2000), "nesting"),
        ],
    );
}

#[test]
fn what_only_the_run_decides_is_refused() {
    check(
        Dialect::Bash,
        &[
            ("a pattern with `extglob`, else a negated subshell", "!(rm x)", "`!(`"),
            ("an error without `extglob`", "a @(b)", "`shopt -s extglob`"),
            (
                "an error that only drops its line: runs `a`",
                "shopt -s extglob; x=(@(b)) <<'E'\na\nE\n",
                "array",
            ),
            (
                "an error that only drops its line",
                "coproc declare x=(}) <<'E'\na\nE\n",
                "array in a coprocess",
            ),
            ("a pattern with `extglob`, else a function", "shopt -s extglob\nf@() { a; }", "pattern"),
            ("arithmetic, or a subshell in a substitution", "a $((b); c)", "`))`"),
            ("commands, but looked through as arithmetic", "a <((b))", "process substitution"),
            ("arithmetic, or a subshell in a subshell", "((a); b)", "`))`"),
            ("a command in bash 5.3, an error before", "a ${ b; }", "parameter"),
            ("a command in bash 5.3, an error before", "a ${| b; }", "parameter"),
            ("translated by whom `TEXTDOMAIN` names", "export TEXTDOMAIN=x; a $\"b\"", "translated"),
            ("translated by what ran before", "a\nb $\"c\"", "translated"),
        ],
    );
}

#[test]
fn what_bash_evaluates_twice_is_refused() {
    check(
        Dialect::Bash,
        &[
            ("quotes hide nothing from arithmetic", "a $(( '$(b)' ))", "arithmetic"),
            ("a subscript is expanded again", "a $(( x[\\$(b)] ))", "arithmetic"),
            ("a subscript is expanded again", "a ${x['$(b)']}", "single quotes"),
            ("a subscript is expanded again", "x[\\$(b)]=1", "subscript"),
            ("a subscript is expanded again", "x[$'\\x24(b)']=1", "subscript"),
            ("a key is expanded again", "x=([\"\\$(b)\"]=1)", "backslash"),
            ("an operand is evaluated", "[[ 'x[$(b)]' -eq 1 ]]", "quoted expansion"),
            ("an operand is evaluated", "[[ -v 'x[$(b)]' ]]", "quoted expansion"),
        ],
    );
}

#[test]
fn what_bash_ends_elsewhere_when_it_expands_is_refused() {
    check(
        Dialect::Bash,
        &[
            ("a comment for the expansion: runs `a`", "echo \"$(( a # ))\n ) )\"", "`#`"),
            ("not balanced: the output is run", "echo $(( $(case x in x) echo rm;; esac) ))", "balance"),
            ("parentheses in `${…}` count", "echo $(( ${x:-))\na #} ))", "balance"),
            ("brackets in `${…}` count", "echo $[ ${x:-]\na #} ]", "balance"),
            ("brackets in `$(…)` count", "echo $[ $(echo ]) ]", "balance"),
            (
                "substitutions in patterns are not read as such",
                "shopt -s extglob\necho @($(case x in x) a;; esac))",
                "balance",
            ),
            ("nor in regular expressions", "[[ a =~ ($(case x in x) a;; esac)) ]]", "balance"),
            ("brace expansion splits it", "a {b,$[1,2]}", "`$[`"),
            ("brace expansion splits it", "a {\"${x:-\"b,c\"}\",d}", "beside braces"),
            ("brace expansion pairs it otherwise", "a {${x:-{},b}", "beside braces"),
        ],
    );
}

#[test]
fn what_bash_glues_together_is_refused() {
    check(
        Dialect::Bash,
        &[
            ("`$x{a,b}` is `$xa $xb`", "a $x{b,c}", "beside braces"),
            ("`{$,x}HOME` is `$HOME xHOME`", "a {$,x}HOME", "beside braces"),
            ("`{$a,b}c` is `$ac bc`", "a {$b,c}d", "beside braces"),
            ("`~{root,x}` is `~root ~x`", "a ~{root,x}", "tilde"),
            ("`{~,x}/y` is `~/y x/y`", "a {~,x}/y", "tilde"),
            ("between `Z` and `a` is a backtick", "a {A..z}", "sequence"),
            ("braces that do not pair", "a {b,c", "pair"),
            ("braces that do not pair", "a {b,c}}", "pair"),
            ("an array goes on as another word", "x=(a){b}=c d", "glued"),
            ("a subscript without an assignment", "x[a b] c", "subscript"),
        ],
    );
}

#[test]
fn here_documents_that_may_end_elsewhere_are_refused() {
    check(
        Dialect::Bash,
        &[
            ("no body", "a <<E", "without a body"),
            ("no end", "a <<E\nb\n", "without its `E` line"),
            ("bash ends it at `)`", "x=$(a <<E\nE; b)\nE\n)", "begins with the delimiter"),
            ("bash ends it at the parenthesis", "x=$(a <<E)\nb\nE\n", "without a body"),
            ("a joined line", "a <<EF\nx\\\nEF\nE\\\nF\n", "continued line"),
            ("compared with its tabs and without", "a <<-'\tE'\nb\n\tE\n", "delimiter"),
            ("a computed delimiter", "a <<$x\nb\n$x\n", "delimiter"),
            ("bash forgets a separator behind it", "a $(b <<E\nE\nc; d)", "behind a here-document"),
            ("the line of another ends inside", "a <<E $(b\nc)\nE\n", "before a here-document"),
        ],
    );
}

#[test]
fn substitutions_that_bash_prints_wrongly_are_refused() {
    check(
        Dialect::Bash,
        &[
            ("`\\'` opens a string there", "x=$(y=(\\') a)", "backslash in an array"),
            ("printed as `coproc COPROC a`", "x=$(coproc a)", "coprocess"),
            ("printed as `case x in esac)`", "x=$(case x in (esac) a;; esac)", "`esac`"),
            ("printed as `{ a \\& }`", "x=$( { a \\&; } )", "`\\&`"),
            ("bash 5.1 runs `r`", "x=$($\nrm'')", "ends in `$`"),
            ("bash 5.1 decodes it", "x=$(a $ '\\x72m')", "ends in `$`"),
            ("printed as `time a > x`", "x=$(> x time a)", "`time`"),
        ],
    );
}

#[test]
fn posix_shells_get_only_what_they_all_read_alike() {
    check(
        Dialect::Posix,
        &[
            ("dash: background and truncate", "a &> b", "`&>`"),
            ("dash: `|` and `&`", "a |& b", "`|&`"),
            ("dash: an error", "a <<< b", "`<<<`"),
            ("dash: a parenthesis", "a <(b)", "where a word"),
            ("dash: a command named `[[`", "[[ a && b ]]", "`[[`"),
            ("dash: two subshells", "((a))", "`((`"),
            ("dash: a command named `function`", "function f { a; }", "`function`"),
            ("dash: a command", "select x in a; do b; done", "`select`"),
            ("dash: a command", "coproc a", "`coproc`"),
            ("dash: a dollar and a string", "a $'b'", "`$`"),
            ("dash: a dollar and a string", "a $\"b\"", "`$`"),
            ("dash: text", "a $[1]", "`$[`"),
            ("dash: an error", "x=(a)", "array"),
            ("dash: a command", "x[1]=a", "array"),
            ("dash: a command", "x+=a", "`+=`"),
            ("dash: text", "a {b,c}", "brace"),
            ("dash: text", "a {1..3}", "brace"),
            ("dash: an error", "a ${x/b/c}", "replacement"),
            ("dash: an error", "a ${x:1}", "slice"),
            ("dash: an error", "a ${!x}", "`${!"),
            ("dash: an error", "a ${x^^}", "case"),
            ("dash: an error", "a ${x@Q}", "transformation"),
            ("dash: an error", "for ((;;)); do a; done", "`for ((`"),
            ("dash: an error", "case x in a) b;& esac", "`;&`"),
            ("dash: an argument", "a {x}> b", "`{name}`"),
            ("dash: an argument", "a 10> b", "digit"),
            ("dash: an error", "a >& b", "copied descriptor"),
            ("dash: an error", "a @(b)", "pattern"),
            ("a negation or a pattern", "!(a)", "`!(`"),
            ("dash: a program", "time if", "`time`"),
            ("older shells", "a &\\\n& b", "continuation"),
        ],
    );
}

#[test]
fn posix_shells_get_everyday_text() {
    for text in [
        "cd src && ls -la | grep -v '^d' > out.txt 2>&1",
        "for f in *.txt; do echo \"$f\" `basename $f`; done",
        "if [ -f x ]; then . ./x; else echo \"${X:-none}\" $((1 + 2)); fi",
        "f() { local a=$1; printf '%s\\n' \"$a\"; }; f a; time ls; ! false",
        "cat <<EOF | sed 's/a/b/' >&2\n$HOME ${x%.c} $(pwd)\nEOF\n",
        "case $1 in -h|--help) usage;; *) exit 1;; esac; find . -name '*.o' -exec rm {} \\;",
        "x=1 y=\"$x\" sh -c 'echo $y' & wait",
    ] {
        assert!(parse(text, Dialect::Posix).is_ok(), "{:?}: `{text}`", parse(text, Dialect::Posix).err());
    }
}

#[test]
fn everyday_text_is_read() {
    for text in [
        "git commit -m \"$(cat <<'EOF'\nfix: don't (ever) `break`\n\n$x\nEOF\n)\"",
        "python3 - <<'PY' | tee out.log\nimport os\nprint('$(x)')\nPY\n",
        "for i in {1..5}; do curl -s \"http://localhost:8080/$i\" -o /dev/null -w '%{http_code}\\n'; done",
        "docker ps --format '{{.Names}}' | xargs -r -I{} docker logs {} 2>&1 | tail -n 20",
        "awk -F: '{ if ($3 >= 1000) print $1 }' users.txt | sort -u",
        "find . -type f \\( -name '*.rs' -o -name '*.toml' \\) -not -path './target/*' -print0 | xargs -0 grep -n TODO",
        "while IFS= read -r line; do printf '%s\\n' \"${line%%#*}\"; done < config.txt",
        "set -euo pipefail; trap 'rm -f \"$tmp\"' EXIT; tmp=$(mktemp)",
        "[[ \"$branch\" =~ ^(feature|fix)/[a-z0-9-]+$ ]] || { echo \"bad: ${branch@Q}\" >&2; exit 1; }",
        "declare -A m=([a]=1 [\"b c\"]=2); for k in \"${!m[@]}\"; do echo \"$k=${m[$k]}\"; done",
        "arr=(a \"b c\" 'd'); echo \"${#arr[@]} ${arr[-1]} ${arr[@]:1:2}\"",
        "PATH=\"$HOME/bin:$PATH\" LC_ALL=C make -j\"$(nproc)\" V=1 2>&1 | tee build.log",
        "diff <(sort a) <(sort b) && echo same || echo \"differs: $?\"",
        "sed -i 's/\\bfoo\\b/bar/g; s|/old|/new|' src/*.c",
        "echo \"$(date +%Y-%m-%d): ${USER:-$(id -un)}\" >> log; ((n++)); echo $((n * 2))",
        "cargo test -- --nocapture |& grep -E 'FAILED|panicked' && exit 1",
        "ls -1 | while read f; do [ -d \"$f\" ] && continue; mv -- \"$f\" \"${f// /_}\"; done",
        "git log --pretty=format:'%h %s' HEAD@{1}..HEAD stash@{0} | head -n 3",
        "case \"$1\" in start|stop) systemctl --user \"$1\" app ;; *) echo \"usage: $0 {start|stop}\"; exit 2 ;; esac",
        "npm run build --if-present -- --env=prod && (cd dist; tar czf ../out.tgz .)",
        "kubectl get pods -o jsonpath='{.items[*].metadata.name}' | tr ' ' '\\n'",
        "echo $'tab\\there' | cut -f2; printf '%s\\n' {a..e}{1,2}",
        "test -f \"${file:=default.txt}\" && wc -l < \"$file\" | awk '{print $1}'",
        "function greet() { local name=\"${1:?name required}\"; echo \"Hello, ${name^}!\"; }; greet world",
        "select opt in one two; do break; done; until ping -c1 host; do sleep 1; done &",
        "x=`echo \"hi\"`; echo \"${x:0:1} ${x##*/} ${x%.*} ${x/h/H}\"",
        "jq -r '.a[] | select(.b == \"c\") | .d' < in.json > out.txt 2> /dev/null",
    ] {
        assert!(parse(text, Dialect::Bash).is_ok(), "{:?}: `{text}`", parse(text, Dialect::Bash).err());
    }
}
