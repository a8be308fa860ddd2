//! Bounds of the module's memory, which the linker writes into it.

/// Most linear memory in bytes: what a tab of a phone may have, and far below the 4 GiB of WebAssembly.
const MEMORY: u64 = 1 << 30;

/// Stack in bytes: a main thread's on Linux, since the linker's own 1 MiB is less than Rust's threads have.
const STACK: u64 = 8 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={MEMORY}");
        println!("cargo::rustc-link-arg-cdylib=-zstack-size={STACK}");
    }
}
