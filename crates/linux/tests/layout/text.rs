//! Plans as text.

use std::fmt::Write as _;

use fairway_guest::plan::{Flow, Namespace, Plan, Queue};
use fairway_linux::Layout;

/// All of a layout.
pub fn full(layout: &Layout) -> String {
    let Layout { plan, memory_bytes, boot_arguments, .. } = layout;
    let mut text = String::new();
    let arguments: String = boot_arguments.iter().map(|argument| format!(" {argument}")).collect();
    let [from, to] = plan.window_ns.map(seconds);
    let lines = [
        format!("memory {} MiB, arguments:{arguments}", memory_bytes >> 20),
        format!(
            "{} long, measured from {from} to {to}, sampled every {}{}",
            seconds(plan.duration_ns),
            seconds(plan.sample_ns),
            if plan.capture.is_some() { ", captured" } else { "" }
        ),
    ];
    lines.iter().for_each(|line| add(&mut text, 0, line));
    plan.sysctls.iter().for_each(|(path, value)| add(&mut text, 0, &format!("{path} = {value}")));
    plan.links.iter().for_each(|line| add(&mut text, 0, line));
    for namespace in &plan.namespaces {
        text += "\n";
        add(&mut text, 0, &namespace.name);
        of_namespace(&mut text, namespace);
    }
    text += "\n";
    let devices: Vec<_> = plan.devices.iter().map(|(index, name)| at(plan, *index, name)).collect();
    add(&mut text, 0, &format!("one packet is one segment at {}", devices.join(" ")));
    plan.flows.iter().for_each(|flow| add(&mut text, 0, &of_flow(plan, flow)));
    plan.queues.iter().for_each(|queue| add(&mut text, 0, &of_queue(plan, queue)));
    text
}

fn add(text: &mut String, indent: usize, line: &str) {
    writeln!(text, "{:indent$}{line}", "").expect("a string");
}

fn of_namespace(text: &mut String, namespace: &Namespace) {
    for (path, value) in &namespace.sysctls {
        add(text, 2, &format!("{path} = {value}"));
    }
    namespace.ip.iter().for_each(|line| add(text, 2, &format!("ip {line}")));
    namespace.tc.iter().for_each(|line| add(text, 2, &format!("tc {line}")));
}

fn of_flow(plan: &Plan, flow: &Flow) -> String {
    let [source, sink] = [flow.source, flow.sink].map(|index| &plan.namespaces[index].name);
    let mut line = format!(
        "flow {}: {source} to {sink} {}:{}, {}, payload {}, from {}",
        flow.id,
        flow.address,
        flow.port,
        flow.cc,
        flow.mss,
        seconds(flow.start_ns)
    );
    flow.stop_ns.iter().for_each(|stop| line += &format!(" to {}", seconds(*stop)));
    flow.bytes.iter().for_each(|bytes| line += &format!(", {bytes} bytes"));
    flow.rate_bps.iter().for_each(|rate| line += &format!(", {rate} bit/s"));
    for option in &flow.options {
        line +=
            &format!(", {}({}, {}) = {}", option.name, option.level, option.option, option.value);
    }
    line
}

fn of_queue(plan: &Plan, queue: &Queue) -> String {
    let mut line = format!("queue {}: {}", queue.id, at(plan, queue.namespace, &queue.device));
    queue.rate_bps.iter().for_each(|rate| line += &format!(", {rate} bit/s"));
    line += &format!(
        ", packets have {} bytes more, counted as {}; holds {}",
        queue.overhead_bytes,
        queue.counted_overhead_bytes,
        if queue.holds_transmission { "what is sent" } else { "what waits" },
    );
    let wires: Vec<_> =
        queue.wires.iter().map(|(index, device)| at(plan, *index, device)).collect();
    if !wires.is_empty() {
        line += &format!("; losses at {}", wires.join(" "));
    }
    line
}

fn at(plan: &Plan, namespace: usize, device: &str) -> String {
    format!("{}.{device}", plan.namespaces[namespace].name)
}

fn seconds(ns: u64) -> String {
    format!("{} s", ns as f64 / 1e9)
}
