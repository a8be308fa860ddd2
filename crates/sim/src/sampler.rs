//! Takes the time series.

use fairway_schema::{QueueSeries, Series};
use fairway_units::{Duration, Time};

use crate::connection::Connection;
use crate::datagrams::Datagrams;
use crate::network::Network;
use crate::traced::Traced;
use fairway_spec::Experiment;

/// Time series so far, and what the last sample saw.
pub(crate) struct Sampler {
    series: Series,
    queues: QueueSeries,
    period: Duration,
    mss: Vec<f64>,
    /// Whether the stack of any flow inflates its window.
    inflates: bool,
    delivered: Vec<u64>,
    link_bytes: Vec<u64>,
}

impl Sampler {
    pub(crate) fn new(experiment: &Experiment, traced: &[Traced], links: usize) -> Self {
        let mss = |traced: &Traced| match traced {
            Traced::Data(i, _) => f64::from(experiment.flows[*i].stack.options.mss),
            Traced::Datagrams(_) => f64::NAN,
        };
        Sampler {
            series: Series::default(),
            queues: QueueSeries::default(),
            period: experiment.measure.sample,
            mss: traced.iter().map(mss).collect(),
            inflates: experiment
                .flows
                .iter()
                .any(|flow| flow.stack.inflates(flow.stack.options.sack)),
            delivered: vec![0; traced.len()],
            link_bytes: vec![0; links],
        }
    }

    pub(crate) fn sample(
        &mut self,
        now: Time,
        traced: &[Traced],
        connections: &[Connection],
        datagrams: &Datagrams,
        network: &mut Network,
    ) {
        let t_s = now.as_secs_f64();
        let period_s = self.period.as_secs_f64();
        for (i, traced) in traced.iter().enumerate() {
            let delivered = match traced {
                Traced::Data(connection, direction) => {
                    connections[*connection].delivered(*direction)
                }
                Traced::Datagrams(flow) => datagrams.delivered_bytes(*flow),
            };
            if self.inflates {
                self.series.inflated_cwnd_segments.push(match traced {
                    Traced::Datagrams(_) => f64::NAN,
                    Traced::Data(connection, direction) => {
                        let sender = connections[*connection].ends(*direction).0.sender();
                        sender.inflated_cwnd() as f64 / self.mss[i]
                    }
                });
            }
            let goodput_bps = (delivered - self.delivered[i]) as f64 * 8.0 / period_s;
            self.delivered[i] = delivered;
            let s = &mut self.series;
            match traced {
                Traced::Datagrams(_) => s.push_goodput(t_s, i as u32, goodput_bps),
                Traced::Data(connection, direction) => {
                    let sender = connections[*connection].ends(*direction).0.sender();
                    let mss = self.mss[i];
                    let ssthresh = sender.ssthresh();
                    s.t_s.push(t_s);
                    s.flow.push(i as u32);
                    s.cwnd_segments.push(sender.cwnd() as f64 / mss);
                    s.ssthresh_segments.push(if ssthresh == u64::MAX {
                        f64::NAN
                    } else {
                        ssthresh as f64 / mss
                    });
                    s.srtt_s.push(sender.srtt().map_or(f64::NAN, Duration::as_secs_f64));
                    s.pipe_segments.push(sender.pipe() as f64 / mss);
                    s.goodput_bps.push(goodput_bps);
                }
            }
        }
        network.reported_links(now, |i, (packets, bytes), totals| {
            let q = &mut self.queues;
            q.t_s.push(t_s);
            q.link.push(i as u32);
            q.backlog_packets.push(packets as f64);
            q.backlog_bytes.push(bytes as f64);
            q.drops.push(totals.dropped);
            q.losses.push(totals.lost);
            let transmitted = totals.transmitted_bytes;
            q.throughput_bps.push((transmitted - self.link_bytes[i]) as f64 * 8.0 / period_s);
            self.link_bytes[i] = transmitted;
        });
    }

    /// Takes over the samples of another region: of rows the window if their source is there and the
    /// goodput if their sink is, and of links those that begin there.
    pub(crate) fn absorb(
        &mut self,
        other: &Sampler,
        has_ends: impl Fn(usize) -> (bool, bool),
        has_link: impl Fn(usize) -> bool,
    ) {
        let (own, others) = (&mut self.series, &other.series);
        for row in 0..own.flow.len() {
            let (has_source, has_sink) = has_ends(own.flow[row] as usize);
            if has_source {
                own.cwnd_segments[row] = others.cwnd_segments[row];
                own.ssthresh_segments[row] = others.ssthresh_segments[row];
                own.srtt_s[row] = others.srtt_s[row];
                own.pipe_segments[row] = others.pipe_segments[row];
                if self.inflates {
                    own.inflated_cwnd_segments[row] = others.inflated_cwnd_segments[row];
                }
            }
            if has_sink {
                own.goodput_bps[row] = others.goodput_bps[row];
            }
        }
        let (own, others) = (&mut self.queues, &other.queues);
        for row in 0..own.link.len() {
            if has_link(own.link[row] as usize) {
                own.backlog_packets[row] = others.backlog_packets[row];
                own.backlog_bytes[row] = others.backlog_bytes[row];
                own.drops[row] = others.drops[row];
                own.losses[row] = others.losses[row];
                own.throughput_bps[row] = others.throughput_bps[row];
            }
        }
    }

    pub(crate) fn finish(self) -> (Series, QueueSeries) {
        (self.series, self.queues)
    }
}
