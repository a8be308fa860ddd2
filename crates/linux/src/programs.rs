//! Which connections of an experiment are not the guest's own, but those of a program.

use std::ops::Range;

use fairway_spec::{Application, Commands, Experiment, Flow, Program, Striping, Workload};

/// A transfer that a program makes.
pub(crate) struct ByProgram<'a> {
    pub(crate) application: &'a Application,
    pub(crate) striping: Striping,
    pub(crate) program: Program,
}

impl ByProgram<'_> {
    /// Its connections in the experiment: one in place of all if the program chooses their number.
    pub(crate) fn connections(&self) -> Range<usize> {
        self.application.connections.clone()
    }
}

/// The transfers that programs make, in their order.
pub(crate) fn by_program(experiment: &Experiment) -> impl Iterator<Item = ByProgram<'_>> {
    experiment.applications.iter().filter_map(|application| match &application.workload {
        Workload::Striped(striping) => {
            striping.program.map(|program| ByProgram { application, striping: *striping, program })
        }
        _ => None,
    })
}

/// The connections of each application that are subflows of one.
pub(crate) fn multipath(experiment: &Experiment) -> impl Iterator<Item = Range<usize>> {
    experiment.applications.iter().filter_map(|application| match &application.workload {
        Workload::Striped(striping) if striping.mptcp && striping.program.is_none() => {
            Some(application.connections.clone())
        }
        _ => None,
    })
}

/// The flows of commands, with their places in the experiment.
pub(crate) fn commands(experiment: &Experiment) -> impl Iterator<Item = (usize, &Commands)> {
    experiment.applications.iter().filter_map(|application| match &application.workload {
        Workload::Program(commands) => Some((application.connections.start, commands)),
        _ => None,
    })
}

/// The connections that the guest makes itself, with their places in the experiment, in their order.
pub(crate) fn by_guest(experiment: &Experiment) -> Vec<(usize, &Flow)> {
    let mut is_programs = vec![false; experiment.flows.len()];
    for transfer in by_program(experiment) {
        is_programs[transfer.connections()].fill(true);
    }
    for (place, _) in commands(experiment) {
        is_programs[place] = true;
    }
    let flows = experiment.flows.iter().enumerate().zip(is_programs);
    flows.filter(|(_, is_programs)| !is_programs).map(|(flow, _)| flow).collect()
}
