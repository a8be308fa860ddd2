//! Congestion controls: what the kernel calls them, and what it can be told about them.

use fairway_cc::{OF_KERNEL, SlowStart, Variant, algorithms};
use fairway_spec::{Experiment, Flow};

use super::refusal::Refusals;

/// Congestion controls that a kernel has: Fairway's name and variant, and the kernel's name. Those of
/// Linux 6.1 are its modules (net/ipv4/tcp_*.c), of which "westwood" is Westwood+; those of papers are
/// Fairway's own modules.
const OF_A_KERNEL: &[(&str, Variant, &str)] = &[
    ("reno", Variant::Linux6_1, "reno"),
    ("cubic", Variant::Linux6_1, "cubic"),
    ("bic", Variant::Linux6_1, "bic"),
    ("westwood+", Variant::Linux6_1, "westwood"),
    ("westwood+", Variant::Paper, "westwood+"),
    ("htcp", Variant::Linux6_1, "htcp"),
    ("highspeed", Variant::Linux6_1, "highspeed"),
    ("hybla", Variant::Linux6_1, "hybla"),
    ("vegas", Variant::Linux6_1, "vegas"),
    ("nv", Variant::Linux6_1, "nv"),
    ("scalable", Variant::Linux6_1, "scalable"),
    ("tcp-lp", Variant::Linux6_1, "lp"),
    ("veno", Variant::Linux6_1, "veno"),
    ("yeah", Variant::Linux6_1, "yeah"),
    ("illinois", Variant::Linux6_1, "illinois"),
    ("dctcp", Variant::Linux6_1, "dctcp"),
    ("cdg", Variant::Linux6_1, "cdg"),
    ("bbr", Variant::Linux6_1, "bbr"),
    ("dcm+", Variant::Paper, "dcm+"),
];

/// Those for which "standard" is what they do anyway, by the kernel's name: they call its
/// `tcp_slow_start` as it is, or, as dcm+, follow a rule that is one with the simulator's.
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
pub(super) fn name<'a>(index: usize, flow: &'a Flow, refusals: &mut Refusals) -> &'a str {
    let cc = &flow.cc;
    // The kernel says if it has none of that name.
    if let Some(own) = cc.name.strip_prefix(OF_KERNEL) {
        return own;
    }
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
    let name = flow.cc.name.as_str();
    let of_name = || OF_A_KERNEL.iter().filter(move |(fairway, ..)| *fairway == name);
    if of_name().next().is_none() {
        return Err(("cc", unknown(name)));
    }
    // A name that a kernel has is in the registry, and its variant was checked with the experiment.
    let simulated = algorithms().iter().find(|algorithm| algorithm.name == name);
    let wanted =
        simulated.and_then(|found| found.variant(&flow.cc, flow.stack.window.cc_variant).ok());
    match of_name().find(|(_, variant, _)| Some(*variant) == wanted) {
        Some((.., kernel)) => Ok(kernel),
        None => {
            let known: Vec<_> =
                of_name().map(|(_, variant, _)| format!("\"{}\"", variant.name())).collect();
            let known = known.join(" or ");
            let wanted = wanted.map_or("", Variant::name);
            let message = format!(
                "a kernel has {name} as {known}, not as \"{wanted}\"; write {known} or use \
                 --backend sim"
            );
            Err(("cc_variant", message))
        }
    }
}

/// Why there is no such algorithm.
fn unknown(name: &str) -> String {
    if name == "westwood" {
        return "no kernel has \"westwood\" of 2001, what Linux calls so is Westwood+; write \
                \"westwood+\" or use --backend sim"
            .to_owned();
    }
    let mut known: Vec<_> = OF_A_KERNEL.iter().map(|(fairway, ..)| *fairway).collect();
    known.dedup();
    format!(
        "\"{name}\" is in no kernel of Fairway's; it has {}; write one of them or use --backend sim",
        known.join(", ")
    )
}

fn refuse_slow_start(index: usize, flow: &Flow, kernel: &str, refusals: &mut Refusals) {
    let possible = match (&flow.stack.window.slow_start, kernel) {
        (None, _) | (Some(SlowStart::Standard | SlowStart::HyStart(_)), "cubic") => true,
        (Some(SlowStart::Standard), _) => SLOW_START_STANDARD.contains(&kernel),
        (Some(_), _) => false,
    };
    if let (false, Some(slow_start)) = (possible, &flow.stack.window.slow_start) {
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
    (flow.cc.name == "cubic")
        .then_some(!matches!(flow.stack.window.slow_start, Some(SlowStart::Standard)))
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
