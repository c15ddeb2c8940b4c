use crate::{
    bus::{BusMessage, EdgeId},
    clock::Millis,
    seeded::{self, Bug},
};

use super::Line;

/// What becomes of the streams that have not been told yet that they are attached.
impl Line {
    /// The connection is gone, or could not be made; `random` is drawn from [0, 1). Streams that are open stay. Those that wait are lost
    /// where the bus was away already, or is overloaded; otherwise they wait for one more attempt, for a connection that
    /// ends with the request that held it may look just the same.
    pub fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        let is_news = !self.follower.is_away() && !is_overloaded;
        self.part();
        self.follower.handle_lost(now, random, is_overloaded);
        if !is_news {
            self.lose_waiting();
        }
    }

    /// The connection went away with the request that held it: another one is called for, and at once where streams wait.
    pub fn handle_moved(&mut self, now: Millis) {
        self.part();
        if seeded::has(Bug::HandsOverWithoutTheWaiting) {
            self.lose_waiting();
        }
        self.follower.handle_moved(now);
        if !self.waiting.is_empty() {
            self.follower.handle_wish(now);
        }
    }

    fn lose_waiting(&mut self) {
        for edge in std::mem::take(&mut self.waiting) {
            self.lose(edge);
        }
    }

    pub(super) fn serve_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for edge in waiting {
            if !self.serve(edge) {
                self.waiting.push(edge);
            }
        }
    }

    /// Tells a stream that it is attached, if all that it wants comes.
    pub(super) fn serve(&mut self, edge: EdgeId) -> bool {
        let mark = self.mark();
        let is_sure = self.follower.is_certain();
        let reached = self.follower.mark().map(|mark| mark.position);
        let is_behind = reached.is_some_and(|reached| reached < self.head)
            && !seeded::has(Bug::TakesBeforeTheHead);
        let Some(attached) = self.edges.get_mut(edge).filter(|_| is_sure) else {
            return false;
        };
        if !attached
            .followed()
            .all(|topic| self.wants.is_followed(&topic))
        {
            return false;
        }
        attached.last = Some(mark.position);
        attached.is_waiting = is_behind;
        if is_behind {
            self.fresh.enter(edge, self.head);
        }
        self.send(edge, BusMessage::Attached(mark).to_json());
        true
    }
}
