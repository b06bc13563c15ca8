//! Random and hostile command lines, the same in every run: for the tests and for the bench.

/// Pieces of shell that random inputs are made of.
const PIECES: &[&str] = &[
    "ls ",
    "cat ",
    "rm -rf ",
    "x",
    "$x",
    "${x:-y}",
    "$(ls)",
    "`pwd`",
    "; ",
    " && ",
    " | ",
    " || ",
    "for i in a b; do ",
    "done; ",
    "if ",
    "then ",
    "fi; ",
    "{ ",
    "}; ",
    "( ",
    ") ",
    "x=1; ",
    "x=$x$y; ",
    "a=(b c) ",
    "a+=($x b) ",
    "${a[@]} ",
    "'q q' ",
    "\"$x\" ",
    "../ ",
    "/etc/passwd ",
    "*.rs ",
    "*/*/* ",
    "{a,b} ",
    "{1..9} ",
    "> out ",
    "< in ",
    "<<< text ",
    "while read l; do ",
    "case x in a) ",
    ";; esac ",
    "git ",
    "find . -exec ",
    "\\; ",
    "xargs ",
    "env ",
    "sh -c '",
    "eval \"$x\" ",
    "' ",
    "$((1+x)) ",
    "[[ -f x ]] ",
    "f() { ",
    "f ",
    "cd src; ",
    "ln -s / l; ",
    "mv a b; ",
    "declare -i n; ",
    "\n",
    "${x//a/bb} ",
    "${x%%b*} ",
    "& ",
    "python3 -c 'import os' ",
    "sed s/a/b/ ",
    "alias f=ls; ",
];

/// A random input of up to 120 pieces; `seed` makes the next one.
pub(crate) fn random_input(seed: &mut u64) -> String {
    // xorshift: the same inputs in every run.
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed as usize
    };
    let length = 1 + next() % 120;
    (0..length).map(|_| PIECES[next() % PIECES.len()]).collect()
}

/// The longest text that the guard reads.
const LONGEST: usize = 60_000;
/// Number of hostile shapes.
const SHAPES: usize = 50;

