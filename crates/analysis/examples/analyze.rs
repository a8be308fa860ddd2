//! Prints what a capture holds as JSON: `cargo run -p fairway-analysis --example analyze FILE`.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use fairway_analysis::{Analyser, Options};
use fairway_capture::read::Capture;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: analyze FILE")?;
    let mut capture = Capture::open(Path::new(&file))?;
    let mut analyser = Analyser::new(Options { series: true, ..Options::default() });
    while let Some(packet) = capture.next() {
        analyser.packet(packet);
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer(&mut out, &analyser.finish())?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
