//! Which congestion control the senders of captures have: a line of JSON for each that has sent
//! 100 kB or more, with the file and the number of the connection. `benches/identify` runs it.

use std::path::Path;
use std::process::ExitCode;

use fairway_analysis::{Analyser, Options};
use fairway_capture::read::Capture;

/// Less than this is no bulk transfer.
const LEAST_BYTES: u64 = 100_000;

fn main() -> ExitCode {
    for file in std::env::args().skip(1) {
        if let Err(error) = identify(&file) {
            eprintln!("identify: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn identify(file: &str) -> Result<(), String> {
    let mut capture = Capture::open(Path::new(file)).map_err(|error| error.to_string())?;
    let mut analyser = Analyser::new(Options { identify: true, ..Options::default() });
    while let Some(packet) = capture.next() {
        analyser.packet(packet);
    }
    for connection in analyser.finish().connections {
        for direction in
            connection.directions.iter().filter(|one| one.data.data_bytes >= LEAST_BYTES)
        {
            let found = serde_json::to_string(&direction.congestion_control);
            let found = found.map_err(|error| format!("{file}: {error}"))?;
            let id = connection.id;
            println!(
                "{{\"file\": {file:?}, \"connection\": {id}, \"congestion_control\": {found}}}"
            );
        }
    }
    Ok(())
}
