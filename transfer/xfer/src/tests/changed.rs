//! A byte that is changed on the way, at every place of a transfer: it ends in words, or goes on and
//! arrives whole, within the sender's patience.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::Control;
use crate::recv::ReceiveOptions;
use crate::recv::tests::receiver::Receiver;
use crate::send::{SendOptions, send_from};
use crate::store::{Disk, Faults, Limits, Options, Store};
use crate::tests::crash::{Ended, Ground, ground};
use crate::tests::simulated::{Chances, Simulation, network};

const PATIENCE: Duration = Duration::from_secs(20);
/// As of a liar: four times its patience, and pauses between attempts.
const BOUND: Duration = Duration::from_secs(4 * 20 + 10);
/// More than a connection of the transfer has in one direction.
const BYTES: u64 = 1200;

/// Sends a small file without encryption, and changes the byte at this place of what an end sends; whether
/// there was one.
fn run(ground: &Ground, end: usize, at: u64) -> bool {
    let chances = Chances {
        switch_one_in: 10,
        spurious_one_in: 1000,
        slow_one_in: 1_000_000,
        step: Duration::from_micros(1),
    };
    Simulation::run(at, chances, |simulation| {
        simulation.set_network(network::Faults { capacity: 20_000, ..Default::default() });
        simulation.change(end, at);
        let disk = Disk::new(1, Faults::default(), u64::MAX);
        let mut receive = ReceiveOptions::new("out");
        receive.plain = true;
        let (of, on, meter) = (simulation.clone(), disk.clone(), ground.meter.clone());
        let identity = Arc::clone(&ground.identity);
        let receiving = simulation.start_process(1, move || {
            let limits = Limits { spare_bytes: 0, ..Limits::default() };
            let options = Options { limits, ..Options::default() };
            let receiver = Receiver::new(&receive, Store::on(&on, options).unwrap(), &meter);
            receiver.run(&of, &identity);
        });
        while !simulation.listens(network::PORT) {
            simulation.pause(10, &receiving);
        }
        let path = ground.directory.join("small");
        let token = ground.identity.token().to_string();
        let mut send = SendOptions::new(&path, "127.0.0.1", token);
        (send.plain, send.patience_s) = (true, Some(PATIENCE.as_secs_f64()));
        let (ended, meter): (Ended, _) = (Arc::new(Mutex::new(None)), ground.meter.clone());
        let of = Arc::clone(&ended);
        let sending = simulation.start_process(2, move || {
            *of.lock().unwrap() = Some(send_from(&send, None, &Control::new(), &meter));
        });
        while !sending.has_ended() {
            simulation.pause(1000, &sending);
            let waits = simulation.now();
            assert!(waits < BOUND, "byte {at} of end {end} is waited for: {waits:?}");
        }
        let sent = ended.lock().unwrap().take().expect("it has ended");
        if sent.is_ok() {
            let there = disk.read("small").expect("it is confirmed");
            assert!(there == std::fs::read(&path).unwrap(), "byte {at} of end {end} arrived");
        }
        simulation.network_faults().1 > 0
    })
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let ground = ground(directory.path());
    std::fs::write(directory.path().join("small"), [5; 300]).unwrap();
    // The ends in the order in which they are made: of the control connection the sender's and the
    // receiver's, then those of the data connection.
    for end in 0..4 {
        let changed = (0..BYTES).take_while(|at| run(&ground, end, *at)).count() as u64;
        // Preamble, letter, nonce, letter and a frame of one byte are the least.
        let least = 8 + 1 + 32 + 1 + 29;
        assert!((least..BYTES).contains(&changed), "{changed} bytes of end {end} were changed");
    }
}
