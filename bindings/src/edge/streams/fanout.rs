use std::num::NonZeroU32;

use wasm_bindgen::prelude::*;

use mcp_listen::{
    event::ServerEvent,
    fanout::{self, StreamId, StreamMut},
    isolate::Isolate,
    json,
    lease::Budget,
    listen::{EndReason, ServerStream},
    upstream::Timeouts,
};

use crate::{
    number::{millis, time},
    text::event_of,
    write_batch::packed,
};

use super::{
    reauthorization::{Reauthorized, expire, renew},
    retirement::Retirement,
    stream::{Stream, StreamState},
};

/// The streams of one process or isolate on one bus: events in, chunks of response bodies out. A
/// stream is identified by its slot: a number that is reused after `remove`.
#[wasm_bindgen]
pub struct Fanout {
    core: Core,
    /// The number of streams that memory has been allocated for.
    provided: usize,
}

/// The source of the events.
enum Core {
    /// Calls of `publish`.
    Fed(Box<fanout::Fanout>),
    /// The bus, over a connection: see `isolate.rs`.
    Following(Box<Isolate>),
}

#[wasm_bindgen]
impl Fanout {
    /// Creates a fan-out without streams. With `epoch`, it follows a bus; `epoch` is when the clock
    /// of the other calls started, in milliseconds since 1970. Without it, events come from
    /// `publish`. `writes` limits the writes of a request for others; if all requests are spent,
    /// some streams end every `endIntervalMs` milliseconds.
    #[wasm_bindgen(constructor)]
    pub fn new(
        epoch: Option<f64>,
        writes: Option<u32>,
        #[wasm_bindgen(js_name = endIntervalMs)] end_interval_ms: Option<f64>,
    ) -> Self {
        let core = match epoch {
            Some(epoch) => Core::Following(Box::new(following(epoch, writes, end_interval_ms))),
            None => Core::Fed(Box::default()),
        };
        Self { core, provided: 0 }
    }

    /// Adds a stream. If the fan-out follows a bus, nothing is written before the bus has
    /// confirmed: see `StreamState`. The stream ends if its client reads nothing for `writeMs`
    /// milliseconds while output is pending, and its caller is authorized again from
    /// `grantedUntil` on, and later once the authorization is older than `ttlMs` milliseconds; 0
    /// disables either. It is rotated at `retiresAt`, and ends at once at `expiresAt`; undefined
    /// disables either.
    #[allow(clippy::too_many_arguments, reason = "one call per stream")]
    pub fn open(
        &mut self,
        stream: Stream,
        #[wasm_bindgen(js_name = writeMs)] write_ms: f64,
        #[wasm_bindgen(js_name = ttlMs)] ttl_ms: f64,
        #[wasm_bindgen(js_name = grantedUntil)] granted_until: f64,
        #[wasm_bindgen(js_name = retiresAt)] retires_at: Option<f64>,
        #[wasm_bindgen(js_name = expiresAt)] expires_at: Option<f64>,
        now: f64,
    ) -> u32 {
        let Stream {
            inner: mut stream,
            start,
            ..
        } = stream;
        let now = millis(now);
        stream.stall_after(millis(write_ms));
        stream.grant_until(millis(granted_until), millis(ttl_ms));
        if let Some(at) = retires_at {
            stream.retire_at(millis(at), EndReason::Rotated);
        }
        if let Some(at) = expires_at {
            stream.expire_at(millis(at));
        }
        self.provide();
        let id = match &mut self.core {
            Core::Fed(fanout) => {
                let id = fanout.open(stream, now);
                fanout.handle_attached(id, now);
                id
            }
            Core::Following(isolate) => match start {
                Some(start) => isolate.open_session(stream, start, now),
                None => isolate.open(stream, now),
            },
        };
        id.slot()
    }

    /// Says that this process reads the output of a stream itself: of streams in a row with the
    /// same `reader`, a number from 1, a publish writes each event to the first.
    #[wasm_bindgen(js_name = readBy)]
    pub fn read_by(&mut self, stream: u32, reader: u32) {
        if let (Some(id), Some(reader)) = (self.fanout().id_at(stream), NonZeroU32::new(reader)) {
            self.fanout_mut().read_by(id, reader);
        }
    }

    /// Returns the states of a stream: the sum of the matching `StreamState`s.
    #[wasm_bindgen(js_name = stateOf)]
    pub fn state_of(&self, stream: u32) -> u32 {
        self.held(stream)
            .map_or(StreamState::Ended as u32, StreamState::of)
    }

