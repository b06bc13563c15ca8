//! Linker flags of the static release binary.

fn main() {
    println!("cargo::rustc-env=PICOCLAW_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|has| has == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_ENV", "musl") {
        // Relative relocations as DT_RELR, one bit each instead of 24 bytes; musl applies them since 1.2.4.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
