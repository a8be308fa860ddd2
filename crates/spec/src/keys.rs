//! Every key of an experiment file: its name, form, default, an example and its meaning.
//!
//! The reader, the paths of a sweep and the schema for editors all come from these tables, so
//! they cannot disagree. Those of the stack's switches are in `switches`.

use fairway_tcp::PRESETS;

use super::matrix::Matrix;
use super::queues::QUEUE;
use super::switch::Switch;
use super::switches::{STACK_SWITCHES, SWITCHES};
use super::wire_keys::{LINK_OVER_TIME, LINK_WIRE, REVERSE_WIRE};
use super::{capture, datagrams, linux, program, topology, wlan, workload};

/// What may be written as the value of a key.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A duration: "48 ms".
    Duration,
    /// A rate above zero: "622 Mbit/s".
    Rate,
    /// A rate above zero, or "down".
    RateOrDown,
    /// A size: "64 KiB".
    Size,
    /// A size, or this name.
    SizeOr(&'static str),
    /// A size or a number of segments: "30 segments".
    SizeOrSegments,
    /// A whole number of segments: "10 segments".
    Segments,
    /// A whole number of segments or "unlimited".
    SegmentsOrUnlimited,
    /// A number of packets, not necessarily whole: "7.5 packets".
    Packets,
    /// The size of a queue: "42 packets", "64 KiB", "50 ms", "1.0 bdp", "unlimited".
    Limit,
    /// true or false.
    Switch,
    /// true, false, a duration or "linux".
    AckDelay,
    /// true, false or this name.
    SwitchOr(&'static str),
    /// A number within bounds.
    Number { min: f64, max: f64 },
    /// A whole number within bounds.
    Count { min: u64, max: u64 },
    /// A whole number within bounds, or "auto".
    CountOrAuto { min: u64, max: u64 },
    /// Any text.
    Text,
    /// One of a list of names of a thing ("traffic", "queue discipline").
    Choice { thing: &'static str, names: fn() -> Vec<&'static str> },
    /// The name of a congestion-control algorithm, Fairway's own or one from elsewhere.
    Algorithm,
    /// One of Fairway's programs by name, or the words of a command.
    Program { names: fn() -> Vec<&'static str> },
    /// The words of a command.
    Command,
    /// Paths of files on hosts: ["copy", "s0:/var/log"].
    Paths,
    /// Whole numbers from 1: [1, 12, 13].
    Counts,
    /// Times: ["10 s", "20 s"].
    Times,
    /// Start and end of a time window, or "auto": ["250 s", "500 s"].
    Window,
    /// Names, each with a number.
    Numbers,
    /// Names of settings, which have dots, each with a whole number or text.
    Settings,
    /// Names of socket options, each with a whole number.
    SocketOptions,
    /// A table.
    Table(&'static Section),
    /// A list of tables.
    List(&'static Section),
    /// One size or time, or a table of a distribution, whose mean has the form of the one.
    Distribution(&'static Section),
    /// The name or the lines of a distribution function.
    Cdf,
    /// A duration, or a number of packets: "1 ms", "5 packets".
    DurationOrPackets,
    /// So many whole numbers from 0 up to this.
    Bands { count: usize, max: u64 },
    /// Rates in ascending order.
    Rates,
    /// Where packets are captured: a name for many places, or a list of names.
    Places,
    /// The axes of a sweep.
    Sweep,
}

/// What holds where a key is not written.
pub(super) enum Absent {
    /// It has to be written.
    Required,
    /// As if this had been written (JSON).
    Default(&'static str),
    /// As if this had been written in a table whose `kind` is one of these (JSON), and as its
    /// meaning says in others.
    Of(&'static [(&'static [&'static str], &'static str)]),
    /// As its meaning says.
    Explained,
}

/// One key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) absent: Absent,
    /// A value as it would be written (JSON, which TOML shares for all values but tables).
    pub(super) example: &'static str,
    /// One or two sentences, with the unit where the form does not show it.
    pub(super) meaning: &'static str,
}

/// The keys of one kind of table.
pub(super) struct Section {
    /// With its article: "a flow".
    pub(super) name: &'static str,
    pub(super) groups: &'static [&'static [Key]],
    pub(super) switches: &'static [&'static [Switch]],
    /// The values of `kind` with which a key may be written; none if that does not matter.
    pub(super) kinds: fn(&str) -> Vec<&'static str>,
}

/// Of tables whose keys belong to no kind.
pub(super) fn every_kind(_: &str) -> Vec<&'static str> {
    Vec::new()
}

impl Section {
    /// A table with these keys and no switches of the stack.
    pub(super) const fn plain(name: &'static str, groups: &'static [&'static [Key]]) -> Self {
        Section { name, groups, switches: &[], kinds: every_kind }
    }

    /// The form of the mean of a distribution, which is that of a single value in its place.
    pub(super) fn single(&self) -> &'static Kind {
        self.key("mean").map_or(&Kind::Size, |key| &key.kind)
    }

    /// Every key, in the order of the documentation.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        let groups = self.groups.iter().flat_map(|group| group.iter());
        groups.chain(self.switches().map(|switch| &switch.key))
    }

    /// Those that are switches of the stack.
    pub(super) fn switches(&self) -> impl Iterator<Item = &'static Switch> {
        self.switches.iter().flat_map(|group| group.iter())
    }

    /// The key of that name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }
}

