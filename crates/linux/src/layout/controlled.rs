//! Queues that hold a delay, and those that take turns, in the words of `tc`.
//!
//! They are directly below htb, which asks them for a packet when a transmission begins, as the
//! simulator's links do. An empty class it does not ask: CoDel then leaves its dropping state with the
//! next packet rather than before it, which comes to the same.
//!
//! In a kernel PIE's updates come at multiples of their interval after the discipline was set up, and
//! flows are told apart by another hash: so the two differ as runs with different seeds do.

use fairway_net::{
    CodelConfig, DelayFrom, FqCodelConfig, FqPieConfig, Limit, PieConfig, QdiscConfig, SfqConfig,
};
use fairway_units::Duration;

use super::refusal::Refusals;

/// The MTU that a kernel's disciplines have from their device: of an Ethernet, with its header.
const DEVICE_MTU: u32 = 1514;

/// What `tc` calls a discipline, with its parameters. Refuses those that it does not have alike.
pub(super) fn discipline(config: &QdiscConfig, path: &str, refusals: &mut Refusals) -> String {
    let mut refuse = |key: &str, message: String| {
        refusals.refuse(format!("{path}.queue.{key}"), message);
    };
    match config {
        QdiscConfig::DropHead(config) => match config.limit {
            // What is in transmission has left the discipline.
            Limit::Packets(packets) => {
                format!("pfifo_head_drop limit {}", limit(packets.saturating_sub(1)))
            }
            _ => {
                let message = "a kernel's pfifo_head_drop counts packets; write \"50 packets\"";
                refuse("limit", message.to_owned());
                String::new()
            }
        },
        QdiscConfig::Codel(config) => format!("codel {}", codel(config, &mut refuse)),
        QdiscConfig::FqCodel(config) => fq_codel(config, &mut refuse),
        QdiscConfig::Pie(config) => format!("pie {}", pie(config, &mut refuse)),
        QdiscConfig::FqPie(config) => fq_pie(config, &mut refuse),
        QdiscConfig::Sfq(config) => sfq(config, &mut refuse),
        _ => {
            let message = "this discipline is not given to tc; write \"droptail\", \"drophead\", \
                           \"red\", \"codel\", \"fq_codel\", \"pie\", \"fq_pie\" or \"sfq\", or \
                           remove `network = \"tc\"`";
            refuse("kind", message.to_owned());
            String::new()
        }
    }
}

/// Whether packets leave in the order in which they came.
pub(super) fn keeps_order(config: &QdiscConfig) -> bool {
    !matches!(config, QdiscConfig::FqCodel(_) | QdiscConfig::FqPie(_) | QdiscConfig::Sfq(_))
}

type Refuse<'a> = dyn FnMut(&str, String) + 'a;

/// Numbers of packets have 32 bits.
fn limit(packets: u64) -> u64 {
    packets.min(u64::from(u32::MAX))
}

/// A time as `tc` reads it. It counts microseconds.
fn time(key: &str, time: Duration, refuse: &mut Refuse<'_>) -> String {
    let nanos = time.as_nanos();
    if !nanos.is_multiple_of(1000) {
        let nearest = Duration::from_micros((nanos + 500) / 1000);
        refuse(key, format!("tc counts it in microseconds, got {time}; write \"{nearest}\""));
    }
    format!("{}us", nanos / 1000)
}

fn switch(on: bool, name: &str, off: &str) -> String {
    if on { name.to_owned() } else { off.to_owned() }
}

fn refuse_mtu(mtu_bytes: u32, refuse: &mut Refuse<'_>) {
    if mtu_bytes != DEVICE_MTU {
        let message = format!(
            "a kernel's device has packets of {DEVICE_MTU} bytes, got {mtu_bytes}; write a smaller \
             mss or frame_overhead, or remove `network = \"tc\"`"
        );
        refuse("kind", message);
    }
}

fn refuse_variant(is_rfc: bool, refuse: &mut Refuse<'_>) {
    if is_rfc {
        let message = "a kernel does as Linux does; write \"linux\", or remove `network = \"tc\"`";
        refuse("variant", message.to_owned());
    }
}

fn codel(config: &CodelConfig, refuse: &mut Refuse<'_>) -> String {
    refuse_variant(config.exact_root, refuse);
    refuse_mtu(config.mtu_bytes, refuse);
    let mut text = format!(
        "limit {} target {} interval {} {}",
        limit(config.limit_packets),
        time("target", config.target, refuse),
        time("interval", config.interval, refuse),
        switch(config.ecn, "ecn", "noecn")
    );
    if let Some(threshold) = config.ce_threshold {
        text += &format!(" ce_threshold {}", time("ce_threshold", threshold.delay, refuse));
    }
    text
}

fn fq_codel(config: &FqCodelConfig, refuse: &mut Refuse<'_>) -> String {
    let mut text = format!(
        "fq_codel {} flows {} quantum {} memory_limit {} drop_batch {}",
        codel(&config.codel, refuse),
        config.flows,
        config.quantum_bytes,
        limit(config.memory_limit_bytes),
        config.drop_batch_packets
    );
    if config.codel.ce_threshold.is_some_and(|threshold| threshold.only_ect1) {
        text += " ce_threshold_selector 0x1/0x3";
    }
    text
}

fn pie(config: &PieConfig, refuse: &mut Refuse<'_>) -> String {
    let linux = PieConfig::default();
    refuse_variant(config.bounded, refuse);
    refuse_mtu(config.mtu_bytes, refuse);
    if config.burst_allowance != linux.burst_allowance {
        let message = format!(
            "a kernel's is always {}; write that, or remove `network = \"tc\"`",
            linux.burst_allowance
        );
        refuse("burst_allowance", message);
    }
    if !config.update_interval.as_nanos().is_multiple_of(1_000_000) {
        let message = format!(
            "a kernel's timer counts milliseconds, got {}; write \"{}\"",
            config.update_interval, linux.update_interval
        );
        refuse("tupdate", message);
    }
    format!(
        "limit {} target {} tupdate {} alpha {} beta {} {} {} {}",
        limit(config.limit_packets),
        time("target", config.target, refuse),
        time("tupdate", config.update_interval, refuse),
        config.alpha_sixteenths,
        config.beta_sixteenths,
        switch(config.ecn, "ecn", "noecn"),
        switch(config.byte_mode, "bytemode", "nobytemode"),
        switch(
            config.delay_from == DelayFrom::DepartureRate,
            "dq_rate_estimator",
            "no_dq_rate_estimator"
        )
    )
}

fn fq_pie(config: &FqPieConfig, refuse: &mut Refuse<'_>) -> String {
    format!(
        "fq_pie {} flows {} quantum {} ecn_prob {}",
        pie(&config.pie, refuse),
        config.flows,
        config.quantum_bytes,
        config.pie.ecn_up_to_percent
    )
}

fn sfq(config: &SfqConfig, refuse: &mut Refuse<'_>) -> String {
    let mut text = format!(
        "sfq limit {} depth {} flows {} divisor {} quantum {}",
        config.limit_packets,
        config.depth_packets,
        config.flows,
        config.divisor,
        config.quantum.get()
    );
    if let Some(period) = config.perturb {
        let nanos = period.as_nanos();
        if !nanos.is_multiple_of(1_000_000_000) {
            refuse("perturb", format!("tc counts it in seconds, got {period}; write \"10 s\""));
        }
        text += &format!(" perturb {}", nanos / 1_000_000_000);
    }
    if config.head_drop {
        text += " headdrop";
    }
    text
}
