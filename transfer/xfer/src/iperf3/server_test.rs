//! One test at the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::rt::Socket;
use serde_json::Value;

use super::channel::{Channel, Cookie, cookie_text};
use super::lines::lines;
use super::open::{DatagramListener, adopt_tcp};
use super::report::{Report, System};
use super::results::{Results, ServerOutput};
use super::run::{Outcome, Role, Test};
use super::server::{Arrivals, Context};
use super::stream::Stream;
use super::{Directions, Parameters, State, Transport, code, complete, stream_id};
use crate::Error;

/// Most JSON that a client sends as parameters: iperf3 reads 8 KiB (`MAX_PARAMS_JSON_STRING`), a
/// title may be long.
const PARAMETERS_BYTES: usize = 64 << 10;
/// How often it looks whether it was asked to stop.
const TICK: Duration = Duration::from_millis(100);

/// A test whose client has come.
pub(super) struct ServerTest<'a> {
    context: &'a Context,
    channel: Channel,
    cookie: Cookie,
    client: SocketAddr,
    /// The address at which the client has found this server.
    here: SocketAddr,
    segment_bytes: Option<u32>,
}

impl<'a> ServerTest<'a> {
    pub(super) fn new(
        context: &'a Context,
        socket: Socket,
        cookie: Cookie,
    ) -> Result<ServerTest<'a>, Error> {
        let failed = |error: std::io::Error| Error::failed("a connection that was accepted", error);
        let no_address = || failed(std::io::Error::other("it has no address"));
        let client = socket.peer_addr().map_err(failed)?.as_socket().ok_or_else(no_address)?;
        let here = socket.local_addr().map_err(failed)?.as_socket().ok_or_else(no_address)?;
        let segment_bytes = socket.tcp_mss().ok();
        let shown = SocketAddr::new(client.ip().to_canonical(), client.port());
        let peer = format!("the iperf3 client {shown}");
        let channel = Channel::new(socket, &context.control, peer, context.patience)?;
        Ok(ServerTest { context, channel, cookie, client, here, segment_bytes })
    }

    /// Does the test; the report.
    pub(super) fn run(self, arrivals: &Arrivals) -> Result<Value, Error> {
        self.tested(arrivals).inspect_err(|error| {
            if *error == Error::Cancelled {
                // A client that is gone does not hear it.
                let _ = self.channel.send(State::ServerTerminate);
            }
        })
    }

    fn tested(&self, arrivals: &Arrivals) -> Result<Value, Error> {
        self.channel.send(State::ParamExchange)?;
        let parameters = self.parameters()?;
        let test = self.open(parameters, arrivals)?;
        self.channel.send(State::TestStart)?;
        let system = System::now();
        self.channel.send(State::TestRunning)?;
        let mut outcome = test.run(&self.channel, &self.context.control)?;
        let exchange = |outcome: &Outcome| self.exchange(&test, outcome, &system);
        let (theirs, failure) = complete::settle(&mut outcome, &test, exchange);
        let report = self.report(&test, &outcome, &system, theirs.as_ref(), failure.as_ref());
        complete::close(
            &self.context.sessions,
            (Role::Server, self.client),
            outcome,
            report,
            failure,
        )
    }

    fn parameters(&self) -> Result<Parameters, Error> {
        let told = self.channel.receive_json(PARAMETERS_BYTES).inspect_err(|_| {
            self.channel.send_error(code::PARAMETERS);
        })?;
        let refuse = |code: i32, why: String| {
            self.channel.send_error(code);
            self.channel.fails(format!("its parameters cannot be met: {why}"))
        };
        let parameters = Parameters::from_json(&told, self.context.most_streams)
            .map_err(|fault| refuse(fault.code, fault.why))?;
        if let Some(most_s) = self.context.options.most_duration_s {
            let asked_s = f64::from(parameters.time_s) + f64::from(parameters.omit_s);
            if parameters.time_s == 0 || asked_s > most_s {
                let why = format!("it wants {asked_s} s; at most {most_s} s are allowed");
                return Err(refuse(code::TOO_LONG, why));
            }
        }
        if parameters.flow_label.is_some() {
            self.context.control.warn("a client of iperf3 wants a flow label, which is not set");
        }
        Ok(parameters)
    }

    /// Waits for the streams; those on which the client sends come first.
    fn open(&self, parameters: Parameters, arrivals: &Arrivals) -> Result<Test, Error> {
        let sockets = match parameters.protocol {
            Transport::Tcp => self.accept(&parameters, arrivals),
            Transport::Udp => self.admit(&parameters),
        };
        let sockets = sockets.inspect_err(|error| {
            if *error != Error::Cancelled {
                self.channel.send_error(code::STREAM_CONNECTION);
            }
        })?;
        let each = parameters.streams as usize;
        let mut streams = Vec::new();
        for (place, socket) in sockets.into_iter().enumerate() {
            let sends = match parameters.direction {
                Directions::Forward => false,
                Directions::Reverse => true,
                Directions::Both => place >= each,
            };
            let (id, protocol) = (stream_id(place), parameters.protocol);
            let stream = Stream::new(id, sends, protocol, socket, &self.context.control)?;
            streams.push(Arc::new(stream));
        }
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        Ok(Test {
            role: Role::Server,
            time: Some(parameters.time_s).filter(|time_s| *time_s > 0).map(seconds),
            omit: seconds(parameters.omit_s),
            subject: self.context.subject.clone(),
            silence: self.context.silence,
            parameters,
            streams,
        })
    }

    fn accept(&self, parameters: &Parameters, arrivals: &Arrivals) -> Result<Vec<Socket>, Error> {
        let expected = parameters.all_streams();
        arrivals.wanted.store(expected, Ordering::SeqCst);
        self.channel.send(State::CreateStreams)?;
        let until = Instant::now() + self.context.patience;
        let mut sockets = Vec::new();
        while sockets.len() < expected {
            self.check(until, sockets.len(), expected)?;
            match arrivals.sockets.recv_timeout(TICK) {
                Ok(socket) => {
                    let ready = socket.set_nonblocking(false);
                    ready.map_err(|error| self.channel.fails(error))?;
                    adopt_tcp(&socket, parameters, &self.context.control);
                    sockets.push(socket);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The server goes.
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Cancelled),
            }
        }
        Ok(sockets)
    }

    fn admit(&self, parameters: &Parameters) -> Result<Vec<Socket>, Error> {
        let turn = self.context.datagrams.lock();
        let expected = parameters.all_streams();
        let mut listener = DatagramListener::open(self.here, parameters)?;
        self.channel.send(State::CreateStreams)?;
        let until = Instant::now() + self.context.patience;
        let mut sockets = Vec::new();
        while sockets.len() < expected {
            self.check(until, sockets.len(), expected)?;
            sockets.extend(listener.accept(self.client.ip(), parameters)?);
        }
        drop(turn);
        Ok(sockets)
    }

    fn check(&self, until: Instant, came: usize, expected: usize) -> Result<(), Error> {
        if self.context.control.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if Instant::now() >= until {
            let seconds = self.context.patience.as_secs_f64();
            let why = format!("{came} of {expected} streams came in {seconds} s");
            return Err(self.channel.fails(why));
        }
        // A client that has gone does not keep others out.
        match self.channel.hear(Instant::now())? {
            super::channel::Received::Nothing => Ok(()),
            super::channel::Received::State(state) => {
                Err(self.channel.unexpected(state, &[State::TestEnd]))
            }
        }
    }

    fn exchange(&self, test: &Test, outcome: &Outcome, system: &System) -> Result<Results, Error> {
        self.channel.send(State::ExchangeResults)?;
        let theirs = self.channel.receive_json(complete::most_bytes_of_results(test))?;
        let theirs = Results::from_json(&theirs, &test.ids()).map_err(|why| {
            self.channel.send_error(code::RESULTS);
            self.channel.fails(format!("its results cannot be read: {why}"))
        })?;
        let mut mine = test.results(outcome);
        if test.parameters.server_output {
            let report = self.report(test, outcome, system, Some(&theirs), None);
            mine.server_output = Some(match self.context.options.json_output {
                true => ServerOutput::Json(report),
                false => ServerOutput::Text(lines(&report)),
            });
        }
        self.channel.send_json(&mine.to_json())?;
        self.channel.send(State::DisplayResults)?;
        // Some clients just close it.
        if let Err(error @ Error::Cancelled) = self.channel.expect(&[State::IperfDone]) {
            return Err(error);
        }
        Ok(theirs)
    }

    fn report(
        &self,
        test: &Test,
        outcome: &Outcome,
        system: &System,
        theirs: Option<&Results>,
        failure: Option<&Error>,
    ) -> Value {
        let report = Report {
            test,
            outcome,
            theirs,
            system,
            cookie: cookie_text(&self.cookie),
            peer: self.client,
            host: "",
            segment_bytes: self.segment_bytes,
            failure,
        };
        report.json()
    }
}
