use std::{
    sync::Arc,
    task::{Poll, Waker},
};

use bytes::Bytes;
use mcp_listen::fanout::StreamId;

use crate::streams::Streams;

/// The response body of one stream: polled for bytes whenever the connection has room, and dropped
/// when the client has disconnected.
#[derive(Debug)]
pub(crate) struct StreamBody {
    id: StreamId,
    streams: Arc<Streams>,
}

impl StreamBody {
    pub(crate) fn new(id: StreamId, streams: Arc<Streams>) -> Self {
        Self { id, streams }
    }

    /// Returns the next bytes; see [`Streams::poll`].
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Option<Bytes>> {
        self.streams.poll(self.id, waker)
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.streams.remove(self.id);
    }
}
