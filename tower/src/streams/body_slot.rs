use std::task::Waker;

use bytes::Bytes;

/// The slot for the next chunk of a response body: free while the connection waits for bytes.
#[derive(Debug, Default)]
pub(crate) struct BodySlot {
    waiting: Option<Waker>,
    chunk: Option<Bytes>,
}

impl BodySlot {
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.is_some() && self.chunk.is_none()
    }

    pub(crate) fn write(&mut self, chunk: Bytes) {
        self.chunk = Some(chunk);
        self.wake();
    }

    pub(crate) fn take(&mut self) -> Option<Bytes> {
        self.chunk.take()
    }

    pub(crate) fn wait(&mut self, waker: &Waker) {
        self.waiting = Some(waker.clone());
    }

    pub(crate) fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}
