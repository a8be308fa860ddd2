//! What each end reports to the other after the test.

use serde_json::{Value, json};

use super::json::{given, number, text, whole};

/// Congestion control of the other side, as far as it is kept.
const NAME_CHARACTERS: usize = 16;

/// What one end has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub cpu: CpuPercent,
    /// Whether it sends and counts its retransmissions; none if it only receives.
    pub has_retransmits: Option<bool>,
    pub congestion_used: Option<String>,
    pub streams: Vec<StreamResult>,
    /// The server's own report, if it was asked for.
    pub server_output: Option<ServerOutput>,
}

/// Share of one processor's time that a program used, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuPercent {
    pub total: f64,
    pub user: f64,
    pub system: f64,
}

/// A server's own report.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    Text(String),
    /// In iperf3's JSON.
    Json(Value),
}

impl ServerOutput {
    /// What stands under `server_output_text`, and under `server_output_json`.
    pub(super) fn texts(output: Option<&ServerOutput>) -> (Option<&str>, Option<&Value>) {
        match output {
            Some(ServerOutput::Text(text)) => (Some(text), None),
            Some(ServerOutput::Json(json)) => (None, Some(json)),
            None => (None, None),
        }
    }
}

/// What one end has measured of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamResult {
    pub id: u32,
    pub bytes: u64,
    /// Segments retransmitted; none of a receiver or of datagrams.
    pub retransmits: Option<u64>,
    pub jitter_s: f64,
    /// Datagrams lost, those of the omitted time among them.
    pub errors: u64,
    /// Those lost in the omitted time; an older program does not say.
    pub omitted_errors: Option<u64>,
    /// Datagrams sent, or the highest number that has come; of the whole time.
    pub packets: u64,
    pub omitted_packets: Option<u64>,
    /// When the time that counts began and ended, in seconds; an older program does not say.
    pub time_s: Option<[f64; 2]>,
}

impl Results {
    pub fn to_json(&self) -> Value {
        let streams: Vec<Value> = self.streams.iter().map(|stream| stream.to_json()).collect();
        let (text, json) = ServerOutput::texts(self.server_output.as_ref());
        given(json!({
            "cpu_util_total": self.cpu.total,
            "cpu_util_user": self.cpu.user,
            "cpu_util_system": self.cpu.system,
            "sender_has_retransmits": self.has_retransmits.map_or(-1, i32::from),
            "congestion_used": self.congestion_used,
            "server_output_text": text,
            "server_output_json": json,
            "streams": streams,
        }))
    }

    /// As they are read: of exactly the streams that there are, whose numbers are in `ids`.
    pub(crate) fn from_json(object: &Value, ids: &[u32]) -> Result<Results, String> {
        let percent = |key: &str| {
            number(object, key).filter(|x| *x >= 0.0).ok_or_else(|| format!("no number as {key}"))
        };
        let cpu = CpuPercent {
            total: percent("cpu_util_total")?,
            user: percent("cpu_util_user")?,
            system: percent("cpu_util_system")?,
        };
        let has = number(object, "sender_has_retransmits")
            .ok_or("no number as sender_has_retransmits")?;
        let listed = object.get("streams").and_then(Value::as_array).ok_or("no streams")?;
        if listed.len() != ids.len() {
            return Err(format!("results of {} streams, not of {}", listed.len(), ids.len()));
        }
        let mut streams =
            listed.iter().map(StreamResult::from_json).collect::<Result<Vec<_>, _>>()?;
        // Numbers grow with the order of opening, so the order of numbers is that of the streams.
        streams.sort_by_key(|stream| stream.id);
        if let Some((stream, _)) = streams.iter().zip(ids).find(|(stream, id)| stream.id != **id) {
            return Err(format!(
                "a result of stream {}, which does not exist, or twice",
                stream.id
            ));
        }
        let json = object.get("server_output_json").cloned().map(ServerOutput::Json);
        let lines = || object.get("server_output_text")?.as_str().map(str::to_owned);
        Ok(Results {
            cpu,
            has_retransmits: (has >= 0.0).then_some(has > 0.0),
            congestion_used: text(object, "congestion_used", NAME_CHARACTERS),
            streams,
            server_output: json.or_else(|| lines().map(ServerOutput::Text)),
        })
    }
}

impl StreamResult {
    fn to_json(self) -> Value {
        let [start_s, end_s] = self.time_s.unwrap_or_default();
        json!({
            "id": self.id,
            "bytes": self.bytes,
            "retransmits": self.retransmits.map_or(-1, |count| count.cast_signed()),
            "jitter": self.jitter_s,
            "errors": self.errors,
            "omitted_errors": self.omitted_errors.unwrap_or(0),
            "packets": self.packets,
            "omitted_packets": self.omitted_packets.unwrap_or(0),
            "start_time": start_s,
            "end_time": end_s,
        })
    }

