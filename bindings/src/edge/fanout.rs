use wasm_bindgen::prelude::*;

use mcp_listen::{
    event::ServerEvent,
    fanout::{self, Fan, StreamId, Tended},
    isolate::Isolate,
    listen::ServerStream,
};

use crate::{number::millis, number::time, text::event_of};

use super::{
    grant::{Renewed, expire, renew},
    retirement::Retirement,
    stream::Stream,
};

/// Streams of one process or isolate on one bus: events in, chunks of response bodies out. A stream is its slot: a number that is
/// free again once `remove` was called.
#[wasm_bindgen]
pub struct Fanout {
    core: Core,
    /// How many streams there is memory for.
    provided: usize,
}

/// Where the events come from.
pub(crate) enum Core {
    /// `publish`.
    Fed(Box<fanout::Fanout>),
    /// The bus, by way of a connection: see `isolate.rs`.
    Following(Box<Isolate>),
}

#[wasm_bindgen]
impl Fanout {
    /// A fan-out without streams, which is fed by `publish`.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::of(Core::Fed(Box::default()))
    }

    /// Holds a stream; where it follows a bus, nothing is written before that has confirmed: see `isOpening`. A reader that takes nothing for
    /// `stallMs`, while something waits for it, is given up; 0: never.
    pub fn open(
        &mut self,
        stream: Stream,
        #[wasm_bindgen(js_name = stallMs)] stall_ms: f64,
        now: f64,
    ) -> u32 {
        let Stream {
            inner: mut stream,
            joining,
            ..
        } = stream;
        let now = millis(now);
        stream.stall_after(millis(stall_ms));
        self.provide();
        let id = match &mut self.core {
            Core::Fed(fanout) => {
                let id = fanout.open(stream, now);
                fanout.handle_attached(id, now);
                id
            }
            Core::Following(isolate) => match joining {
                Some(joining) => isolate.open_session(stream, joining, now),
                None => isolate.open(stream, now),
            },
        };
        id.slot()
    }

    /// Whether the bus has yet to confirm.
    #[wasm_bindgen(js_name = isOpening)]
    pub fn is_opening(&self, stream: u32) -> bool {
        self.held(stream).is_some_and(ServerStream::is_opening)
    }

    /// Lets a stream go; the answer is the stable name of why it ended, where it did.
    pub fn remove(&mut self, stream: u32) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        let ending = match &mut self.core {
            Core::Fed(fanout) => fanout.remove(id),
            Core::Following(isolate) => isolate.remove(id),
        }?;
        Some(ending.code().to_owned())
    }

    /// Events were published at that moment of the clock of `now`, each a line of JSON text. The answer says what to write to whom: see `js/outlets.ts`; undefined where
    /// nobody is to be written to. Which streams had no room is to be said with `missed` at once.
    pub fn publish(
        &mut self,
        events: &str,
        published: f64,
        now: f64,
    ) -> Result<Option<Vec<u8>>, JsValue> {
        let (published, now) = (millis(published), millis(now));
        let mut events: Vec<ServerEvent> =
            events.lines().map(event_of).collect::<Result<_, _>>()?;
        let fan = match events.pop() {
            Some(event) if events.is_empty() => self.fanout_mut().publish(event, published, now),
            Some(last) => {
                events.push(last);
                self.fanout_mut().publish_all(events, published, now)
            }
            None => return Ok(None),
        };
        Ok((!fan.is_empty()).then(|| packed(&fan)))
    }

    /// These streams had no room for what the last `publish` answered.
    pub fn missed(&mut self, streams: &[u32], now: f64) {
        let ids = streams.iter().filter_map(|slot| self.fanout().id_at(*slot));
        let ids: Vec<StreamId> = ids.collect();
        self.fanout_mut().handle_missed(ids, millis(now));
    }

    /// The streams that are to be polled for what was published last; undefined: none.
    pub fn due(&mut self) -> Option<Vec<u32>> {
        let due = self.fanout_mut().take_due();
        (!due.is_empty()).then(|| slots_of(due))
    }

    /// What a stream was promised is asked for again once it is older than so many milliseconds; 0: never.
    #[wasm_bindgen(js_name = grantFor)]
    pub fn grant_for(&mut self, stream: u32, ms: f64, now: f64) {
        self.tend(stream, |stream| {
            stream.grant_for(millis(ms), millis(now));
        });
    }

    /// The filter, as JSON text, of which somebody has to say whether the caller of a stream may still hear it: what is to be written waits
    /// for `renew`. Undefined: nobody has to, or somebody is being asked.
    pub fn question(&mut self, stream: u32) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        let question = self.fanout_mut().poll_question(id)?;
        Some(question.to_json())
    }

    /// What the caller of a stream may hear now, as JSON text of a filter; undefined: nothing. A stream that was promised more ends at once;
    /// it is to be polled. The answer says what is wrong with a text that is no filter, which counts as nothing.
    pub fn renew(&mut self, stream: u32, authorized: Option<String>, now: f64) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        let mut renewed = Renewed::default();
        self.fanout_mut().tend(id, |stream| {
            renewed = renew(stream, authorized.as_deref(), millis(now));
        });
        match (&mut self.core, renewed.scope) {
            (Core::Fed(fanout), Some(scope)) => fanout.handle_scope(id, scope),
            (Core::Following(isolate), Some(scope)) => {
                isolate.handle_scope(id, scope, millis(now));
            }
            (_, None) => {}
        }
        renewed.wrong
    }

    /// Events may have been missed: every stream is to be polled.
    pub fn gap(&mut self) {
        self.fanout_mut().handle_gap();
    }

    /// As `gap`, for streams that are about to close: those of callers with a name end at once.
    #[wasm_bindgen(js_name = lastDoubt)]
    pub fn last_doubt(&mut self) {
        self.fanout_mut().handle_last_doubt();
    }

    /// The next bytes to write to a stream; undefined: nothing now, or nothing any more (see `isEnded`).
    pub fn poll(&mut self, stream: u32, now: f64) -> Option<Vec<u8>> {
        let id = self.fanout().id_at(stream)?;
        self.fanout_mut().poll(id, millis(now))
    }

    /// Whether `poll` has nothing more to say, whatever room there is.
    #[wasm_bindgen(js_name = isEnded)]
    pub fn is_ended(&self, stream: u32) -> bool {
        self.held(stream).is_none_or(ServerStream::is_ending)
    }

    /// A stream has no room.
    pub fn blocked(&mut self, stream: u32, now: f64) {
        self.tend(stream, |stream| {
            stream.handle_blocked(millis(now));
        });
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.fanout().poll_timeout().map(time)
    }

    /// The moment of `deadline` has come; the answer names the streams to poll.
    pub fn timeout(&mut self, now: f64) -> Vec<u32> {
        let due = self.fanout_mut().handle_timeout(millis(now));
        slots_of(due)
    }

    /// When to call `timeoutOf` for one stream, where each has a timer of its own; undefined: not now.
    #[wasm_bindgen(js_name = deadlineOf)]
    pub fn deadline_of(&self, stream: u32) -> Option<f64> {
        self.held(stream)?.poll_timeout().map(time)
    }

    /// The moment of `deadlineOf` has come: the stream is to be polled.
    #[wasm_bindgen(js_name = timeoutOf)]
    pub fn timeout_of(&mut self, stream: u32, now: f64) {
        self.tend(stream, |stream| stream.handle_timeout(millis(now)));
    }

    /// Whether what is to be written waits for `renew`.
    #[wasm_bindgen(js_name = isAsking)]
    pub fn is_asking(&self, stream: u32) -> bool {
        self.held(stream).is_some_and(ServerStream::is_asking)
    }

    /// Ends a stream gracefully: what is pending, then the result. `isSettled` says that the bus has delivered what was published before.
    pub fn close(&mut self, stream: u32, #[wasm_bindgen(js_name = isSettled)] is_settled: bool) {
        match &mut self.core {
            Core::Fed(_) => self.tend(stream, |stream| {
                stream.close();
            }),
            Core::Following(isolate) => {
                if let Some(id) = isolate.fanout().id_at(stream) {
                    isolate.close(id, is_settled);
                }
            }
        }
    }

    /// Whether all that is left to be polled is to be written at once, whatever room there is.
    #[wasm_bindgen(js_name = isFrozen)]
    pub fn is_frozen(&self, stream: u32) -> bool {
        self.held(stream).is_some_and(ServerStream::is_frozen)
    }

    /// Ends a stream at once, without a result.
    pub fn abort(&mut self, stream: u32) {
        self.tend(stream, |stream| {
            stream.give_up();
        });
    }

    /// At that moment a stream ends at once, whatever waits; undefined: never.
    #[wasm_bindgen(js_name = expireAt)]
    pub fn expire_at(&mut self, stream: u32, at: Option<f64>) {
        self.tend(stream, |stream| expire(stream, at));
    }

    /// Ends a stream at that moment, without a result, after what is pending then. Of several moments the earliest counts.
    #[wasm_bindgen(js_name = retireAt)]
    pub fn retire_at(&mut self, stream: u32, at: f64, why: Retirement) {
        self.tend(stream, |stream| {
            stream.retire_at(millis(at), why.ending());
        });
    }
}

