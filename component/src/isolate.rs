use std::{cell::RefCell, rc::Rc, time::Duration};

use mcp_listen::{
    clock::Millis,
    isolate::{Isolate as Core, IsolateOutput, MovedStream},
    upstream::{Timeouts, UpstreamCall},
};

use crate::{
    Component,
    exchange::Stream,
    fanout::{Fanout, Source, slots_of},
    wit::{
        exchange::Stream as StreamHandle,
        fanout::{Fanout as FanoutHandle, WriteBatch},
        isolate::{Call, Counts, Guest, GuestIsolate, Loss, Moved, Output},
        types::Error,
    },
};

impl Guest for Component {
    type Isolate = Isolate;
}

/// Streams on a connection to a bus, shared with the handles of `streams`.
pub(crate) struct Isolate(Rc<RefCell<Core>>);

impl GuestIsolate for Isolate {
    fn new(epoch: u64, attach: u64, probe_interval: u64) -> Self {
        let timeouts = Timeouts {
            attach: Duration::from_millis(attach),
            probe_interval: Duration::from_millis(probe_interval),
        };
        Self(Rc::new(RefCell::new(Core::new(timeouts, Millis(epoch)))))
    }

    fn streams(&self) -> FanoutHandle {
        FanoutHandle::new(Fanout(Source::Bus(Rc::clone(&self.0))))
    }

    fn adopt(&self, stream: StreamHandle, now: u64, random: f64) -> u32 {
        let Stream { inner, since } = stream.into_inner();
        let mut core = self.0.borrow_mut();
        core.adopt(inner, since, Millis(now), random).slot()
    }

    fn handle_message(&self, text: String, now: u64) -> Result<(), Error> {
        let mut core = self.0.borrow_mut();
        Ok(core.handle_message(&text, Millis(now))?)
    }

    fn handle_lost(&self, how: Loss, now: u64, random: f64) {
        let (mut core, now) = (self.0.borrow_mut(), Millis(now));
        match how {
            Loss::Lost => core.handle_lost(now, random, false),
            Loss::Busy => core.handle_lost(now, random, true),
            Loss::Full => {
                core.handle_full();
                core.handle_lost(now, random, true);
            }
            Loss::Redirected => core.handle_redirected(now, random),
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.borrow().poll_timeout().map(|at| at.0)
    }

    fn handle_timeout(&self, now: u64, random: f64) {
        self.0.borrow_mut().handle_timeout(Millis(now), random);
    }

    fn poll_call(&self, now: u64) -> Option<Call> {
        let call = self.0.borrow_mut().poll_call(Millis(now))?;
        Some(match call {
            UpstreamCall::Leave => Call::Leave,
            UpstreamCall::Attach(text) => Call::Attach(text),
            UpstreamCall::Send(text) => Call::Send(text),
            _ => return None,
        })
    }

    fn poll_output(&self, now: u64) -> Option<Output> {
        let output = self.0.borrow_mut().poll_output(Millis(now))?;
        Some(match output {
            IsolateOutput::Write(batch) => Output::Write(WriteBatch::from(&batch)),
            IsolateOutput::Poll(ids) => Output::Poll(slots_of(ids)),
            IsolateOutput::Refused { id, is_full: true } => Output::Full(id.slot()),
            IsolateOutput::Refused { id, .. } => Output::Refused(id.slot()),
            IsolateOutput::Moved(moved) => Output::Moved((*moved).into()),
            _ => return None,
        })
    }

    fn settle(&self, now: u64) {
        self.0.borrow_mut().settle(Millis(now));
    }

    fn is_settled(&self) -> bool {
        self.0.borrow().is_settled()
    }

    fn is_away(&self) -> bool {
        self.0.borrow().is_away()
    }

    fn counts(&self) -> Counts {
        let counts = self.0.borrow().counts();
        Counts {
            outages: counts.outages,
            healed: counts.healed,
            gaps: counts.gaps,
            resyncs: counts.resyncs,
        }
    }
}

impl From<MovedStream> for Moved {
    fn from(
        MovedStream {
            id, stream, since, ..
        }: MovedStream,
    ) -> Self {
        Self {
            id: id.slot(),
            stream: StreamHandle::new(Stream {
                inner: stream,
                since,
            }),
        }
    }
}
