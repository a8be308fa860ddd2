//! Peers that know the token and say anything: the other side neither panics nor hangs, writes
//! nothing but what was finished, and believes nothing that is not so.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairway_units::random::Stream;
use fairway_xfer::auth::{Identity, Purpose, Security, Token, admit, greet};
use fairway_xfer::measure::{Meter, Subject};
use fairway_xfer::recv::{Meters, ReceiveOptions, receive};
use fairway_xfer::send::{SendOptions, Streams, send};
use fairway_xfer::socket::{Connection, Wishes, connect};
use fairway_xfer::store::{Hole, Modified, Sum};
use fairway_xfer::wire::messages::{
    Begin, DataHead, Kind, Offered, Run, ToReceiver, ToSender, connection_number,
};
use fairway_xfer::wire::{Channel, ControlReceiver, ControlSender};
use fairway_xfer::{Control, Error, Event};

const LONG: Duration = Duration::from_secs(600);
/// Sessions of noise in each direction; each has some dozens of messages.
const SESSIONS: u64 = 60;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics of any thread.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            shown(panic);
        }));
    });
}

fn meter(control: &Control) -> Meter {
    Meter::start(Subject::new("hostile", "hostile", "transfer"), control).unwrap()
}

/// Draws what could be said.
struct Noise(Stream);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn number(&mut self) -> u32 {
        match self.below(8) {
            0 => u32::MAX,
            1 => self.0.bits32(),
            _ => self.below(4) as u32,
        }
    }

    fn size(&mut self) -> u64 {
        match self.below(8) {
            0 => u64::MAX,
            1 => self.0.bits64(),
            2 => 3 << 20,
            3 => 0,
            _ => self.below(3_000_000),
        }
    }

    fn sum(&mut self) -> Sum {
        std::array::from_fn(|_| self.below(256) as u8)
    }

    fn runs(&mut self) -> Vec<Run> {
        (0..self.below(4))
            .map(|_| Run { file: self.number(), first: self.number(), count: self.number() })
            .collect()
    }

    fn holes(&mut self) -> Vec<Hole> {
        let most = if self.below(4) == 0 { 300 } else { 2 };
        (0..self.below(most)).map(|_| Hole { at: self.number(), bytes: self.number() }).collect()
    }

    fn name(&mut self) -> Vec<u8> {
        let names: [&[u8]; 14] = [
            b"a",
            b"b",
            b"a/b",
            b"..",
            b"../escaped",
            b"/escaped",
            b"",
            b"a//b",
            b"./a",
            b"x\0y",
            b".fairway-partial/x",
            b"link/x",
            b"\xff\xfe",
            b"x/",
        ];
        match self.below(16) {
            14 => vec![b'n'; 5000],
            15 => (0..self.below(300)).map(|_| self.below(256) as u8).collect(),
            known => names[known as usize].to_vec(),
        }
    }

    fn sender_says(&mut self) -> ToReceiver {
        match self.below(12) {
            0 => ToReceiver::Begin(self.begin()),
            1 => ToReceiver::Length { file: self.number(), bytes: self.size() },
            2 => ToReceiver::Finish { file: self.number(), digest: self.sum() },
            3 => ToReceiver::Abandon { file: self.number() },
            4 => ToReceiver::End { entries: self.number(), digest: self.sum() },
            5 if self.below(4) == 0 => ToReceiver::Bye,
            5 if self.below(4) == 0 => ToReceiver::GiveUp { why: "\u{1b}[2J\n".repeat(20) },
            _ => {
                let entries = (0..self.below(3)).map(|_| self.offered()).collect();
                ToReceiver::Offer { first: self.number(), entries }
            }
        }
    }

    fn begin(&mut self) -> Begin {
        Begin {
            transfer: std::array::from_fn(|_| self.below(2) as u8),
            streams: self.number(),
            entries: self.size(),
            bytes: self.size(),
            patience_ms: self.number(),
        }
    }

    fn offered(&mut self) -> Offered {
        let bytes = self.size();
        Offered {
            name: self.name(),
            kind: match self.below(4) {
                0 => Kind::Directory,
                1 => Kind::File { bytes: None },
                _ => Kind::File { bytes: Some(bytes) },
            },
            mode: self.0.bits32(),
            modified: (self.below(2) == 0)
                .then(|| Modified { seconds: self.0.bits64() as i64, nanos: self.0.bits32() }),
            hole_bytes: self.size(),
        }
    }

    fn receiver_says(&mut self) -> ToSender {
        match self.below(12) {
            0 => {
                let sums = (0..self.below(5)).map(|_| (self.number(), self.sum())).collect();
                ToSender::Claims { file: self.number(), sums }
            }
            1..=3 => ToSender::Ready { file: self.below(2) as u32 },
            4 => ToSender::Arrived(self.runs()),
            5 => ToSender::Bad { file: self.number(), block: self.number() },
            6 => ToSender::Lost { connection: self.number(), why: "lost".into() },
            7 | 8 => ToSender::Stored { file: self.number() },
            9 => ToSender::Confirmed { digest: self.sum() },
            10 if self.below(4) == 0 => ToSender::Refused { why: "no".into() },
            10 if self.below(4) == 0 => ToSender::Busy { why: "later".into() },
            11 if self.below(4) == 0 => self.welcome(0),
            _ => ToSender::Arrived(vec![Run { file: 0, first: 0, count: u32::MAX }]),
        }
    }

    fn welcome(&mut self, session: u64) -> ToSender {
        ToSender::Welcome {
            session,
            streams: self.number(),
            resumed: self.below(2) == 0,
            patience_ms: self.number(),
        }
    }
}

