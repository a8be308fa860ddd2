//! Writes the packets of a namespace to files, one for each device, that Wireshark reads
//! (draft-ietf-opsawg-pcap, with nanoseconds).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;

use fairway_guest::plan::Plan;
use socket2::Socket;

use crate::setup::RUN_DIRECTORY;
use crate::sys::{Frame, device_index};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
/// The most that a ring keeps of a packet.
const SNAP_BYTES: u32 = 256;

/// The captures of one namespace.
pub struct Capture {
    devices: Vec<(i32, BufWriter<File>)>,
}

impl Capture {
    /// Opens a file for each device of a namespace, which the calling thread is in.
    pub fn open(plan: &Plan, namespace: usize, any_socket: &Socket) -> io::Result<Self> {
        let directory = Path::new(RUN_DIRECTORY).join("pcap");
        fs::create_dir_all(&directory)?;
        let name = &plan.namespaces[namespace].name;
        let mut devices = Vec::new();
        for (_, device) in plan.devices.iter().filter(|(index, _)| *index == namespace) {
            let mut file =
                BufWriter::new(File::create(directory.join(format!("{name}.{device}.pcap")))?);
            write_head(&mut file)?;
            devices.push((device_index(any_socket.as_fd(), device)?, file));
        }
        Ok(Capture { devices })
    }

    /// Writes one packet; its time counts from the beginning of the run.
    pub fn write(&mut self, frame: &Frame, begin_wall_ns: u64) -> io::Result<()> {
        let Some((_, file)) = self.devices.iter_mut().find(|(index, _)| *index == frame.device)
        else {
            return Ok(());
        };
        write_packet(file, frame, frame.wall_ns.saturating_sub(begin_wall_ns))
    }

    /// Writes out what is still in memory.
    pub fn finish(self) -> io::Result<()> {
        self.devices.into_iter().try_for_each(|(_, file)| file.into_inner()?.sync_all())
    }
}

fn write_head(file: &mut impl Write) -> io::Result<()> {
    file.write_all(&MAGIC_NANOSECONDS.to_le_bytes())?;
    file.write_all(&[2, 0, 4, 0])?; // version 2.4
    for field in [0, 0, SNAP_BYTES, LINKTYPE_ETHERNET] {
        file.write_all(&field.to_le_bytes())?;
    }
    Ok(())
}

fn write_packet(file: &mut impl Write, frame: &Frame, t_ns: u64) -> io::Result<()> {
    let seconds = u32::try_from(t_ns / 1_000_000_000).unwrap_or(u32::MAX);
    let nanoseconds = (t_ns % 1_000_000_000) as u32;
    for field in [seconds, nanoseconds, frame.bytes.len() as u32, frame.length] {
        file.write_all(&field.to_le_bytes())?;
    }
    file.write_all(frame.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As tcpdump writes a file with `--nano`: 24 bytes, then 16 before each packet.
    #[test]
    fn a_file_is_what_wireshark_reads() {
        let mut file = Vec::new();
        write_head(&mut file).unwrap();
        let head =
            [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0];
        assert_eq!(file, head);
        let frame = Frame { wall_ns: 0, device: 1, outgoing: true, length: 1514, bytes: b"abc" };
        write_packet(&mut file, &frame, 2_000_000_005).unwrap();
        let packet = [2, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 0xea, 5, 0, 0, b'a', b'b', b'c'];
        assert_eq!(file[24..], packet);
    }
}
