//! Prints what a capture holds as JSON: `cargo run -p fairway-analysis --example analyze FILE`.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use fairway_analysis::Options;
use fairway_analysis::whole::{Control, analyse};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: analyze FILE")?;
    let found = analyse(Path::new(&file), &file, Options::default(), &Control::default())?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer(&mut out, &found)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
