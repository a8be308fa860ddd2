//! Striped transfers that Fairway's own program makes, on a real Linux kernel.

use std::path::{Component, Path};

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
    "program": Kind::Program { names: || vec![ENCRYPTED, PLAIN] },
        Explained, r#""fairway""# =>
        "A command, as a list of words: on a real Linux kernel, it runs on the source host from start to stop. With connections, a name: fairway send and fairway recv make the transfer themselves, encrypted, or not with \"fairway-plain\"; then connections may be \"auto\", and data is dealt dynamically unless striping is written. The simulator deals the data of these itself, and runs no command.";
    "server": Kind::Command, Explained, r#"["iperf3", "--server"]"# =>
        "Of kind \"program\": a command that runs on the sink host, from one second before the beginning of the run.";
    "keep": Kind::Paths, Explained, r#"["copy", "s0:/var/log/server"]"# =>
        "Of kind \"program\": files that are kept in the results, as files/HOST/PATH, and directories, of which the files are kept that programs have written. PATH is on the host of program, or of server without one, HOST:PATH on another.";
    "port": Kind::Count { min: 1, max: MAX_PORT }, Explained, "5201" =>
        "Of kind \"program\": port of the server on the sink host, which tells the flow's packets from those of other flows of programs between the same two hosts.";
};

/// Below the ports that Linux gives to clients (net.ipv4.ip_local_port_range).
const MAX_PORT: u64 = 32_767;
/// Paths of one flow.
pub(super) const MAX_PATHS: usize = 100;
/// Longest path that a kernel takes (`PATH_MAX` of linux/limits.h), without its end.
const MAX_PATH_BYTES: usize = 4095;
/// Words of one command.
pub(super) const MAX_WORDS: usize = 1000;
/// The kind of flows whose traffic is that of commands.
pub(super) const COMMANDS: &str = "program";

/// Programs of this machine on the two hosts of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// What runs at the source, if anything does.
    pub program: Vec<String>,
    /// What runs at the sink before that, if anything does.
    pub server: Vec<String>,
    /// What is kept of their files.
    pub keep: Vec<KeptPath>,
    /// Port of the server, if packets are told by it.
    pub port: Option<u16>,
    /// Names of the source and the sink.
    pub hosts: [String; 2],
}

/// A file that is kept, or a directory of which the files are kept that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPath {
    /// Name of its host; that of the command if none.
    pub host: Option<String>,
    /// Its path, from the working directory or the root.
    pub path: String,
}

impl KeptPath {
    /// Reads "copy", "/var/log/nginx" or "s0:/var/log/nginx".
    fn parse(text: &str) -> Option<Self> {
        let (host, path) = match text.split_once(':') {
            Some((host, path)) if !host.contains('/') => (Some(host.to_owned()), path),
            _ => (None, text),
        };
        let is_fit = (1..=MAX_PATH_BYTES).contains(&path.len())
            && !path.contains('\0')
            && Path::new(path).components().all(|part| part != Component::ParentDir)
            && Path::new(path) != Path::new("/")
            && host.as_deref() != Some("");
        is_fit.then(|| KeptPath { host, path: path.to_owned() })
    }
}

/// Paths of files that are kept.
struct Paths(Vec<KeptPath>);

impl Readable for Paths {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let paths = value.as_array().filter(|paths| (1..=MAX_PATHS).contains(&paths.len()));
        let path = |path: &Value| path.as_str().and_then(KeptPath::parse);
        let paths = paths.and_then(|paths| paths.iter().map(path).collect());
        paths.map(Paths).ok_or_else(|| {
            format!(
                "expected a list of 1 to {MAX_PATHS} paths, PATH or HOST:PATH, without .. and other \
                 than /, got {}; write [\"copy\", \"s0:/var/log\"]",
                show(value)
            )
        })
    }
}

/// The words of a command.
struct Words(Vec<String>);

impl Readable for Words {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let words = value.as_array().filter(|words| (1..=MAX_WORDS).contains(&words.len()));
        let word =
            |word: &Value| word.as_str().filter(|word| !word.contains('\0')).map(str::to_owned);
        let words = words.and_then(|words| words.iter().map(word).collect::<Option<Vec<_>>>());
        words.filter(|words| !words[0].is_empty()).map(Words).ok_or_else(|| {
            format!(
                "expected a command as a list of 1 to {MAX_WORDS} texts, got {}; write [\"curl\", \
                 \"http://d0/\"]",
                show(value)
            )
        })
    }
}

/// Whether a flow without a kind is one of commands.
pub(super) fn has_command(table: &Table) -> bool {
    table.has("server") || table.raw("program").is_some_and(Value::is_array)
}

/// The commands of a flow; without any, its hosts alone are there.
pub(super) fn read_commands(table: &Table) -> Option<Commands> {
    let [program, server] = ["program", "server"].map(|key| table.read_if_written::<Words>(key));
    let keep = table.read_if_written::<Paths>("keep");
    let port = table.read_if_written::<u64>("port");
    let words = |words: Option<Words>| words.map_or_else(Vec::new, |Words(words)| words);
    Some(Commands {
        program: words(program?),
        server: words(server?),
        keep: keep?.map_or_else(Vec::new, |Paths(paths)| paths),
        port: port?.and_then(|port| u16::try_from(port).ok()),
        hosts: Default::default(),
    })
}

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
    /// of connections, and commands need a kernel.
    ///
    /// # Errors
    /// [`ExperimentErrors`] with every flow that wants either.
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
        let runs = |application: &&super::Application| {
            matches!(application.workload, Workload::Program(_))
        };
        let run = self.applications.iter().filter(runs).map(|application| ExperimentError {
            path: super::path_of_flow(&application.id, |kind| kind == COMMANDS, "program"),
            message:
                "only a real Linux kernel runs commands; use --backend linux, or remove the flow"
                    .to_owned(),
        });
        let mut errors: Vec<_> = chosen.map(|application| error(&application.id)).collect();
        errors.extend(run);
        errors.dedup();
        if errors.is_empty() { Ok(()) } else { Err(ExperimentErrors { source: None, errors }) }
    }
}
