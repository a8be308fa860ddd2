//! Connections of one application know each other: algorithms that share a path among them are
//! told of the others.

use std::collections::BTreeMap;

use fairway_cc::{Coupling, Member};

use fairway_spec::{Application, Flow, Workload};

/// What couples connections.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group<'a> {
    /// The name that their flows give.
    Named(&'a str),
    /// That one application's data is dealt to them.
    Striped(usize),
}

/// The place of every flow in the coupling of its application, in the order of the flows; none
/// for flows that are one application's alone.
pub(crate) fn members(flows: &[Flow], applications: &[Application]) -> Vec<Option<Member>> {
    let mut striped = vec![None; flows.len()];
    for (place, application) in applications.iter().enumerate() {
        if matches!(application.workload, Workload::Striped(_)) {
            striped[application.connections.clone()].fill(Some(Group::Striped(place)));
        }
    }
    let named = flows.iter().map(|flow| flow.application.as_deref().map(Group::Named));
    let groups: Vec<_> = named.zip(striped).map(|(named, striped)| named.or(striped)).collect();
    let mut sizes = BTreeMap::<Group, usize>::new();
    for group in groups.iter().flatten() {
        *sizes.entry(group.clone()).or_default() += 1;
    }
    let mut waiting: BTreeMap<Group, _> = sizes
        .into_iter()
        .map(|(group, connections)| (group, Coupling::members(connections).into_iter()))
        .collect();
    groups.iter().map(|group| waiting.get_mut(group.as_ref()?)?.next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_spec::from_document;
    use fairway_units::Duration;
    use serde_json::json;

    /// The couplings of six connections: one of "web", three of "bulk" (of which two are copies of
    /// one flow), one of "web" and one of no application, in this order.
    fn six() -> Vec<Option<Member>> {
        let document = json!({
            "duration": "1 s",
            "topology": {
                "kind": "dumbbell",
                "bottleneck": { "rate": "10 Mbit/s", "delay": "25 ms" },
            },
            "flow": [
                { "cc": "reno", "application": "web" },
                { "cc": "reno", "application": "bulk" },
                { "cc": "reno", "application": "bulk", "count": 2 },
                { "cc": "reno", "application": "web" },
                { "cc": "reno" },
            ],
        });
        let experiment = from_document(&document).unwrap();
        members(&experiment.flows, &experiment.applications)
    }

    /// What each connection sees of the windows of its application, its own in brackets.
    fn seen(members: &[Option<Member>]) -> Vec<Option<String>> {
        let sees = |member: &Member| {
            let windows: Vec<_> = member
                .subflows()
                .map(|s| if s.own { format!("[{}]", s.cwnd) } else { s.cwnd.to_string() })
                .collect();
            windows.join(" ")
        };
        members.iter().map(|member| member.as_ref().map(sees)).collect()
    }

    #[test]
    fn flows_of_one_name_and_copies_see_each_other_in_their_order() {
        let members = six();
        for (index, member) in members.iter().enumerate() {
            if let Some(member) = member {
                member.tell(10.0 * index as f64, Duration::from_millis(50));
            }
        }
        let expected =
            ["[0] 40", "[10] 20 30", "10 [20] 30", "10 20 [30]", "0 [40]"].map(str::to_owned);
        let expected: Vec<_> = expected.into_iter().map(Some).chain([None]).collect();
        assert_eq!(seen(&members), expected);
    }

    #[test]
    fn who_has_told_nothing_is_not_seen() {
        let members = six();
        // Of "bulk", the second of three tells.
        members[2].as_ref().unwrap().tell(7.0, Duration::from_millis(50));
        let expected = ["", "7", "[7]", "7", ""].map(|text| Some(text.to_owned()));
        assert_eq!(seen(&members)[..5], expected);
    }
}
