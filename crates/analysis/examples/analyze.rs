//! Prints what a capture holds as JSON, without what went on over time:
//! `cargo run -p fairway-analysis --example analyze FILE`.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use fairway_analysis::Options;
use fairway_analysis::whole::analyse;
use fairway_schema::Control;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: analyze FILE")?;
    let mut found = analyse(Path::new(&file), &file, Options::default(), &Control::default())?;
    found.report.group = None;
    for direction in found.report.connections.iter_mut().flat_map(|one| &mut one.directions) {
        if let Some(window) = &mut direction.window {
            window.series = Default::default();
        }
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer(&mut out, &found)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
