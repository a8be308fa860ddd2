//! Striped transfers that Fairway's own program makes, on a real Linux kernel.

use fairway_units::Bytes;
use serde_json::Value;

use super::keys::{Absent::Explained, Key, Kind, keys};
use super::reader::{Name, Readable, Table, show};
use super::{Dealing, Experiment, ExperimentError, ExperimentErrors, Workload};

/// Programs that make transfers.
const ENCRYPTED: &str = "fairway";
const PLAIN: &str = "fairway-plain";

/// The word in place of a number of connections.
pub(super) const AUTO: &str = "auto";

/// The key of striped flows that only programs have.
pub(super) static KEYS: &[Key] = keys! {
    "program": Kind::Choice { thing: "program", names: || vec![ENCRYPTED, PLAIN] },
        Explained, r#""fairway""# =>
        "With connections: on a real Linux kernel, fairway send and fairway recv make the transfer themselves, encrypted, or not with \"fairway-plain\"; then connections may be \"auto\", and data is dealt dynamically unless striping is written. The simulator deals the data itself.";
};

/// A transfer by a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Whether it encrypts.
    pub encrypted: bool,
    /// Whether it chooses the number of connections while it runs.
    pub auto: bool,
    /// Bytes that a connection takes at a time, if they are written.
    pub chunk: Option<Bytes>,
}

/// A number of connections, or the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountOrAuto {
    /// So many.
    Count(u64),
    /// As many as the program finds right.
    Auto,
}

impl Readable for CountOrAuto {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let Kind::CountOrAuto { min, max } = *kind else { unreachable!("a key of another form") };
        match value.as_u64() {
            Some(count) if (min..=max).contains(&count) => Ok(CountOrAuto::Count(count)),
            _ if value.as_str() == Some(AUTO) => Ok(CountOrAuto::Auto),
            _ => Err(format!(
                "expected a whole number from {min} to {max}, or \"{AUTO}\", got {}",
                show(value)
            )),
        }
    }
}

/// The connections of a flow that cannot leave their number to a program.
pub(super) fn read_count(table: &Table) -> Option<u64> {
    match table.read("connections")? {
        CountOrAuto::Count(count) => Some(count),
        CountOrAuto::Auto => {
            let message = format!(
                "\"{AUTO}\": a program decides it while it runs; write program = \"{ENCRYPTED}\" and \
                 use --backend linux, or write a number"
            );
            table.wrong("connections", message)
        }
    }
}

/// The connections of a striped flow, and the program that makes them.
pub(super) fn read(table: &Table) -> Option<(u64, Option<Program>)> {
    let program = table.read::<Name>("program").map(|Name(name)| name);
    if program.is_some() && !table.has("connections") {
        let message =
            format!("needs connections; write connections = \"{AUTO}\", or how many there are");
        table.refuse("program", message);
    }
    let Some(name) = program else { return read_count(table).map(|count| (count, None)) };
    let connections: CountOrAuto = table.read("connections")?;
    let auto = connections == CountOrAuto::Auto;
    if auto && table.read::<Name>("striping") == Some(Name("static")) {
        let message = format!(
            "\"static\" needs a number of connections; write \"dynamic\", or a number in place of \
             \"{AUTO}\""
        );
        table.refuse("striping", message);
    }
    let count = match connections {
        CountOrAuto::Count(count) => count,
        CountOrAuto::Auto => 1,
    };
    let program =
        Program { encrypted: name == ENCRYPTED, auto, chunk: table.read::<Bytes>("chunk") };
    Some((count, Some(program)))
}

/// Who gets the next chunk, unless it is written.
pub(super) fn usual_dealing(program: Option<Program>) -> Dealing {
    if program.is_some() { Dealing::Dynamic } else { Dealing::Static }
}

impl Experiment {
    /// Whether the simulator has everything that it asks for: nothing but a program chooses a number
    /// of connections.
    ///
    /// # Errors
    /// [`ExperimentErrors`] with every flow that wants it chosen.
    pub fn check_for_simulator(&self) -> Result<(), ExperimentErrors> {
        let chooses = |workload: &Workload| matches!(workload, Workload::Striped(striping) if striping.program.is_some_and(|program| program.auto));
        let chosen = self.applications.iter().filter(|application| chooses(&application.workload));
        let error = |id: &str| ExperimentError {
            path: super::path_of_flow(id, |_| false, "connections"),
            message: format!(
                "\"{AUTO}\": the simulator runs no program that chooses; write a number, or use \
                 --backend linux"
            ),
        };
        let mut errors: Vec<_> = chosen.map(|application| error(&application.id)).collect();
        errors.dedup();
        if errors.is_empty() { Ok(()) } else { Err(ExperimentErrors { source: None, errors }) }
    }
}