fn enter(address: &str, token: &Token, purpose: Purpose) -> Result<Channel, Error> {
    let address = address.parse().unwrap();
    let connection = connect(&[address], &Wishes::default(), LONG, &Control::new())?;
    greet(connection, token, Security::Plain, &purpose, LONG)
}

/// A sender's session of noise; any error is as well.
fn storm(address: &str, token: &Token, noise: &mut Noise) -> Result<(), Error> {
    let mut channel = enter(address, token, Purpose::Control)?;
    channel.set_patience(Duration::from_millis(200))?;
    let mut session = noise.below(3);
    if noise.below(8) > 0 {
        channel.write_frame(&ToReceiver::Begin(noise.begin()))?;
        if let Ok(Some(ToSender::Welcome { session: given, .. })) = channel.read_frame() {
            session = given;
        }
    }
    let (sender, mut receiver) = channel.into_control();
    let talks = noise.below(2) == 0;
    for number in 0..noise.below(30) {
        if number == 0 && noise.below(4) > 0 {
            let entries = vec![noise.offered(), noise.offered()];
            sender.send(&ToReceiver::Offer { first: 0, entries })?;
        }
        match noise.below(4) {
            0 => pour(address, token, session, noise).unwrap_or(()),
            1 if talks => drop(receiver.receive::<ToSender>()),
            _ => sender.send(&noise.sender_says())?,
        }
    }
    Ok(())
}

/// A data connection of noise.
fn pour(address: &str, token: &Token, session: u64, noise: &mut Noise) -> Result<(), Error> {
    let stream = connection_number(noise.number(), noise.below(3) as u32);
    let mut channel = enter(address, token, Purpose::Data { session, stream })?;
    let (file, mut block) = (noise.number(), noise.number());
    for _ in 0..noise.below(8) {
        if noise.below(3) == 0 {
            block = noise.number();
        }
        let bytes = noise.size().min(u64::from(u32::MAX)) as u32;
        let head = match noise.below(10) {
            0 => DataHead::Idle,
            1 => DataHead::End,
            _ => DataHead::Block { file, block, bytes, holes: noise.holes() },
        };
        channel.write_frame(&head)?;
        if matches!(head, DataHead::Block { .. }) {
            let told = if noise.below(4) == 0 { noise.size() } else { u64::from(bytes) };
            channel.write_payload(&vec![7; told.min(4 << 20) as usize])?;
            channel.write_frame(&noise.sum())?;
        }
    }
    Ok(())
}

