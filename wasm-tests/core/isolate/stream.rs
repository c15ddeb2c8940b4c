//! One stream of an isolate, and what its client has read.

use std::collections::BTreeMap;

use mcp_listen::{
    event::ServerEvent, fanout::StreamId, filter::SubscriptionFilter, listen::EndReason,
};

pub(super) struct Stream {
    /// The id while the stream is held.
    pub(super) id: Option<StreamId>,
    /// The honored filter.
    pub(super) filter: SubscriptionFilter,
    /// The cues since its acknowledgment that it has yet to write.
    pub(super) expected: BTreeMap<String, ServerEvent>,
    pub(super) written: Vec<String>,
    pub(super) has_ended: bool,
    pub(super) ending: Option<EndReason>,
}

impl Stream {
    pub(super) fn new(id: StreamId, filter: SubscriptionFilter) -> Self {
        Self {
            id: Some(id),
            filter,
            expected: BTreeMap::new(),
            written: Vec::new(),
            has_ended: false,
            ending: None,
        }
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        !self.written.is_empty()
    }

    /// Frames that the client has read.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        for frame in text.split_inclusive("\n\n") {
            let cue = frame
                .strip_prefix("event: message\ndata: ")
                .map_or(frame, str::trim_end);
            self.expected.remove(cue);
            self.written.push(cue.to_owned());
        }
    }
}
