//! Runs the first point of an experiment file and prints how many packets it delivered: a small
//! process for profilers.
//!
//!     cargo build --release -p fairway-sim --example profile
//!     perf record target/release/examples/profile examples/pair.toml 100
//!
//! `FAIRWAY_CORES` processors are used, one without.

use std::process::ExitCode;

use fairway_sim::{Control, run_on};
use fairway_spec::{from_document, plan};

fn main() -> ExitCode {
    match profile() {
        Ok(packets) => {
            println!("{packets} packets");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn profile() -> Result<u64, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: profile EXPERIMENT.toml [SECONDS]")?;
    let text = std::fs::read_to_string(&file)?;
    let mut document = plan(&text, &file)?.points.swap_remove(0).document;
    if let Some(seconds) = arguments.next() {
        document["duration"] = format!("{seconds} s").into();
        document["measure"]["window"] = serde_json::json!(["0 s", format!("{seconds} s")]);
    }
    let cores = std::env::var("FAIRWAY_CORES").map_or(Ok(1), |cores| cores.parse())?;
    Ok(run_on(&from_document(&document)?, &Control::default(), cores)?.summary.packets)
}
