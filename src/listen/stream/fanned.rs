use alloc::sync::Arc;

use crate::{
    clock::Millis,
    tally::Tally,
    vocabulary::{event::ServerEvent, filter::SubscriptionFilter},
};

use super::{ServerStream, State, cues::Since, stamp::Stamp};

/// What [`crate::fanout`] does to streams, for many of which it encodes one message.
impl ServerStream {
    /// The host writes the message of an event, which it may where nothing comes before that; the answer is whether it may.
    /// Who writes it counts it.
    pub(crate) fn handle_written(&mut self, now: Millis) -> bool {
        let is_acknowledged = true;
        let is_open = self.state == State::Open { is_acknowledged };
        let is_kept = self.is_held || self.is_withheld(now);
        // A keep-alive that had no room waits too, and the time of a stalled reader has begun with it.
        let waits = self.lifetime.is_blocked() || self.pending_cues() > 0;
        if !is_open || is_kept || waits {
            return false;
        }
        self.keep_alive.handle_written(now);
        true
    }

    /// There was no room for that message after all: the cue waits.
    pub(crate) fn handle_unwritten(
        &mut self,
        event: &ServerEvent,
        published: Option<Millis>,
        now: Millis,
    ) {
        if !self.honored.accepts(event) {
            return;
        }
        if let Some(tally) = &self.tally {
            tally.take_back(published.map(|published| now - published));
        }
        self.handle_event_of(event, published);
    }

    /// The bus delivered an event that was published at that moment.
    pub(crate) fn handle_event_of(&mut self, event: &ServerEvent, published: Option<Millis>) {
        self.push(event, Since::new(None, published));
    }

    /// So many further events were told together with one.
    pub(crate) fn count_repeats(&self, repeats: usize) {
        let takes_in = self.is_opening() || self.is_open();
        if let Some(tally) = self.tally.as_ref().filter(|_| takes_in) {
            (0..repeats).for_each(|_| tally.count_event(true));
        }
    }

    /// Gives back the room for cues where none waits.
    pub(crate) fn rest(&mut self) {
        self.cues.take_if(|cues| cues.len() == 0);
    }

    /// Keeps what is equal in many streams in one place.
    pub(crate) fn share(&mut self, stamp: &Stamp, honored: &Arc<SubscriptionFilter>) {
        self.stamp.clone_from(stamp);
        self.honored.clone_from(honored);
    }

    pub(crate) fn tally(&self) -> Option<&Arc<Tally>> {
        self.tally.as_ref()
    }

    pub(crate) fn shared_honored(&self) -> &Arc<SubscriptionFilter> {
        &self.honored
    }
}
