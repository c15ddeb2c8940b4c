use super::{ServerStream, cues::Since, end_reason::EndReason};

/// Handling of lost events.
impl ServerStream {
    /// Handles a possible loss of events: cues every honored list and resource once. The state of a
    /// task cannot be reconstructed from a cue.
    pub fn handle_gap(&mut self) {
        for event in self.honored.subjects() {
            self.cue(&event, Since::default());
        }
    }

    /// Handles a loss of unknown events: cues every honored list and resource once, and stays open.
    ///
    /// The disconnect of a named caller may be among the lost events, so the caller is authorized
    /// again before the next cue is sent. Without a grant to renew, the stream ends at once, as
    /// [`EndReason::Denied`]. A stream that honors tasks ends as [`EndReason::Lost`] once pending
    /// cues are sent: its client listens again and reads the states of its tasks.
    pub fn handle_loss(&mut self) {
        if self.is_named() && !self.renew_grant() {
            return self.handle_denied();
        }
        if self.honored.task_ids.is_empty() {
            self.handle_gap();
        } else {
            self.retire(EndReason::Lost);
        }
    }

    /// As [`ServerStream::handle_loss`], for a stream that is about to close: a named caller is not
    /// authorized again, but its stream ends at once.
    pub(crate) fn handle_loss_at_close(&mut self) {
        if self.is_named() {
            self.handle_denied();
        } else {
            self.handle_loss();
        }
    }

    fn is_named(&self) -> bool {
        !self.honored.scope.principals.is_empty()
    }
}
