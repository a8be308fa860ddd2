//! How the rate and the delay of a link change, and what else is no matter of a constant rate, a
//! constant delay and losses of packets each by itself.

use fairway_net::rate::{DeliveryTrace, Holding, MarkovRate, OnOff, RateState};
use fairway_net::{Change, InFlight, RateConfig, Schedule, WireConfig};
use fairway_units::{Duration, Rate};

use super::reader::{Numbers, RateOrDown, Table, show};
use super::{Extras, Loss, wires};

/// The rate of a link, which stands for it where queues are sized, and its trace.
struct Line {
    rate: Rate,
    trace: Option<DeliveryTrace>,
}

/// Reads `rate`, or `trace` in its place. `rate` of another direction holds if neither is written.
fn read_line(link: &Table, other: Option<Rate>) -> Option<Line> {
    if !link.has("trace") {
        let rate = match other {
            Some(rate) => link.read_or("rate", rate)?,
            None => link.require("rate")?,
        };
        return Some(Line { rate, trace: None });
    }
    if let Some(key) = ["rate", "on_off", "state"].into_iter().find(|key| link.has(key)) {
        return link.wrong(key, "conflicts with trace; set only one");
    }
    let trace = match link.raw("trace").and_then(|value| value.as_str()) {
        Some(text) => DeliveryTrace::read(text),
        None => Err("expected a file name".to_owned()),
    };
    match trace {
        Ok(trace) => Some(Line { rate: trace.mean_rate(), trace: Some(trace) }),
        Err(error) => link.wrong("trace", error),
    }
}

/// Everything of a link, or of one direction of it, besides its queue.
pub(super) struct Beyond {
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    /// Losses of packets each by itself, if that is all.
    pub(super) loss: Option<Loss>,
    /// All that is more.
    pub(super) extras: Option<Box<Extras>>,
    /// What the wires do, whatever it is.
    pub(super) wires: [WireConfig; 2],
}

impl Beyond {
    /// Reads a link.
    pub(super) fn read(link: &Table) -> Option<Self> {
        let line = read_line(link, None);
        let delay = link.require("delay");
        Self::with(link, &line?, delay?, None)
    }

    /// Reads the table of the other direction: what it does not write is as in this one, but for
    /// changes over time.
    pub(super) fn read_reverse(&self, reverse: &Table) -> Option<Self> {
        let line = read_line(reverse, Some(self.rate))?;
        let delay = reverse.read_or("delay", self.delay)?;
        Self::with(reverse, &line, delay, Some(&self.wires[1]))
    }

    fn with(
        table: &Table,
        line: &Line,
        delay: Duration,
        other: Option<&WireConfig>,
    ) -> Option<Self> {
        let wires = wires::read(table, other)?;
        let schedule = read_schedule(table, line.rate, delay)?;
        wires::refuse_disorder(table, &wires, &schedule)?;
        let rate = read_rate(table, line, &schedule)?;
        let constant = matches!(rate, RateConfig::Constant(_)) && schedule.changes.is_empty();
        let (loss, extras) = match wires::plain_loss(&wires) {
            Some(loss) if constant => (loss, None),
            _ => {
                let extras = Extras { wires: wires.clone(), rate, schedule };
                (None, Some(Box::new(extras)))
            }
        };
        Some(Beyond { rate: line.rate, delay, loss, extras, wires })
    }
}

fn read_rate(link: &Table, line: &Line, schedule: &Schedule) -> Option<RateConfig> {
    let by_chance = if let Some(trace) = &line.trace {
        Some(("trace", RateConfig::Trace(trace.clone())))
    } else if link.has("on_off") {
        Some(("on_off", RateConfig::OnOff(read_on_off(&link.table("on_off")?, line.rate)?)))
    } else if link.has("state") {
        Some(("state", RateConfig::Markov(read_states(link)?)))
    } else {
        None
    };
    if link.has("on_off") && link.has("state") {
        return link.wrong("state", "conflicts with on_off; set only one");
    }
    let Some((key, rate)) = by_chance else {
        let changes = schedule
            .changes
            .iter()
            .any(|change| change.rate.is_some() || change.in_flight == InFlight::Lose);
        return Some(match changes {
            true => RateConfig::Schedule(schedule.clone()),
            false => RateConfig::Constant(line.rate),
        });
    };
    if let Some(i) = schedule.changes.iter().position(|change| change.rate.is_some()) {
        let message = format!("conflicts with {key}, which sets the rate; remove it");
        return link.wrong(&format!("change.{i}.rate"), message);
    }
    if let Err(error) = rate.check() {
        wires::refuse(link, &error);
        return None;
    }
    Some(rate)
}

