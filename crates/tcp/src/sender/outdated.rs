//! Acknowledgements that come late: of less than is acknowledged already.

use fairway_units::Time;

use super::{AckInfo, Sender};
use crate::scoreboard::News;

impl Sender {
    /// An acknowledgement of less than is known. What it says of data out of order is news all the
    /// same, and losses follow from it; the window neither grows nor takes a step (Linux 6.1 `tcp_ack`,
    /// from `old_ack` on).
    #[cold]
    #[inline(never)]
    pub(super) fn handle_old_ack(&mut self, info: &AckInfo<'_>, now: Time) {
        let says_nothing = info.sack.is_empty() && info.duplicate.is_none();
        if !self.sack || says_nothing || self.board.is_empty() {
            return;
        }
        let prior_flight = self.board.pipe();
        let una = self.board.una();
        let mut news = News::default();
        self.learn(info, false, now, &mut news);
        let twice = info.duplicate.map_or(0, |range| self.note_duplicate(range, una));
        if self.may_undo() {
            let flow = self.flow(prior_flight, now);
            self.undo_if_spurious(info, &news, una, false, &flow);
        }
        let wait = self.find_losses(info, false, now, &mut news);
        self.lost += news.lost;
        self.delivered += news.delivered + twice;
        let min_rtt = self.rtt.min_rtt();
        if let Some(rate) = self.board.delivery_rate() {
            // It counts, but is no sample.
            rate.sample(news.delivered + twice, news.lost, min_rtt, now);
        }
        if self.enters_recovery(&news) {
            let flow = self.flow(prior_flight, now);
            self.react_to_loss(&flow, now);
        }
        if let Some(wait) = wait {
            self.wait_for_reordering(wait, now);
        }
    }
}
