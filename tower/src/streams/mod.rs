mod body_slot;
mod callers;
mod disconnects;

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
    scope::Name,
};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::stream_body::StreamBody;

use self::{body_slot::BodySlot, callers::Callers, disconnects::Disconnects};

/// The streams of one bus: the core's fan-out, with a clock, a timer, and the slot of each
/// response body.
#[derive(Debug)]
pub(crate) struct Streams {
    /// The origin of the core's times, which are in milliseconds since this instant.
    started: Instant,
    shared: Mutex<Shared>,
    /// Signals that the next deadline may have become earlier.
    rescheduled: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Shared {
    fanout: Fanout,
    slots: BTreeMap<StreamId, BodySlot>,
    callers: Callers,
    disconnects: Disconnects,
    is_closing: bool,
    /// The task that handles the deadlines of all streams.
    timer: Option<JoinHandle<()>>,
}

/// Why a stream cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The bus is closed.
    Closing,
    /// The caller may have been disconnected while its rights were looked up.
    Disconnected,
    /// The maximum number of streams is open.
    TooMany,
    /// The maximum number of streams of this caller is open.
    TooManyOfCaller,
}

/// How many streams may be open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) all: usize,
    /// Those of one caller with a name.
    pub(crate) of_caller: usize,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            shared: Mutex::default(),
            rescheduled: Arc::default(),
        }
    }
}

impl Streams {
    /// Returns how many disconnects were published.
    pub(crate) fn disconnects(&self) -> u64 {
        self.lock().disconnects.count()
    }

    /// Opens a stream, if there is room for it and none of `principals` was disconnected after the
    /// first `disconnects`.
    pub(crate) fn open(
        self: &Arc<Self>,
        room: Room,
        principals: &[Name],
        disconnects: u64,
        stream: ServerStream,
    ) -> Result<StreamBody, Full> {
        let admit = |shared: &Shared| {
            if shared.disconnects.include(principals, disconnects) {
                return Err(Full::Disconnected);
            }
            if shared.slots.len() >= room.all {
                return Err(Full::TooMany);
            }
            if !principals.is_empty() && shared.callers.streams_of(principals) >= room.of_caller {
                return Err(Full::TooManyOfCaller);
            }
            Ok(())
        };
        let id = self.register(admit, |fanout, now| fanout.open(stream, now))?;
        Ok(StreamBody::new(id, Arc::clone(self)))
    }

