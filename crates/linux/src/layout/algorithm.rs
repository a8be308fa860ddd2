//! Congestion controls: what the kernel calls them, and what it can be told about them.

use fairway_cc::{SlowStart, Variant};
use fairway_sim::experiment::{Experiment, Flow};

use super::refusal::Refusals;

/// Congestion controls of Linux 6.1 under Fairway's name and the kernel's (net/ipv4/tcp_*.c). The
/// kernel's "westwood" is Westwood+.
const OF_THE_KERNEL: &[(&str, &str)] = &[
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bic", "bic"),
    ("westwood", "westwood"),
    ("htcp", "htcp"),
    ("highspeed", "highspeed"),
    ("hybla", "hybla"),
    ("vegas", "vegas"),
    ("nv", "nv"),
    ("scalable", "scalable"),
    ("tcp-lp", "lp"),
    ("veno", "veno"),
    ("yeah", "yeah"),
    ("illinois", "illinois"),
    ("dctcp", "dctcp"),
    ("cdg", "cdg"),
    ("bbr", "bbr"),
];

/// Those that Fairway adds to a kernel, each as its paper has it.
const ADDED: &[&str] = &["dcm+", "westwood+"];

/// Those that call the kernel's `tcp_slow_start` as it is.
const SLOW_START_STANDARD: &[&str] = &[
    "reno",
    "bic",
    "westwood",
    "westwood+",
    "htcp",
    "highspeed",
    "nv",
    "scalable",
    "lp",
    "veno",
    "yeah",
    "illinois",
    "dctcp",
    "dcm+",
];

/// `TCP_CONGESTION` of a flow.
pub(super) fn name(index: usize, flow: &Flow, refusals: &mut Refusals) -> &'static str {
    let cc = &flow.cc;
    if !cc.params.is_empty() {
        let names: Vec<_> = cc.params.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!(
            "{} cannot be set for one flow of a kernel; remove cc_params or use --backend sim \
             ([linux.module] has the parameters of the kernel's modules)",
            names.join(", ")
        );
        refusals.refuse_flow(index, "cc_params", message);
    }
    let name = match find(flow) {
        Ok(name) => name,
        Err((key, message)) => {
            refusals.refuse_flow(index, key, message);
            return "reno";
        }
    };
    refuse_slow_start(index, flow, name, refusals);
    name
}

/// The kernel's name of a flow's algorithm, or the key that is wrong and why.
fn find(flow: &Flow) -> Result<&'static str, (&'static str, String)> {
    let (name, variant) = (flow.cc.name.as_str(), flow.cc.variant);
    let added = ADDED.iter().find(|added| **added == name).copied();
    match (added, variant) {
        (Some(added), None | Some(Variant::Paper)) => return Ok(added),
        (Some("westwood+"), Some(Variant::Linux6_1)) => return Ok("westwood"),
        (Some(_), Some(other)) => {
            let message = format!(
                "a kernel has {name} as \"paper\", not as \"{}\"; write that or use --backend sim",
                other.name()
            );
            return Err(("cc_variant", message));
        }
        (None, _) => {}
    }
    let Some((_, kernel)) = OF_THE_KERNEL.iter().find(|(fairway, _)| *fairway == name) else {
        let known: Vec<_> = OF_THE_KERNEL.iter().map(|(fairway, _)| *fairway).collect();
        let message = format!(
            "\"{name}\" is in no kernel of Fairway's; it has {}, {}; write one of them or use \
             --backend sim",
            known.join(", "),
            ADDED.join(", ")
        );
        return Err(("cc", message));
    };
    match variant.unwrap_or(flow.stack.cc_variant) {
        Variant::Linux6_1 => Ok(kernel),
        other => {
            let message = format!(
                "a kernel has {name} as \"linux-6.1\", not as \"{}\"; write that or use \
                 --backend sim",
                other.name()
            );
            Err(("cc_variant", message))
        }
    }
}

fn refuse_slow_start(index: usize, flow: &Flow, kernel: &str, refusals: &mut Refusals) {
    let possible = match (&flow.stack.slow_start, kernel) {
        (None, _) | (Some(SlowStart::Standard | SlowStart::HyStart(_)), "cubic") => true,
        (Some(SlowStart::Standard), _) => SLOW_START_STANDARD.contains(&kernel),
        (Some(_), _) => false,
    };
    if let (false, Some(slow_start)) = (possible, &flow.stack.slow_start) {
        let message = format!(
            "\"{}\" is no slow start that a kernel has for {}; remove it or use --backend sim",
            slow_start.name(),
            flow.cc.name
        );
        refusals.refuse_flow(index, "slow_start", message);
    }
}

/// Whether CUBIC of a flow has HyStart; none for other algorithms.
fn has_hystart(flow: &Flow) -> Option<bool> {
    (flow.cc.name == "cubic").then_some(!matches!(flow.stack.slow_start, Some(SlowStart::Standard)))
}

/// Arguments of the kernel: parameters of its modules, the user's last.
pub(super) fn boot_arguments(experiment: &Experiment, refusals: &mut Refusals) -> Vec<String> {
    let mut hystart = None;
    let mut arguments = Vec::new();
    for (index, flow) in experiment.flows.iter().enumerate() {
        let Some(wanted) = has_hystart(flow) else { continue };
        if *hystart.get_or_insert(wanted) != wanted {
            let message = "of the flows with cubic, some have slow_start \"standard\" and some \
                           HyStart, and a kernel has one for all; write the same for all"
                .to_owned();
            refusals.refuse_flow(index, "slow_start", message);
        }
    }
    if hystart == Some(false) {
        arguments.push("tcp_cubic.hystart=0".to_owned());
    }
    arguments
        .extend(experiment.linux.modules.iter().map(|(name, value)| format!("{name}={value}")));
    arguments
}
