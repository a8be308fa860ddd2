//! What an experiment says to a real Linux kernel beyond what every backend understands: `[linux]`
//! and `linux_socket` of a flow. The simulator ignores it.

use fairway_units::Bytes;
use serde_json::{Map, Value};

use super::error::did_you_mean;
use super::keys::Kind;
use super::reader::{Name, Readable, Table, excerpt, show};

/// Settings of one kind that an experiment may have.
const MAX_SETTINGS: usize = 200;
/// Characters of a setting's name: `/proc/sys` has none nearly as long.
const MAX_NAME: usize = 100;
/// Characters of a setting's value.
const MAX_VALUE: usize = 200;
/// Least memory of a kernel with its programs.
const MIN_MEMORY: u64 = 128 << 20;
/// Most memory of a kernel: more than any machine that it would run on.
const MAX_MEMORY: u64 = 1 << 40;
/// Memory of a kernel that is told none: enough for windows of hundreds of megabytes.
const USUAL_MEMORY: Bytes = Bytes::new(1 << 30);

/// What connects the hosts of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinuxNetwork {
    /// Fairway's own network, as the simulator's.
    #[default]
    Fairway,
    /// Linux's queue disciplines, set up with `tc`.
    Tc,
}

/// The names of [`LinuxNetwork`].
pub(super) const NETWORKS: [&str; 2] = ["fairway", "tc"];

/// `[linux]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxSettings {
    /// Values of sysctls by name, as `sysctl` writes it: "net.ipv4.tcp_ecn".
    pub sysctls: Vec<(String, String)>,
    /// Values of parameters of the kernel's modules by name: "tcp_cubic.hystart".
    pub modules: Vec<(String, String)>,
    /// Memory of the kernel.
    pub memory: Bytes,
    /// What connects the hosts.
    pub network: LinuxNetwork,
}

impl Default for LinuxSettings {
    fn default() -> Self {
        LinuxSettings {
            sysctls: Vec::new(),
            modules: Vec::new(),
            memory: USUAL_MEMORY,
            network: LinuxNetwork::default(),
        }
    }
}

/// An integer socket option that a flow may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOption {
    /// Its name in Linux's headers.
    pub name: &'static str,
    /// `SOL_SOCKET`, `IPPROTO_IP` or `IPPROTO_TCP`.
    pub level: i32,
    /// Its number at that level.
    pub option: i32,
    /// Least value.
    pub min: i32,
    /// Largest value.
    pub max: i32,
}

/// include/uapi/asm-generic/socket.h.
const SOL_SOCKET: i32 = 1;
/// include/uapi/linux/in.h.
const IPPROTO_IP: i32 = 0;
/// include/uapi/linux/in.h.
const IPPROTO_TCP: i32 = 6;

const fn option(name: &'static str, level: i32, option: i32, [min, max]: [i32; 2]) -> SocketOption {
    SocketOption { name, level, option, min, max }
}

/// What most options take.
const ANY: [i32; 2] = [0, i32::MAX];
/// Off and on.
const SWITCH: [i32; 2] = [0, 1];

/// The options. Numbers from Linux's include/uapi/asm-generic/socket.h, linux/in.h and
/// linux/tcp.h; bounds from net/core/sock.c, net/ipv4/ip_sockglue.c and net/ipv4/tcp.c.
pub const SOCKET_OPTIONS: &[SocketOption] = &[
    option("SO_SNDBUF", SOL_SOCKET, 7, ANY),
    option("SO_RCVBUF", SOL_SOCKET, 8, ANY),
    option("SO_KEEPALIVE", SOL_SOCKET, 9, SWITCH),
    option("SO_PRIORITY", SOL_SOCKET, 12, ANY),
    option("SO_RCVLOWAT", SOL_SOCKET, 18, ANY),
    option("SO_SNDBUFFORCE", SOL_SOCKET, 32, ANY),
    option("SO_RCVBUFFORCE", SOL_SOCKET, 33, ANY),
    option("SO_MARK", SOL_SOCKET, 36, ANY),
    // In bytes a second; as an integer it has 32 bits, of which a sign takes one.
    option("SO_MAX_PACING_RATE", SOL_SOCKET, 47, ANY),
    option("IP_TOS", IPPROTO_IP, 1, [0, 255]),
    option("IP_TTL", IPPROTO_IP, 2, [1, 255]),
    option("IP_MTU_DISCOVER", IPPROTO_IP, 10, [0, 5]),
    option("TCP_NODELAY", IPPROTO_TCP, 1, SWITCH),
    // TCP_MIN_MSS to MAX_TCP_WINDOW of include/net/tcp.h.
    option("TCP_MAXSEG", IPPROTO_TCP, 2, [88, 32767]),
    option("TCP_CORK", IPPROTO_TCP, 3, SWITCH),
    option("TCP_KEEPIDLE", IPPROTO_TCP, 4, [1, 32767]),
    option("TCP_KEEPINTVL", IPPROTO_TCP, 5, [1, 32767]),
    option("TCP_KEEPCNT", IPPROTO_TCP, 6, [1, 127]),
    option("TCP_SYNCNT", IPPROTO_TCP, 7, [1, 127]),
    option("TCP_LINGER2", IPPROTO_TCP, 8, [-1, i32::MAX]),
    option("TCP_WINDOW_CLAMP", IPPROTO_TCP, 10, ANY),
    option("TCP_QUICKACK", IPPROTO_TCP, 12, ANY),
    option("TCP_THIN_LINEAR_TIMEOUTS", IPPROTO_TCP, 16, SWITCH),
    option("TCP_USER_TIMEOUT", IPPROTO_TCP, 18, ANY),
    option("TCP_NOTSENT_LOWAT", IPPROTO_TCP, 25, ANY),
];

