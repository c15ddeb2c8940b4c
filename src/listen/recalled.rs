use super::stream::{ServerStream, State};

/// A stream that outlives the core which held it.
impl ServerStream {
    /// It takes the place of one that was open, whose client has heard the acknowledgment or not.
    pub(crate) fn handle_recalled(&mut self, is_acknowledged: bool) {
        self.state = State::Open { is_acknowledged };
    }

    /// The name of the server, as compact JSON.
    pub(crate) fn server_info(&self) -> Option<&str> {
        self.server_info.as_deref()
    }
}
