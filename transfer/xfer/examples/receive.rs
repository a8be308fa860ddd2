//! What it costs to receive a file: from a socket, summed on the way, onto a disk.
//!
//! ```console
//! $ cargo run --release -p fairway-xfer --example receive -- DIR [MB] [MBps]
//! ```
//!
//! prints the processor time of the receiving thread for each gigabyte, and how long the disk took
//! after the last byte. Another thread sends from its cache, if it is told to, not faster than so many
//! megabytes a second.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use fairway_xfer::store::{Entry, Name, Options, Store, scratch};
use nix::sys::resource::{UsageWho, getrusage};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("the first argument is a directory");
    let mut number = |default: u64| match arguments.next() {
        Some(text) => text.parse().expect("a number of megabytes"),
        None => default,
    };
    let (bytes, pace) = (number(1000) * 1_000_000, number(0) * 1_000_000);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || send(TcpStream::connect(address).unwrap(), bytes, pace));
    let (mut socket, _) = listener.accept().unwrap();

    let store = Store::open(directory.as_ref(), Options { overwrite: true, ..Options::default() });
    let delivery = store.unwrap().delivery();
    let name = Name::new("received").unwrap();
    let entry = Entry { name, bytes: Some(bytes), mode: 0o600, modified: None, hole_bytes: 0 };
    let incoming = delivery.begin(entry).unwrap();
    let (began, mut buffer) = (Instant::now(), scratch());
    for index in 0..incoming.blocks().count().unwrap() {
        let mut writing = incoming.write(index).unwrap();
        let block = incoming.blocks().bytes(index);
        let sum = writing.receive(&mut socket, block, &mut buffer).unwrap();
        writing.done(&sum).unwrap();
    }
    let (received, cost_s) = (began.elapsed().as_secs_f64(), processor_s());
    incoming.finish().unwrap();
    delivery.settle().unwrap();
    let (whole, gigabytes) = (began.elapsed().as_secs_f64(), bytes as f64 / 1e9);
    println!(
        "{:.2} Gbit/s; {:.3} s of a processor a gigabyte; {:.2} s more until it was on disk",
        8.0 * gigabytes / received,
        cost_s / gigabytes,
        whole - received,
    );
    std::fs::remove_file(std::path::Path::new(&directory).join("received")).unwrap();
}

fn send(mut socket: TcpStream, bytes: u64, pace: u64) {
    let (mut left, began, buffer) = (bytes, Instant::now(), scratch());
    while left > 0 {
        let piece = buffer.len().min(left as usize);
        if socket.write_all(&buffer[..piece]).is_err() {
            return;
        }
        left -= piece as u64;
        if pace > 0 {
            let due = Duration::from_secs_f64((bytes - left) as f64 / pace as f64);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
    }
}

/// What this thread used so far, in the kernel and out of it.
fn processor_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