    /// Removes a stream; `givesUp` ends it at once first, without a result. Returns the stable name
    /// of why it ended, if it has.
    pub fn remove(
        &mut self,
        stream: u32,
        #[wasm_bindgen(js_name = givesUp)] gives_up: bool,
    ) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        if gives_up {
            self.with_stream(stream, |stream| {
                stream.give_up();
            });
        }
        let ending = match &mut self.core {
            Core::Fed(fanout) => fanout.remove(id),
            Core::Following(isolate) => isolate.remove(id),
        }?;
        Some(ending.code().to_owned())
    }

    /// Publishes events, each a line of JSON text; `published` and `now` are on the same clock.
    /// Returns what to write to which stream: see `js/streams/bodies/fanout-bodies.ts`; undefined
    /// if nothing is to be written. Report the streams without room with `due` at once.
    pub fn publish(
        &mut self,
        events: &str,
        published: f64,
        now: f64,
    ) -> Result<Option<Vec<u8>>, JsValue> {
        let (published, now) = (millis(published), millis(now));
        let mut events: Vec<ServerEvent> =
            events.lines().map(event_of).collect::<Result<_, _>>()?;
        let batch = match events.pop() {
            Some(event) if events.is_empty() => self.fanout_mut().publish(event, published, now),
            Some(last) => {
                events.push(last);
                self.fanout_mut().publish_all(events, published, now)
            }
            None => return Ok(None),
        };
        Ok((!batch.is_empty()).then(|| packed(&batch)))
    }

    /// Returns the streams to poll after the last publish; undefined if there are none. `missed`
    /// are the streams that had no room for what the last `publish` returned.
    pub fn due(&mut self, missed: Option<Vec<u32>>, now: f64) -> Option<Vec<u32>> {
        if let Some(missed) = missed {
            let ids = missed.iter().filter_map(|slot| self.fanout().id_at(*slot));
            let ids: Vec<StreamId> = ids.collect();
            self.fanout_mut().handle_missed(ids, millis(now));
        }
        let due = self.fanout_mut().take_due();
        (!due.is_empty()).then(|| slots_of(due))
    }

    /// Returns the filter to authorize again, as JSON text: output of the stream is withheld until
    /// `renew`. Undefined if no authorization is required, or one is pending.
    #[wasm_bindgen(js_name = authorizationRequest)]
    pub fn authorization_request(&mut self, stream: u32) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        let question = self.fanout_mut().poll_question(id)?;
        Some(question.to_json())
    }

    /// Whether the caller may receive what the host writes to the stream itself. If not, call
    /// `authorizationRequest`.
    #[wasm_bindgen(js_name = maySend)]
    pub fn may_send(&mut self, stream: u32, now: f64) -> bool {
        let id = self.fanout().id_at(stream);
        id.is_some_and(|id| self.fanout_mut().may_send(id, millis(now)))
    }

    /// Passes the part of the filter that the caller of a stream may receive now, as JSON text, and
    /// until when; undefined: nothing, or without a limit. A stream that honors more ends at once;
    /// poll it. Returns the error if the text is not a filter, which counts as nothing.
    pub fn renew(
        &mut self,
        stream: u32,
        authorized: Option<String>,
        #[wasm_bindgen(js_name = expiresAt)] expires_at: Option<f64>,
        now: f64,
    ) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        let mut renewed = Reauthorized::default();
        self.fanout_mut().with_stream(id, |stream| {
            renewed = renew(stream, authorized.as_deref(), millis(now));
        });
        match (&mut self.core, renewed.scope) {
            (Core::Fed(fanout), Some(scope)) => fanout.handle_scope(id, scope),
            (Core::Following(isolate), Some(scope)) => {
                isolate.handle_scope(id, scope, millis(now));
            }
            (_, None) => {}
        }
        if authorized.is_some() {
            self.with_stream(stream, |stream| expire(stream, expires_at));
        }
        renewed.error
    }

    /// Returns the `max` topics with the most streams, each with the number of its streams, as JSON
    /// text: `[["prompts",3]]`. Omits principals and groups unless `hasCallers`.
    pub fn listeners(
        &self,
        max: usize,
        #[wasm_bindgen(js_name = hasCallers)] has_callers: bool,
    ) -> String {
        let mut text = String::new();
        for (topic, streams) in self.fanout().listeners(max, has_callers) {
            text.push_str(if text.is_empty() { "[[" } else { ",[" });
            json::push_string(&mut text, &topic.to_text());
            text = text + "," + &streams.to_string() + "]";
        }
        if text.is_empty() {
            return "[]".into();
        }
        text + "]"
    }

    /// Handles a possible loss of events: poll every stream. If the streams are about to close,
    /// those of named callers end at once.
    #[wasm_bindgen(js_name = handleGap)]
    pub fn handle_gap(&mut self, #[wasm_bindgen(js_name = isClosing)] is_closing: bool) {
        let fanout = self.fanout_mut();
        if is_closing {
            fanout.handle_loss_at_close();
        } else {
            fanout.handle_gap();
        }
    }

    /// Returns the next bytes to write to a stream; undefined if it has no room, or no output now
    /// or any more (see `StreamState`).
    pub fn poll(
        &mut self,
        stream: u32,
        #[wasm_bindgen(js_name = hasRoom)] has_room: bool,
        now: f64,
    ) -> Option<Vec<u8>> {
        let id = self.fanout().id_at(stream)?;
        if has_room {
            return self.fanout_mut().poll(id, millis(now));
        }
        self.with_stream(stream, |stream| {
            stream.handle_blocked(millis(now));
        });
        None
    }

    /// When to call `handleTimeout`, for all streams or for one with its own timer, on the clock of
    /// the other calls; undefined if no deadline is set.
    #[wasm_bindgen(js_name = pollTimeout)]
    pub fn poll_timeout(&self, stream: Option<u32>) -> Option<f64> {
        let deadline = match stream {
            Some(stream) => self.held(stream)?.poll_timeout(),
            None => self.fanout().poll_timeout(),
        };
        deadline.map(time)
    }

    /// Handles the deadline. Returns the streams to poll.
    #[wasm_bindgen(js_name = handleTimeout)]
    pub fn handle_timeout(&mut self, stream: Option<u32>, now: f64) -> Vec<u32> {
        let now = millis(now);
        if let Some(stream) = stream {
            self.with_stream(stream, |stream| stream.handle_timeout(now));
            return vec![stream];
        }
        slots_of(self.fanout_mut().handle_timeout(now))
    }

    /// Ends a stream gracefully: pending output is sent, then the result. `isSettled` says that the
    /// bus has delivered everything published before.
    pub fn close(&mut self, stream: u32, #[wasm_bindgen(js_name = isSettled)] is_settled: bool) {
        match &mut self.core {
            Core::Fed(_) => self.with_stream(stream, |stream| {
                stream.close();
            }),
            Core::Following(isolate) => {
                if let Some(id) = isolate.fanout().id_at(stream) {
                    isolate.close(id, is_settled);
                }
            }
        }
    }

    /// Ends a stream at this time, without a result, after its pending output. The earliest of
    /// several times applies.
    #[wasm_bindgen(js_name = retireAt)]
    pub fn retire_at(&mut self, stream: u32, at: f64, why: Retirement) {
        self.with_stream(stream, |stream| {
            stream.retire_at(millis(at), why.ending());
        });
    }
}

