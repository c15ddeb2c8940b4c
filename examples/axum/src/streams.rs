//! Every stream of this process.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use mcp_listen::{
    capabilities::Discovered,
    clock::Millis,
    event::ServerEvent,
    fanout::{Fanout, StreamId},
    listen::{Accepted, ServerStream},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::body::StreamBody;

/// The core's fan-out, and what the core leaves to its host: a clock, a timer, and who can be written to.
pub struct Streams {
    /// The core knows no clock: moments are milliseconds since this one.
    started: Instant,
    shared: Mutex<Shared>,
    /// The next deadline may have become an earlier one.
    planned: Notify,
}

#[derive(Default)]
struct Shared {
    fanout: Fanout,
    outlets: BTreeMap<StreamId, Outlet>,
    is_closing: bool,
}

/// The way out of one stream: there is room for one chunk while somebody waits for it.
#[derive(Default)]
struct Outlet {
    waiting: Option<Waker>,
    chunk: Option<Bytes>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            shared: Mutex::default(),
            planned: Notify::new(),
        }
    }
}

impl Streams {
    /// Opens the stream that answers a listen request; `None` while the process ends.
    pub fn open(self: &Arc<Self>, accepted: &Accepted, told: &Discovered) -> Option<StreamBody> {
        let now = self.now();
        let mut shared = self.lock();
        if shared.is_closing {
            return None;
        }
        let mut stream = accepted.open(told, None, KEEP_ALIVE, now);
        stream.stall_after(STALL);
        let id = shared.fanout.open(stream, now);
        // The bus is this very object: whoever is held hears everything from here on, and may be told so.
        shared.fanout.handle_attached(id, now);
        shared.outlets.insert(id, Outlet::default());
        self.planned.notify_one();
        Some(StreamBody::new(id, Arc::clone(self)))
    }

    /// Tells every stream that honors it of a change. Costs what it reaches: the core looks at no other stream, and encodes
    /// the notification once for each subscription id.
    pub fn publish(&self, event: ServerEvent) {
        let now = self.now();
        let mut shared = self.lock();
        let fan = shared.fanout.publish(event, now, now);
        // Each chunk on its own: one slow reader must not keep those of all others alive.
        let places = 0..fan.ends.len();
        let chunks: Vec<_> = places
            .map(|place| Bytes::copy_from_slice(fan.chunk(place)))
            .collect();
        let mut missed = Vec::new();
        for &(id, place) in &fan.writes {
            match (shared.outlets.get_mut(&id), chunks.get(place)) {
                (Some(outlet), Some(chunk)) if outlet.has_room() => outlet.write(chunk.clone()),
                _ => missed.push(id),
            }
        }
        // For them the change waits, at most one of a kind and URI, until they are polled.
        shared.fanout.handle_missed(missed, now);
        // Whoever has something waiting has to take it in time.
        self.planned.notify_one();
    }

    /// Ends all streams gracefully, and opens no more.
    pub fn close(&self) {
        let mut shared = self.lock();
        let Shared {
            fanout,
            outlets,
            is_closing,
        } = &mut *shared;
        *is_closing = true;
        for (id, outlet) in outlets {
            fanout.tend(*id, |stream| {
                stream.close();
            });
            outlet.wake();
        }
    }

    /// The next bytes of a stream, `None` at its end; without any, `waker` is told when there is something to ask for.
    pub fn poll(&self, id: StreamId, waker: &Waker) -> Poll<Option<Bytes>> {
        let now = self.now();
        let mut shared = self.lock();
        let Shared {
            fanout, outlets, ..
        } = &mut *shared;
        let Some(outlet) = outlets.get_mut(&id) else {
            return Poll::Ready(None);
        };
        if let Some(chunk) = outlet.chunk.take() {
            return Poll::Ready(Some(chunk));
        }
        match fanout.poll(id, now) {
            Some(bytes) => Poll::Ready(Some(bytes.into())),
            None if fanout.stream(id).is_none_or(ServerStream::is_ending) => Poll::Ready(None),
            None => {
                outlet.waiting = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// Lets a stream go whose response is over, or whose client has left.
    pub fn remove(&self, id: StreamId) {
        let mut shared = self.lock();
        if shared.outlets.remove(&id).is_some() {
            shared.fanout.remove(id);
        }
    }

    /// Does what time brings: keep-alives, and the end of readers that take nothing. One timer for all streams.
    pub async fn keep_time(self: Arc<Self>) {
        loop {
            let deadline = self.lock().fanout.poll_timeout();
            let due = async {
                match deadline {
                    Some(at) => sleep_until(self.started + Duration::from_millis(at.0)).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = due => self.tick(),
                () = self.planned.notified() => {}
            }
        }
    }

    fn tick(&self) {
        let now = self.now();
        let mut shared = self.lock();
        let Shared {
            fanout, outlets, ..
        } = &mut *shared;
        for id in fanout.handle_timeout(now) {
            if let Some(outlet) = outlets.get_mut(&id) {
                outlet.wake();
            }
        }
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet {
    fn has_room(&self) -> bool {
        self.waiting.is_some() && self.chunk.is_none()
    }

    fn write(&mut self, chunk: Bytes) {
        self.chunk = Some(chunk);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

const KEEP_ALIVE: Millis = Millis(15_000);
/// A reader that takes nothing for so long is given up; the connection itself goes when the system says so.
const STALL: Millis = Millis(60_000);

#[cfg(test)]
#[path = "streams_test.rs"]
mod tests;
