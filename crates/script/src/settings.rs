//! Settings lines: how closely times are held to, and the switches of the stack.

use fairway_cc::Selection;
use fairway_spec::from_document;
use fairway_tcp::{IP_HEADER_BYTES, Stack, TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES};
use fairway_units::Duration;
use serde_json::{Map, Value, json};

use crate::position::{Position, Problem, excerpt};
use crate::script::{Script, Setting};
use crate::sysctl;

/// How far from its time something may happen where a script does not say: packetdrill's own.
const TOLERANCE: Duration = Duration::from_millis(4);

/// Names of settings that mean something only where real packets travel.
const OF_REAL_NETWORKS: [&str; 21] = [
    "ip_version",
    "bind_port",
    "connect_port",
    "remote_ip",
    "local_ip",
    "gateway_ip",
    "netmask_ip",
    "speed",
    "mss",
    "code_command",
    "code_format",
    "code_sockopt",
    "non_fatal",
    "dry_run",
    "is_anyip",
    "send_omit_free",
    "debug",
    "verbose",
    "init_scripts",
    "wire_client_dev",
    "wire_server_dev",
];

/// What a script asks for before anything happens.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The switches of the endpoint.
    pub stack: Stack,
    /// Its congestion control.
    pub cc: Selection,
    /// How far from its time something may happen.
    pub tolerance: Duration,
    /// The same as a share of the time since the event before, in percent.
    pub tolerance_percent: u64,
    /// Whether one expected segment is one that is sent, never several of a burst.
    pub strict_segments: bool,
    /// Whether every segment that is sent has to be expected.
    pub strict: bool,
    /// Whether the PSH flag is compared.
    pub compare_psh: bool,
    /// Whether the application reads by the script's calls alone, not everything at once.
    pub reads_by_calls: bool,
    /// A tick of the timestamps that the script writes, if they are compared.
    pub timestamp_tick: Option<Duration>,
    /// What the script asks for that has no effect here.
    pub warnings: Vec<String>,
}

/// Switches as they are written, and where.
#[derive(Default)]
pub struct Switches {
    /// Keys of `[stack]` in experiment files, with values in their form.
    stack: Map<String, Value>,
    cc: Option<Value>,
    places: Vec<(String, Position)>,
    /// What has no effect here.
    pub warnings: Vec<String>,
}

impl Switches {
    /// Sets a switch by its name in experiment files; the last time counts.
    pub fn set(&mut self, at: Position, key: &str, value: Value) {
        self.places.push((format!("stack.{key}"), at));
        self.stack.insert(key.to_owned(), value);
    }

    /// Chooses the congestion control.
    pub fn choose(&mut self, at: Position, cc: Value) {
        self.places.push(("flow".to_owned(), at));
        self.cc = Some(cc);
    }

    /// Where the script says nothing of the size of packets, theirs is the preset's, whether
    /// segments carry timestamps or not.
    fn keep_packet_size(&mut self) -> Result<(), Problem> {
        if self.stack.contains_key("mss") || self.stack.contains_key("mtu") {
            return Ok(());
        }
        let mut plain = Switches { places: self.places.clone(), ..Switches::default() };
        if let Some(preset) = self.stack.get("preset") {
            plain.stack.insert("preset".to_owned(), preset.clone());
        }
        let preset = build(&plain)?.0;
        let options = if preset.options.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        let packet = preset.options.mss + options + TCP_HEADER_BYTES + IP_HEADER_BYTES;
        self.stack.insert("mtu".to_owned(), json!(format!("{packet} bytes")));
        Ok(())
    }

    /// Notes something that has no effect here.
    pub fn warn(&mut self, at: Position, text: impl AsRef<str>) {
        self.warnings.push(format!("{at}: {}", text.as_ref()));
    }
}

/// The settings of a script; `preset` instead of the one that it names. `is_active` tells whether
/// the endpoint opens the connection.
pub fn read(script: &Script, preset: Option<&str>, is_active: bool) -> Result<Settings, Problem> {
    let mut switches = Switches::default();
    let mut settings = Settings {
        stack: build(&switches)?.0,
        cc: Selection { name: String::new(), variant: None, params: Vec::new() },
        tolerance: TOLERANCE,
        tolerance_percent: 0,
        strict_segments: false,
        strict: false,
        compare_psh: false,
        reads_by_calls: false,
        timestamp_tick: None,
        warnings: Vec::new(),
    };
    for commands in &script.commands {
        sysctl::apply(commands, is_active, &mut switches);
    }
    sysctl::socket_options(script, &mut switches)?;
    for setting in &script.settings {
        settings.take(setting, &mut switches)?;
    }
    if let Some(preset) = preset {
        switches.set(Position::START, "preset", json!(preset));
    }
    switches.keep_packet_size()?;
    (settings.stack, settings.cc) = build(&switches)?;
    settings.warnings = switches.warnings;
    Ok(settings)
}

