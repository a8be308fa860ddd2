//! What a reader of a run's numbers has to know besides.

use fairway_cc::Namesake;
use fairway_schema::Losses;
use fairway_spec::{Experiment, Flow};

/// Remarks about names that mean something else to the stack, and losses that were not recorded.
pub(crate) fn of_run(experiment: &Experiment, losses_left_out: u64) -> Vec<String> {
    let mut remarks: Vec<_> = experiment.flows.iter().filter_map(of_name).collect();
    remarks.sort();
    remarks.dedup();
    remarks.extend(Losses::remark(losses_left_out));
    remarks
}

/// Where the stack has another algorithm, or another version, under the name that the flow asks for.
fn of_name(flow: &Flow) -> Option<String> {
    if flow.cc.variant.is_some() {
        return None;
    }
    let name = &flow.cc.name;
    let stack = flow.stack.window.cc_variant;
    let namesake = stack.namesake(name)?;
    let stack = stack.name();
    Some(match namesake {
        Namesake::Other(other) => format!(
            "cc = \"{name}\" ran the paper's version; what {stack} calls {name} is \"{other}\" in \
             Fairway: write cc = \"{other}\" for that, or cc_variant = \"paper\" to keep this one"
        ),
        Namesake::Missing => format!(
            "cc = \"{name}\" ran the paper's version; Fairway does not have the one of {stack}: write \
             cc_variant = \"paper\" to accept that"
        ),
    })
}
