//! Prints what a pair of captures tells together as JSON:
//! `cargo run -p fairway-analysis --example pair SENDER RECEIVER`.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [first, second] = files.as_slice() else {
        return Err("usage: pair SENDER RECEIVER".into());
    };
    let paths = [Path::new(first), Path::new(second)];
    let report = fairway_analysis::pair::analyse(paths, [first, second], &mut |_| true)?;
    serde_json::to_writer_pretty(std::io::stdout().lock(), &report)?;
    println!();
    Ok(())
}
