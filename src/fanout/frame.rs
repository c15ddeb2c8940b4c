use alloc::{string::String, vec::Vec};

use crate::{listen::StreamKind, message, sse, vocabulary::event::ServerEvent};

/// The frames of one event, which differ only in their ids: the rest is encoded once.
#[derive(Debug)]
pub(super) struct Frame<'e> {
    event: &'e ServerEvent,
    around_id: Option<(String, String)>,
}

impl<'e> Frame<'e> {
    pub(super) fn new(event: &'e ServerEvent) -> Self {
        Self {
            event: event.change(),
            around_id: None,
        }
    }

    /// Appends the frame for a stream with this kind.
    pub(super) fn push(&mut self, bytes: &mut Vec<u8>, kind: &StreamKind) {
        let StreamKind::Listen(id) = kind else {
            bytes.extend(sse::event(&kind.notification(self.event)));
            return;
        };
        let event = self.event;
        let around_id = self
            .around_id
            .get_or_insert_with(|| message::around_id(event));
        sse::push_around(bytes, id.raw(), around_id);
    }
}
