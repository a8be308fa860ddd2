//! What the tables of a sweep have of its summaries.

use std::fmt;
use std::num::NonZeroUsize;

use fairway_resources::in_threads;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::table::{Name, Row, Rows, Table};

/// Columns of many summaries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summaries {
    /// The seed of each.
    pub seeds: Vec<u64>,
    /// The metrics of each.
    pub metrics: Table,
    /// Their flows, one summary after the other.
    pub flows: Table,
    /// How many flows each has.
    pub flow_counts: Vec<u32>,
    /// Their links, one summary after the other.
    pub links: Table,
    /// How many links each has.
    pub link_counts: Vec<u32>,
    /// The warnings of those that have any.
    pub warnings: Vec<Vec<String>>,
}

impl Summaries {
    /// Reads summaries, each of which is JSON, in so many threads.
    ///
    /// # Errors
    /// One of them is none.
    pub fn read(lines: &[&[u8]], threads: NonZeroUsize) -> serde_json::Result<Summaries> {
        let size = lines.len().div_ceil(threads.get()).max(1);
        let parts = in_threads(lines.chunks(size).collect(), Summaries::part);
        let mut all = Summaries::default();
        for part in parts {
            all.append(part?);
        }
        Ok(all)
    }

    fn part(lines: &[&[u8]]) -> serde_json::Result<Summaries> {
        let mut part = Summaries::default();
        for line in lines {
            let mut deserializer = serde_json::Deserializer::from_slice(line);
            Line(&mut part).deserialize(&mut deserializer)?;
            deserializer.end()?;
        }
        Ok(part)
    }

    fn append(&mut self, other: Summaries) {
        self.seeds.extend(other.seeds);
        self.metrics.append(other.metrics);
        self.flows.append(other.flows);
        self.flow_counts.extend(other.flow_counts);
        self.links.append(other.links);
        self.link_counts.extend(other.link_counts);
        self.warnings.extend(other.warnings);
    }
}

/// Reads one summary.
struct Line<'a>(&'a mut Summaries);

impl<'de> DeserializeSeed<'de> for Line<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Line<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a summary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            match &*name {
                "seed" => self.0.seeds.push(map.next_value()?),
                "metrics" => map.next_value_seed(Row(&mut self.0.metrics))?,
                "flows" => {
                    let count = map.next_value_seed(Rows(&mut self.0.flows))?;
                    self.0.flow_counts.push(count);
                }
                "links" => {
                    let count = map.next_value_seed(Rows(&mut self.0.links))?;
                    self.0.link_counts.push(count);
                }
                "warnings" => self.0.warnings.push(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