    fn from_json(object: &Value) -> Result<StreamResult, String> {
        let need = |key: &str| {
            whole(object, key).ok_or_else(|| format!("{key} of a stream is not a count"))
        };
        let there = |key: &str| {
            number(object, key).ok_or_else(|| format!("a stream without a number as {key}"))
        };
        there("retransmits")?;
        let time_s = match (number(object, "start_time"), number(object, "end_time")) {
            (Some(start_s), Some(end_s)) if end_s >= start_s => Some([start_s, end_s]),
            _ => None,
        };
        Ok(StreamResult {
            id: u32::try_from(need("id")?).map_err(|_| "the number of a stream is too large")?,
            bytes: need("bytes")?,
            retransmits: whole(object, "retransmits"),
            jitter_s: there("jitter")?,
            // Copies of datagrams can make iperf3 count less than none.
            errors: there("errors")?.max(0.0) as u64,
            omitted_errors: whole(object, "omitted_errors"),
            packets: need("packets")?,
            omitted_packets: whole(object, "omitted_packets"),
            time_s,
        })
    }

    /// Length of the time that counts, in seconds; none if the other side did not say.
    pub fn seconds(&self) -> Option<f64> {
        let seconds = self.time_s.map(|[start_s, end_s]| end_s - start_s);
        // Two finite times may be further apart than a number can say.
        seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As iperf3 3.12 shows it with `--debug`: a receiver, which has no retransmissions.
    fn of_iperf3() -> Value {
        json!({
            "cpu_util_total": 82.5, "cpu_util_user": 1.25, "cpu_util_system": 81.25,
            "sender_has_retransmits": -1, "congestion_used": "bbr",
            "streams": [
                {"id": 1, "bytes": 5_028_000_000_u64, "retransmits": 1.844_674_407_370_955_2e19,
                 "jitter": 0, "errors": 0, "packets": 0, "start_time": 0, "end_time": 2.5},
                {"id": 3, "bytes": 17, "retransmits": -1, "jitter": 0.001, "errors": 2,
                 "omitted_errors": 1, "packets": 9, "omitted_packets": 4,
                 "start_time": 0, "end_time": 2.5}
            ]
        })
    }

    #[test]
    fn what_iperf3_sends_is_read() {
        let results = Results::from_json(&of_iperf3(), &[1, 3]).unwrap();
        assert_eq!((results.cpu.total, results.has_retransmits), (82.5, None));
        assert_eq!(results.congestion_used.as_deref(), Some("bbr"));
        let [first, second] = results.streams[..] else { panic!("{:?}", results.streams) };
        assert_eq!(
            (first.bytes, first.retransmits, first.seconds()),
            (5_028_000_000, None, Some(2.5))
        );
        assert_eq!((first.omitted_errors, second.omitted_errors), (None, Some(1)));
        assert_eq!((second.jitter_s, second.errors, second.packets), (0.001, 2, 9));
    }

    #[test]
    fn results_of_other_streams_are_refused() {
        for ids in [vec![1], vec![1, 4], vec![1, 3, 4]] {
            assert!(Results::from_json(&of_iperf3(), &ids).is_err(), "{ids:?}");
        }
        let mut twice = of_iperf3();
        twice["streams"][1]["id"] = 1.into();
        assert!(Results::from_json(&twice, &[1, 3]).unwrap_err().contains("twice"));
        let mut negative = of_iperf3();
        negative["streams"][1]["bytes"] = (-1).into();
        assert!(Results::from_json(&negative, &[1, 3]).unwrap_err().contains("bytes"));
    }

    #[test]
    fn what_is_sent_is_read_again() {
        let stream = StreamResult {
            id: 1,
            bytes: 10,
            retransmits: Some(3),
            jitter_s: 0.5,
            errors: 1,
            omitted_errors: Some(0),
            packets: 8,
            omitted_packets: Some(2),
            time_s: Some([0.0, 3.25]),
        };
        let results = Results {
            cpu: CpuPercent { total: 3.0, user: 1.0, system: 2.0 },
            has_retransmits: Some(true),
            congestion_used: Some("cubic".into()),
            streams: vec![stream],
            server_output: Some(ServerOutput::Text("a\nb\n".into())),
        };
        assert_eq!(Results::from_json(&results.to_json(), &[1]), Ok(results));
    }

    proptest! {
        #[test]
        fn any_number_in_any_place_is_endured(
            key in prop::sample::select(vec![
                "id", "bytes", "retransmits", "jitter", "errors", "packets", "end_time",
            ]),
            number in any::<f64>(),
        ) {
            let mut results = of_iperf3();
            results["streams"][0][key] = json!(number);
            let _ = Results::from_json(&results, &[1, 3]);
        }
    }
}
