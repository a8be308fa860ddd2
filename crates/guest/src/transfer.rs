//! Transfers by Fairway's own sender and receiver, each in the namespace of its host.
//!
//! The file lies in the run directory, without content on the disk; what arrives lies there too, and
//! goes with it.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use fairway_guest::plan::{Plan, Transfer as TransferPlan};
use fairway_guest::record::{FlowSample, TransferTotals, transfer_file};
use fairway_xfer::measure::{Meter, Samples, Subject};
use fairway_xfer::recv::{Meters, ReceiveOptions, receive};
use fairway_xfer::send::{SendOptions, Streams, Striping, send};
use fairway_xfer::{Control, Error as TransferError, Event};

use crate::Error;
use crate::setup::{Namespaces, RUN_DIRECTORY};
use crate::sys;

/// How often it is looked what sender and receiver say.
const LOOK: Duration = Duration::from_millis(10);
/// How long is waited for their ends when the run is over, in virtual time.
const ENDING: Duration = Duration::from_secs(30);
/// Lines of a log that are kept.
const MOST_LINES: usize = 10_000;
/// What the file is called.
const NAME: &str = "file";

/// A transfer under way.
pub struct Transfer {
    index: usize,
    plan: TransferPlan,
    begin_ns: u64,
    sender: Control,
    receiver: Control,
    meter: Meter,
    shared: Arc<Shared>,
    ends: Receiver<()>,
}

/// What its threads tell.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<String>,
    log: Vec<(u64, String)>,
    confirmed_ns: Option<u64>,
    error: Option<String>,
}

/// Starts the transfers of a plan; they begin when they are to.
pub fn start(plan: &Plan, namespaces: &Namespaces, begin_ns: u64) -> Result<Vec<Transfer>, Error> {
    let transfers = plan.transfers.iter().enumerate();
    let started = transfers.map(|(index, transfer)| {
        Transfer::start(index, transfer, plan.sample_ns, namespaces, begin_ns)
    });
    let started = started.collect();
    namespaces.leave()?;
    started
}

impl Transfer {
    fn start(
        index: usize,
        plan: &TransferPlan,
        sample_ns: u64,
        namespaces: &Namespaces,
        begin_ns: u64,
    ) -> Result<Self, Error> {
        let what = format!("starting transfer {}", plan.id);
        let failed = |error: std::io::Error| Error::new(what.clone(), error);
        let place = PathBuf::from(RUN_DIRECTORY).join(format!("transfer-{index}"));
        fs::create_dir_all(place.join("in")).map_err(failed)?;
        let source = place.join(NAME);
        // The receiver's file has this mode from the beginning: the host lets no mode change.
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&source)
            .and_then(|file| file.set_len(plan.bytes))
            .map_err(failed)?;

        let (sender, receiver) = (Control::new(), Control::new());
        let shared = Arc::<Shared>::default();
        let (ended, ends) = channel();
        let subject = |title: &str| Subject {
            interval: Some(Duration::from_nanos(sample_ns)),
            ..Subject::new(title, plan.id.clone(), "transfer")
        };
        let told = |error: TransferError| Error::new(what.clone(), error);
        let meter = Meter::start(subject("sender"), &sender).map_err(told)?;
        let of_receiver = Meter::start(subject("receiver"), &receiver).map_err(told)?;

