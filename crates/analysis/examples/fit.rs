//! Prints the path that a connection of a capture took, as JSON:
//! `cargo run -p fairway-analysis --example fit FILE [CONNECTION]`.

use std::error::Error;
use std::path::Path;

use fairway_analysis::{Analyser, FitOptions, Options};
use fairway_capture::read::Capture;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: fit FILE [CONNECTION]")?;
    let connection: u64 = std::env::args().nth(2).map_or(Ok(1), |number| number.parse())?;
    let mut capture = Capture::open(Path::new(&file))?;
    let fit = Some(FitOptions { connection, overhead_bytes: 0 });
    let mut analyser = Analyser::new(Options { fit, ..Options::default() });
    while let Some(packet) = capture.next() {
        analyser.packet(packet);
    }
    let connections = analyser.finish().connections;
    let directions = connections.into_iter().flat_map(|connection| connection.directions);
    for path in directions.filter_map(|direction| direction.path) {
        serde_json::to_writer(std::io::stdout().lock(), &path)?;
        println!();
    }
    Ok(())
}
