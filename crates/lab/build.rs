//! Memory limits of the module, set by the linker.

/// Limit of linear memory in bytes: what a tab on a phone may use, far below WebAssembly's 4 GiB.
const MEMORY: u64 = 1 << 30;

/// Stack in bytes: the main thread's default on Linux. The linker's default, 1 MiB, is less than Rust threads get.
const STACK: u64 = 8 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={MEMORY}");
        println!("cargo::rustc-link-arg-cdylib=-zstack-size={STACK}");
    }
}
