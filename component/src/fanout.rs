use std::{cell::RefCell, rc::Rc};

use mcp_listen::{
    clock::Millis,
    fanout::{self, StreamId, StreamMut},
    filter::SubscriptionFilter,
    isolate::Isolate,
    listen::{EndReason, ServerStream},
    scope::Scope,
};

use crate::{
    Component,
    convert::{events_of, filter_of, scope_of, text_of},
    exchange::Stream,
    wit::{
        exchange::Stream as StreamHandle,
        fanout::{Guest, GuestFanout, HoldOptions, Retirement, StreamState, Write, WriteBatch},
        types::Error,
    },
};

impl Guest for Component {
    type Fanout = Fanout;
}

/// The streams of one process.
pub(crate) struct Fanout(pub(crate) Source);

/// What feeds a fan-out.
pub(crate) enum Source {
    /// Calls of `publish`.
    Published(Box<RefCell<fanout::Fanout>>),
    /// A bus, through the isolate that shares these streams.
    Bus(Rc<RefCell<Isolate>>),
}

impl GuestFanout for Fanout {
    fn new() -> Self {
        Self(Source::Published(Box::default()))
    }

    fn open(&self, stream: StreamHandle, options: HoldOptions, now: u64) -> u32 {
        let Stream {
            inner: mut stream, ..
        } = stream.into_inner();
        let now = Millis(now);
        stream.stall_after(Millis(options.stall_after));
        stream.grant_for(Millis(options.authorization_ttl), now);
        if let Some(at) = options.retires_at {
            stream.retire_at(Millis(at), EndReason::Rotated);
        }
        if let Some(at) = options.expires_at {
            stream.expire_at(Millis(at));
        }
        let id = match &self.0 {
            Source::Published(fanout) => {
                let mut fanout = fanout.borrow_mut();
                let id = fanout.open(stream, now);
                fanout.handle_attached(id, now);
                id
            }
            Source::Bus(isolate) => isolate.borrow_mut().open(stream, now),
        };
        id.slot()
    }

    fn remove(&self, id: u32) -> Option<String> {
        let id = self.with(|fanout| fanout.id_at(id))?;
        let reason = match &self.0 {
            Source::Published(fanout) => fanout.borrow_mut().remove(id),
            Source::Bus(isolate) => isolate.borrow_mut().remove(id),
        }?;
        Some(reason.code().to_owned())
    }

    fn publish(&self, events: Vec<String>, now: u64) -> Result<WriteBatch, Error> {
        let (events, now) = (events_of(&events)?, Millis(now));
        let batch = self.with(|fanout| fanout.publish_all(events, now, now));
        Ok(WriteBatch::from(&batch))
    }

    fn handle_missed(&self, missed: Vec<u32>, now: u64) -> Vec<u32> {
        self.with(|fanout| {
            let ids = missed.iter().filter_map(|slot| fanout.id_at(*slot));
            let ids: Vec<StreamId> = ids.collect();
            fanout.handle_missed(ids, Millis(now));
            slots_of(fanout.take_due())
        })
    }

    fn poll(&self, id: u32, now: u64) -> Option<String> {
        self.with(|fanout| {
            let id = fanout.id_at(id)?;
            fanout.poll(id, Millis(now)).map(text_of)
        })
    }

    fn handle_blocked(&self, id: u32, now: u64) {
        self.with_stream(id, |stream| stream.handle_blocked(Millis(now)));
    }

    fn state(&self, id: u32) -> StreamState {
        self.with(|fanout| {
            let stream = fanout.id_at(id).and_then(|id| fanout.stream(id));
            stream.map_or(ENDED, state_of)
        })
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.with(|fanout| fanout.poll_timeout()).map(|at| at.0)
    }

    fn handle_timeout(&self, now: u64) -> Vec<u32> {
        self.with(|fanout| slots_of(fanout.handle_timeout(Millis(now))))
    }

    fn poll_question(&self, id: u32) -> Option<String> {
        self.with(|fanout| {
            let id = fanout.id_at(id)?;
            Some(fanout.poll_question(id)?.to_json())
        })
    }

