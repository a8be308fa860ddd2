//! One run of a network under a kernel, from its instructions to what it has measured.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fairway_capture::packet::{Packet, Transport};
use fairway_capture::write::{Frame, ICMP, ICMP_BYTES};
use fairway_guest::record::{FlowMark, QueueSample};
use fairway_sim::{Emulated, Emulator, Outcome, PathCounts, Sent};
use fairway_spec::from_document;
use fairway_units::Time;

use crate::headers::Headers;
use crate::losses;
use crate::message::{
    ERROR, INSTRUCTIONS, Instructions, LOSSES, MEASURED, Measured, OfLosses, SAMPLES,
};
use crate::paths::Paths;

/// Where captures go, in a run directory.
const CAPTURES: &str = "pcap";
/// Link type of packets without a frame (LINKTYPE_RAW of the tcpdump group's list).
const RAW_IP: u16 = 101;

/// A network that carries the packets of a kernel.
pub struct Session {
    directory: PathBuf,
    emulator: Emulator,
    paths: Paths,
    devices: u32,
    /// Precedence of the packets of each path, and whether their sender's buffer holds them.
    marks: Vec<(u8, bool)>,
    samples: BufWriter<File>,
    /// When the run begins, as the kernel's clock has it.
    begin_ns: u64,
    foreign_packets: u64,
    outcomes: Vec<Outcome>,
    next_outcome: usize,
}