/// Names of settings, in order, each with an integer or text; checked by their users.
pub(super) struct Settings(Vec<(String, String)>);

impl Readable for Settings {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let map = entries(value, "{ \"net.ipv4.tcp_ecn\" = 1 }")?;
        let setting = |(name, value): (&String, &Value)| match value {
            Value::String(text) if is_value(text) => Ok((name.clone(), text.clone())),
            Value::Number(number) if !number.is_f64() => Ok((name.clone(), number.to_string())),
            other => Err(format!(
                "\"{}\": expected a whole number, or one line of at most {MAX_VALUE} plain \
                 characters, got {}",
                excerpt(name),
                show(other)
            )),
        };
        map.iter().map(setting).collect::<Result<_, _>>().map(Settings)
    }
}

/// Values of socket options by name, in order.
#[derive(Clone, Debug)]
pub(super) struct Options(pub(super) Vec<(String, i32)>);

impl Readable for Options {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let map = entries(value, "{ TCP_NODELAY = 1 }")?;
        map.iter()
            .map(|(name, value)| read_option(name, value))
            .collect::<Result<_, _>>()
            .map(Options)
    }
}

fn entries<'a>(value: &'a Value, example: &str) -> Result<&'a Map<String, Value>, String> {
    match value {
        Value::Object(map) if map.len() <= MAX_SETTINGS => Ok(map),
        Value::Object(map) => {
            Err(format!("expected at most {MAX_SETTINGS} settings, got {}", map.len()))
        }
        other => Err(format!("expected a table, got {}; write it like {example}", show(other))),
    }
}

fn read_option(name: &str, value: &Value) -> Result<(String, i32), String> {
    let names = || SOCKET_OPTIONS.iter().map(|option| option.name);
    let Some(option) = SOCKET_OPTIONS.iter().find(|option| option.name == name) else {
        let hint = did_you_mean(name, names());
        let known: Vec<_> = names().collect();
        let (name, known) = (excerpt(name), known.join(", "));
        return Err(format!("\"{name}\" is no option of this version; it has {known}{hint}"));
    };
    let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
    match number.filter(|number| (option.min..=option.max).contains(number)) {
        Some(number) => Ok((name.to_owned(), number)),
        None => Err(format!(
            "{name}: expected a whole number from {} to {}, got {}",
            option.min,
            option.max,
            show(value)
        )),
    }
}

/// Whether a text is one line of plain characters.
fn is_value(text: &str) -> bool {
    let plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    text.len() <= MAX_VALUE && !text.trim().is_empty() && text.bytes().all(plain)
}

/// Reads `[linux]`, which may be absent.
pub(super) fn read(experiment: &Table) -> LinuxSettings {
    let mut settings = LinuxSettings::default();
    let Some(table) = experiment.table("linux") else { return settings };
    table.refuse_unknown_keys();
    if let Some(Settings(sysctls)) = table.read("sysctl") {
        for (name, _) in sysctls.iter().filter(|(name, _)| !is_sysctl(name)) {
            let message = format!(
                "\"{}\" is no name of a sysctl of the network, with dots as `sysctl` writes it, of \
                 all devices or the default; write it like \"net.ipv4.tcp_no_metrics_save\"",
                excerpt(name)
            );
            table.refuse("sysctl", message);
        }
        settings.sysctls = sysctls;
    }
    if let Some(Settings(modules)) = table.read("module") {
        for (name, value) in &modules {
            if !is_parameter(name) || value.contains([' ', '"', '\'']) {
                let message = format!(
                    "\"{}\" = \"{}\" is no parameter of a congestion control or queue discipline \
                     with a value without spaces or quotes; write it like \"tcp_cubic.hystart\" = 0",
                    excerpt(name),
                    excerpt(value)
                );
                table.refuse("module", message);
            }
        }
        settings.modules = modules;
    }
    if let Some(memory) = table.read::<Bytes>("memory") {
        if !(MIN_MEMORY..=MAX_MEMORY).contains(&memory.get()) {
            let (min, max) = (Bytes::new(MIN_MEMORY), Bytes::new(MAX_MEMORY));
            table.refuse("memory", format!("expected {min} to {max}, got {memory}; try \"1 GiB\""));
        }
        settings.memory = memory;
    }
    if table.read("network") == Some(Name(NETWORKS[1])) {
        settings.network = LinuxNetwork::Tc;
    }
    settings
}

/// Whether a name is that of a file below `/proc/sys/net`, and of no single device: devices are
/// the backend's.
fn is_sysctl(name: &str) -> bool {
    let parts: Vec<_> = name.split('.').collect();
    let device = matches!(parts.as_slice(), ["net", _, "conf" | "neigh", device, ..]
        if !matches!(*device, "all" | "default"));
    parts.len() > 2
        && parts[0] == "net"
        && name.len() <= MAX_NAME
        && !device
        && parts.iter().all(is_word)
}

/// Whether a name is that of a parameter of a congestion control or queue discipline.
fn is_parameter(name: &str) -> bool {
    let Some((module, parameter)) = name.split_once('.') else { return false };
    let network = module.starts_with("tcp_") || module.starts_with("sch_");
    network && name.len() <= MAX_NAME && is_word(&module) && is_word(&parameter)
}

fn is_word(part: &&str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !part.is_empty() && part.bytes().all(plain)
}