        // Threads are in the namespace of the thread that starts them, and so are theirs.
        namespaces.enter(plan.sink)?;
        let receiving = Receiving {
            options: receive_options(plan, place.join("in")),
            control: receiver.clone(),
            meter: of_receiver,
            shared: Arc::clone(&shared),
        };
        spawn("receiver", &ended, move || receiving.run()).map_err(failed)?;
        namespaces.enter(plan.source)?;
        let sending = Sending {
            plan: plan.clone(),
            source,
            begin_ns,
            control: sender.clone(),
            receiver: receiver.clone(),
            meter: meter.clone(),
            shared: Arc::clone(&shared),
        };
        spawn("sender", &ended, move || sending.run()).map_err(failed)?;
        let listening = Listening {
            begin_ns,
            stop_ns: plan.stop_ns,
            sender: sender.clone(),
            receiver: receiver.clone(),
            shared: Arc::clone(&shared),
        };
        Builder::new().name("log".into()).spawn(move || listening.run()).map_err(failed)?;
        let plan = plan.clone();
        Ok(Transfer { index, plan, begin_ns, sender, receiver, meter, shared, ends })
    }

    /// Cuts it off, if it goes on, and writes down what it has measured.
    pub fn finish(self) -> Result<TransferTotals, Error> {
        let record = self.meter.finish();
        self.sender.cancel();
        self.receiver.cancel();
        for _ in 0..2 {
            if self.ends.recv_timeout(ENDING).is_err() {
                let what = format!("ending transfer {}", self.plan.id);
                return Err(Error::new(what, "its threads go on"));
            }
        }
        let began = self.meter.began();
        let began_ns = began.map_or(0, |began| {
            let now_ns = sys::now_ns().unwrap_or(0).saturating_sub(self.begin_ns);
            now_ns.saturating_sub(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
        });
        let failed = |error| Error::new(format!("writing what {} measured", self.plan.id), error);
        let file = PathBuf::from(RUN_DIRECTORY).join(transfer_file(self.index));
        let mut file = BufWriter::new(File::create(file).map_err(failed)?);
        let (numbers, places) = in_order(&record.samples.flow_ids());
        write_samples(&record.samples, &places, began_ns, &mut file).map_err(failed)?;
        file.flush().map_err(failed)?;
        let name = |number: &u32| format!("{}/{number}", self.plan.id);
        let state = self.shared.state();
        Ok(TransferTotals {
            confirmed_ns: state.confirmed_ns,
            // By the sockets, frames that are still on their way may stand for payload.
            payload_bytes: match state.confirmed_ns {
                Some(_) => self.plan.bytes,
                None => record.taken.payload_bytes,
            },
            connections: numbers.iter().map(name).collect(),
            log: state.log.clone(),
            error: state.error.clone(),
        })
    }
}

struct Receiving {
    options: ReceiveOptions,
    control: Control,
    meter: Meter,
    shared: Arc<Shared>,
}

impl Receiving {
    fn run(self) {
        match receive(&self.options, &self.control, Meters::All(self.meter.clone())) {
            Ok(_) | Err(TransferError::Cancelled) => {}
            Err(error) => self.shared.fail(&format!("receiver: {error}")),
        }
    }
}

struct Sending {
    plan: TransferPlan,
    source: PathBuf,
    begin_ns: u64,
    control: Control,
    receiver: Control,
    meter: Meter,
    shared: Arc<Shared>,
}

impl Sending {
    fn run(self) {
        sys::sleep_until(self.begin_ns + self.plan.start_ns);
        let token = loop {
            if let Some(token) = self.shared.state().token.clone() {
                break token;
            }
            if self.control.sleep(LOOK) || self.shared.state().error.is_some() {
                return;
            }
        };
        let options = send_options(&self.plan, &self.source, token);
        match send(&options, &self.control, &self.meter) {
            Ok(_) => {
                let now_ns = sys::now_ns().unwrap_or(0).saturating_sub(self.begin_ns);
                self.shared.state().confirmed_ns = Some(now_ns);
                self.receiver.cancel();
            }
            Err(_) if self.control.is_cancelled() => {}
            Err(error) => self.shared.fail(&format!("sender: {error}")),
        }
    }
}

/// Notes what both ends say, and cuts the transfer off at its time.
struct Listening {
    begin_ns: u64,
    stop_ns: Option<u64>,
    sender: Control,
    receiver: Control,
    shared: Arc<Shared>,
}

