//! The body of one stream's response.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_core::Stream;
use mcp_listen::fanout::StreamId;

use crate::streams::Streams;

/// Asked for bytes whenever the connection has room, and dropped when the client has left.
pub struct StreamBody {
    id: StreamId,
    streams: Arc<Streams>,
}

impl StreamBody {
    /// The body of this stream.
    pub fn new(id: StreamId, streams: Arc<Streams>) -> Self {
        Self { id, streams }
    }

    /// The next bytes; see [`Streams::poll`].
    pub fn next(&self, waker: &Waker) -> Poll<Option<Bytes>> {
        self.streams.poll(self.id, waker)
    }
}

impl Stream for StreamBody {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.next(context.waker()).map(|bytes| bytes.map(Ok))
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.streams.remove(self.id);
    }
}