impl Fanout {
    /// Returns the isolate, if the fan-out follows a bus.
    pub(crate) fn isolate(&mut self) -> Option<&mut Isolate> {
        match &mut self.core {
            Core::Fed(_) => None,
            Core::Following(isolate) => Some(isolate),
        }
    }

    fn fanout(&self) -> &fanout::Fanout {
        match &self.core {
            Core::Fed(fanout) => fanout,
            Core::Following(isolate) => isolate.streams(),
        }
    }

    fn fanout_mut(&mut self) -> &mut fanout::Fanout {
        match &mut self.core {
            Core::Fed(fanout) => fanout,
            Core::Following(isolate) => isolate.fanout(),
        }
    }

    fn held(&self, slot: u32) -> Option<&ServerStream> {
        let fanout = self.fanout();
        fanout.stream(fanout.id_at(slot)?)
    }

    fn with_stream(&mut self, slot: u32, action: impl FnOnce(&mut StreamMut<'_>)) {
        let fanout = self.fanout_mut();
        if let Some(id) = fanout.id_at(slot) {
            fanout.with_stream(id, action);
        }
    }

    /// Node 24 and earlier run a full garbage collection whenever memory grows, and memory grows by
    /// single pages unless more is requested: with many streams, this is most of the cost of
    /// opening one. So memory is allocated ahead.
    fn provide(&mut self) {
        let streams = self.fanout().len();
        if streams < self.provided {
            return;
        }
        let further = streams / 8 + 64;
        self.provided = streams + further;
        drop(std::hint::black_box(Vec::<u8>::with_capacity(
            further * STREAM_BYTES,
        )));
    }
}

pub(crate) fn slots_of(streams: Vec<StreamId>) -> Vec<u32> {
    streams.into_iter().map(StreamId::slot).collect()
}

/// Creates an isolate that follows a bus, with the default budget but for these overrides.
fn following(epoch: f64, writes: Option<u32>, end_interval_ms: Option<f64>) -> Isolate {
    let default = Budget::default();
    let mut isolate = Isolate::new(Timeouts::default(), millis(epoch));
    isolate.lease().set_budget(Budget {
        writes: writes.map_or(default.writes, |writes| writes as usize),
        end_interval: end_interval_ms.map_or(default.end_interval, |ms| millis(ms).into()),
        ..default
    });
    isolate
}

/// The approximate bytes of an idle stream.
const STREAM_BYTES: usize = 256;
