use super::{ServerStream, cues::Since, ending::Ending};

/// What a stream does where events were lost.
impl ServerStream {
    /// Handles events that may have been missed: cues every honored list and resource once. The
    /// state of a task is more than a cue, and cannot be made up.
    pub fn handle_gap(&mut self) {
        for event in self.honored.subjects() {
            self.cue(&event, Since::default());
        }
    }

    /// Handles a loss of unknown events: cues every honored list and resource once, and stays open.
    ///
    /// The revocation of a caller with a name may be among what was lost, so that the caller is
    /// authorized again before the next cue leaves. Without a grant that could be renewed the stream
    /// ends at once, as [`Ending::Denied`]. A stream that honors tasks ends as [`Ending::Lost`] after
    /// what is pending: its client listens again and reads the states of its tasks.
    pub fn handle_loss(&mut self) {
        if self.is_named() && !self.renew_grant() {
            return self.handle_denied();
        }
        if self.honored.task_ids.is_empty() {
            self.handle_gap();
        } else {
            self.retire(Ending::Lost);
        }
    }

    /// Handles the doubt about its bus of a stream that is about to close. As
    /// [`ServerStream::handle_loss`], but a caller with a name is not authorized again: its stream
    /// ends at once.
    pub(crate) fn handle_last_doubt(&mut self) {
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
