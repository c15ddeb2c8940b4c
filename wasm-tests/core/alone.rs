//! A stream with its own connection to the bus: an isolate of one stream, whose body is returned
//! one frame at a time.

use std::{collections::VecDeque, sync::Arc};

use mcp_listen::{
    clock::Millis,
    fanout::{StreamId, StreamMut},
    isolate::{Isolate, IsolateOutput, SessionStart},
    listen::{EndReason, ServerStream},
    metrics::Metrics,
    position::Cursor,
    scope::Scope,
    upstream::{BusCall, OutageCounts, Timeouts, UpstreamCall},
    wire::ProtocolError,
};

pub(crate) struct Alone {
    isolate: Isolate,
    id: StreamId,
    /// The content of the last call.
    said: Option<String>,
    frames: VecDeque<Frame>,
    has_ended: bool,
}

/// A piece of the response body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Bytes(Vec<u8>),
    End,
}

const T0: Millis = Millis(0);

impl Alone {
    pub(crate) fn new(stream: ServerStream) -> Self {
        Self::with(T0, |isolate| isolate.open(stream, T0))
    }

    /// Counts events and notifications in `metrics`; `epoch` is the offset of the Unix clock.
    pub(crate) fn counted(mut stream: ServerStream, metrics: Arc<Metrics>, epoch: Millis) -> Self {
        stream.count_in(metrics);
        Self::with(epoch, |isolate| isolate.open(stream, T0))
    }

    /// Creates the stream of a session.
    pub(crate) fn of_session(stream: ServerStream, start: SessionStart) -> Self {
        Self::with(T0, |isolate| isolate.open_session(stream, start, T0))
    }

    fn with(epoch: Millis, open: impl FnOnce(&mut Isolate) -> StreamId) -> Self {
        let mut isolate = Isolate::new(Timeouts::default(), epoch);
        let id = open(&mut isolate);
        let mut alone = Self {
            isolate,
            id,
            said: None,
            frames: VecDeque::new(),
            has_ended: false,
        };
        alone.deliver(T0);
        alone
    }

    /// Returns what it last sent, or attaches with.
    pub(crate) fn attach_message(&mut self) -> String {
        if self.said.is_none() {
            self.poll_call(T0);
        }
        self.said.clone().unwrap()
    }

    pub(crate) fn handle_bus_message(
        &mut self,
        text: &str,
        now: Millis,
    ) -> Result<(), ProtocolError> {
        let handled = self.isolate.handle_message(text, now);
        self.deliver(now);
        handled
    }

    pub(crate) fn handle_bus_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        self.isolate.handle_lost(now, random, is_overloaded);
        self.deliver(now);
    }

    pub(crate) fn handle_scope(&mut self, scope: Scope, now: Millis) {
        self.isolate.handle_scope(self.id, scope, now);
        self.deliver(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.isolate.fanout().handle_timeout(now);
        self.isolate.handle_timeout(now, random);
        self.deliver(now);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        let of_streams = self.isolate.streams().poll_timeout();
        let all = [of_streams, self.isolate.poll_timeout()];
        all.into_iter().flatten().min().filter(|_| !self.has_ended)
    }

    pub(crate) fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        // The host removes streams that have ended.
        if self.has_ended {
            return None;
        }
        Some(match self.isolate.poll_call(now)? {
            UpstreamCall::Leave => BusCall::Leave,
            UpstreamCall::Attach(text) => {
                self.said = Some(text);
                BusCall::Attach
            }
            UpstreamCall::Send(text) => {
                self.said = Some(text);
                BusCall::Ask
            }
            other => panic!("not known: {other:?}"),
        })
    }

    /// Returns the next frame; what is not polled stays collapsed.
    pub(crate) fn poll_frame(&mut self, now: Millis) -> Option<Frame> {
        if self.frames.is_empty()
            && let Some(bytes) = self.isolate.fanout().poll(self.id, now)
        {
            let text = String::from_utf8(bytes).unwrap();
            let frames = text.split_inclusive("\n\n");
            self.frames
                .extend(frames.map(|frame| Frame::Bytes(frame.into())));
        }
        self.frames.pop_front().or_else(|| {
            let is_news = self.stream().is_ending() && !self.has_ended;
            self.has_ended |= is_news;
            is_news.then_some(Frame::End)
        })
    }

    pub(crate) fn stream(&self) -> &ServerStream {
        self.isolate.stream(self.id).unwrap()
    }

    pub(crate) fn with_stream(&mut self, action: impl FnOnce(&mut StreamMut<'_>)) {
        self.isolate.fanout().with_stream(self.id, action);
    }

    pub(crate) fn retire(&mut self, why: EndReason) {
        self.with_stream(|stream| stream.retire(why));
    }

    /// Handles a possible loss of events.
    pub(crate) fn miss(&mut self) {
        self.isolate.fanout().handle_gap();
    }

    pub(crate) fn close(&mut self) {
        self.isolate.close(self.id, false);
    }

    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.isolate.cursor()
    }

    pub(crate) fn counts(&self) -> OutageCounts {
        self.isolate.counts()
    }

    /// Nothing is written until it is polled. A stream that cannot be opened ends.
    fn deliver(&mut self, now: Millis) {
        while let Some(output) = self.isolate.poll_output(now) {
            match output {
                IsolateOutput::Write(batch) => {
                    let missed = batch.writes.iter().map(|(id, _)| *id);
                    self.isolate.fanout().handle_missed(missed, now);
                    self.isolate.fanout().take_due();
                }
                IsolateOutput::Refused { id, .. } => {
                    self.isolate
                        .fanout()
                        .with_stream(id, |stream| stream.retire(EndReason::Aborted));
                }
                _ => {}
            }
        }
    }
}
