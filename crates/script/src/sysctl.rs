//! Shell commands and socket options, as far as they say how the stack behaves.
//!
//! Nothing is run. `sysctl` and the like are looked for word by word; what a kernel would do with
//! any other command is not known here, and a warning says so.

use serde_json::{Value, json};

use crate::position::{Problem, excerpt};
use crate::script::{Action, Argument, Call, Commands, Script};
use crate::settings::Switches;

/// What `defaults.sh` of packetdrill's public scripts and of the kernel's own sets, where that is
/// not what the preset has anyway.
const COMMON_DEFAULTS: [(&str, &str); 4] = [
    ("tcp_rmem", "4096 540000 15728640"),
    ("tcp_wmem", "4096 262144 4194304"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_ecn", "0"),
];

/// Settings of the kernel that this stack has no switch for, with the value at which that makes no
/// difference.
const FIXED: [(&str, &str); 13] = [
    ("tcp_adv_win_scale", "1"),
    ("tcp_tso_win_divisor", "3"),
    ("tcp_min_tso_segs", "2"),
    ("tcp_pacing_ss_ratio", "200"),
    ("tcp_pacing_ca_ratio", "120"),
    ("tcp_notsent_lowat", "4294967295"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_syn_retries", "6"),
    ("tcp_synack_retries", "5"),
    ("tcp_retries2", "15"),
    ("tcp_max_reordering", "300"),
    ("tcp_mtu_probing", "0"),
    ("tcp_shrink_window", "0"),
];

/// Settings that concern nothing that a script with one connection can show.
const IRRELEVANT: [&str; 8] = [
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_ecn_option",
    "tcp_autocorking",
    "tcp_max_syn_backlog",
    "tcp_metrics_save",
    "tcp_tw_reuse",
];

/// Take over what `commands` say; `is_active` tells whether the endpoint opens the connection.
pub fn apply(commands: &Commands, is_active: bool, switches: &mut Switches) {
    for line in commands.text.replace("\\\n", " ").split(['\n', ';', '|', '&']) {
        let line = line.split('#').next().unwrap_or_default();
        let words = words(line);
        let Some(first) = words.first() else { continue };
        if first.ends_with("defaults.sh") {
            for (name, value) in COMMON_DEFAULTS {
                set(name, value, commands, is_active, switches);
            }
        } else if first.contains("sysctl_restore") {
            continue;
        } else if first.contains("sysctl") {
            for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
                let name = name.rsplit(['.', '/']).next().unwrap_or(name);
                set(name, value, commands, is_active, switches);
            }
        } else if let Some(at) = words.iter().position(|word| word == "initcwnd") {
            let segments = words.get(at + 1).map_or("", String::as_str);
            switches.set(commands.at, "initial_window", json!(format!("{segments} segments")));
        } else {
            switches.warn(commands.at, format!("\"{}\" is not run", excerpt(line)));
        }
    }
}

/// The words of a command; quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => found.push(String::new()),
            _ => found.last_mut().expect("there is one").push(c),
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

fn set(name: &str, value: &str, commands: &Commands, is_active: bool, switches: &mut Switches) {
    let at = commands.at;
    let on = value != "0";
    let largest = || value.split_whitespace().last().unwrap_or(value).to_owned();
    match name {
        "tcp_sack" => switches.set(at, "sack", json!(on)),
        "tcp_timestamps" => switches.set(at, "timestamps", json!(on)),
        "tcp_window_scaling" => switches.set(at, "window_scaling", json!(on)),
        "tcp_ecn" => switches.set(at, "ecn", ecn(value, is_active)),
        // Its first bit; the others change how much reordering is tolerated.
        "tcp_recovery" => {
            switches.set(at, "rack", json!(value.parse().is_ok_and(|bits: u32| bits & 1 == 1)));
        }
        // 3 and more: tail loss probes; below, early retransmit, which is gone from kernels.
        "tcp_early_retrans" => {
            switches.set(at, "tail_loss_probe", json!(value.parse().is_ok_and(|n: u32| n >= 3)));
        }
        "tcp_frto" => switches.set(at, "frto", json!(on)),
        "tcp_dsack" => switches.set(at, "dsack", json!(on)),
        "tcp_moderate_rcvbuf" => switches.set(at, "receive_window_tuning", json!(on)),
        "tcp_fack" => switches.set(at, "fack", json!(on)),
        "tcp_reordering" => switches.set(at, "reordering", json!(format!("{value} segments"))),
        "tcp_slow_start_after_idle" => switches.set(at, "slow_start_after_idle", json!(on)),
        "tcp_rmem" => switches.set(at, "receive_buffer", json!(format!("{} bytes", largest()))),
        "tcp_wmem" => switches.set(at, "send_buffer", json!(format!("{} bytes", largest()))),
        "tcp_congestion_control" => switches.choose(at, json!(value)),
        _ => {
            let usual = FIXED.iter().find(|(fixed, _)| *fixed == name).map(|(_, usual)| *usual);
            if usual != Some(value) && !IRRELEVANT.contains(&name) {
                let unknown = if usual.is_none() { "unknown and " } else { "" };
                let text =
                    format!("{} = {} is {unknown}without effect", excerpt(name), excerpt(value));
                switches.warn(at, text);
            }
        }
    }
}

/// 0 does without; 1 asks and answers, 2 only answers; 3 to 5 do so with accurate feedback, 4 asking
/// for the other and 5 for none (Documentation/networking/ip-sysctl.rst of Linux 6.18).
fn ecn(value: &str, is_active: bool) -> Value {
    match (value, is_active) {
        ("3", _) | ("4" | "5", false) => json!("accurate"),
        ("1", _) | ("2", false) | ("4", true) => json!(true),
        _ => json!(false),
    }
}

/// Take over the socket options that a script sets anywhere: they hold from the start.
pub fn socket_options(script: &Script, switches: &mut Switches) -> Result<(), Problem> {
    for event in &script.events {
        if let Action::Call(call) = &event.action
            && call.name == "setsockopt"
            && call.result == 0
        {
            socket_option(call, switches)?;
        }
    }
    Ok(())
}

fn socket_option(call: &Call, switches: &mut Switches) -> Result<(), Problem> {
    let Some(Argument::Names(names)) = call.arguments.get(2) else {
        let message = "expected setsockopt(socket, level, OPTION, value, length)";
        return Err(Problem::new(call.at, message));
    };
    let value = match call.arguments.get(3) {
        Some(Argument::List(list)) => list.first(),
        other => other,
    };
    let number = match value {
        Some(Argument::Number(number)) => Some(*number),
        _ => None,
    };
    let at = call.at;
    let option = names.first().map_or("", String::as_str);
    // Linux doubles what is asked for, to have room for what packets take up beside their payload.
    let doubled = |number: i64| json!(format!("{} bytes", number.saturating_mul(2)));
    match (option, number, value) {
        (
            "SO_REUSEADDR" | "SO_REUSEPORT" | "SO_MARK" | "SO_PRIORITY" | "IP_TOS" | "TCP_QUICKACK",
            ..,
        ) => {
            if option == "TCP_QUICKACK" {
                switches.warn(at, "TCP_QUICKACK has no effect");
            }
        }
        ("TCP_NODELAY", Some(0), _) => {}
        ("TCP_NODELAY", ..) => switches.set(at, "nagle", json!("off")),
        ("SO_SNDBUF", Some(bytes), _) => {
            switches.set(at, "send_buffer", doubled(bytes));
            switches.set(at, "send_buffer_tuning", json!(false));
        }
        ("SO_RCVBUF", Some(bytes), _) => switches.set(at, "receive_buffer", doubled(bytes)),
        ("TCP_CONGESTION", _, Some(Argument::Text(name))) => switches.choose(at, json!(name)),
        ("TCP_CONGESTION", _, Some(Argument::Names(names))) => {
            switches.choose(at, json!(names.first()));
        }
        // Read where the connection is made.
        ("TCP_MAXSEG", Some(_), _) => {}
        _ => {
            let message = format!(
                "the socket option {} is not supported; supported are SO_SNDBUF, SO_RCVBUF, \
                 TCP_CONGESTION, TCP_MAXSEG and TCP_NODELAY, and without effect TCP_QUICKACK, \
                 SO_REUSEADDR, SO_MARK and the like",
                excerpt(option)
            );
            return Err(Problem::new(at, message));
        }
    }
    Ok(())
}