    /// Opens a stream that is polled for events instead of bytes.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        make: impl FnOnce(Millis) -> ServerStream,
    ) -> Result<StreamId, Full> {
        self.register(|_| Ok(()), |fanout, now| fanout.open_polled(make(now), now))
    }

    fn register(
        self: &Arc<Self>,
        admit: impl FnOnce(&Shared) -> Result<(), Full>,
        open: impl FnOnce(&mut Fanout, Millis) -> StreamId,
    ) -> Result<StreamId, Full> {
        let now = self.now();
        let mut shared = self.lock();
        if shared.is_closing {
            return Err(Full::Closing);
        }
        admit(&shared)?;
        let id = open(&mut shared.fanout, now);
        // The bus is in this process, so the stream is attached at once.
        shared.fanout.handle_attached(id, now);
        shared.slots.insert(id, BodySlot::default());
        shared.count(id, Callers::add_stream);
        if shared.timer.as_ref().is_none_or(JoinHandle::is_finished) {
            let timer = run_timer(Arc::downgrade(self), Arc::clone(&self.rescheduled));
            shared.timer = Some(tokio::spawn(timer));
        }
        self.rescheduled.notify_one();
        Ok(id)
    }

    /// Publishes changes to every stream that honors them. The cost depends on the streams that
    /// match.
    pub(crate) fn publish(&self, mut events: Vec<ServerEvent>) {
        let now = self.now();
        let mut shared = self.lock();
        for event in &events {
            if let ServerEvent::Disconnect { principal } = event {
                shared.disconnects.push(principal.clone());
            }
        }
        let batch = match (events.pop(), events.is_empty()) {
            (None, _) => return,
            (Some(event), true) => shared.fanout.publish(event, now, now),
            (Some(last), false) => {
                events.push(last);
                shared.fanout.publish_all(events, now, now)
            }
        };
        shared.write(&batch, now);
        self.rescheduled.notify_one();
    }

    /// Ends all streams gracefully, and opens no more.
    pub(crate) fn close(&self) {
        let mut shared = self.lock();
        let Shared {
            fanout,
            slots,
            is_closing,
            ..
        } = &mut *shared;
        *is_closing = true;
        for (id, slot) in slots {
            fanout.with_stream(*id, |stream| {
                stream.close();
            });
            slot.wake();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().slots.len()
    }

    /// Returns the next bytes of a stream, `None` at its end. Without any, `waker` is woken once
    /// there may be some.
    pub(crate) fn poll(&self, id: StreamId, waker: &Waker) -> Poll<Option<Bytes>> {
        let now = self.now();
        let mut shared = self.lock();
        let Shared { fanout, slots, .. } = &mut *shared;
        let Some(slot) = slots.get_mut(&id) else {
            return Poll::Ready(None);
        };
        if let Some(chunk) = slot.take() {
            return Poll::Ready(Some(chunk));
        }
        match fanout.poll(id, now) {
            Some(bytes) => Poll::Ready(Some(bytes.into())),
            None if fanout.stream(id).is_none_or(ServerStream::is_ending) => Poll::Ready(None),
            None => {
                slot.wait(waker);
                Poll::Pending
            }
        }
    }

    /// Returns the next output of a stream opened by [`Streams::subscribe`]; otherwise as
    /// [`Streams::poll`].
    pub(crate) fn poll_next(&self, id: StreamId, waker: &Waker) -> Poll<Next> {
        let now = self.now();
        let mut shared = self.lock();
        let Shared { fanout, slots, .. } = &mut *shared;
        match (fanout.poll_next(id, now), slots.get_mut(&id)) {
            (Some(next), _) => Poll::Ready(next),
            (None, Some(slot)) if fanout.stream(id).is_some_and(|stream| !stream.is_ending()) => {
                slot.wait(waker);
                Poll::Pending
            }
            _ => Poll::Ready(Next::End),
        }
    }

    /// Replaces the filter that a stream honors.
    pub(crate) fn filter(&self, id: StreamId, honored: SubscriptionFilter) {
        let mut shared = self.lock();
        shared.count(id, Callers::remove_stream);
        shared.fanout.handle_filter(id, honored);
        shared.count(id, Callers::add_stream);
    }

    /// Removes a stream whose response has ended, or whose client has disconnected.
    pub(crate) fn remove(&self, id: StreamId) {
        self.lock().remove(id);
    }

    fn tick(&self) {
        let now = self.now();
        let mut shared = self.lock();
        let due = shared.fanout.handle_timeout(now);
        for id in &due {
            // A keep-alive that is due sets no deadline: the connection may never take it.
            shared.fanout.with_stream(*id, |stream| {
                stream.handle_blocked(now);
            });
        }
        shared.wake(due);
    }

    fn deadline(&self) -> Option<Instant> {
        let at = self.lock().fanout.poll_timeout()?;
        Some(self.started + Duration::from(at))
    }

    /// Returns the time on the clock of the streams.
    pub(crate) fn now(&self) -> Millis {
        self.started.elapsed().into()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // The timer task then finds that the streams are gone.
        self.rescheduled.notify_one();
    }
}

impl Shared {
    /// Writes to the streams whose slot is free. For the others the change stays pending, at most
    /// one for each kind and URI.
    fn write(&mut self, batch: &WriteBatch, now: Millis) {
        // Copies each chunk: one slow client must not keep the chunks of all others alive.
        let indices = 0..batch.ends.len();
        let chunks: Vec<_> = indices
            .map(|index| Bytes::copy_from_slice(batch.chunk(index)))
            .collect();
        let mut missed = Vec::new();
        for &(id, index) in &batch.writes {
            match (self.slots.get_mut(&id), chunks.get(index)) {
                (Some(slot), Some(chunk)) if slot.has_room() => slot.write(chunk.clone()),
                _ => missed.push(id),
            }
        }
        self.fanout.handle_missed(missed, now);
        let due = self.fanout.take_due();
        self.wake(due);
    }

    /// Changes how many streams the caller of this one has.
    fn count(&mut self, id: StreamId, change: impl FnOnce(&mut Callers, &[Name])) {
        if let Some(stream) = self.fanout.stream(id) {
            change(&mut self.callers, &stream.honored().scope.principals);
        }
    }

    /// Removes a stream, if it is still there.
    fn remove(&mut self, id: StreamId) {
        if self.slots.remove(&id).is_some() {
            self.count(id, Callers::remove_stream);
            self.fanout.remove(id);
        }
    }

    /// Wakes these streams, and removes those that have ended: a connection that takes nothing does
    /// not poll its body, and so does not drop it either.
    fn wake(&mut self, due: Vec<StreamId>) {
        for id in due {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.wake();
            }
            if self.fanout.stream(id).is_some_and(ServerStream::is_ending) {
                self.remove(id);
            }
        }
    }
}

/// Handles keep-alives and stalled clients with one timer for all streams, as long as the bus
/// exists.
async fn run_timer(streams: Weak<Streams>, rescheduled: Arc<Notify>) {
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
            () = rescheduled.notified() => {}
        }
    }
}
