//! What models say beside a measurement: the prediction, and what is left of it.

use std::collections::BTreeMap;

use fairway_schema::{FlowSummary, LinkSummary, Metrics, Summary};
use fairway_spec::Experiment;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::{Basis, FlowPrediction, LinkPrediction, Prediction, predict};

/// What models say of a run, for its summary.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Beside {
    /// No model covers the experiment.
    Refused {
        /// Why, a sentence for each reason.
        refused: Vec<String>,
    },
    /// One does.
    Predicted {
        /// The source of each model by its name.
        #[serde(serialize_with = "as_map")]
        sources: Vec<(&'static str, &'static str)>,
        /// Flows in the order of a summary.
        flows: Vec<Entry>,
        /// Bottlenecks.
        links: Vec<Entry>,
        /// Figures over all flows.
        metrics: Figures,
    },
}

/// What a model says of a flow or a link.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Entry {
    id: String,
    model: &'static str,
    in_range: bool,
    outside: Option<String>,
    #[serde(flatten)]
    figures: Figures,
}

/// Name, prediction and measurement of each figure. As JSON: the predictions by name, and
/// `residual`, measured / predicted - 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures(Vec<(&'static str, Option<f64>, Option<f64>)>);

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, predicted, _) in &self.0 {
            map.serialize_entry(name, predicted)?;
        }
        map.serialize_entry("residual", &Residuals(&self.0))?;
        map.end()
    }
}

struct Residuals<'a>(&'a [(&'static str, Option<f64>, Option<f64>)]);

impl Serialize for Residuals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |&(name, predicted, measured)| (name, residual(predicted, measured));
        serializer.collect_map(self.0.iter().map(of))
    }
}

/// Measured / predicted - 1; none where one of them is missing, or the prediction is zero.
fn residual(predicted: Option<f64>, measured: Option<f64>) -> Option<f64> {
    let predicted = predicted.filter(|predicted| predicted.is_finite() && *predicted != 0.0)?;
    let left = measured.filter(|measured| measured.is_finite())? / predicted - 1.0;
    left.is_finite().then_some(left)
}

/// What models say of an experiment beside what was measured, or why none of them covers it.
pub fn beside(experiment: &Experiment, measured: &Summary) -> Beside {
    let prediction = match predict(experiment) {
        Ok(prediction) => prediction,
        Err(refusals) => {
            let refused = refusals.to_string().lines().map(str::to_owned).collect();
            return Beside::Refused { refused };
        }
    };
    let Prediction { flows, links, metrics, .. } = prediction;
    let sources =
        sources(flows.iter().map(|flow| &flow.model), links.iter().map(|link| &link.model));
    let of_flows: BTreeMap<&str, &FlowSummary> =
        measured.flows.iter().map(|flow| (flow.id.as_str(), flow)).collect();
    let of_links: BTreeMap<&str, &LinkSummary> =
        measured.links.iter().map(|link| (link.id.as_str(), link)).collect();
    let flow = |flow: FlowPrediction| {
        let figures = flow_figures(&flow, of_flows.get(flow.id.as_str()).copied());
        entry(flow.id, flow.model, figures)
    };
    let link = |link: LinkPrediction| {
        let figures = link_figures(&link, of_links.get(link.id.as_str()).copied());
        entry(link.id, link.model, figures)
    };
    Beside::Predicted {
        sources,
        flows: flows.into_iter().map(flow).collect(),
        links: links.into_iter().map(link).collect(),
        metrics: run_figures(&metrics, &measured.metrics),
    }
}

/// Each model once, with its source.
fn sources<'a>(
    flows: impl Iterator<Item = &'a Basis>,
    links: impl Iterator<Item = &'a Basis>,
) -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&'static str, &'static str)> = Vec::new();
    for basis in flows.chain(links) {
        match found.iter_mut().find(|(name, _)| *name == basis.name) {
            Some((_, source)) => *source = basis.source,
            None => found.push((basis.name, basis.source)),
        }
    }
    found
}

fn entry(id: String, basis: Basis, figures: Figures) -> Entry {
    let Basis { name, in_range, outside, .. } = basis;
    Entry { id, model: name, in_range, outside, figures }
}

fn flow_figures(model: &FlowPrediction, found: Option<&FlowSummary>) -> Figures {
    let of = |figure: fn(&FlowSummary) -> Option<f64>| found.and_then(figure);
    Figures(vec![
        ("goodput_bps", Some(model.goodput_bps), of(|flow| Some(flow.goodput_bps))),
        ("mean_cwnd_segments", model.mean_cwnd_segments, of(|flow| flow.mean_cwnd_segments)),
        ("mean_srtt_s", model.mean_srtt_s, of(|flow| flow.mean_srtt_s)),
        ("mean_one_way_delay_s", model.mean_one_way_delay_s, of(|flow| flow.mean_one_way_delay_s)),
        ("fct_s", model.fct_s, of(|flow| flow.fct_s)),
        ("loss_ratio", model.loss_ratio, of(loss_ratio)),
    ])
}

fn loss_ratio(flow: &FlowSummary) -> Option<f64> {
    (flow.sent_segments > 0).then(|| flow.lost_segments as f64 / flow.sent_segments as f64)
}

fn link_figures(model: &LinkPrediction, found: Option<&LinkSummary>) -> Figures {
    let of = |figure: fn(&LinkSummary) -> Option<f64>| found.and_then(figure);
    Figures(vec![
        ("utilisation", Some(model.utilisation), of(|link| Some(link.utilisation))),
        (
            "mean_backlog_packets",
            model.mean_backlog_packets,
            of(|link| Some(link.mean_backlog_packets)),
        ),
        ("mean_sojourn_s", model.mean_sojourn_s, of(|link| link.mean_sojourn_s)),
    ])
}

fn run_figures(model: &Metrics, found: &Metrics) -> Figures {
    Figures(vec![
        ("goodput_bps", Some(model.goodput_bps), Some(found.goodput_bps)),
        ("jain_index", model.jain_index, found.jain_index),
        ("asymmetry", model.asymmetry, found.asymmetry),
        ("unfairness", model.unfairness, found.unfairness),
        ("utilisation", model.utilisation, found.utilisation),
        ("loss_ratio", model.loss_ratio, found.loss_ratio),
    ])
}

fn as_map<S: Serializer>(
    sources: &[(&'static str, &'static str)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(sources.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_measured_over_predicted_less_one() {
        // 6 / 4 - 1 and 3 / 4 - 1.
        assert_eq!(residual(Some(4.0), Some(6.0)), Some(0.5));
        assert_eq!(residual(Some(4.0), Some(3.0)), Some(-0.25));
        assert_eq!(residual(Some(0.0), Some(3.0)), None);
        assert_eq!(residual(None, Some(3.0)), None);
        assert_eq!(residual(Some(4.0), None), None);
        // 1e300 / 1e-300 is more than a number can be.
        assert_eq!(residual(Some(1e-300), Some(1e300)), None);
    }

    #[test]
    fn predictions_come_before_what_is_left_of_them() {
        let figures = Figures(vec![("utilisation", Some(0.5), Some(0.75)), ("fct_s", None, None)]);
        let text = serde_json::to_string(&figures).expect("a map");
        assert_eq!(
            text,
            r#"{"utilisation":0.5,"fct_s":null,"residual":{"utilisation":0.5,"fct_s":null}}"#
        );
    }
}
