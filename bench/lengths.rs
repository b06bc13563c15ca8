//! The guard and long inputs: up to 64 KiB, in shapes that could make a careless reader slow.
//!
//! Processor time, as for typical commands.
//!
//! Invariant: every shape has the length that its column says.

use super::Stop;
use super::guard::{Ground, guard};
use super::instance::BenchInstance;
use super::measure::{Clock, alone, time};
use super::say;
use picoclaw_policy::config::Guard as Mode;
use picoclaw_policy::shell::guard::NoFileSystem;
use std::fmt::Write as _;
use std::hint::black_box;

const KIB: usize = 1 << 10;
const LENGTHS: &[usize] = &[KIB, 4 * KIB, 16 * KIB, 64 * KIB];
/// A shape: what it begins with, what is repeated, what it ends with.
struct Shape {
    name: &'static str,
    begin: &'static str,
    again: &'static str,
    end: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape { name: "one command, many words", begin: "echo", again: " word", end: "" },
    Shape { name: "one command, many paths", begin: "cat", again: " src/lib.rs", end: "" },
    Shape { name: "one command, many options", begin: "ls", again: " --color=auto -l", end: "" },
    Shape { name: "one long quoted word", begin: "echo \"", again: "lorem ipsum ", end: "\"" },
    Shape { name: "one long plain word", begin: "echo ", again: "loremipsum", end: "" },
    Shape { name: "a here-document", begin: "cat <<'END'\n", again: "lorem ipsum dolor\n", end: "END" },
    Shape {
        name: "a here-document that expands",
        begin: "cat <<END\n",
        again: "lorem $HOME dolor\n",
        end: "END",
    },
    Shape { name: "many commands", begin: "true", again: "; ls -l src", end: "" },
    Shape { name: "many and-lists", begin: "true", again: " && true || true", end: "" },
    Shape { name: "a long pipeline", begin: "ls", again: " | grep -v x", end: "" },
    Shape { name: "many substitutions", begin: "echo", again: " $(ls src)", end: "" },
    Shape { name: "many backticks", begin: "echo", again: " `ls src`", end: "" },
    Shape { name: "many assignments", begin: "a=1", again: "; a=$a", end: "" },
    Shape { name: "a variable that grows", begin: "a=x", again: "; a=$a$a", end: "" },
    Shape { name: "many directory changes", begin: "cd src", again: "; cd ../src", end: "" },
    Shape { name: "many deeper directories", begin: "cd src", again: " && cd sub", end: "" },
    Shape { name: "many loops", begin: "true", again: "; for f in a b c; do echo $f; done", end: "" },
    Shape { name: "many conditions", begin: "true", again: "; if [ -f x ]; then ls; fi", end: "" },
    Shape { name: "many braces", begin: "echo", again: " {a,b,c}", end: "" },
    Shape { name: "one word of braces", begin: "echo ", again: "{a,b}", end: "" },
    Shape { name: "many globs", begin: "ls", again: " *.rs", end: "" },
    Shape { name: "many redirections", begin: "ls", again: " > out.txt", end: "" },
    Shape { name: "many wrappers", begin: "", again: "env nice ", end: "ls" },
    Shape { name: "many functions", begin: "true", again: "; f() { ls; }; f", end: "" },
    Shape { name: "many inner shells", begin: "true", again: "; sh -c 'ls src'", end: "" },
    Shape { name: "many arithmetics", begin: "echo", again: " $((1+2))", end: "" },
    Shape { name: "many refusals", begin: "true", again: "; rm -rf /etc", end: "" },
    Shape { name: "only spaces", begin: "ls", again: " ", end: "" },
    Shape { name: "only open parentheses", begin: "", again: "(", end: "" },
    Shape { name: "only dollars", begin: "echo ", again: "$", end: "" },
    Shape { name: "only slashes", begin: "cat ", again: "/", end: "" },
    Shape { name: "only backslashes", begin: "echo ", again: "\\\\", end: "" },
];

impl Shape {
    fn of(&self, length: usize) -> String {
        let room = length.saturating_sub(self.begin.len() + self.end.len());
        format!("{}{}{}", self.begin, self.again.repeat(room / self.again.len()), self.end)
    }
}

/// How judging grows with the length, shape by shape.
pub(crate) fn growing(instance: &BenchInstance) -> Result<(), Stop> {
    let guard = guard(Mode::Strict)?;
    let ground = Ground::of(instance)?;
    let context = ground.context(&NoFileSystem);
    let mut list = format!("{:40}", "judging long inputs (strict, text alone)");
    for length in LENGTHS {
        write!(list, " {:>10}", format!("{} KiB", length / KIB))?;
    }
    say(&list);
    for shape in SHAPES {
        let mut list = format!("{:40}", shape.name);
        for length in LENGTHS {
            let text = shape.of(*length);
            let took = often(&mut || {
                let _ = black_box(guard.judge(black_box(&text), &context));
                Ok(())
            })?;
            write!(list, " {:>10}", time(took))?;
        }
        say(&list);
    }
    say("");
    Ok(())
}

/// The median of as many runs as fit into a moment.
fn often(judge: &mut dyn FnMut() -> Result<(), Stop>) -> Result<f64, Stop> {
    let clock = Clock::Processor;
    let start = clock.now();
    judge()?;
    let once = (clock.now() - start).max(1e3);
    let rounds = (6e7 / once).clamp(5.0, 30.0) as usize;
    Ok(alone(clock, rounds, judge)?.median())
}
