//! Says how the released program is linked: the static one, where it shrinks by an eighth.
//!
//! It aborts on a panic, so nothing ever reads unwinding tables; a packed relocation takes a bit in place of 24 bytes; it
//! begins in the cellar (`picoclaw-sys`, `tables`), which fetches the program's tables in one piece; the functions that a
//! start runs (`start.order`) lie side by side, since every stretch of code that is touched costs a page fault; and the tables that it
//! does not look at (`start.cold`) lie apart, to be left as they are.
//! Invariant: only a release build for musl is touched; every other build links as its target does by default.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-env=PICOCLAW_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=static.ld");
    println!("cargo::rerun-if-changed=start.order");
    println!("cargo::rerun-if-changed=start.cold");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|has| has == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_ENV", "musl") && is("CARGO_CFG_TARGET_ARCH", "x86_64")
    {
        let place = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
        for (list, script) in [("start.order", side_by_side as Script), ("start.cold", apart)] {
            match written(&place, list, script) {
                Ok(script) => link(&format!("-T,{}", script.display())),
                Err(why) => println!("cargo::error={list}: {why}"),
            }
        }
        link(&format!("-T,{}", place.join("static.ld").display()));
        for argument in ["--no-eh-frame-hdr", "-z,pack-relative-relocs", "-e,picoclaw_start"] {
            link(argument);
        }
    }
}

fn link(argument: &str) {
    println!("cargo::rustc-link-arg-bins=-Wl,{argument}");
}

/// Makes a link script of the lines of a list.
type Script = fn(&mut dyn Iterator<Item = &str>) -> String;

/// Writes the link script that belongs to a list; where it is.
#[expect(clippy::disallowed_methods, reason = "a build is no tool: it writes where cargo tells it to")]
fn written(from: &Path, list: &str, script: Script) -> std::io::Result<PathBuf> {
    let lines = std::fs::read_to_string(from.join(list))?;
    let script = script(&mut lines.lines().filter(|line| !line.starts_with('#')));
    let place = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join(format!("{list}.ld"));
    std::fs::write(&place, script)?;
    Ok(place)
}

/// Puts the listed functions, the program's beginning and the C library before all other code.
fn side_by_side(names: &mut dyn Iterator<Item = &str>) -> String {
    let ours = "    *(.text.picoclaw_start .text.picoclaw_memory .text.main)\n    *rcrt1.o:*(.text)\n    *libc.a:*(.text .text.*)\n";
    // What the compiler takes for unlikely it names so.
    let listed: String = names.map(|name| format!("    *(.text.{name} .text.unlikely.{name})\n")).collect();
    format!("SECTIONS\n{{\n  .text.start :\n  {{\n{ours}{listed}  }}\n}}\nINSERT BEFORE .text;\n")
}

/// Puts the tables of the listed modules, and those that are listed by name, on pages of their own, and the modules' texts
/// before all others.
fn apart(cold: &mut dyn Iterator<Item = &str>) -> String {
    let (mut tables, mut texts) = (String::new(), String::new());
    for one in cold {
        if one.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            tables += &format!("    *(.data.rel.ro..Lanon.{one}.*)\n");
            texts += &format!("    *(.rodata..Lanon.{one}.*)\n");
        } else {
            tables += &format!("    *(.data.rel.ro.{one})\n");
        }
    }
    format!(
        "SECTIONS\n{{\n  .data.rel.ro.cold : ALIGN(4096)\n  {{\n    picoclaw_cold_start = .;\n{tables}    \
         . = ALIGN(4096);\n    picoclaw_cold_end = .;\n  }}\n}}\nINSERT BEFORE .data.rel.ro;\n\
         SECTIONS\n{{\n  .rodata.cold : ALIGN(CONSTANT(MAXPAGESIZE))\n  {{\n{texts}  }}\n}}\nINSERT BEFORE .rodata;\n"
    )
}
