use crate::{
    bus::{BusMessage, EdgeId, Interest, Mark},
    clock::Millis,
    topic::{Topic, Topics},
};

use super::Line;

impl Line {
    /// A stream asks whether it missed anything after `since`, or wants something else from now on. Nothing gets lost
    /// between the line and a stream: it is told so, and the bus is asked.
    pub fn attach_again(
        &mut self,
        edge: EdgeId,
        interest: &Interest,
        since: Option<Mark>,
        now: Millis,
    ) {
        let own = self.mark();
        if !self.is_open(edge) {
            return;
        }
        // Elsewhere there may be room for what is new.
        if !self.has_room_for(interest, now) {
            return self.lose(edge);
        }
        let mark = since.filter(|since| since.epoch == own.epoch);
        let mark = mark.unwrap_or(own);
        let is_changed = self.change(edge, &interest.topics());
        if let Some(attached) = self.edges.get_mut(edge) {
            attached.last = Some(mark.position);
        }
        self.send(edge, BusMessage::Attached(mark).to_json());
        if is_changed {
            self.follower.handle_scope(now);
        } else {
            self.follower.handle_question(now);
        }
    }

    /// A stream wants these topics from now on: what it wanted already goes on coming. Returns whether that changes anything.
    fn change(&mut self, edge: EdgeId, topics: &Topics) -> bool {
        let Some(delta) = self.edges.delta_to(edge, topics) else {
            return false;
        };
        for topic in &delta.added {
            self.wants.want(topic.followed());
        }
        self.edges.change(edge, &delta);
        self.release(delta.dropped.iter().map(Topic::followed));
        !(delta.added.is_empty() && delta.dropped.is_empty())
    }
}
