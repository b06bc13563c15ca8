//! Says how the released program is linked: the static one, where it shrinks by an eighth.
//!
//! It aborts on a panic, so nothing ever reads unwinding tables; a packed relocation takes a bit in place of 24 bytes; and it
//! begins in the cellar (`picoclaw-sys`, `entry`), which fetches the program's tables in one piece.
//! Invariant: only a release build for musl is touched; every other build links as its target does by default.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=static.ld");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|has| has == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_ENV", "musl") && is("CARGO_CFG_TARGET_ARCH", "x86_64")
    {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/static.ld");
        for argument in
            [&format!("-T,{script}"), "--no-eh-frame-hdr", "-z,pack-relative-relocs", "-e,picoclaw_start"]
        {
            println!("cargo::rustc-link-arg-bins=-Wl,{argument}");
        }
    }
}