impl Listening {
    fn run(self) {
        loop {
            let is_over = self.sender.sleep(LOOK);
            let now_ns = sys::now_ns().unwrap_or(0).saturating_sub(self.begin_ns);
            if !is_over {
                let said = [&self.sender, &self.receiver].map(Control::take_events);
                said.into_iter().flatten().for_each(|event| self.shared.hear(now_ns, event));
            }
            if self.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns) {
                self.sender.cancel();
                self.receiver.cancel();
            }
            if is_over {
                return;
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, now_ns: u64, event: Event) {
        let mut state = self.state();
        let text = match event {
            Event::Token { token } => {
                state.token = Some(token);
                return;
            }
            Event::Note { text } => text,
            Event::Warning { text } => format!("warning: {text}"),
            Event::Listening { .. } => return,
        };
        if state.log.len() < MOST_LINES {
            state.log.push((now_ns, text));
        }
    }

    fn fail(&self, error: &str) {
        self.state().error.get_or_insert_with(|| error.to_owned());
    }
}

fn spawn(
    name: &str,
    ended: &Sender<()>,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    let ended = ended.clone();
    let run = move || {
        work();
        let _ = ended.send(());
    };
    Builder::new().name(name.into()).spawn(run).map(drop)
}

fn receive_options(plan: &TransferPlan, out: PathBuf) -> ReceiveOptions {
    let mut options = ReceiveOptions::new(out);
    options.bind = Some(format!("0.0.0.0:{}", plan.port));
    options.plain = !plan.is_encrypted;
    options.wishes.mss_bytes = plan.mss;
    // The disk is the host's, whose time does not count.
    options.sync = false;
    options
}

fn send_options(plan: &TransferPlan, source: &std::path::Path, token: String) -> SendOptions {
    let mut options = SendOptions::new(source, format!("{}:{}", plan.address, plan.port), token);
    options.streams = match plan.streams {
        Some(count) => Streams::Fixed(count),
        None => Streams::Auto(fairway_xfer::send::Auto::Auto),
    };
    options.striping = if plan.is_static { Striping::Static } else { Striping::Dynamic };
    options.chunk_bytes = plan.chunk_bytes;
    options.plain = !plan.is_encrypted;
    options.wishes.cc = Some(plan.cc.clone());
    options.wishes.mss_bytes = plan.mss;
    options
}

/// The numbers in the names of a transfer's connections in their order, and the place there of each name:
/// a meter has connections in the order in which they came to be.
fn in_order(names: &[String]) -> (Vec<u32>, Vec<u32>) {
    let number = |name: &String| {
        let digits = name.rsplit(|letter: char| !letter.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok())
    };
    let numbers: Vec<u32> = names.iter().map(|name| number(name).unwrap_or(u32::MAX)).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let place = |number: &u32| sorted.partition_point(|other| other < number) as u32;
    let places = numbers.iter().map(place).collect();
    (sorted, places)
}

/// Writes samples as a host reads them: what was delivered adds up, and a sample without a record says
/// where an interval begins that does not follow on the one before.
fn write_samples(
    samples: &Samples,
    places: &[u32],
    began_ns: u64,
    to: &mut impl Write,
) -> std::io::Result<()> {
    let mut reached: Vec<(u64, u64)> = vec![(0, 0); places.len()];
    for row in samples.rows() {
        let Some(&flow) = places.get(row.flow as usize) else { continue };
        let (last_ns, delivered_bytes) = &mut reached[flow as usize];
        let [from_ns, to_ns] = [row.from_ns, row.to_ns].map(|at_ns| began_ns + at_ns);
        let mut sample = FlowSample {
            t_ns: from_ns,
            flow,
            delivered_bytes: *delivered_bytes,
            tcp_info: Vec::new(),
        };
        if from_ns > *last_ns {
            sample.write(to)?;
        }
        *delivered_bytes += row.payload_bytes;
        *last_ns = to_ns;
        sample.t_ns = to_ns;
        sample.delivered_bytes = *delivered_bytes;
        sample.tcp_info = row.record.to_vec();
        sample.write(to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_named_in_their_order() {
        let names = ["transfer/2", "transfer/10", "transfer/0"].map(str::to_owned);
        assert_eq!(in_order(&names), (vec![0, 2, 10], vec![1, 2, 0]));
    }
}
