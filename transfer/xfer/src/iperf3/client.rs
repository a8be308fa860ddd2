//! The client of a test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::rt::Socket;
use serde_json::Value;

use super::channel::{Channel, Cookie, cookie_text, new_cookie};
use super::open::{connect_tcp, connect_udp};
use super::options::{Family, seconds};
use super::report::{Report, System};
use super::results::{Results, ServerOutput};
use super::run::{Outcome, Role, Test};
use super::stream::Stream;
use super::{
    ClientOptions, Directions, MOST_STREAMS_OF_IPERF3, PORT, Parameters, State, Transport,
};
use super::{complete, stream_id};
use crate::files::check_flows;
use crate::measure::Subject;
use crate::socket::{self, Wishes};
use crate::{Control, Error, Sessions};

/// Most JSON of a server's own report, where that is wanted.
const OUTPUT_BYTES: usize = 32 << 20;
/// Lines of its own report that are shown.
const MOST_LINES: usize = 5000;

/// Measures with a server; `subject` says how. Returns the report in iperf3's JSON; the record goes to `sessions`.
pub fn client(
    options: &ClientOptions,
    subject: Subject,
    control: &Control,
    sessions: &Sessions,
) -> Result<Value, Error> {
    let asked = options.parameters(None)?;
    check_flows(asked.all_streams() as u64)?;
    if asked.streams > MOST_STREAMS_OF_IPERF3 {
        control.warn(format!(
            "{} streams: a stock iperf3 is made for {MOST_STREAMS_OF_IPERF3}; it may refuse more, \
             or fail",
            asked.streams
        ));
    }
    let patience = seconds("the timeout", options.timeout_s)?;
    let server = resolve(options)?;
    let from = Wishes { from: options.wishes.from, ..Wishes::default() };
    let socket = socket::connect(&server, &from, patience, control)?.socket;
    let client = Client::new(options, subject, socket, patience, control)?;
    client.run(sessions).inspect_err(|_| {
        // Whatever it was: a server that is still there need not wait.
        let _ = client.channel.send(State::ClientTerminate);
    })
}

fn resolve(options: &ClientOptions) -> Result<Vec<SocketAddr>, Error> {
    let mut found = socket::resolve(&options.host, PORT)?;
    found.retain(|address| match options.family {
        Family::Any => true,
        Family::Ipv4 => address.is_ipv4(),
        Family::Ipv6 => address.is_ipv6(),
    });
    if found.is_empty() {
        let host = &options.host;
        return Err(Error::Input(format!("{host}: it has no address of the family asked for")));
    }
    Ok(found)
}

struct Client<'a> {
    options: &'a ClientOptions,
    subject: Subject,
    control: &'a Control,
    channel: Channel,
    server: SocketAddr,
    cookie: Cookie,
    parameters: Parameters,
    segment_bytes: Option<u32>,
    patience: Duration,
}

