use wasm_bindgen::prelude::*;

use mcp_listen::{
    event::ServerEvent,
    fanout::{self, Fan, StreamId, Tended},
    isolate::Isolate,
    listen::{Ending, ServerStream},
};

use crate::{number::millis, number::time, text::event_of};

use super::{
    grant::{Renewed, expire, renew},
    isolate::following,
    lease::budget_of,
    retirement::Retirement,
    stream::{Stream, StreamState},
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
enum Core {
    /// `publish`.
    Fed(Box<fanout::Fanout>),
    /// The bus, by way of a connection: see `isolate.rs`.
    Following(Box<Isolate>),
}

#[wasm_bindgen]
impl Fanout {
    /// A fan-out without streams. It follows a bus where `epoch` says when the clock of the other calls began, in milliseconds since 1970;
    /// otherwise it is fed by `publish`. A request may do so many `writes` for others, and where all have, streams are shed every `shedMs`
    /// milliseconds.
    #[wasm_bindgen(constructor)]
    pub fn new(
        epoch: Option<f64>,
        writes: Option<u32>,
        #[wasm_bindgen(js_name = shedMs)] shed_ms: Option<f64>,
    ) -> Self {
        let core = match epoch {
            Some(epoch) => Core::Following(Box::new(following(epoch, budget_of(writes, shed_ms)))),
            None => Core::Fed(Box::default()),
        };
        Self { core, provided: 0 }
    }

    /// Holds a stream; where it follows a bus, nothing is written before that has confirmed: see `StreamState`. A reader that takes nothing
    /// for `stallMs`, while something waits for it, is given up, and what the stream was promised is asked for again once it is older than
    /// `grantMs`; 0: never. It is rotated at `retiresAt`, and ends at once at `expiresAt`; undefined: never.
    #[allow(clippy::too_many_arguments, reason = "one crossing a stream")]
    pub fn open(
        &mut self,
        stream: Stream,
        #[wasm_bindgen(js_name = stallMs)] stall_ms: f64,
        #[wasm_bindgen(js_name = grantMs)] grant_ms: f64,
        #[wasm_bindgen(js_name = retiresAt)] retires_at: Option<f64>,
        #[wasm_bindgen(js_name = expiresAt)] expires_at: Option<f64>,
        now: f64,
    ) -> u32 {
        let Stream {
            inner: mut stream,
            joining,
            ..
        } = stream;
        let now = millis(now);
        stream.stall_after(millis(stall_ms));
        stream.grant_for(millis(grant_ms), now);
        if let Some(at) = retires_at {
            stream.retire_at(millis(at), Ending::Rotated);
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
            Core::Following(isolate) => match joining {
                Some(joining) => isolate.open_session(stream, joining, now),
                None => isolate.open(stream, now),
            },
        };
        id.slot()
    }

    /// What holds of a stream: the sum of all `StreamState`s that do.
    #[wasm_bindgen(js_name = stateOf)]
    pub fn state_of(&self, stream: u32) -> u32 {
        self.held(stream)
            .map_or(StreamState::Ended as u32, StreamState::of)
    }

    /// Lets a stream go, which `givesUp` ends at once, without a result. Returns the stable name of why it ended, where it did.
    pub fn remove(
        &mut self,
        stream: u32,
        #[wasm_bindgen(js_name = givesUp)] gives_up: bool,
    ) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        if gives_up {
            self.tend(stream, |stream| {
                stream.give_up();
            });
        }
        let ending = match &mut self.core {
            Core::Fed(fanout) => fanout.remove(id),
            Core::Following(isolate) => isolate.remove(id),
        }?;
        Some(ending.code().to_owned())
    }

    /// Events were published at that moment of the clock of `now`, each a line of JSON text. The answer says what to write to whom: see `js/streams/fanout-bodies.ts`; undefined where
    /// no stream is to be written to. Which streams had no room is to be said with `due` at once.
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

    /// The streams that are to be polled for what was published last; undefined: none. Those in `missed` had no room for what the last
    /// `publish` answered.
    pub fn due(&mut self, missed: Option<Vec<u32>>, now: f64) -> Option<Vec<u32>> {
        if let Some(missed) = missed {
            let ids = missed.iter().filter_map(|slot| self.fanout().id_at(*slot));
            let ids: Vec<StreamId> = ids.collect();
            self.fanout_mut().handle_missed(ids, millis(now));
        }
        let due = self.fanout_mut().take_due();
        (!due.is_empty()).then(|| slots_of(due))
    }

    /// The filter, as JSON text, of which somebody has to say whether the caller of a stream may still hear it: what is to be written waits
    /// for `renew`. Undefined: nobody has to, or somebody is being asked.
    pub fn question(&mut self, stream: u32) -> Option<String> {
        let id = self.fanout().id_at(stream)?;
        let question = self.fanout_mut().poll_question(id)?;
        Some(question.to_json())
    }

    /// What the caller of a stream may receive now, as JSON text of a filter, and until when; undefined: nothing, or without a limit. A stream that was
    /// promised more ends at once; it is to be polled. The answer says what is wrong with a text that is no filter, which counts as nothing.
    pub fn renew(
        &mut self,
        stream: u32,
        authorized: Option<String>,
        #[wasm_bindgen(js_name = expiresAt)] expires_at: Option<f64>,
        now: f64,
    ) -> Option<String> {
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
        if authorized.is_some() {
            self.tend(stream, |stream| expire(stream, expires_at));
        }
        renewed.wrong
    }

    /// Events may have been missed: every stream is to be polled. Where they are about to close, those of callers with a name end at once.
    pub fn gap(&mut self, #[wasm_bindgen(js_name = isClosing)] is_closing: bool) {
        let fanout = self.fanout_mut();
        if is_closing {
            fanout.handle_last_doubt();
        } else {
            fanout.handle_gap();
        }
    }

    /// The next bytes to write to a stream; undefined: it has no room, or there is nothing now, or nothing any more (see `StreamState`).
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
        self.tend(stream, |stream| {
            stream.handle_blocked(millis(now));
        });
        None
    }

    /// When to call `timeout`, for all streams or for one that has its own timer, on the clock of the other calls; undefined: not now.
    pub fn deadline(&self, stream: Option<u32>) -> Option<f64> {
        let deadline = match stream {
            Some(stream) => self.held(stream)?.poll_timeout(),
            None => self.fanout().poll_timeout(),
        };
        deadline.map(time)
    }

    /// The moment of `deadline` has come; the answer names the streams to poll.
    pub fn timeout(&mut self, stream: Option<u32>, now: f64) -> Vec<u32> {
        let now = millis(now);
        if let Some(stream) = stream {
            self.tend(stream, |stream| stream.handle_timeout(now));
            return vec![stream];
        }
        slots_of(self.fanout_mut().handle_timeout(now))
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

    /// Ends a stream at that moment, without a result, after what is pending then. Of several moments the earliest counts.
    #[wasm_bindgen(js_name = retireAt)]
    pub fn retire_at(&mut self, stream: u32, at: f64, why: Retirement) {
        self.tend(stream, |stream| {
            stream.retire_at(millis(at), why.ending());
        });
    }
}

impl Fanout {
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