#[test]
fn a_receiver_survives_senders_that_say_anything() {
    watch_panics();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    // What a link in the receiver's directory leads to is none of a sender's business.
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, out.join("link")).unwrap();
    let mut options = ReceiveOptions::new(&out);
    (options.bind, options.plain, options.sync) = (Some("127.0.0.1:0".into()), true, false);
    (options.timeout_s, options.linger_s) = (Some(2.0), Some(1.0));
    options.limits.bytes = Some(64 << 20);
    let control = Control::new();
    let (running, meter) = (control.clone(), meter(&control));
    let receiving = std::thread::spawn(move || receive(&options, &running, Meters::All(meter)));
    let (address, token) = listening(&control);
    for session in 0..SESSIONS {
        let mut noise = Noise(Stream::new(session, "sender"));
        let _ = storm(&address, &token, &mut noise);
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "it wrote through a link");
    let beside: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(beside.len(), 2, "it wrote elsewhere: {beside:?}");
    // Not even an empty file, whose digest nobody has drawn.
    assert_eq!(files_below(&out), Vec::<PathBuf>::new(), "it has its final name");

    let source = folder.path().join("source");
    let content: Vec<u8> = (0..5_000_000_u32).map(|at| (at >> 8) as u8 ^ at as u8).collect();
    std::fs::write(&source, &content).unwrap();
    let mut options = SendOptions::new(&source, &address, token.to_string());
    (options.plain, options.streams) = (true, Streams::Fixed(2));
    let sending = Control::new();
    send(&options, &sending, &self::meter(&sending)).unwrap();
    assert!(std::fs::read(out.join("source")).unwrap() == content);
    control.cancel();
    receiving.join().unwrap().unwrap();
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}

