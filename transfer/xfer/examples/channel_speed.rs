//! How fast one channel carries payload over the loopback interface, and what of the two ends'
//! processors it takes: `cargo run --release -p fairway-xfer --example channel_speed [BYTES]`.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use fairway_xfer::auth::{Identity, Purpose, Security, admit, greet};
use fairway_xfer::socket::{Connection, Wishes, connect};
use fairway_xfer::{Control, Error};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

const TIMEOUT: Duration = Duration::from_secs(10);
const BLOCK_BYTES: usize = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bytes: usize = std::env::args().nth(1).map_or(Ok(8 << 30), |text| text.parse())?;
    let blocks = bytes.div_ceil(BLOCK_BYTES);
    for security in [Security::Plain, Security::Encrypted] {
        let identity = Identity::new()?;
        let token = identity.token().clone();
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let control = Control::new();
        let receiving = std::thread::spawn(move || -> Result<f64, Error> {
            let accepted = listener.accept().map_err(|error| Error::failed("accepting", error))?;
            let socket = accepted.0.into();
            let held = Control::new().hold(&socket).map_err(|e| Error::failed("accepting", e))?;
            let connection = Connection { socket, held };
            let (mut channel, _) = admit(connection, &identity, security, TIMEOUT)?;
            let before_s = processor_s();
            let mut block = vec![0; BLOCK_BYTES];
            for _ in 0..blocks {
                channel.read_payload(&mut block)?;
            }
            channel.write_frame(&true)?;
            Ok(processor_s() - before_s)
        });
        let connection = connect(&[address], &Wishes::default(), TIMEOUT, &control)?;
        let mut channel = greet(connection, &token, security, &Purpose::Control, TIMEOUT)?;
        let (before_s, start) = (processor_s(), Instant::now());
        let block = vec![0x5a; BLOCK_BYTES];
        for _ in 0..blocks {
            channel.write_payload(&block)?;
        }
        let sender_s = processor_s() - before_s;
        channel.read_frame::<bool>()?;
        let elapsed_s = start.elapsed().as_secs_f64();
        let receiver_s = receiving.join().map_err(|_| "the receiver has failed")??;
        let rate = |time_s: f64| (blocks * BLOCK_BYTES * 8) as f64 / time_s / 1e9;
        println!(
            "{security:?}: {:.1} Gbit/s; of a processor that does nothing else, the sender {:.1} \
             and the receiver {:.1} Gbit/s",
            rate(elapsed_s),
            rate(sender_s),
            rate(receiver_s)
        );
    }
    Ok(())
}

/// Time of a processor that this thread has had.
fn processor_s() -> f64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0.0, |usage| {
        (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
    })
}
