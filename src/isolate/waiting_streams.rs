use alloc::vec::Vec;

use crate::fanout::StreamId;

/// The streams that wait for the bus to confirm their topics, in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct WaitingStreams(Vec<StreamId>);

impl WaitingStreams {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, id: StreamId) -> bool {
        self.find(id).is_ok()
    }

    pub(super) fn insert(&mut self, id: StreamId) {
        if let Err(place) = self.find(id) {
            self.0.insert(place, id);
        }
    }

    /// Removes a stream. Returns whether it waited.
    pub(super) fn remove(&mut self, id: StreamId) -> bool {
        let place = self.find(id);
        place.map(|place| self.0.remove(place)).is_ok()
    }

    /// Removes all streams.
    pub(super) fn take(&mut self) -> Vec<StreamId> {
        core::mem::take(&mut self.0)
    }

    #[inline(never)]
    fn find(&self, id: StreamId) -> Result<usize, usize> {
        self.0.binary_search(&id)
    }
}
