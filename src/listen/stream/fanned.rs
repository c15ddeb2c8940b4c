use alloc::sync::Arc;
use core::num::NonZeroU32;

use crate::{
    clock::Millis,
    metrics::Metrics,
    vocabulary::{event::ServerEvent, filter::SubscriptionFilter},
};

use super::{ServerStream, cues::Since, state::StreamState, stream_kind::StreamKind};

/// Access for [`crate::fanout`], which encodes one message for many streams.
impl ServerStream {
    /// Returns whether the host may write the message of an event directly, because nothing is
    /// pending before it. If so, records the write; the caller counts it.
    pub(crate) fn handle_written(&mut self, now: Millis) -> bool {
        let is_acknowledged = true;
        let is_open = self.state == StreamState::Open { is_acknowledged };
        let is_kept = self.is_paused || self.is_withheld(now);
        // A keep-alive without room is pending too, and has started the stall timer.
        let waits = self.lifetime.is_blocked() || self.pending_cues() > 0;
        if !is_open || is_kept || waits {
            return false;
        }
        self.handle_sent(now);
        true
    }

    /// Handles that a message was written. A reader in this process passes on nothing of it, so its
    /// client still has to receive keep-alives.
    pub(crate) fn handle_sent(&mut self, now: Millis) {
        if self.reader.is_none() {
            self.keep_alive.handle_written(now);
        }
    }

    /// Handles the lack of room for a message that was counted as written at `written`: the cue
    /// becomes pending.
    pub(crate) fn handle_unwritten(
        &mut self,
        event: &ServerEvent,
        published: Option<Millis>,
        written: Millis,
    ) {
        if !self.honored.accepts(event) {
            return;
        }
        let wait = published.map(|published| written - published);
        self.cues.uncount(wait);
        self.handle_event_of(event, published);
    }

    /// Whether the event is the disconnect that has ended the stream: none after it was written.
    pub(crate) fn is_ended_by(&self, event: &ServerEvent) -> bool {
        matches!(event, ServerEvent::Disconnect { .. })
            && self.is_ending()
            && self.honored.accepts(event)
    }

    /// Handles an event from the bus that was published at this time.
    pub(crate) fn handle_event_of(&mut self, event: &ServerEvent, published: Option<Millis>) {
        self.push(event, Since::new(None, published));
    }

    /// Counts further events that were collapsed into one.
    pub(crate) fn count_repeats(&self, repeats: usize) {
        if self.is_opening() || self.is_open() {
            self.cues.count_repeats(repeats);
        }
    }

    /// Frees the cue queue if it is empty.
    pub(crate) fn release_queue(&mut self) {
        self.cues.release();
    }

    /// Replaces the kind and the filter by shared copies of equal value.
    pub(crate) fn intern(&mut self, kind: &StreamKind, honored: &Arc<SubscriptionFilter>) {
        self.kind.clone_from(kind);
        self.honored.clone_from(honored);
    }

    pub(crate) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.cues.metrics()
    }

    pub(crate) fn reader(&self) -> Option<NonZeroU32> {
        self.reader
    }

    pub(crate) fn shared_honored(&self) -> &Arc<SubscriptionFilter> {
        &self.honored
    }
}
