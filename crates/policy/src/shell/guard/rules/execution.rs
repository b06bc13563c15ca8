//! Programs that run code from a pipe. Shells and interpreters are followed elsewhere.

use super::{Rule, always};
use crate::shell::guard::command_options::M4;
use crate::shell::guard::interpreter::Input;
use crate::shell::guard::interpreters::{is_descriptor, is_stream};
use crate::shell::guard::options::{Grammar, NamedCommand};
use crate::shell::guard::partial_word::PartialWord;

fn reads_stream(call: &NamedCommand<'_>, values: &[&str]) -> bool {
    let streamed = !matches!(call.input, Input::Inherited);
    values.iter().any(|value| is_descriptor(value) || (streamed && is_stream(value)))
}

/// Options of make with a value.
const MAKE: &str = "f C I o W E file makefile directory include-dir old-file what-if eval";

const LOADER: Grammar =
    Grammar::leading("library-path preload audit argv0 inhibit-rpath glibc-hwcaps-prepend glibc-hwcaps-mask");

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "pipe-to-interpreter",
        why: "takes its rules or its script from a pipe",
        programs: "make gmake sed gsed awk gawk mawk nawk",
        when: |call| {
            let grammar = if call.name.ends_with("make") { MAKE } else { "f e F v file" };
            reads_stream(call, &call.values(grammar, "f file makefile"))
        },
        stops: &["cat x | make -ef -", "cat x | sed -f - y"],
        spares: &["make -f x.mk", "sed -f x.sed y"],
    },
    Rule {
        name: "loader-preload",
        why: "loads other code into a program",
        programs: "ld.so ld-* ld64.so*",
        when: |call| call.name.contains(".so") && call.has(LOADER, "preload audit"),
        stops: &["/lib64/ld-linux-x86-64.so.2 --preload ./x.so /bin/ls", "ld.so --audit=./x.so /bin/ls"],
        spares: &["ld.so --library-path lib /bin/ls", "ld.so /bin/ls --preload"],
    },
    Rule {
        name: "pipe-to-interpreter",
        why: "runs the macros of m4, which run commands, from the line or from a pipe",
        programs: "m4 gm4",
        when: |call| {
            let typed = matches!(call.input, Input::Text(_) | Input::Piped(_));
            let files = call.operands(M4);
            let is_code = |value: &&str| value.contains('(') || value.contains("syscmd");
            typed && (files.is_empty() || files.iter().any(|file| is_stream(file)))
                || files.iter().any(|file| is_descriptor(file))
                || call.values(M4, "D define").iter().any(is_code)
        },
        stops: &["echo x | m4", "m4 <<< x", "m4 -D 'x=syscmd(id)' a.m4"],
        spares: &["m4 a.m4", "m4 -DX=1 a.m4", "m4 < a.m4", "echo x | m4 a.m4"],
    },
    Rule {
        name: "inline-shell",
        why: "calls a function that runs a command",
        programs: "erl werl",
        when: |call| {
            let calls =
                |pair: &[PartialWord]| matches!(pair[0].as_str(), "-run" | "-s") && pair[1].as_str() == "os";
            call.args.windows(2).any(calls)
        },
        stops: &["erl -run os cmd id"],
        spares: &["erl -noshell -s init stop", "erl -run main start"],
    },
    Rule {
        name: "make-shell",
        why: "gives make another shell, or rules on its command line",
        programs: "make gmake",
        when: |call| {
            let is_shell = |arg: &PartialWord| {
                let name =
                    arg.as_str().split_once('=').map(|(name, _)| name.trim_end_matches([':', '+', '?', '!']));
                matches!(name, Some("SHELL" | ".SHELLFLAGS"))
            };
            call.args.iter().any(is_shell) || !call.values(MAKE, "E eval").is_empty()
        },
        stops: &["make SHELL=x", "make SHELL:=x", "make --ev x", "make -sE x"],
        spares: &["make CC=gcc", "make -j4"],
    },
    Rule {
        name: "fork-bomb",
        why: "starts processes until the machine stands still",
        programs: "stress stress-ng forkbomb",
        when: always,
        stops: &["stress-ng --fork 100"],
        spares: &["echo stress"],
    },
];
