//! The connection that a script is about: what its segments and calls say before it begins.

use std::sync::Arc;

use fairway_cc::create;
use fairway_tcp::{Config, Endpoint, Role, TIMESTAMP_OPTION_BYTES};

use crate::position::{Position, Problem};
use crate::script::{Action, Argument, Options, Script, Segment};
use crate::settings::Settings;

/// Segment size of a peer that names none (RFC 9293 section 3.7.1).
pub const DEFAULT_MSS: u16 = 536;

/// What the script says about both ends.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Which end the endpoint is.
    pub role: Role,
    /// Its first sequence number.
    pub isn: u32,
    /// The other end's.
    pub peer_isn: u32,
    /// The other end's segment size.
    pub peer_mss: u16,
    /// Whether the other end offers timestamps.
    pub peer_timestamps: bool,
    /// Segment size that the endpoint's application asks for.
    pub max_segment: Option<u16>,
}

impl Connection {
    /// Reads it from the script's calls and SYN segments.
    pub fn of(script: &Script) -> Result<Self, Problem> {
        let mut role = None;
        let mut max_segment = None;
        let (mut own_syn, mut peer_syn): (Option<&Segment>, Option<&Segment>) = (None, None);
        for event in &script.events {
            match &event.action {
                Action::Call(call) if role.is_none() && call.name == "connect" => {
                    role = Some(Role::Active);
                }
                Action::Call(call) if role.is_none() && call.name == "listen" => {
                    role = Some(Role::Passive);
                }
                Action::Call(call) if call.name == "setsockopt" => {
                    max_segment = asked_segment(&call.arguments).or(max_segment);
                }
                Action::Inbound(segment) if segment.flags.syn => {
                    refuse_second(&mut peer_syn, segment, event.at)?;
                }
                Action::Outbound(segment) if segment.flags.syn => {
                    refuse_second(&mut own_syn, segment, event.at)?;
                }
                _ => {}
            }
        }
        let Some(role) = role else {
            let message = "there is no connection: call listen() or connect()";
            return Err(Problem::new(Position::START, message));
        };
        let peer = peer_syn.map(|segment| &segment.options);
        let peer = if let Some(Options::These(list)) = peer { Some(list) } else { None };
        Ok(Connection {
            role,
            isn: own_syn.map_or(0, |segment| segment.seq),
            peer_isn: peer_syn.map_or(0, |segment| segment.seq),
            peer_mss: peer.and_then(|list| list.mss).unwrap_or(DEFAULT_MSS),
            peer_timestamps: peer.is_some_and(|list| list.timestamp.is_some()),
            max_segment,
        })
    }

    /// Whether the endpoint opens the connection.
    pub fn is_active(&self) -> bool {
        self.role == Role::Active
    }

    /// The endpoint, before anything has happened. Its segments are as large as the handshake will
    /// make them, because its windows count in segments of that size.
    pub fn endpoint(&self, settings: &Settings) -> Result<(Endpoint, u32), Problem> {
        let asked = &settings.stack;
        let own_options = if asked.options.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        let built = u16::try_from(asked.options.mss + own_options).unwrap_or(u16::MAX);
        let advertised = self.max_segment.unwrap_or(built).min(built);
        let timestamps = asked.options.timestamps && self.peer_timestamps;
        let options = if timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        let mss = u32::from(advertised.min(self.peer_mss)).saturating_sub(options).max(1);
        let stack = Arc::new(asked.clone().with(|s| s.options.mss = mss));
        let cc = create(&settings.cc, stack.window.cc_variant, &stack.init(&settings.cc.name))
            .map_err(|error| Problem::new(Position::START, error.to_string()))?;
        let mut endpoint = Endpoint::new(Config {
            connection: 0,
            role: self.role,
            stack,
            cc,
            isn: self.isn,
            timestamp_offset: 0,
        });
        endpoint.advertise_mss(advertised);
        endpoint.write_at_once();
        Ok((endpoint, mss))
    }
}

/// A SYN may be repeated, but not be another connection's.
fn refuse_second<'a>(
    first: &mut Option<&'a Segment>,
    segment: &'a Segment,
    at: Position,
) -> Result<(), Problem> {
    match first {
        Some(known) if known.seq != segment.seq => {
            let message = "a second connection is not supported; write a script for each";
            Err(Problem::new(at, message))
        }
        Some(_) => Ok(()),
        None => {
            *first = Some(segment);
            Ok(())
        }
    }
}

fn asked_segment(arguments: &[Argument]) -> Option<u16> {
    let [_, _, Argument::Names(names), Argument::List(list), ..] = arguments else { return None };
    match list.first() {
        Some(Argument::Number(bytes)) if names.first()? == "TCP_MAXSEG" => {
            u16::try_from(*bytes).ok().filter(|bytes| *bytes > 0)
        }
        _ => None,
    }
}