/// Where a receiver listens, and its token.
fn listening(control: &Control) -> (String, Token) {
    let (mut address, until) = (String::new(), Instant::now() + LONG);
    loop {
        for event in control.take_events() {
            match event {
                Event::Listening { address: found } => address = found,
                Event::Token { token } => return (address, token.parse().unwrap()),
                _ => {}
            }
        }
        assert!(Instant::now() < until && !control.sleep(Duration::from_millis(10)));
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".fairway-partial" {
            found.extend(files_below(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// A receiver of noise, until the sender has ended.
fn answer(listener: &TcpListener, identity: &Identity, sending: &Control, noise: &mut Noise) {
    let mut ends: Vec<(ControlSender, ControlReceiver)> = Vec::new();
    let mut streams = Vec::new();
    listener.set_nonblocking(true).unwrap();
    while !sending.is_cancelled() {
        if let Ok((socket, _)) = listener.accept() {
            socket.set_nonblocking(false).unwrap();
            let socket = socket.into();
            let held = Control::new().hold(&socket).unwrap();
            let connection = Connection { socket, held };
            let admitted = admit(connection, identity, Security::Plain, LONG);
            match admitted {
                Ok((mut channel, Purpose::Control)) => {
                    let _ = channel.read_frame::<ToReceiver>();
                    let _ = channel.write_frame(&noise.welcome(1));
                    ends.push(channel.into_control());
                }
                Ok((channel, _)) => streams.push(channel),
                Err(_) => {}
            }
        }
        let said = ends.last().map(|(sender, _)| sender.send(&noise.receiver_says()));
        if matches!(said, Some(Err(_))) || noise.below(20) == 0 {
            ends.pop();
        }
        sending.sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_sender_believes_no_receiver_that_says_anything() {
    watch_panics();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, vec![5; 3_000_000]).unwrap();
    for session in 0..SESSIONS / 3 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let identity = Identity::new().unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut options = SendOptions::new(&source, address, identity.token().to_string());
        (options.plain, options.streams) = (true, Streams::Fixed(2));
        (options.timeout_s, options.patience_s) = (Some(0.5), Some(0.5));
        let ended = Control::new();
        let answering = {
            let ended = ended.clone();
            std::thread::spawn(move || {
                let mut noise = Noise(Stream::new(session, "receiver"));
                answer(&listener, &identity, &ended, &mut noise);
            })
        };
        let sending = Control::new();
        let sent = send(&options, &sending, &meter(&sending));
        assert!(sent.is_err(), "it believed that all has arrived");
        ended.cancel();
        answering.join().unwrap();
    }
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}

/// A word that a receiver says again and again.
type Lie = fn(&ControlSender) -> Result<(), Error>;

const LIES: [(&str, Lie); 10] = [
    ("signs of life", |to| to.keep_alive()),
    ("no block", |to| to.send(&ToSender::Arrived(vec![]))),
    ("a block", |to| to.send(&ToSender::Arrived(vec![Run { file: 0, first: 0, count: 1 }]))),
    ("all blocks", |to| to.send(&ToSender::Arrived(vec![Run { file: 0, first: 0, count: !0 }]))),
    ("a block of another file", |to| {
        to.send(&ToSender::Arrived(vec![Run { file: 1, first: 0, count: 1 }]))
    }),
    ("claims", |to| {
        to.send(&ToSender::Claims { file: 0, sums: vec![(0, [7; 32]), (!0, [7; 32])] })
    }),
    ("readiness", |to| to.send(&ToSender::Ready { file: 0 })),
    ("losses", |to| {
        let why = String::from("lost");
        to.send(&ToSender::Lost { connection: connection_number(0, 1), why })
    }),
    ("damage", |to| to.send(&ToSender::Bad { file: 0, block: !0 })),
    ("half a message", |to| {
        let sent = to.socket().write(&[0xff]).map(drop);
        sent.map_err(|error| Error::failed("lying", error))
    }),
];

/// A receiver that says one thing and no other, and reads nothing, or all that comes.
fn lie(listener: &TcpListener, identity: &Identity, sending: &Control, is_deaf: bool, lie: Lie) {
    let mut ends = Vec::new();
    listener.set_nonblocking(true).unwrap();
    std::thread::scope(|scope| {
        while !sending.is_cancelled() {
            if let Ok((socket, _)) = listener.accept() {
                socket.set_nonblocking(false).unwrap();
                let socket = socket.into();
                let held = sending.hold(&socket).unwrap();
                let connection = Connection { socket, held };
                match admit(connection, identity, Security::Plain, LONG) {
                    Ok((mut channel, Purpose::Control)) => {
                        let _ = channel.read_frame::<ToReceiver>();
                        let (streams, patience_ms) = (2, 400);
                        let welcome =
                            ToSender::Welcome { session: 0, streams, resumed: false, patience_ms };
                        let _ = channel.write_frame(&welcome);
                        ends.push(channel.into_control());
                    }
                    Ok((mut channel, _)) if !is_deaf => {
                        scope.spawn(move || while channel.read_payload(&mut [0]).is_ok() {});
                    }
                    Ok((channel, _)) => std::mem::forget(channel),
                    Err(_) => {}
                }
            }
            ends.retain(|(sender, _)| lie(sender).is_ok());
            sending.sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn nothing_that_a_receiver_says_again_and_again_holds_a_sender() {
    let ground = tempfile::tempdir().unwrap();
    let path = ground.path().join("a");
    std::fs::write(&path, vec![5; 3_000_000]).unwrap();
    let identity = Identity::new().unwrap();
    for (what, said) in LIES {
        for is_deaf in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let mut options = SendOptions::new(&path, address, identity.token().to_string());
            (options.plain, options.streams) = (true, Streams::Fixed(2));
            (options.patience_s, options.timeout_s) = (Some(0.4), Some(30.0));
            let (sending, ended) = (Control::new(), Control::new());
            let began = Instant::now();
            let sent = std::thread::scope(|scope| {
                scope.spawn(|| lie(&listener, &identity, &ended, is_deaf, said));
                let sent = send(&options, &sending, &meter(&sending));
                ended.cancel();
                sent
            });
            assert!(sent.is_err(), "{what}: {sent:?}");
            assert!(began.elapsed() < LONG / 10, "{what} hold it");
            if what == "signs of life" {
                let said = sent.unwrap_err().to_string();
                assert!(said.contains("acknowledged nothing new for 0.4 s"), "{said}");
            }
        }
    }
}

#[test]
fn a_sender_that_brings_nothing_new_is_told_so_and_ended() {
    let ground = tempfile::tempdir().unwrap();
    let mut options = ReceiveOptions::new(ground.path().join("out"));
    (options.bind, options.plain) = (Some("127.0.0.1:0".into()), true);
    (options.patience_s, options.timeout_s) = (Some(0.5), Some(30.0));
    let control = Control::new();
    let (running, meter) = (control.clone(), meter(&control));
    let receiving = std::thread::spawn(move || receive(&options, &running, Meters::All(meter)));
    let (address, token) = listening(&control);
    let mut channel = enter(&address, &token, Purpose::Control).unwrap();
    let transfer = [1; 16];
    let begin = Begin { transfer, streams: 1, entries: 1, bytes: 1, patience_ms: 30_000 };
    channel.write_frame(&ToReceiver::Begin(begin)).unwrap();
    let welcome = channel.read_frame().unwrap();
    assert!(matches!(welcome, Some(ToSender::Welcome { .. })), "{welcome:?}");
    let (sender, mut receiver) = channel.into_control();
    let living = std::thread::spawn(move || {
        while sender.keep_alive().is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let said = receiver.receive::<ToSender>().unwrap();
    let Some(ToSender::Refused { why }) = said else { panic!("{said:?}") };
    assert!(why.contains("brought nothing new for 0.5 s"), "{why}");
    // It leaves as little as it did anything else, and is shut out.
    living.join().unwrap();
    control.cancel();
    receiving.join().unwrap().unwrap();
}
