use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::{Fanout, StreamId, WriteBatch},
    filter::SubscriptionFilter,
    listen::{Next, ServerStream},
};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::{outlet::Outlet, stream_body::StreamBody};

/// The streams of one bus: the core's fan-out, with what the core leaves to its host: a clock, a
/// timer, and the room of each connection.
#[derive(Debug)]
pub(crate) struct Streams {
    /// The origin of the core's times, which are in milliseconds since this instant.
    started: Instant,
    shared: Mutex<Shared>,
    /// Signals that the next deadline may be earlier than before.
    planned: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Shared {
    fanout: Fanout,
    outlets: BTreeMap<StreamId, Outlet>,
    is_closing: bool,
    /// The task that handles the deadlines of all streams.
    timer: Option<JoinHandle<()>>,
}

/// Why a stream cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The bus is closed.
    Closing,
    /// The maximum number of streams is open.
    TooMany,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            shared: Mutex::default(),
            planned: Arc::default(),
        }
    }
}

impl Streams {
    /// Opens a stream, if fewer than `max_streams` are open.
    pub(crate) fn open(
        self: &Arc<Self>,
        max_streams: usize,
        make: impl FnOnce(Millis) -> ServerStream,
    ) -> Result<StreamBody, Full> {
        let id = self.hold(max_streams, |fanout, now| fanout.open(make(now), now))?;
        Ok(StreamBody::new(id, Arc::clone(self)))
    }

    /// Opens a stream that is polled for events instead of bytes.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        make: impl FnOnce(Millis) -> ServerStream,
    ) -> Result<StreamId, Full> {
        self.hold(usize::MAX, |fanout, now| fanout.open_polled(make(now), now))
    }

    fn hold(
        self: &Arc<Self>,
        most: usize,
        open: impl FnOnce(&mut Fanout, Millis) -> StreamId,
    ) -> Result<StreamId, Full> {
        let now = self.now();
        let mut shared = self.lock();
        if shared.is_closing {
            return Err(Full::Closing);
        }
        if shared.outlets.len() >= most {
            return Err(Full::TooMany);
        }
        let id = open(&mut shared.fanout, now);
        // The bus is in this object, so the stream is registered at once.
        shared.fanout.handle_attached(id, now);
        shared.outlets.insert(id, Outlet::default());
        if shared.timer.as_ref().is_none_or(JoinHandle::is_finished) {
            let keeping = keep_time(Arc::downgrade(self), Arc::clone(&self.planned));
            shared.timer = Some(tokio::spawn(keeping));
        }
        self.planned.notify_one();
        Ok(id)
    }

    /// Publishes changes to every stream that honors them. The cost depends on the streams that
    /// match.
    pub(crate) fn publish(&self, mut events: Vec<ServerEvent>) {
        let now = self.now();
        let mut shared = self.lock();
        let batch = match (events.pop(), events.is_empty()) {
            (None, _) => return,
            (Some(event), true) => shared.fanout.publish(event, now, now),
            (Some(last), false) => {
                events.push(last);
                shared.fanout.publish_all(events, now, now)
            }
        };
        shared.write(&batch, now);
        self.planned.notify_one();
    }

    /// Ends all streams gracefully, and opens no more.
    pub(crate) fn close(&self) {
        let mut shared = self.lock();
        let Shared {
            fanout,
            outlets,
            is_closing,
            ..
        } = &mut *shared;
        *is_closing = true;
        for (id, outlet) in outlets {
            fanout.with_stream(*id, |stream| {
                stream.close();
            });
            outlet.wake();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().outlets.len()
    }

    /// Returns the next bytes of a stream, `None` at its end. Without any, `waker` is woken once
    /// there may be some.
    pub(crate) fn poll(&self, id: StreamId, waker: &Waker) -> Poll<Option<Bytes>> {
        let now = self.now();
        let mut shared = self.lock();
        let Shared {
            fanout, outlets, ..
        } = &mut *shared;
        let Some(outlet) = outlets.get_mut(&id) else {
            return Poll::Ready(None);
        };
        if let Some(chunk) = outlet.take() {
            return Poll::Ready(Some(chunk));
        }
        match fanout.poll(id, now) {
            Some(bytes) => Poll::Ready(Some(bytes.into())),
            None if fanout.stream(id).is_none_or(ServerStream::is_ending) => Poll::Ready(None),
            None => {
                outlet.wait(waker);
                Poll::Pending
            }
        }
    }

    /// Returns the next output of a stream opened by [`Streams::subscribe`]; otherwise as
    /// [`Streams::poll`].
    pub(crate) fn poll_next(&self, id: StreamId, waker: &Waker) -> Poll<Next> {
        let now = self.now();
        let mut shared = self.lock();
        let Shared {
            fanout, outlets, ..
        } = &mut *shared;
        match (fanout.poll_next(id, now), outlets.get_mut(&id)) {
            (Some(next), _) => Poll::Ready(next),
            (None, Some(outlet)) if fanout.stream(id).is_some_and(|held| !held.is_ending()) => {
                outlet.wait(waker);
                Poll::Pending
            }
            _ => Poll::Ready(Next::End),
        }
    }

    /// Replaces the filter that a stream honors.
    pub(crate) fn filter(&self, id: StreamId, honored: SubscriptionFilter) {
        self.lock().fanout.handle_filter(id, honored);
    }

    /// Removes a stream whose response has ended, or whose client has disconnected.
    pub(crate) fn remove(&self, id: StreamId) {
        let mut shared = self.lock();
        if shared.outlets.remove(&id).is_some() {
            shared.fanout.remove(id);
        }
    }

    fn tick(&self) {
        let now = self.now();
        let mut shared = self.lock();
        let due = shared.fanout.handle_timeout(now);
        shared.wake(due);
    }

    fn deadline(&self) -> Option<Instant> {
        let at = self.lock().fanout.poll_timeout()?;
        Some(self.started + Duration::from(at))
    }

    fn now(&self) -> Millis {
        self.started.elapsed().into()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // The timer task then finds that the streams are gone.
        self.planned.notify_one();
    }
}

impl Shared {
    /// Writes to the streams that have room. For the others the change is pending, at most one for
    /// each kind and URI.
    fn write(&mut self, batch: &WriteBatch, now: Millis) {
        // Copies each chunk: one slow client must not keep the chunks of all others alive.
        let places = 0..batch.ends.len();
        let chunks: Vec<_> = places
            .map(|place| Bytes::copy_from_slice(batch.chunk(place)))
            .collect();
        let mut missed = Vec::new();
        for &(id, place) in &batch.writes {
            match (self.outlets.get_mut(&id), chunks.get(place)) {
                (Some(outlet), Some(chunk)) if outlet.has_room() => outlet.write(chunk.clone()),
                _ => missed.push(id),
            }
        }
        self.fanout.handle_missed(missed, now);
        let due = self.fanout.take_due();
        self.wake(due);
    }

    fn wake(&mut self, streams: Vec<StreamId>) {
        for id in streams {
            if let Some(outlet) = self.outlets.get_mut(&id) {
                outlet.wake();
            }
        }
    }
}

/// Handles keep-alives and stalled clients with one timer for all streams, as long as the bus
/// exists.
async fn keep_time(streams: Weak<Streams>, planned: Arc<Notify>) {
    loop {
        let Some(deadline) = streams.upgrade().map(|streams| streams.deadline()) else {
            return;
        };
        let due = async {
            match deadline {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = due => if let Some(streams) = streams.upgrade() { streams.tick() },
            () = planned.notified() => {}
        }
    }
}
