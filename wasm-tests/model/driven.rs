use mcp_listen::{
    clock::Millis,
    edge::{Edge, Frame},
    fanout::StreamId,
    isolate,
    listen::{Ending, ServerStream},
};

/// The core's part of one stream: the edge of a session, or a stream of an isolate.
pub(crate) enum Driven<'w> {
    Edge(&'w mut Edge),
    Fanned(&'w mut isolate::Isolate, StreamId),
}

impl Driven<'_> {
    pub(crate) fn read<T>(&mut self, read: impl FnOnce(&ServerStream) -> T) -> T {
        match self {
            Self::Edge(edge) => read(edge.stream()),
            Self::Fanned(isolate, id) => read(isolate.stream(*id).unwrap()),
        }
    }

    pub(crate) fn is_opening(&mut self) -> bool {
        self.read(ServerStream::is_opening)
    }

    pub(crate) fn ending(&mut self) -> Option<Ending> {
        self.read(ServerStream::ending)
    }

    pub(crate) fn retire(&mut self, why: Ending) {
        match self {
            Self::Edge(edge) => edge.stream().retire(why),
            Self::Fanned(isolate, id) => isolate.fanout().tend(*id, |stream| stream.retire(why)),
        }
    }

    pub(crate) fn retire_at(&mut self, at: Millis, why: Ending) {
        match self {
            Self::Edge(edge) => edge.stream().retire_at(at, why),
            Self::Fanned(isolate, id) => {
                isolate
                    .fanout()
                    .tend(*id, |stream| stream.retire_at(at, why));
            }
        }
    }

    pub(crate) fn close(&mut self) {
        match self {
            Self::Edge(edge) => edge.close(),
            Self::Fanned(isolate, id) => isolate.close(*id, false),
        }
    }

    pub(crate) fn handle_blocked(&mut self, now: Millis) {
        match self {
            Self::Edge(edge) => edge.stream().handle_blocked(now),
            Self::Fanned(isolate, id) => {
                isolate
                    .fanout()
                    .tend(*id, |stream| stream.handle_blocked(now));
            }
        }
    }

    /// What is to be written; `has_ended` says that the end was.
    pub(crate) fn poll(&mut self, now: Millis, has_ended: bool) -> Vec<Frame> {
        match self {
            Self::Edge(edge) => std::iter::from_fn(|| edge.poll_frame(now)).collect(),
            Self::Fanned(isolate, id) => {
                let polled = std::iter::from_fn(|| isolate.fanout().poll(*id, now));
                let mut frames: Vec<Frame> = polled.flat_map(|bytes| frames_of(&bytes)).collect();
                if !has_ended && isolate.stream(*id).unwrap().is_ending() {
                    frames.push(Frame::End);
                }
                frames
            }
        }
    }

    /// When something is to be done; streams of isolates have that done together.
    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        match self {
            Self::Edge(edge) => edge.poll_timeout(),
            Self::Fanned(..) => None,
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Millis, random: f64) {
        if let Self::Edge(edge) = self {
            edge.handle_timeout(now, random);
        }
    }
}

/// The frames of one write.
pub(crate) fn frames_of(bytes: &[u8]) -> Vec<Frame> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let frames = text.split_inclusive("\n\n");
    frames.map(|frame| Frame::Bytes(frame.into())).collect()
}
