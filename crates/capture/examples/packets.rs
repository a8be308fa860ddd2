//! Prints what is read of a capture, one packet a line, to hold against other programs:
//! `cargo run -p fairway-capture --example packets -- FILE`.

use std::error::Error;
use std::io::{BufWriter, Write};

use fairway_capture::Transport;
use fairway_capture::read::Capture;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let mut capture = Capture::open(path.as_ref())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    while let Some(packet) = capture.next() {
        let at_s = packet.at.as_nanos() / 1_000_000_000;
        let at_ns = packet.at.as_nanos() % 1_000_000_000;
        write!(out, "{}\t{at_s}.{at_ns:09}\t", packet.number)?;
        write!(out, "{}\t{}\t{}\t", packet.source, packet.destination, packet.frame_bytes)?;
        match &packet.transport {
            Transport::Tcp(tcp) => writeln!(
                out,
                "{}\t{}\t{:03x}\t{}\t{}\t{:?}\t{:?}{}",
                tcp.seq,
                tcp.ack,
                tcp.flags,
                tcp.window,
                tcp.payload_bytes,
                tcp.options.timestamps,
                tcp.options.sack_blocks(),
                if tcp.is_checksum_wrong { "\twrong checksum" } else { "" },
            )?,
            Transport::Udp(udp) => writeln!(out, "udp {}", udp.payload_bytes)?,
            Transport::Other(protocol) => writeln!(out, "protocol {protocol}")?,
        }
    }
    out.flush()?;
    eprintln!("{:#?}\n{:#?}\n{:#?}", capture.counts(), capture.interfaces(), capture.damaged());
    Ok(())
}
