use crate::{
    bus::{EdgeId, Interest},
    clock::Millis,
    topic::Topic,
};

use super::{Line, LineOutput};

impl Line {
    /// Whether the bus has room for one more stream that wants this, as far as is known.
    /// Where it has none, the bus is asked whether there is more by now.
    pub fn has_room_for(&mut self, interest: &Interest, now: Millis) -> bool {
        let topics = interest.topics();
        let new = self.edges.new_names(topics.iter());
        if self.room.admits(self.edges.names(), new, now) {
            return true;
        }
        // Without streams nothing asks the bus but the attach of the next one.
        let asks = self.edges.is_empty() && self.room.is_due();
        if asks {
            self.room.handle_asked();
        }
        asks
    }

    /// The bus has refused the connection for want of room: until it tells of some, further streams have none here.
    /// Where it goes on refusing, the open streams are lost: one by one they find the small room that each has.
    pub fn handle_full(&mut self) {
        self.room.tell(Some(0));
        self.refusals += 1;
        if self.refusals >= MOST_REFUSALS {
            self.refusals = 0;
            self.lose_open();
        }
    }

    /// The streams that lack what was refused have to go; the others go on.
    pub(super) fn handle_refused(&mut self, seq: u64) {
        let adjust = self.flight.as_ref().and_then(|flight| flight.adjust);
        if adjust.is_none_or(|(number, _)| number != seq) {
            return;
        }
        let Some(flight) = self.flight.take() else {
            return;
        };
        for edge in self.lacking(&flight.turn.add) {
            if self.is_open(edge) {
                self.lose(edge);
            } else {
                self.detach(edge);
                self.put(LineOutput::Refuse(edge));
            }
        }
        let edges = &self.edges;
        let is_wanted = |topic: &Topic| edges.is_wanted(topic);
        self.wants.refuse(flight.turn, is_wanted);
    }

    /// The streams that want some of these topics.
    fn lacking(&self, topics: &[Topic]) -> Vec<EdgeId> {
        let lacks = |edge: &EdgeId| {
            let attached = self.edges.get(*edge);
            attached
                .is_some_and(|attached| attached.followed().any(|topic| topics.contains(&topic)))
        };
        self.edges.ids().filter(lacks).collect()
    }
}

/// Refusals in a row for want of room after which a line gives up its open streams.
const MOST_REFUSALS: u32 = 3;
