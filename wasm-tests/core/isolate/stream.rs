//! One stream of an isolate, and what its client has read.

use std::collections::BTreeMap;

use mcp_listen::{
    event::ServerEvent, fanout::StreamId, filter::SubscriptionFilter, listen::EndReason,
};

pub(crate) struct Stream {
    /// The id while the stream is held.
    pub(crate) id: Option<StreamId>,
    /// The honored filter.
    pub(crate) filter: SubscriptionFilter,
    /// The cues since its acknowledgment that it has yet to write.
    pub(crate) expected: BTreeMap<String, ServerEvent>,
    pub(crate) written: Vec<String>,
    pub(crate) has_ended: bool,
    pub(crate) ending: Option<EndReason>,
}

impl Stream {
    pub(crate) fn new(id: StreamId, filter: SubscriptionFilter) -> Self {
        Self {
            id: Some(id),
            filter,
            expected: BTreeMap::new(),
            written: Vec::new(),
            has_ended: false,
            ending: None,
        }
    }

    pub(crate) fn is_acknowledged(&self) -> bool {
        !self.written.is_empty()
    }

    /// Frames that the client has read.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
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
