//! A report as text.

use serde_json::Value;

/// A report in lines, for a client that asked for it.
pub(super) fn lines(report: &Value) -> String {
    let mut text = String::new();
    let mut line = |name: &str, row: &Value| {
        let number = |key: &str| row[key].as_f64().unwrap_or(0.0);
        let mut said = format!(
            "{name:<10} {:6.2}-{:<6.2} s  {:>16} bytes  {:>12.3} Mbit/s",
            number("start"),
            number("end"),
            number("bytes"),
            number("bits_per_second") / 1e6,
        );
        if let Some(count) = row["retransmits"].as_u64() {
            said += &format!("  {count} retransmitted");
        }
        if let Some(lost) = row["lost_packets"].as_u64() {
            let of = row["packets"].as_u64().unwrap_or(0);
            said += &format!("  {lost}/{of} lost, jitter {:.3} ms", number("jitter_ms"));
        }
        text += &said;
        text.push('\n');
    };
    for interval in report["intervals"].as_array().into_iter().flatten() {
        line("all", &interval["sum"]);
        if !interval["sum_bidir_reverse"].is_null() {
            line("all back", &interval["sum_bidir_reverse"]);
        }
    }
    for (name, key) in [
        ("sent", "sum_sent"),
        ("received", "sum_received"),
        ("sent back", "sum_sent_bidir_reverse"),
        ("got back", "sum_received_bidir_reverse"),
    ] {
        if !report["end"][key].is_null() {
            line(name, &report["end"][key]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_have_what_matters() {
        let report = json!({
            "intervals": [{"sum": {"start": 0, "end": 1, "bytes": 125_000, "bits_per_second": 1e6,
                                   "packets": 10, "lost_packets": 2, "jitter_ms": 0.5}}],
            "end": {"sum_sent": {"start": 0, "end": 1, "bytes": 7, "bits_per_second": 56,
                                 "retransmits": 3}},
        });
        let lines = lines(&report);
        assert!(lines.contains("1.000 Mbit/s  2/10 lost, jitter 0.500 ms"), "{lines}");
        assert!(lines.contains("3 retransmitted"), "{lines}");
    }
}