impl<'a> Client<'a> {
    fn new(
        options: &'a ClientOptions,
        subject: Subject,
        socket: Socket,
        patience: Duration,
        control: &'a Control,
    ) -> Result<Client<'a>, Error> {
        let server = socket.peer_addr().ok().and_then(|address| address.as_socket());
        let host = &options.host;
        let server = server.ok_or_else(|| Error::failed(host.clone(), "it has no address"))?;
        let segment_bytes = socket.tcp_mss().ok().filter(|bytes| *bytes > 0);
        let peer = format!("the iperf3 server {server}");
        Ok(Client {
            options,
            subject,
            control,
            channel: Channel::new(socket, control, peer, patience)?,
            server,
            cookie: new_cookie()?,
            parameters: options.parameters(segment_bytes)?,
            segment_bytes,
            patience,
        })
    }

    fn run(&self, sessions: &Sessions) -> Result<Value, Error> {
        self.channel.write(&self.cookie)?;
        self.channel.expect(&[State::ParamExchange])?;
        self.channel.send_json(&self.parameters.to_json())?;
        self.channel.expect(&[State::CreateStreams]).map_err(|error| self.explain(error))?;
        let test = self.open()?;
        self.channel.expect(&[State::TestStart])?;
        let system = System::now();
        self.channel.expect(&[State::TestRunning])?;
        let mut outcome = test.run(&self.channel, self.control)?;
        let (theirs, failure) =
            complete::settle(&mut outcome, &test, |outcome| self.exchange(&test, outcome));
        let report = Report {
            test: &test,
            outcome: &outcome,
            theirs: theirs.as_ref(),
            system: &system,
            cookie: cookie_text(&self.cookie),
            peer: self.server,
            host: &self.options.host,
            segment_bytes: self.segment_bytes,
            failure: failure.as_ref(),
        };
        let report = report.json();
        complete::close(sessions, (Role::Client, self.server), outcome, report, failure)
    }

    /// Opens the streams: those that the client sends on first, as the server expects them.
    fn open(&self) -> Result<Test, Error> {
        let each = self.parameters.streams as usize;
        let mut streams = Vec::new();
        for place in 0..self.parameters.all_streams() {
            let sends = match self.parameters.direction {
                Directions::Forward => true,
                Directions::Reverse => false,
                Directions::Both => place < each,
            };
            let socket = self.connect().map_err(|error| self.explain(error))?;
            let id = stream_id(place);
            let stream = Stream::new(id, sends, self.parameters.protocol, socket, self.control)?;
            streams.push(Arc::new(stream));
        }
        let omit = Duration::try_from_secs_f64(self.options.omit_s).unwrap_or_default();
        Ok(Test {
            role: Role::Client,
            parameters: self.parameters.clone(),
            time: self.options.time()?,
            // The server rounds up, and so both omit the same.
            omit: Duration::from_secs(omit.as_secs_f64().ceil() as u64),
            subject: self.subject.clone(),
            silence: self.patience,
            streams,
        })
    }

    fn connect(&self) -> Result<Socket, Error> {
        let (options, server) = (self.options, self.server);
        let window_bytes = options.window_bytes.map(|bytes| bytes as usize);
        let wishes = Wishes {
            send_buffer_bytes: window_bytes.or(options.wishes.send_buffer_bytes),
            receive_buffer_bytes: window_bytes.or(options.wishes.receive_buffer_bytes),
            ..options.wishes.clone()
        };
        let (parameters, patience) = (&self.parameters, self.patience);
        match parameters.protocol {
            Transport::Tcp => {
                connect_tcp(server, parameters, &wishes, &self.cookie, patience, self.control)
            }
            Transport::Udp => connect_udp(server, parameters, &wishes, patience, self.control),
        }
    }

    fn exchange(&self, test: &Test, outcome: &Outcome) -> Result<Results, Error> {
        self.channel.expect(&[State::ExchangeResults])?;
        self.channel.send_json(&test.results(outcome).to_json())?;
        let output = if self.parameters.server_output { OUTPUT_BYTES } else { 0 };
        let most_bytes = complete::most_bytes_of_results(test) + output;
        let theirs = self.channel.receive_json(most_bytes)?;
        let theirs = Results::from_json(&theirs, &test.ids())
            .map_err(|why| self.channel.fails(format!("its results cannot be read: {why}")))?;
        self.channel.expect(&[State::DisplayResults])?;
        self.channel.send(State::IperfDone)?;
        if let Some(ServerOutput::Text(text)) = &theirs.server_output {
            for line in text.lines().take(MOST_LINES) {
                // It goes to a terminal, which obeys control characters.
                self.control.note(line.replace(|c: char| c.is_control(), " "));
            }
        }
        Ok(theirs)
    }

    /// Of a server that turns the parameters down: what may be the reason.
    fn explain(&self, error: Error) -> Error {
        let streams = self.parameters.streams;
        match error {
            Error::Failed { what, why } if streams > MOST_STREAMS_OF_IPERF3 => {
                let hint = format!(
                    "{why}; a server of iperf3 takes {MOST_STREAMS_OF_IPERF3} parallel streams, \
                     {streams} were asked for"
                );
                Error::failed(what, hint)
            }
            error => error,
        }
    }
}