impl Settings {
    fn take(&mut self, setting: &Setting, switches: &mut Switches) -> Result<(), Problem> {
        let at = setting.at;
        match setting.name.as_str() {
            "tolerance_usecs" => self.tolerance = micros(setting)?,
            "tolerance_percent" => self.tolerance_percent = number(setting, 1000)?,
            "tcp_ts_tick_usecs" => self.timestamp_tick = Some(micros(setting)?),
            "strict_segments" => self.strict_segments = true,
            "mtu" => switches.set(at, "mtu", json!(format!("{} bytes", number(setting, 65_535)?))),
            "fairway_strict" => self.strict = true,
            "fairway_psh" => self.compare_psh = true,
            "fairway_reader" => match value(setting)? {
                "calls" => self.reads_by_calls = true,
                "at-once" => self.reads_by_calls = false,
                other => {
                    let message = format!(
                        "--fairway_reader: expected calls or at-once, found {}",
                        excerpt(other)
                    );
                    return Err(Problem::new(at, message));
                }
            },
            "fairway_preset" => switches.set(at, "preset", json!(value(setting)?)),
            "fairway_cc" => switches.choose(at, parsed(value(setting)?)),
            "fairway_set" => {
                let Some((key, value)) = value(setting)?.split_once('=') else {
                    let message = "expected --fairway_set=SWITCH=VALUE, as in \
                                   --fairway_set=initial_window=\"20 segments\"";
                    return Err(Problem::new(at, message));
                };
                switches.set(at, key.trim(), parsed(value.trim()));
            }
            name if OF_REAL_NETWORKS.contains(&name) => {}
            name => {
                let message = format!(
                    "--{} is not supported; remove it (supported are --tolerance_usecs, \
                     --tolerance_percent, --tcp_ts_tick_usecs, --strict_segments, --mtu, \
                     --fairway_preset, --fairway_cc, --fairway_set, --fairway_strict, --fairway_psh, \
                     --fairway_reader)",
                    excerpt(name)
                );
                return Err(Problem::new(at, message));
            }
        }
        Ok(())
    }
}

fn value(setting: &Setting) -> Result<&str, Problem> {
    setting.value.as_deref().ok_or_else(|| {
        let message = format!("--{} needs a value: --{}=VALUE", setting.name, setting.name);
        Problem::new(setting.at, message)
    })
}

fn number(setting: &Setting, largest: u64) -> Result<u64, Problem> {
    let text = value(setting)?;
    text.parse().ok().filter(|number| *number <= largest).ok_or_else(|| {
        let message = format!(
            "--{}: expected a whole number up to {largest}, found {}",
            setting.name,
            excerpt(text)
        );
        Problem::new(setting.at, message)
    })
}

fn micros(setting: &Setting) -> Result<Duration, Problem> {
    Ok(Duration::from_micros(number(setting, 1_000_000_000)?))
}

/// A value as experiment files have it, or as plain text.
fn parsed(text: &str) -> Value {
    let line = format!("x = {text}");
    let table: Option<toml::Table> = toml::from_str(&line).ok();
    let value = table.and_then(|table| serde_json::to_value(table.get("x")?).ok());
    value.unwrap_or_else(|| json!(text))
}

/// The stack and the algorithm, read as an experiment file would have them: the same switches, the
/// same checks.
fn build(switches: &Switches) -> Result<(Stack, Selection), Problem> {
    let mut stack = Map::from_iter([("preset".to_owned(), json!("linux-6.1"))]);
    stack.extend(switches.stack.clone());
    let cc = switches.cc.clone().unwrap_or_else(|| json!("cubic"));
    let document = json!({
        "duration": "1 s",
        "stack": stack,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": { "rate": "1 Gbit/s", "delay": "1 ms", "queue": {
                "kind": "droptail", "limit": "100 packets",
            } },
        },
        "flow": [{ "cc": cc }],
    });
    let mut experiment = from_document(&document).map_err(|errors| {
        let first = &errors.errors[0];
        let place = switches.places.iter().rev().find(|(path, _)| first.path.starts_with(path));
        let at = place.map_or(Position::START, |(_, at)| *at);
        Problem::new(at, format!("{}: {}", first.path, first.message))
    })?;
    let flow = experiment.flows.remove(0);
    Ok((flow.stack, flow.cc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;

    fn settings(text: &str) -> Settings {
        let script = parse(&format!("{text}\n0 listen(3, 1) = 0")).expect("a script");
        read(&script, None, false).expect("settings")
    }

    #[test]
    fn sysctls_are_switches() {
        let plain = settings("").stack;
        assert!(
            plain.losses.rack
                && plain.losses.tail_loss_probe
                && plain.losses.frto
                && plain.options.dsack
        );
        let found = settings(
            "`sysctl -q net.ipv4.tcp_recovery=0 net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_frto=0
              sysctl net.ipv4.tcp_dsack=0 net.ipv4.tcp_reordering=7 # six more
              set_sysctls.py /proc/sys/net/ipv4/tcp_rmem=\"4096 50000 100000\" \\
              /proc/sys/net/ipv4/tcp_wmem='4096 50000 200000'; ip route change x initcwnd 20`",
        );
        let stack = found.stack;
        assert!(
            !stack.losses.rack
                && !stack.losses.tail_loss_probe
                && !stack.losses.frto
                && !stack.options.dsack
        );
        assert_eq!((stack.losses.reordering, stack.window.initial_window), (7, 20));
        assert_eq!((stack.buffers.receive_buffer, stack.buffers.send_buffer), (100_000, 200_000));
        assert_eq!(found.warnings, [] as [&str; 0]);
    }

    #[test]
    fn socket_options_and_lines_come_later() {
        let found = settings(
            "`../common/defaults.sh`\n--fairway_set=sack=false\n--tolerance_usecs=10\n--mtu=576\n\
             0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [1000], 4) = 0\n\
             0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0",
        );
        assert!(!found.stack.options.sack && !found.stack.window.slow_start_after_idle);
        assert_eq!((found.stack.buffers.send_buffer, found.cc.name.as_str()), (2000, "reno"));
        assert_eq!(found.stack.options.mss, 576 - 20 - 20 - 12);
        assert_eq!(found.tolerance, Duration::from_micros(10));
    }
}