/// A list of keys: name, form, value where it is not written, example, and meaning.
macro_rules! keys {
    ($($name:literal: $kind:expr, $absent:expr, $example:expr => $meaning:expr;)*) => {
        &[$($crate::keys::Key {
            name: $name,
            kind: $kind,
            absent: $absent,
            example: $example,
            meaning: $meaning,
        }),*]
    };
}
pub(super) use keys;

use Absent::{Default, Explained, Required};

/// Connections of one experiment: what a run can hold in memory.
pub const MAX_CONNECTIONS: u64 = 100_000;
/// Points of one sweep.
pub(super) const MAX_POINTS: u64 = 100_000;

/// An experiment file.
pub(super) static EXPERIMENT: Section = Section::plain(
    "an experiment",
    &[keys! {
        "title": Kind::Text, Explained, r#""Two flows, one link""# =>
            "Title of results; by default the name of the file.";
        "duration": Kind::Duration, Required, r#""100 s""# => "Simulated time of the run.";
        "seed": Kind::Count { min: 0, max: u64::MAX }, Default("1"), "7" =>
            "Seed of every random stream; equal seeds give equal runs.";
        "stack": Kind::Table(&STACK), Explained, r#"{"preset": "linux-6.1"}"# =>
            "The TCP stack of every host.";
        "topology": Kind::Table(&TOPOLOGY),
            Required, r#"{"kind": "dumbbell", "bottleneck": {"rate": "10 Mbit/s", "delay": "25 ms"}}"# =>
            "The network.";
        "flow": Kind::List(&FLOW), Required, r#"[{"cc": "cubic"}]"# =>
            "The traffic, one table for each flow.";
        "measure": Kind::Table(&MEASURE), Explained, r#"{"window": ["10 s", "50 s"]}"# =>
            "What is measured.";
        "capture": Kind::Table(&capture::CAPTURE), Explained, r#"{"at": "hosts"}"# =>
            "Which packets are written to files that Wireshark reads; without it, none.";
        "linux": Kind::Table(&LINUX), Explained, r#"{"sysctl": {"net.ipv4.tcp_ecn": 1}}"# =>
            "Further settings of a real Linux kernel; the simulator ignores them.";
        "sweep": Kind::Sweep, Explained, r#"{"repetitions": 4, "flow.0.cc": ["reno", "cubic"]}"# =>
            "Paths of keys with the values that each takes; every combination is run once. Under `list`, `random` and `latin_hypercube`, paths change together. `repetitions` repeats each combination with other seeds, a number of times or until an interval is narrow enough.";
    }],
);