/// Shapes whose cost could multiply, each at several sizes.
pub(crate) fn hostile_input(at: usize) -> String {
    let size = at / SHAPES;
    let (depth, bytes) = (5 + 6 * size, (LONGEST >> (9 - size.min(9))).max(100));
    let nested = |open: &dyn Fn(usize) -> String, inner: &str, close: &str| {
        format!("{}{inner}{}", (0..depth).map(open).collect::<String>(), close.repeat(depth))
    };
    let fill = |part: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for n in 0.. {
            let next = part(n);
            if text.len() + next.len() > bytes {
                break;
            }
            text.push_str(&next);
        }
        text
    };
    let half = "x".repeat(bytes / 2);
    match at % SHAPES {
        0 => nested(&|n| format!("for v{n} in {n} x; do "), "((1)); ", "done; "),
        1 => nested(&|n| format!("while v{n}=$v{n}x; do "), ":; ", "done; "),
        2 => nested(&|n| format!("if v{n}=1; then v{n}=$v{n}2; "), ":; ", "else y=3; fi; "),
        3 => nested(&|n| format!("case $v{n} in a) v{n}=b; "), ":; ", ";; b) x=$z;; esac; "),
        4 => nested(&|_| "$(echo ".to_owned(), "x", ")"),
        5 => nested(&|_| "(cd src; ".to_owned(), "ls", ")"),
        6 => (1..depth).map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n - 1, n - 1)).collect::<String>() + "f4",
        7 => format!("cat {}", "../".repeat(40 * depth)),
        8 => "x={a,b}{c,d}; y=$x$x; [ -f $y ]; ".repeat(depth),
        9 => format!("python3 -c 'os.system({})'", "\"ls x\",".repeat(10 * depth)),
        // Values that are copied into many variables.
        10 => format!("a={half};{}", fill(&|n| format!("b{n}=$a;"))),
        11 => format!("a={half};{}", fill(&|n| format!("b{n}=$a&&"))) + "ls",
        12 => format!("a={half};{}", fill(&|n| format!("b{n}=$a|"))) + "ls",
        13 => fill(&|n| format!("a{n}=b&&")) + "ls",
        14 => fill(&|n| format!("if a{n}=b;then c;fi;")),
        15 => fill(&|n| format!("a{n}=b;(ls);")),
        16 => format!("{}{}", fill(&|n| format!("a{n}=b;")), "(a=c);".repeat(200)),
        17 => format!("a={half}; for i in 1 2 3; do a=$a$a; b=$a; done"),
        18 => format!(
            "a=({}); for i in \"${{a[@]}}\"; do b=(\"${{a[@]}}\" $i); done",
            fill(&|n| format!("w{n} "))
        ),
        19 => format!("a=({}); {}", fill(&|n| format!("w{n} ")), "ls \"${a[@]}\";".repeat(300)),
        20 => format!("a=({}); {}", fill(&|n| format!("w{n} ")), "a+=(\"${a[@]}\");".repeat(30)),
        21 => format!("set -- {}; {}", fill(&|n| format!("w{n} ")), "set -- \"$@\" \"$@\";".repeat(30)),
        22 => format!("a={half}; {}", "b=${a//x/yy};".repeat(300)),
        23 => format!("a={half}; {}", "b=${a//x*x/y};".repeat(300)),
        24 => format!("a={half}; {}", "b=${a%%*x*x*x*y};".repeat(300)),
        25 => format!("a={half}; {}", "sh -c \"$a\";".repeat(300)),
        26 => format!("a='{}'; {}", fill(&|_| "ls;".to_owned()), "eval \"$a\";".repeat(300)),
        27 => format!("a='{}'; {}", fill(&|_| "x$(".to_owned()), "eval \"$a\";".repeat(300)),
        28 => format!("f() {{ {} }}; {}", fill(&|n| format!("a{n}=b;")), "f;".repeat(300)),
        29 => fill(&|n| format!("f{n}() {{ ls; }};(f{n});")),
        30 => fill(&|n| format!("ln -s /etc l{n}; cat l{n}/x;")),
        31 => fill(&|n| format!("echo x > o{n}; (cat o{n});")),
        32 => fill(&|n| format!("mkdir d{n} && cd d{n};")),
        33 => fill(&|n| format!("cd d{n} || cd e{n};")),
        34 => fill(&|n| format!("alias a{n}='a{}; a{}';", n + 1, n + 1)) + "a0",
        35 => format!("ls {}", fill(&|_| "*".to_owned())),
        36 => format!("ls {}", fill(&|_| "*/".to_owned())),
        37 => format!("ls {}", fill(&|_| "{a,b}".to_owned())),
        38 => format!("ls {}", fill(&|_| "{a,{b,".to_owned())),
        39 => format!("ls {}", fill(&|_| "{1..9}".to_owned())),
        40 => format!("sed -e '{}' x", fill(&|_| "s/a/b/;".to_owned())),
        41 => format!("awk '{}' x", fill(&|_| "{ system(\"ls\") }".to_owned())),
        42 => format!("perl -e '{}'", fill(&|_| "open(F,\"a/b\");".to_owned())),
        43 => format!("find . {}", fill(&|_| "-exec ls {} \\; ".to_owned())),
        44 => format!("git {}", fill(&|n| format!("-c a.b{n}=c "))),
        45 => fill(&|_| "env ".to_owned()) + "ls",
        46 => fill(&|_| "time nice xargs ".to_owned()) + "ls",
        47 => format!("tar {}", fill(&|n| format!("--a{n}=b "))),
        48 => format!("{}ls\n{}", fill(&|n| format!("cat <<E{n};")), fill(&|n| format!("$(ls)\nE{n}\n"))),
        _ => format!("a=$(cat <<E\n{half}\nE\n); {}", "echo $a | sh;".repeat(300)),
    }
}
