//! Says how the released program is linked: the static one, where it shrinks by an eighth.
//!
//! It aborts on a panic, so nothing ever reads unwinding tables; a packed relocation takes a bit in place of 24 bytes; it
//! begins in the cellar (`picoclaw-sys`, `entry`), which fetches the program's tables in one piece; and the functions that a
//! start runs (`start.order`) lie side by side, since every stretch of code that is touched costs a page fault.
//! Invariant: only a release build for musl is touched; every other build links as its target does by default.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=static.ld");
    println!("cargo::rerun-if-changed=start.order");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|has| has == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_ENV", "musl") && is("CARGO_CFG_TARGET_ARCH", "x86_64")
    {
        let place = Path::new(env!("CARGO_MANIFEST_DIR"));
        match side_by_side(&place.join("start.order")) {
            Ok(script) => link(&format!("-T,{}", script.display())),
            Err(why) => println!("cargo::error=start.order: {why}"),
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

/// Writes the link script that puts the listed functions, and the C library, before all other code.
#[expect(clippy::disallowed_methods, reason = "a build is no tool: it writes where cargo tells it to")]
fn side_by_side(list: &Path) -> std::io::Result<PathBuf> {
    let names = std::fs::read_to_string(list)?;
    let ours = "    *(.text.picoclaw_start .text.picoclaw_memory)\n    *libc.a:*(.text .text.*)\n";
    let mut script = format!("SECTIONS\n{{\n  .text.start :\n  {{\n{ours}");
    for name in names.lines().filter(|line| !line.starts_with('#')) {
        script += &format!("    *(.text.{name})\n");
    }
    script += "  }\n}\nINSERT BEFORE .text;\n";
    let place = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("start.ld");
    std::fs::write(&place, script)?;
    Ok(place)
}
