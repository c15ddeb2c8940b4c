use mcp_listen::{
    clock::Millis,
    fanout::StreamId,
    isolate,
    listen::{EndReason, ServerStream},
};

/// A piece of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Bytes(Vec<u8>),
    End,
}

/// The core's part of one stream: its isolate, and its id there.
pub(crate) struct Driven<'w> {
    pub(crate) isolate: &'w mut isolate::Isolate,
    pub(crate) id: StreamId,
}

impl Driven<'_> {
    pub(crate) fn read<T>(&mut self, read: impl FnOnce(&ServerStream) -> T) -> T {
        read(self.isolate.stream(self.id).unwrap())
    }

    pub(crate) fn is_opening(&mut self) -> bool {
        self.read(ServerStream::is_opening)
    }

    pub(crate) fn ending(&mut self) -> Option<EndReason> {
        self.read(ServerStream::end_reason)
    }

    pub(crate) fn retire(&mut self, why: EndReason) {
        self.isolate
            .fanout()
            .with_stream(self.id, |stream| stream.retire(why));
    }

    pub(crate) fn retire_at(&mut self, at: Millis, why: EndReason) {
        self.isolate
            .fanout()
            .with_stream(self.id, |stream| stream.retire_at(at, why));
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is not general enough in its lifetime"
    )]
    pub(crate) fn abort(&mut self) {
        self.isolate
            .fanout()
            .with_stream(self.id, |stream| stream.abort());
    }

    pub(crate) fn close(&mut self) {
        self.isolate.close(self.id, false);
    }

    pub(crate) fn handle_blocked(&mut self, now: Millis) {
        self.isolate
            .fanout()
            .with_stream(self.id, |stream| stream.handle_blocked(now));
    }

    /// The output to write; `has_ended`: the end was written.
    pub(crate) fn poll(&mut self, now: Millis, has_ended: bool) -> Vec<Frame> {
        let polled = std::iter::from_fn(|| self.isolate.fanout().poll(self.id, now));
        let mut frames: Vec<Frame> = polled.flat_map(|bytes| frames_of(&bytes)).collect();
        if !has_ended && self.read(ServerStream::is_ending) {
            frames.push(Frame::End);
        }
        frames
    }
}

/// Returns the frames of one write.
pub(crate) fn frames_of(bytes: &[u8]) -> Vec<Frame> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let frames = text.split_inclusive("\n\n");
    frames.map(|frame| Frame::Bytes(frame.into())).collect()
}
