//! Something between sender and receiver that breaks connections and changes bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairway_units::random::Stream;
use socket2::Socket;

/// What happens to a connection, after so many bytes from the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// It is reset, in both directions.
    Reset,
    /// The same, after so many bytes towards the sender.
    ResetBack,
    /// It ends without a reset.
    Close,
    /// Nothing goes through any longer.
    Stall,
    /// One bit of a byte is another.
    Flip,
    /// One bit of a byte towards the sender is another.
    FlipBack,
}

/// Chooses what happens to each connection.
pub type Choose = Box<dyn FnMut(u32) -> Option<(Fault, u64)> + Send>;

pub struct Proxy {
    pub address: String,
    is_over: Arc<AtomicBool>,
}

impl Proxy {
    pub fn start(to: &str, choose: Choose) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, to) = (is_over.clone(), to.to_owned());
        let choose = Mutex::new(choose);
        std::thread::spawn(move || {
            for (near, number) in listener.incoming().zip(0..) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let fault = (choose.lock().unwrap())(number);
                let Ok(near) = near else { continue };
                let Ok(far) = TcpStream::connect(&to) else { continue };
                let back = matches!(fault, Some((Fault::FlipBack | Fault::ResetBack, _)));
                let (there, here) = if back { (None, fault) } else { (fault, None) };
                for (from, into, fault) in [(&near, &far, there), (&far, &near, here)] {
                    let (from, into) = (from.try_clone().unwrap(), into.try_clone().unwrap());
                    std::thread::spawn(move || forward(from, into, fault));
                }
            }
        });
        Proxy { address, is_over }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(&self.address);
    }
}

fn forward(mut from: TcpStream, mut into: TcpStream, fault: Option<(Fault, u64)>) {
    let mut buffer = vec![0; 64 << 10];
    let mut passed = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let at = fault.filter(|(_, at)| (passed..passed + count as u64).contains(at));
        if let Some((fault, at)) = at {
            let index = (at - passed) as usize;
            match fault {
                Fault::Flip | Fault::FlipBack => buffer[index] ^= 1 << (at % 8),
                Fault::Reset | Fault::ResetBack => {
                    let _ = into.write_all(&buffer[..index]);
                    for stream in [from, into] {
                        let socket = Socket::from(stream);
                        let _ = socket.set_linger(Some(Duration::ZERO));
                        // The other direction has handles of it, too: only this ends it now.
                        let _ = socket.shutdown(Shutdown::Both);
                    }
                    return;
                }
                Fault::Close => {
                    let _ = into.write_all(&buffer[..index]);
                    break;
                }
                Fault::Stall => {
                    let _ = into.write_all(&buffer[..index]);
                    // Held open until the sender gives it up.
                    std::thread::sleep(Duration::from_secs(20));
                    break;
                }
            }
        }
        passed += count as u64;
        if into.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

/// The first `most` connections get one of `faults`, at a random place of the first `within` bytes.
pub fn random(seed: &str, faults: &'static [Fault], most: u32, within: u64) -> Choose {
    let mut stream = Stream::new(1, seed);
    Box::new(move |number| {
        let fault = faults[stream.below(faults.len() as u64) as usize];
        // As often near the beginning as far from it.
        let within = within >> stream.below(12);
        let at = stream.below(1 + within);
        (number < most).then_some((fault, at))
    })
}