impl Session {
    /// Begins as the instructions in a run directory say.
    ///
    /// # Errors
    /// What cannot be read or made, and why.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let path = directory.join(INSTRUCTIONS);
        let failed =
            |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read(&path).map_err(|error| failed(&path, &error))?;
        let instructions: Instructions =
            serde_json::from_slice(&text).map_err(|error| failed(&path, &error))?;
        let experiment =
            from_document(&instructions.experiment).map_err(|error| failed(&path, &error))?;
        let connections = experiment.flows.len();
        let flows = connections + experiment.datagrams.len();
        if instructions.flows.len() != flows {
            let found = instructions.flows.len();
            return Err(failed(&path, &format!("{found} flows where the experiment has {flows}")));
        }
        let of_connections = experiment.flows.iter().flat_map(|flow| [(flow.precedence, false); 2]);
        let of_datagrams =
            experiment.datagrams.iter().map(|flow| (flow.precedence, flow.send_buffer.is_some()));
        let marks = of_connections.chain(of_datagrams).collect();
        let captures = directory.join(CAPTURES);
        if experiment.capture.is_on() {
            fs::create_dir_all(&captures).map_err(|error| failed(&captures, &error))?;
        }
        let samples = directory.join(SAMPLES);
        let file = File::create(&samples).map_err(|error| failed(&samples, &error))?;
        Ok(Session {
            directory: directory.to_owned(),
            emulator: Emulator::new(experiment, &captures).map_err(|e| failed(&captures, &e))?,
            paths: Paths::new(instructions.flows, connections, &instructions.groups),
            devices: instructions.devices,
            marks,
            samples: BufWriter::new(file),
            begin_ns: 0,
            foreign_packets: 0,
            outcomes: Vec::new(),
            next_outcome: 0,
        })
    }

    /// How many devices the kernel makes.
    pub fn devices(&self) -> u32 {
        self.devices
    }

    /// The run begins at a time of the kernel's clock.
    pub fn begin(&mut self, begin_ns: u64) {
        self.begin_ns = begin_ns;
    }

    /// A host sends a packet. Returns its slot, and whether its sender's buffer holds it; none if it
    /// belongs to no flow.
    pub fn send(&mut self, now_ns: u64, bytes: &[u8]) -> Result<Option<(u32, bool)>, String> {
        self.advance(now_ns)?;
        let found = Headers::read(bytes);
        let Some((packet, path)) = found.and_then(|packet| Some((packet, self.paths.of(&packet)?)))
        else {
            self.foreign_packets += 1;
            return Ok(None);
        };
        let (precedence, is_held) = self.marks[path as usize];
        let sent = Sent {
            path,
            wire_bytes: packet.ip_bytes,
            has_payload: packet.has_payload,
            payload_bytes: packet.payload_bytes,
            ecn: packet.ecn,
            precedence,
            is_held,
        };
        let frame = match self.emulator.captures() {
            true => captured(bytes, packet.ip_bytes),
            false => None,
        };
        let slot = self.emulator.send(sent, frame);
        self.outcomes.extend(self.emulator.outcomes());
        Ok(Some((slot, is_held)))
    }

    /// Time passes. Returns when the network does something next, on the kernel's clock.
    pub fn advance(&mut self, now_ns: u64) -> Result<u64, String> {
        let now = Time::from_nanos(now_ns.saturating_sub(self.begin_ns));
        self.emulator.advance(now).map_err(|violation| violation.to_string())?;
        self.outcomes.extend(self.emulator.outcomes());
        self.write_samples().map_err(|error| format!("writing {SAMPLES}: {error}"))?;
        Ok(self.next_event_ns())
    }

    /// When the network does something next, on the kernel's clock.
    pub fn next_event_ns(&self) -> u64 {
        self.emulator.next_event().as_nanos().saturating_add(self.begin_ns)
    }

    /// What became of a packet, and the device that it arrives at, if there is anything to tell.
    pub fn outcome(&mut self) -> Option<(Outcome, u32)> {
        let Some(outcome) = self.outcomes.get(self.next_outcome).copied() else {
            self.outcomes.clear();
            self.next_outcome = 0;
            return None;
        };
        self.next_outcome += 1;
        // Not before: a packet that is sent meanwhile would take the place of one that has just arrived.
        let device = match outcome {
            Outcome::Arrived { slot, path, .. } => {
                self.emulator.release(slot);
                self.paths.device_at_end(path)
            }
            Outcome::Gone { slot } => {
                self.emulator.release(slot);
                0
            }
            _ => 0,
        };
        Some((outcome, device))
    }

    /// The run ends: what was measured goes into the run directory.
    ///
    /// # Errors
    /// A packet that is not accounted for, or a file that cannot be written.
    pub fn finish(mut self, now_ns: u64) -> Result<(), String> {
        self.advance(now_ns)?;
        self.samples.flush().map_err(|error| format!("writing {SAMPLES}: {error}"))?;
        let emulated = self.emulator.finish()?;
        if let Some(list) = &emulated.losses {
            let path = self.directory.join(LOSSES);
            File::create(&path)
                .and_then(|file| losses::write(list, &mut BufWriter::new(file)))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let measured = measured(emulated, &self.paths, self.foreign_packets);
        let path = self.directory.join(MEASURED);
        let text = serde_json::to_vec(&measured).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn write_samples(&mut self) -> io::Result<()> {
        for sample in self.emulator.samples() {
            let sample = QueueSample {
                t_ns: sample.at.as_nanos(),
                queue: sample.link,
                backlog_packets: sample.backlog_packets as u32,
                backlog_bytes: sample.backlog_bytes,
                packets: 0,
                bytes: sample.transmitted_bytes,
                drops: sample.drops,
                losses: sample.losses,
            };
            sample.write(&mut self.samples)?;
        }
        Ok(())
    }
}

/// A packet as captures show it, from its first bytes.
fn captured(bytes: &[u8], ip_bytes: u32) -> Option<Frame> {
    let packet = Packet::of_frame(RAW_IP, bytes, ip_bytes)?;
    match packet.transport {
        Transport::Other(ICMP) => {
            let at = usize::from(bytes[0] & 0xf) * 4;
            let header = bytes.get(at..at + ICMP_BYTES)?.try_into().ok()?;
            Frame::of_icmp(&packet, header).ok()
        }
        _ => Frame::of(&packet).ok(),
    }
}

/// Says in a run directory why a network was given up.
pub fn note_failure(directory: &Path, why: &str) {
    // Without it, the console has to do.
    let _ = fs::write(directory.join(ERROR), why);
}

fn measured(emulated: Emulated, of: &Paths, foreign_packets: u64) -> Measured {
    let Emulated { links, wlan, window, paths, losses, link_ids, routes, remarks } = emulated;
    let mark = |counts: &PathCounts| FlowMark {
        arrivals: counts.arrivals,
        wire_bytes: counts.wire_bytes,
        delivered_bytes: counts.payload_bytes,
        delay_ns: counts.delay_ns,
        missing: counts.missing,
        ..FlowMark::default()
    };
    let none = PathCounts::default();
    let at = |end: usize, path: u32| window[end].get(path as usize).unwrap_or(&none);
    let marks = |path: u32| [0, 1].map(|end| mark(at(end, path)));
    let dropped = |path: u32| at(1, path).dropped - at(0, path).dropped;
    let arrivals = |path: u32| paths[path as usize].arrivals;
    let forward = || (0..of.flows()).map(|flow| of.forward(flow));
    let back = || (0..of.connections()).filter_map(|flow| of.back(flow));
    let both = |flow| arrivals(of.forward(flow)) + of.back(flow).map_or(0, arrivals);
    Measured {
        links,
        wlan,
        flows: forward().map(marks).collect(),
        back: back().map(marks).collect(),
        dropped: forward().map(dropped).collect(),
        dropped_back: back().map(dropped).collect(),
        arrivals: (0..of.flows()).map(both).collect(),
        routes,
        foreign_packets,
        remarks,
        losses: losses.map(|losses| OfLosses { link_ids, left_out: losses.left_out }),
    }
}