/// `[stack]`.
pub(super) static STACK: Section = Section {
    name: "the stack",
    groups: &[keys! {
        "preset": Kind::Choice { thing: "stack", names: preset_names },
            Default(r#""linux-6.1""#), r#""rfc5681""# =>
            "The named set of switches to start from.";
    }],
    switches: &[STACK_SWITCHES, SWITCHES],
    kinds: every_kind,
};

/// `[topology]`.
pub(super) static TOPOLOGY: Section = Section {
    kinds: topology::kinds_with,
    ..Section::plain("the topology", &[TOPOLOGY_KEYS, wlan::KEYS])
};

static TOPOLOGY_KEYS: &[Key] = keys! {
    "kind": Kind::Choice { thing: "topology", names: topology::kinds }, Required, r#""dumbbell""# =>
        "Its shape. Dumbbell: hosts on either side of one shared link. Chain: links in series that all flows share. Parallel: several links between the routers \"left\" and \"right\". Parking lot: links in series between the routers \"r0\", \"r1\" and so on. Star: hosts \"h0\", \"h1\" and so on around \"switch\". Fat tree: hosts \"h0\", \"h1\" and so on below edge, aggregation and core switches. LTE: \"server\", \"gateway\", base stations \"enb0\", … each with a user device \"ue0\", …. Graph: the nodes and links that are listed. WLAN: stations \"sta0\", \"sta1\" and so on around an access point, and \"server\" behind it.";
    "frame_overhead": Kind::Size, Default(r#""0 bytes""#), r#""38 bytes""# =>
        "Bytes added to every packet on every link: 14 for an Ethernet header, 38 with check sequence, preamble and gap.";
    "timing": Kind::Choice { thing: "timing", names: || vec!["exact", "ns3"] },
        Default(r#""exact""#), r#""ns3""# =>
        "How transmissions are timed. Exact: to the nanosecond over any number of packets. ns3: as in ns-3.29, where some take a nanosecond less, and a packet that arrives as a transmission ends is handled before the end.";
    "bottleneck": Kind::Table(&LINK), Explained, r#"{"rate": "10 Mbit/s", "delay": "25 ms"}"# =>
        "The shared link of a dumbbell.";
    "access": Kind::Table(&ACCESS), Explained, r#"{"rate": "1 Gbit/s", "delay": "1 ms"}"# =>
        "Each host's own link in a dumbbell, a star or a fat tree; without it, the hosts of a dumbbell sit at the routers. In other kinds, a link for each end of each connection, between the host and the node that it names.";
    "link": Kind::List(&NAMED_LINK),
        Explained, r#"[{"id": "first", "rate": "1 Gbit/s", "delay": "45 ms"}]"# =>
        "The links of a chain, from the sources to the sinks; the parallel routes; the hops of a parking lot; the links of a graph.";
    "multipath": Kind::Choice { thing: "choice of routes", names: multipath_names },
        Default(r#""hash""#), r#""in-turn""# =>
        "How traffic is spread over equally short routes. Hash: each direction of each connection takes one, drawn at random. In turn: the connections between two nodes take the routes in turn. Packet: packets take the routes in turn.";
    "hosts": Kind::Count { min: 2, max: 1000 }, Explained, "9" => "Hosts of a star.";
    "arity": Kind::Count { min: 2, max: 16 }, Explained, "4" =>
        "Ports of each switch of a fat tree, an even number k: it has k^3/4 hosts (Al-Fares, Loukissas, Vahdat 2008).";
    "fabric": Kind::Table(&LINK), Explained, r#"{"rate": "40 Gbit/s", "delay": "2 us"}"# =>
        "Links between the switches of a fat tree; without it, like those of the hosts.";
    "core": Kind::Table(&LINK), Explained, r#"{"rate": "100 Mbit/s", "delay": "2 ms"}"# =>
        "LTE: the link from the server to the gateway.";
    "backhaul": Kind::Table(&LINK), Explained, r#"{"rate": "10 Mbit/s", "delay": "2 ms"}"# =>
        "LTE: the link from the gateway to each base station.";
    "radio": Kind::Table(&LINK), Explained, r#"{"rate": "1 Mbit/s", "delay": "2 ms"}"# =>
        "LTE: the link from each base station to its user device.";
    "cells": Kind::Count { min: 1, max: 1000 }, Default("2"), "2" =>
        "LTE: base stations, with a user device each.";
};

static LINK_KEYS: &[Key] = keys! {
    "rate": Kind::Rate, Explained, r#""10 Mbit/s""# =>
        "Serialisation rate, or \"unlimited\". Required unless trace is set.";
    "delay": Kind::Duration, Required, r#""25 ms""# => "Propagation delay in one direction.";
    "queue": Kind::Table(&QUEUE), Explained, r#"{"kind": "droptail", "limit": "42 packets"}"# =>
        "The queue in front of the link, one in each direction; without it, drop-tail.";
};

/// What may be different in the other direction of a link.
pub(super) static REVERSE: Section = Section::plain(
    "the other direction of a link",
    &[
        keys! {
            "rate": Kind::Rate, Explained, r#""1 Mbit/s""# =>
                "Serialisation rate towards the sources; without it, the link's.";
            "delay": Kind::Duration, Explained, r#""40 ms""# =>
                "Propagation delay towards the sources; without it, the link's.";
            "queue": Kind::Table(&QUEUE), Explained, r#"{"limit": "20 packets"}"# =>
                "The queue towards the sources; without it, one like the link's, with a limit in time or bdp computed from its own rate.";
        },
        REVERSE_WIRE,
        LINK_OVER_TIME,
    ],
);

static DUPLEX_KEYS: &[Key] = keys! {
    "reverse": Kind::Table(&REVERSE), Explained, r#"{"rate": "1 Mbit/s"}"# =>
        "What differs in the direction towards the sources.";
};

/// A link of a dumbbell.
pub(super) static LINK: Section =
    Section::plain("a link", &[LINK_KEYS, LINK_WIRE, LINK_OVER_TIME, DUPLEX_KEYS]);

/// The link of each host.
pub(super) static ACCESS: Section = Section::plain(
    "a link",
    &[
        LINK_KEYS,
        LINK_WIRE,
        LINK_OVER_TIME,
        DUPLEX_KEYS,
        keys! {
            "side": Kind::Choice { thing: "side", names: || vec!["both", "sources", "sinks"] },
                Default(r#""both""#), r#""sources""# =>
                "Dumbbell: which hosts have an access link, those on the left (sources), those on the right (sinks) or both. The others sit at their router.";
        },
    ],
);

/// A link of a list.
pub(super) static NAMED_LINK: Section = Section::plain(
    "a link",
    &[
        keys! {
            "id": Kind::Text, Explained, r#""first""# =>
                "Its name in results and in the paths of a sweep; without it, \"link#\" and its index in a chain, \"route\" and its index for parallel routes, else the names of its nodes.";
        },
        LINK_KEYS,
        LINK_WIRE,
        LINK_OVER_TIME,
        DUPLEX_KEYS,
        keys! {
            "from": Kind::Text, Explained, r#""a""# =>
                "Graph: the node at its beginning; a node exists once a link names it.";
            "to": Kind::Text, Explained, r#""b""# => "Graph: the node at its end.";
            "metric": Kind::Count { min: 1, max: 65_535 }, Default("1"), "10" =>
                "Graph: its contribution to the length of a route; the shortest route is taken.";
        },
    ],
);

/// `[[flow]]`.
pub(super) static FLOW: Section = Section {
    name: "a flow",
    groups: &[
        keys! {
            "id": Kind::Text, Explained, r#""upload""# =>
                "Its name in results and in the paths of a sweep; without it, the algorithm, \"#\" and the flow's index.";
            "kind": Kind::Choice { thing: "traffic", names: traffic_kinds },
                Default(r#""bulk""#), r#""bulk""# =>
                "Bulk: one application that writes to TCP as fast as it can, or as app_rate says. Arrivals, ftp, telnet, request, web, bursts, video and incast are workloads over TCP. Program runs programs of this machine on a real Linux kernel; a flow whose program is a list has this kind without writing it. The others are UDP: at a constant rate, at a varying rate, with exponential gaps, and at a constant rate in periods with pauses between them.";
            "cc": Kind::Algorithm, Explained, r#""reno""# =>
                "Congestion-control algorithm, required for TCP: one of Fairway's, \"python:module.Class\" for a class of your own, or \"linux:NAME\" for one that a kernel alone has, with --backend linux. Of kind \"program\", the default of both hosts: cubic unless set.";
            "cc_variant": Kind::Choice { thing: "variant", names: variant_names },
                Explained, r#""paper""# =>
                "Version of the algorithm; by default the stack's choice.";
            "cc_params": Kind::Numbers, Explained, "{}" =>
                "Parameters of the algorithm that differ from its defaults.";
            "start": Kind::Duration, Default(r#""0 s""#), r#""1 s""# =>
                "When it opens its connection or starts to send datagrams.";
            "stop": Kind::Duration, Explained, r#""50 s""# =>
                "When its application stops writing or sending; without it, never.";
            "bytes": Kind::Size, Explained, r#""100 MB""# =>
                "Size of the transfer in payload; without it, the transfer does not end.";
            "app_rate": Kind::Rate, Explained, r#""2 Mbit/s""# =>
                "Rate at which the application writes. While the buffers of both ends are full it waits, then catches up. Without it, it writes as fast as it can.";
            "both_ways": Kind::Switch, Default("false"), "true" =>
                "Whether the application at the sink also sends on the same connection: the same amount at the same rate until the same stop. Results list it as flow \"id/reverse\".";
            "read_rate": Kind::Rate, Explained, r#""1 Mbit/s""# =>
                "Rate at which the receiving application reads, a segment's worth at a time; without it, everything at once.";
            "read_interval": Kind::Duration, Explained, r#""100 ms""# =>
                "Pause of the receiving application after each read, instead of read_rate. A read waits for data and takes all of it, or at most read_size.";
            "read_size": Kind::Size, Explained, r#""64 KiB""# =>
                "With read_interval: the most that one read takes (the receiving application's buffer); without it, everything.";
            "count": Kind::Count { min: 1, max: MAX_CONNECTIONS }, Explained, "5" =>
                "Copies of the flow, named id/0, id/1 and so on.";
            "stagger": Kind::Duration, Explained, r#""100 ms""# =>
                "Time between the starts of two copies; without it, all start at once.";
            "application": Kind::Text, Explained, r#""backup""# =>
                "Name of the application that its connection belongs to. If their algorithm couples connections, those of one application, copies included, share windows and round-trip times; without a name, a connection is on its own.";
            "from": Kind::Text, Explained, r#""s0""# =>
                "Name of its source host, with `to`. In a dumbbell, flows with the same host share its access link; without names, each flow has its own hosts. In a graph, the name of a node.";
            "to": Kind::Text, Explained, r#""d0""# => "Name of its sink host, with `from`.";
            "matrix": Kind::Choice { thing: "traffic matrix", names: Matrix::names },
                Explained, r#""permutation""# =>
                "Instead of from and to, in a topology whose hosts have one link each, such as a fat tree or a star: each copy, or server of an incast, has hosts of its own, drawn at random. Permutation: no host sends to more than one other or receives from more than one. Incast: all send to the same host.";
            "direction": Kind::Choice { thing: "direction", names: || vec!["forward", "reverse"] },
                Explained, r#""reverse""# =>
                "In a dumbbell or a chain, whether it goes from left to right (forward) or back. Forward by default, unless an earlier flow has its source on the right or its sink on the left.";
            "precedence": Kind::Count { min: 0, max: 7 }, Default("0"), "5" =>
                "Precedence of its packets for strict-priority queues: the upper three bits of the DS field (RFC 2474).";
            "linux_socket": Kind::SocketOptions, Explained, r#"{"TCP_NODELAY": 1}"# =>
                "Integer socket options by name, set at both ends before the connection opens; the simulator ignores them.";
        },
        workload::KEYS,
        program::KEYS,
        datagrams::KEYS,
    ],
    switches: &[SWITCHES],
    kinds: workload::kinds_with,
};

/// `[measure]`.
pub(super) static MEASURE: Section = Section::plain(
    "the measurement",
    &[keys! {
        "window": Kind::Window, Explained, r#"["10 s", "50 s"]"# =>
            "Start and end of the measuring window; without it, the whole run. \"auto\" leaves out the warm-up that MSER-5 finds, the longest of all runs that are compared.";
        "sample": Kind::Duration, Default(r#""100 ms""#), r#""1 s""# =>
            "Period of the time series. For runs shorter than a second, the default is a tenth of the run.";
        "losses": Kind::Switch, Default("false"), "true" =>
            "Whether every single loss is recorded, for losses.parquet and the metrics based on it: by the simulator, and by Fairway's network under a kernel.";
    }],
);

/// `[linux]`.
pub(super) static LINUX: Section = Section::plain(
    "[linux]",
    &[keys! {
        "sysctl": Kind::Settings, Explained, r#"{"net.ipv4.tcp_no_metrics_save": 0}"# =>
            "Network sysctls by name, set at every host and router after those that follow from the stack; the simulator ignores them.";
        "module": Kind::Settings, Explained, r#"{"tcp_cubic.hystart": 0}"# =>
            "Parameters of the kernel's congestion controls and queue disciplines by module and name; the simulator ignores them.";
        "memory": Kind::Size, Default(r#""1 GiB""#), r#""4 GiB""# =>
            "Memory of the kernel; the simulator ignores it.";
        "network": Kind::Choice { thing: "network", names: || linux::NETWORKS.to_vec() },
            Default(r#""fairway""#), r#""tc""# =>
            "What connects the kernel's hosts: Fairway's own network, the simulator's in every queue, loss and schedule, or Linux's queue disciplines, set up with tc.";
    }],
);

/// Kinds of traffic: TCP's, and those of datagrams.
fn traffic_kinds() -> Vec<&'static str> {
    [&workload::names()[..], &datagrams::KINDS].concat()
}

fn multipath_names() -> Vec<&'static str> {
    super::Multipath::ALL.iter().map(|(name, _)| *name).collect()
}

fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

pub(super) fn variant_names() -> Vec<&'static str> {
    fairway_cc::Variant::ALL.iter().map(|variant| variant.name()).collect()
}

/// The names of Fairway's own algorithms.
pub(super) fn algorithm_names() -> Vec<&'static str> {
    fairway_cc::algorithms().iter().map(|algorithm| algorithm.name).collect()
}