    fn renew(
        &self,
        id: u32,
        allowed: Option<String>,
        scope: Option<String>,
        expires_at: Option<u64>,
        now: u64,
    ) -> Result<(), Error> {
        let Some(allowed) = allowed else {
            self.deny(id);
            return Ok(());
        };
        let allowed = rights_of(&allowed, scope.as_deref()).inspect_err(|_| self.deny(id))?;
        let mut wider = None;
        self.with_stream(id, |stream| {
            stream.handle_granted(&allowed, Millis(now));
            match expires_at {
                Some(at) => stream.expire_at(Millis(at)),
                None => stream.never_expire(),
            }
            wider = stream.wider_scope(&allowed);
        });
        self.widen(id, wider, Millis(now));
        Ok(())
    }

    fn handle_gap(&self) {
        self.with(fanout::Fanout::handle_gap);
    }

    fn close(&self, id: u32, is_settled: bool) {
        match &self.0 {
            Source::Published(_) => self.with_stream(id, |stream| {
                stream.close();
            }),
            Source::Bus(isolate) => {
                let mut isolate = isolate.borrow_mut();
                if let Some(id) = isolate.streams().id_at(id) {
                    isolate.close(id, is_settled);
                }
            }
        }
    }

    fn retire_at(&self, id: u32, at: u64, why: Retirement) {
        self.with_stream(id, |stream| stream.retire_at(Millis(at), why.into()));
    }

    fn count(&self) -> u32 {
        u32::try_from(self.with(|fanout| fanout.len())).unwrap_or(u32::MAX)
    }
}

impl Fanout {
    fn with<T>(&self, action: impl FnOnce(&mut fanout::Fanout) -> T) -> T {
        match &self.0 {
            Source::Published(fanout) => action(&mut fanout.borrow_mut()),
            Source::Bus(isolate) => action(isolate.borrow_mut().fanout()),
        }
    }

    fn with_stream(&self, id: u32, action: impl FnOnce(&mut StreamMut<'_>)) {
        self.with(|fanout| {
            if let Some(id) = fanout.id_at(id) {
                fanout.with_stream(id, action);
            }
        });
    }

    fn deny(&self, id: u32) {
        self.with_stream(id, |stream| {
            stream.handle_denied();
        });
    }

    /// Adds the groups that a caller belongs to since its rights were determined again.
    fn widen(&self, id: u32, scope: Option<Scope>, now: Millis) {
        let id = self.with(|fanout| fanout.id_at(id));
        let (Some(id), Some(scope)) = (id, scope) else {
            return;
        };
        match &self.0 {
            Source::Published(fanout) => fanout.borrow_mut().handle_scope(id, scope),
            Source::Bus(isolate) => isolate.borrow_mut().handle_scope(id, scope, now),
        }
    }
}

impl From<&fanout::WriteBatch> for WriteBatch {
    fn from(batch: &fanout::WriteBatch) -> Self {
        let chunks = 0..batch.ends.len();
        let writes = batch.writes.iter();
        Self {
            chunks: chunks
                .map(|index| text_of(batch.chunk(index).to_vec()))
                .collect(),
            writes: writes
                .map(|(id, chunk)| Write {
                    stream: id.slot(),
                    chunk: u32::try_from(*chunk).unwrap_or(u32::MAX),
                })
                .collect(),
        }
    }
}

impl From<Retirement> for EndReason {
    fn from(why: Retirement) -> Self {
        match why {
            Retirement::Rotated => Self::Rotated,
            Retirement::Drained => Self::Drained,
        }
    }
}

/// Parses what a caller may receive, and its groups.
fn rights_of(allowed: &str, scope: Option<&str>) -> Result<SubscriptionFilter, Error> {
    Ok(SubscriptionFilter {
        scope: scope.map(scope_of).transpose()?.unwrap_or_default(),
        ..filter_of(allowed)?
    })
}

pub(crate) fn slots_of(ids: Vec<StreamId>) -> Vec<u32> {
    ids.into_iter().map(StreamId::slot).collect()
}

fn state_of(stream: &ServerStream) -> StreamState {
    StreamState {
        is_opening: stream.is_opening(),
        is_ended: stream.is_ending(),
        is_frozen: stream.is_frozen(),
        is_asking: stream.is_asking(),
    }
}

/// The state of a stream that is not held.
const ENDED: StreamState = StreamState {
    is_opening: false,
    is_ended: true,
    is_frozen: false,
    is_asking: false,
};
