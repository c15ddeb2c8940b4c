//! An isolate of one stream: its frames arrive one by one, and its client reads once all of them
//! have arrived.

use mcp_listen::{
    clock::Millis,
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamKind},
    root::RootOutput,
    upstream::{BusCall, ResumePoint, Timeouts, UpstreamCall},
};

use crate::session_root::{self, SessionRoot};

use super::{World, stream::Stream};

impl World {
    /// An isolate with one stream, which is acknowledged.
    pub(crate) fn of_one(filter: SubscriptionFilter, timeouts: Timeouts) -> Self {
        let mut world = Self::new();
        world.isolate.set_timeouts(timeouts);
        world.open(filter);
        world.begin_stepwise()
    }

    /// The same with the stream of a session without subscriptions.
    pub(crate) fn of_session(filter: SubscriptionFilter) -> Self {
        let session = SessionRoot::new();
        let mut world = Self::new();
        (world.root, world.log) = (session.root, session.log);
        let kind = StreamKind::Session;
        let stream = ServerStream::with_kind(kind, filter.clone(), Millis(0), Millis(0));
        let start = session_root::session_start(1, ResumePoint::None);
        let id = world.isolate.open_session(stream, start, Millis(0));
        world.streams.push(Stream::new(id, filter));
        world.begin_stepwise()
    }

    fn begin_stepwise(mut self) -> Self {
        self.is_stepwise = true;
        self.settle();
        assert!(self.streams[0].is_acknowledged());
        self.calls.clear();
        self
    }

    /// Subscribes the session of the stream to a resource.
    pub(crate) fn watch(&mut self, name: &str) {
        session_root::watch(&mut self.root, name);
        for output in session_root::outputs(&mut self.root) {
            let RootOutput::Send(_, frame) = output else {
                panic!("{output:?}")
            };
            self.down.push_back(frame);
        }
    }

    /// Ends the only stream once the bus has confirmed that nothing published by now is missing,
    /// and at the latest after `span`.
    pub(crate) fn end_within(&mut self, span: Millis, why: EndReason) {
        self.ends_by = Some((self.now + span, why));
        self.isolate.settle(self.now);
    }

    pub(super) fn end_if_due(&mut self) {
        let (now, is_settled) = (self.now, self.isolate.is_settled());
        let due = self.ends_by.take_if(|(at, _)| is_settled || *at <= now);
        match (due, self.streams.first().and_then(|stream| stream.id)) {
            (Some((_, EndReason::Closed)), Some(id)) => self.isolate.close(id, is_settled),
            (Some((_, why)), Some(id)) => {
                let streams = self.isolate.fanout();
                streams.with_stream(id, |stream| stream.retire(why));
            }
            _ => {}
        }
    }

    /// Returns what the client of the only stream has read since the last call.
    pub(crate) fn said(&mut self) -> Vec<String> {
        self.settle();
        self.read()
    }

    /// The same, without a delivery.
    pub(crate) fn read(&mut self) -> Vec<String> {
        self.write();
        self.streams[0].written.split_off(1)
    }

    /// The kinds of the calls, with their times.
    pub(crate) fn kinds(&self) -> Vec<(Millis, BusCall)> {
        let kinds = self.calls.iter().map(|(at, call)| {
            let kind = match call {
                UpstreamCall::Leave => BusCall::Leave,
                UpstreamCall::Attach(_) => BusCall::Attach,
                UpstreamCall::Send(_) => BusCall::Ask,
                other => panic!("not known: {other:?}"),
            };
            (*at, kind)
        });
        kinds.collect()
    }
}