impl Default for Fanout {
    fn default() -> Self {
        Self::new()
    }
}

impl Fanout {
    pub(crate) fn of(core: Core) -> Self {
        Self { core, provided: 0 }
    }

    /// What follows the bus, where that is how events come.
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

    fn tend(&mut self, slot: u32, action: impl FnOnce(&mut Tended<'_>)) {
        let fanout = self.fanout_mut();
        if let Some(id) = fanout.id_at(slot) {
            fanout.tend(id, action);
        }
    }

    /// Node 24 and earlier collect all garbage whenever memory grows, and memory grows by one page where nobody asks for
    /// more: with many streams that is most of what opening costs.
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

/// A fan as numbers of four bytes, little end first, and the chunks after them: how long the numbers are, how many chunks, where
/// each ends, and of each write the stream and the place of its chunk.
pub(crate) fn packed(fan: &Fan) -> Vec<u8> {
    let head = 4 * (2 + fan.ends.len() + 2 * fan.writes.len());
    let mut bytes = Vec::with_capacity(head + fan.bytes.len());
    let mut push = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
    push(word(head));
    push(word(fan.ends.len()));
    fan.ends.iter().for_each(|end| push(word(*end)));
    for (stream, chunk) in &fan.writes {
        push(stream.slot());
        push(word(*chunk));
    }
    bytes.extend_from_slice(&fan.bytes);
    bytes
}

pub(crate) fn slots_of(streams: Vec<StreamId>) -> Vec<u32> {
    streams.into_iter().map(StreamId::slot).collect()
}

fn word(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// About what an idle stream takes.
const STREAM_BYTES: usize = 256;
