//! What models need to know of an experiment: flows that share a bottleneck, in packets and seconds.

/// An experiment as models see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// Beginning and end of the measuring window, in seconds.
    pub window_s: [f64; 2],
    /// Bottlenecks, each with all flows that cross it.
    pub groups: Vec<Group>,
}

/// Flows that share one bottleneck, and meet no other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// What they share.
    pub bottleneck: Bottleneck,
    /// Those of TCP.
    pub flows: Vec<Stream>,
    /// Those of UDP.
    pub datagrams: Vec<Load>,
}

/// A link in one direction, with the queue in front of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bottleneck {
    /// Its name in results.
    pub id: String,
    /// Its table in the experiment file.
    pub path: String,
    /// Bits that it carries a second.
    pub rate_bps: f64,
    /// Its queue.
    pub discipline: Discipline,
    /// What the queue holds, the packet in transmission included.
    pub queue_limit: QueueLimit,
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum QueueLimit {
    /// For everything.
    Endless,
    /// For so many packets.
    Packets(f64),
    /// For so many bytes.
    Bytes(f64),
}

impl QueueLimit {
    /// The limit in packets of a size; none if there is no limit.
    pub fn packets(self, size_bytes: f64) -> Option<f64> {
        match self {
            QueueLimit::Endless => None,
            QueueLimit::Packets(packets) => Some(packets),
            QueueLimit::Bytes(bytes) => Some(bytes / size_bytes),
        }
    }
}

/// Disciplines of queues, as far as models know them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Discipline {
    /// Drops what does not fit.
    DropTail,
    /// Random early detection.
    Red {
        /// Mean queue in packets below which nothing is dropped.
        min_packets: f64,
        /// Mean queue in packets at which the probability is the largest but for a full queue.
        max_packets: f64,
        /// That probability.
        max_probability: f64,
        /// Whether the probability rises on beyond that, to 1 at twice the queue, instead of at once.
        gentle: bool,
        /// Whether it marks packets that allow it.
        marks: bool,
    },
    /// Holds the delay at a target.
    Target {
        /// Its name.
        name: &'static str,
        /// Its source.
        source: &'static str,
        /// The delay in seconds.
        target_s: f64,
        /// Whether each flow has a queue of its own.
        is_fair: bool,
        /// Whether it marks packets that allow it.
        marks: bool,
    },
    /// One that no model knows.
    Other(&'static str),
}

impl Discipline {
    /// For flows that have so much of the link, and of the queue.
    pub fn scaled(mut self, share: f64) -> Self {
        if let Discipline::Red { min_packets, max_packets, .. } = &mut self {
            *min_packets *= share;
            *max_packets *= share;
        }
        self
    }
}

/// A connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stream {
    /// Its place among the experiment's flows.
    pub place: usize,
    /// Its table in the experiment file.
    pub path: String,
    /// Its congestion control.
    pub cc: String,
    /// Parameters of that which are written in the file.
    pub parameters: Vec<(String, f64)>,
    /// Payload of a full packet.
    pub payload_bytes: f64,
    /// An IP packet with it.
    pub packet_bytes: f64,
    /// The same on a link, with its frame.
    pub frame_bytes: f64,
    /// Round-trip time without queues: propagation and transmission of a packet and of its
    /// acknowledgement.
    pub rtt_s: f64,
    /// The part of it until the packet has arrived.
    pub one_way_s: f64,
    /// Probability that a packet is lost for another reason than a full queue.
    pub loss: f64,
    /// The same of an acknowledgement.
    pub ack_loss: f64,
    /// Largest window in packets: of the receiver's and the sender's buffers.
    pub window_packets: f64,
    /// What its application writes in a second, in packets.
    pub application_pps: Option<f64>,
    /// How much it writes, in packets.
    pub size_packets: Option<f64>,
    /// When it begins.
    pub start_s: f64,
    /// When its application stops, if it does.
    pub stop_s: Option<f64>,
    /// Least retransmission timeout.
    pub rto_min_s: f64,
    /// First retransmission timeout of a SYN.
    pub syn_timeout_s: f64,
    /// Initial window in packets.
    pub initial_window_packets: f64,
    /// Packets for each acknowledgement by which its window grows.
    pub packets_per_growth: f64,
    /// Whether acknowledgements are selective.
    pub has_sack: bool,
    /// Whether one acknowledgement may be for several packets.
    pub delays_acks: bool,
    /// Whether its packets may be marked.
    pub is_ecn_capable: bool,
}

impl Stream {
    /// A parameter of its congestion control, or what it usually is.
    pub fn parameter(&self, name: &str, usually: f64) -> f64 {
        let written = self.parameters.iter().find(|(written, _)| written == name);
        written.map_or(usually, |(_, value)| *value)
    }
}

/// Datagrams that come whether they get through or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    /// Its place among the experiment's datagram flows.
    pub place: usize,
    /// Mean rate of the payload while it is on.
    pub payload_bps: f64,
    /// Payload of a packet.
    pub payload_bytes: f64,
    /// An IP packet with it.
    pub packet_bytes: f64,
    /// The same on a link, with its frame.
    pub frame_bytes: f64,
    /// Time of a packet on its way without queues.
    pub one_way_s: f64,
    /// Probability that a packet is lost for another reason than a full queue.
    pub loss: f64,
    /// Whether its rate is constant.
    pub is_constant: bool,
    /// Whether its rate changes at random.
    pub is_changing: bool,
    /// When it begins.
    pub start_s: f64,
    /// When it ends by its own size or time, if it does.
    pub end_s: Option<f64>,
}

impl Load {
    /// What it puts on a link, in bit/s.
    pub fn wire_bps(&self) -> f64 {
        self.payload_bps * self.frame_bytes / self.payload_bytes
    }
}

impl Group {
    /// What the bottleneck carries of a stream's packets, in packets a second.
    pub fn capacity_pps(&self, stream: &Stream) -> f64 {
        self.bottleneck.rate_bps / 8.0 / stream.frame_bytes
    }

    /// Packets of a stream that wait at the most: the queue holds the one in transmission, too, which is
    /// part of the round-trip time already. None if it holds all.
    pub fn buffer_packets(&self, stream: &Stream) -> Option<f64> {
        let queue_limit = self.bottleneck.queue_limit.packets(stream.frame_bytes)?;
        Some((queue_limit - 1.0).max(0.0))
    }
}