fn read_schedule(link: &Table, rate: Rate, delay: Duration) -> Option<Schedule> {
    let tables = link.tables("change");
    let count = tables.len();
    let changes: Vec<Change> = tables.iter().filter_map(read_change).collect();
    if changes.len() < count || (link.has("change") && count == 0) {
        return None;
    }
    let period = link.read_if_written("change_period")?;
    if period.is_some() && count == 0 {
        return link
            .wrong("change_period", "needs at least one change; add [[…change]] or remove it");
    }
    let keep_order = link.read_or("change_keeps_order", true)?;
    let schedule = Schedule { rate, delay, changes, period, keep_order };
    if let Err(error) = schedule.check() {
        wires::refuse(link, &error);
        return None;
    }
    Some(schedule)
}

fn read_change(table: &Table) -> Option<Change> {
    table.refuse_unknown_keys();
    let at = table.require("at");
    let rate = table.read_if_written("rate")?.map(|RateOrDown(rate)| rate);
    let delay = table.read_if_written("delay")?;
    let over = table.read_or("over", Duration::ZERO)?;
    let in_flight = read_in_flight(table)?;
    Some(Change { at: at?, rate, delay, over, in_flight })
}

fn read_in_flight(table: &Table) -> Option<InFlight> {
    let is_lost = table.name_or("in_flight", "kept")? == "lost";
    Some(if is_lost { InFlight::Lose } else { InFlight::Keep })
}

/// How long a state with a mean lasts.
fn read_holding(table: &Table) -> Option<fn(Duration) -> Holding> {
    let is_fixed = table.name_or("distribution", "exponential")? == "fixed";
    Some(if is_fixed { Holding::Fixed } else { Holding::Exponential })
}

fn read_on_off(table: &Table, rate: Rate) -> Option<OnOff> {
    table.refuse_unknown_keys();
    let (on, off) = (table.require("on"), table.require("off"));
    let holding = read_holding(table)?;
    let begins_on = table.name_or("begins", "on")? == "on";
    let in_flight = read_in_flight(table)?;
    let [on, off] = [on?, off?].map(holding);
    Some(OnOff { rate, on, off, begins_on, in_flight })
}

fn read_states(link: &Table) -> Option<MarkovRate> {
    let tables = link.tables("state");
    let mut ids: Vec<String> = Vec::new();
    for table in &tables {
        table.refuse_unknown_keys();
        let id: String = table.require("id")?;
        if ids.contains(&id) {
            return table
                .wrong("id", format!("\"{id}\" names another state too; name each differently"));
        }
        ids.push(id);
    }
    let states: Vec<_> = tables.iter().filter_map(|table| read_state(table, &ids)).collect();
    (states.len() == ids.len() && !ids.is_empty()).then_some(MarkovRate { states })
}

fn read_state(table: &Table, ids: &[String]) -> Option<RateState> {
    let RateOrDown(rate) = table.require("rate")?;
    let mean = table.require("holding")?;
    let Numbers(written) = table.require("next")?;
    let mut next = vec![0.0; ids.len()];
    for (id, probability) in written {
        let Some(i) = ids.iter().position(|known| *known == id) else {
            let known = show(&ids.join(", ").into());
            return table.wrong("next", format!("there is no state \"{id}\"; there are {known}"));
        };
        next[i] = probability;
    }
    let holding = read_holding(table)?(mean);
    Some(RateState { rate, holding, next, in_flight: read_in_flight(table)? })
}
