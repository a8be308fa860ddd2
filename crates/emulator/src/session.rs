//! One run of a network under a kernel, from its instructions to what it has measured.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fairway_capture::packet::{Packet, Transport};
use fairway_capture::write::{Frame, ICMP, ICMP_BYTES, TCP_BYTES};
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
    let at = usize::from(bytes[0] & 0xf) * 4;
    match packet.transport {
        Transport::Other(ICMP) => {
            let header = bytes.get(at..at + ICMP_BYTES)?.try_into().ok()?;
            Frame::of_icmp(&packet, header).ok()
        }
        Transport::Tcp(tcp) => {
            let begin = at + TCP_BYTES;
            let options = bytes.get(begin..begin + usize::from(tcp.options.bytes))?;
            Frame::with_options(&packet, options).ok()
        }
        Transport::Udp(_) => Frame::of(&packet).ok(),
        Transport::Other(_) => None,
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

#[cfg(test)]
mod tests {
    use fairway_guest::record::QueueSample;

    use super::*;
    use crate::fixture::{
        BEGIN_NS, DATAGRAM_PORT, LEFT, PORT, RIGHT, instructions, packet, run_directory,
    };

    const MS: u64 = 1_000_000;

    fn begun(directory: &Path) -> Session {
        let mut session = Session::open(directory).unwrap();
        assert_eq!(session.devices(), 2);
        session.begin(BEGIN_NS);
        session
    }

    fn data() -> Vec<u8> {
        packet(6, [LEFT, RIGHT], [40_000, PORT], 1000)
    }

    fn outcomes(session: &mut Session) -> Vec<(Outcome, u32)> {
        std::iter::from_fn(|| session.outcome()).collect()
    }

    fn arrived(slot: u32, path: u32) -> Outcome {
        Outcome::Arrived { slot, path, is_marked: false }
    }

    #[test]
    fn a_packet_arrives_after_its_transmission_and_the_delay() {
        let directory = run_directory(&instructions().to_string());
        let mut session = begun(directory.path());
        let sent_ns = BEGIN_NS + 5 * MS;
        assert_eq!(session.send(sent_ns, &data()), Ok(Some((0, false))));
        session.advance(sent_ns + 11 * MS - 1).unwrap();
        assert_eq!(outcomes(&mut session), []);
        assert_eq!(session.next_event_ns(), sent_ns + 11 * MS);
        session.advance(sent_ns + 11 * MS).unwrap();
        // At the sink's device.
        assert_eq!(outcomes(&mut session), [(arrived(0, 0), 1)]);
        // An acknowledgement of 40 bytes takes 40 us to transmit, and arrives at the source's.
        let acknowledgement = packet(6, [RIGHT, LEFT], [PORT, 40_000], 40);
        let sent_ns = sent_ns + 11 * MS;
        assert_eq!(session.send(sent_ns, &acknowledgement), Ok(Some((0, false))));
        session.advance(sent_ns + 10_040_000).unwrap();
        assert_eq!(outcomes(&mut session), [(arrived(0, 1), 0)]);
    }

    #[test]
    fn a_packet_from_before_the_beginning_sets_out_then() {
        let directory = run_directory(&instructions().to_string());
        let mut session = begun(directory.path());
        assert_eq!(session.send(BEGIN_NS - 700 * MS, &data()), Ok(Some((0, false))));
        assert_eq!(session.advance(BEGIN_NS - 1), Ok(BEGIN_NS + MS));
        session.advance(BEGIN_NS + 11 * MS).unwrap();
        assert_eq!(outcomes(&mut session), [(arrived(0, 0), 1)]);
    }

    #[test]
    fn a_full_queue_drops_and_transmits_one_packet_after_the_other() {
        let directory = run_directory(&instructions().to_string());
        let mut session = begun(directory.path());
        for slot in 0..3 {
            assert_eq!(session.send(BEGIN_NS, &data()), Ok(Some((slot, false))));
        }
        assert_eq!(outcomes(&mut session), [(Outcome::Gone { slot: 2 }, 0)]);
        session.advance(BEGIN_NS + 11 * MS).unwrap();
        assert_eq!(outcomes(&mut session), [(arrived(0, 0), 1)]);
        session.advance(BEGIN_NS + 12 * MS).unwrap();
        assert_eq!(outcomes(&mut session), [(arrived(1, 0), 1)]);
    }

    #[test]
    fn a_slot_is_free_when_the_kernel_was_told_of_its_packet() {
        let directory = run_directory(&instructions().to_string());
        let mut session = begun(directory.path());
        session.send(BEGIN_NS, &data()).unwrap();
        // The first packet has arrived, and the kernel does not know yet.
        let now_ns = BEGIN_NS + 20 * MS;
        assert_eq!(session.send(now_ns, &data()), Ok(Some((1, false))));
        assert_eq!(outcomes(&mut session), [(arrived(0, 0), 1)]);
        assert_eq!(session.send(now_ns, &data()), Ok(Some((0, false))));
    }

    #[test]
    fn a_datagram_is_held_by_its_sender_until_it_is_transmitted() {
        let directory = run_directory(&instructions().to_string());
        let mut session = begun(directory.path());
        let datagram = packet(17, [LEFT, RIGHT], [40_000, DATAGRAM_PORT], 1000);
        assert_eq!(session.send(BEGIN_NS, &datagram), Ok(Some((0, true))));
        session.advance(BEGIN_NS + MS).unwrap();
        assert_eq!(outcomes(&mut session), [(Outcome::Left { slot: 0 }, 0)]);
        session.advance(BEGIN_NS + 11 * MS).unwrap();
        // The path behind both of the connection.
        assert_eq!(outcomes(&mut session), [(arrived(0, 2), 1)]);
    }

    #[test]
    fn what_was_carried_is_written_at_the_end() {
        let directory = run_directory(&instructions().to_string());
        let mut session = begun(directory.path());
        for _ in 0..3 {
            session.send(BEGIN_NS + MS, &data()).unwrap();
        }
        let stranger = packet(6, [LEFT, LEFT], [40_000, PORT], 40);
        assert_eq!(session.send(BEGIN_NS + MS, &stranger), Ok(None));
        assert_eq!(session.send(BEGIN_NS + MS, &[0x60; 40]), Ok(None));
        session.finish(BEGIN_NS + 1000 * MS).unwrap();
        let text = fs::read(directory.path().join(MEASURED)).unwrap();
        let measured: Measured = serde_json::from_slice(&text).unwrap();
        assert_eq!(measured.foreign_packets, 2);
        assert_eq!((measured.arrivals, measured.dropped), (vec![2, 0], vec![1, 0]));
        // 960 bytes of data each; the second has waited for the first.
        let [from, to] = &measured.flows[0];
        assert_eq!((from.arrivals, to.arrivals, to.missing), (0, 2, 1));
        assert_eq!((to.wire_bytes, to.delivered_bytes), (2000, 1920));
        assert_eq!(to.delay_ns, 11 * MS + 12 * MS);
        let samples = fs::read(directory.path().join(SAMPLES)).unwrap();
        let mut rest = samples.as_slice();
        let first = QueueSample::read(&mut rest).unwrap().unwrap();
        assert_eq!((first.t_ns, first.bytes, first.drops), (100 * MS, 2000, 1));
    }

    #[test]
    fn captures_keep_options_that_the_simulator_has_not() {
        // MP_CAPABLE of a SYN in version 1 (RFC 8684 section 3.1), and an MSS of 1460.
        let options = [2, 4, 0x05, 0xb4, 30, 4, 0x01, 0x01];
        let mut syn = packet(6, [LEFT, RIGHT], [40_000, PORT], 48);
        syn.extend(options);
        syn[32] = 0x70;
        let frame = captured(&syn, 48).unwrap();
        // Behind 14 bytes of Ethernet and 20 of IP, which gives its length in bytes 2 and 3.
        assert_eq!(frame.frame_bytes(), 14 + 48);
        assert_eq!((&frame.header()[16..18], frame.header()[46]), (&[0, 48][..], 0x70));
        assert_eq!(frame.header()[54..], options);
    }

    #[test]
    fn instructions_that_are_none_are_refused_with_their_file() {
        let of_another = {
            let mut found = instructions();
            found["flows"].as_array_mut().unwrap().pop();
            found.to_string()
        };
        let without_experiment = {
            let mut found = instructions();
            found["experiment"] = serde_json::Value::Null;
            found.to_string()
        };
        for (text, expected) in [
            ("{", "EOF while parsing"),
            (r#"{"flows": []}"#, "missing field `devices`"),
            (of_another.as_str(), "1 flows where the experiment has 2"),
            (without_experiment.as_str(), "experiment"),
        ] {
            let directory = run_directory(text);
            let why = Session::open(directory.path()).err().unwrap();
            let path = directory.path().join(INSTRUCTIONS);
            assert!(why.starts_with(&format!("{}: ", path.display())), "{why}");
            assert!(why.contains(expected), "{why}");
        }
        let why = Session::open(Path::new("/nowhere")).err().unwrap();
        assert_eq!(why, "/nowhere/network.json: No such file or directory (os error 2)");
    }
}
