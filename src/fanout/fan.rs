use crate::{event::ServerEvent, listen::Stamp, sse};

use super::StreamId;

/// What is to be written now: chunks one after another, each for the streams of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fan {
    /// The chunks.
    pub bytes: Vec<u8>,
    /// Who gets them.
    pub streams: Vec<StreamId>,
    /// For each group, where its chunk ends in `bytes` and its last stream in `streams`.
    pub groups: Vec<(usize, usize)>,
}

impl Fan {
    /// Whether nobody gets anything.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Each group's chunk with its streams.
    pub fn chunks(&self) -> impl Iterator<Item = (&[u8], &[StreamId])> {
        let begins = std::iter::once((0, 0)).chain(self.groups.iter().copied());
        begins.zip(&self.groups).map(|(from, to)| {
            let chunk = self.bytes.get(from.0..to.0).unwrap_or_default();
            let streams = self.streams.get(from.1..to.1).unwrap_or_default();
            (chunk, streams)
        })
    }

    pub(super) fn push(&mut self, stamp: &Stamp, event: &ServerEvent) {
        self.bytes.extend(sse::event(&stamp.notification(event)));
    }

    /// Ends the group that was begun last.
    pub(super) fn end_group(&mut self) {
        let end = (self.bytes.len(), self.streams.len());
        if end.1 > self.groups.last().map_or(0, |(_, streams)| *streams) {
            self.groups.push(end);
        }
    }
}
