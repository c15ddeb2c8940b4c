use wasm_bindgen::prelude::*;

use crate::{
    bus::{EdgeId, Interest},
    edge::{self, Patience},
    legacy::event_id,
    line::{self, LineCall, LineOutput},
};

use super::{error::coded, millis, shared::SharedEvents, time};

/// The streams of one isolate on one connection to their bus.
#[wasm_bindgen]
pub struct Line(line::Line);

/// What is to be done about the bus.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum LineCallKind {
    /// Give up the connection that there is.
    Leave,
    /// Make a new connection, and send `text` on it first.
    Attach,
    /// Send `text` on the connection that there is.
    Send,
}

/// One call of a line.
#[wasm_bindgen]
pub struct BusLineCall(LineCall);

/// What a line wants done for its streams.
#[wasm_bindgen]
pub struct Told(LineOutput);

#[wasm_bindgen]
impl Line {
    /// A line without streams, by a name of its own. The bus may take `attachMs` to answer.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, #[wasm_bindgen(js_name = attachMs)] attach_ms: f64) -> Self {
        let patience = Patience {
            attach: millis(attach_ms),
            ..Patience::default()
        };
        Self(line::Line::new(name, patience))
    }

    /// A stream wants this, given as JSON text; the answer is its number.
    pub fn attach(&mut self, interest: &str, now: f64) -> Result<u32, JsValue> {
        let interest = Interest::from_json(interest)
            .map_err(|error| coded(error.code(), &error.to_string()))?;
        Ok(self.0.attach(&interest, millis(now)).0)
    }

    /// Whether the bus has room for one more stream that wants this, given as JSON text, as far as is known.
    #[wasm_bindgen(js_name = hasRoomFor)]
    pub fn has_room_for(&mut self, interest: &str, now: f64) -> bool {
        let interest = Interest::from_json(interest);
        interest.is_ok_and(|interest| self.0.has_room_for(&interest, millis(now)))
    }

    /// The bus has refused the connection for want of room.
    pub fn full(&mut self) {
        self.0.handle_full();
    }

    /// A stream asks whether it missed anything after `since`, and wants this from now on, given as JSON text.
    #[wasm_bindgen(js_name = attachAgain)]
    pub fn attach_again(
        &mut self,
        stream: u32,
        interest: &str,
        since: Option<String>,
        now: f64,
    ) -> Result<(), JsValue> {
        let interest = Interest::from_json(interest)
            .map_err(|error| coded(error.code(), &error.to_string()))?;
        let since = since.and_then(|since| event_id::read(&since));
        self.0
            .attach_again(EdgeId(stream), &interest, since, millis(now));
        Ok(())
    }

    /// A stream has gone.
    pub fn detach(&mut self, stream: u32) {
        self.0.detach(EdgeId(stream));
    }

    /// Takes a bus frame; the answer is the code of the error if it had to be dropped.
    pub fn receive(&mut self, message: &str, now: f64) -> Option<String> {
        let handled = self.0.handle_message(message, millis(now));
        handled.err().map(|error| error.code().to_owned())
    }

    /// The bus is gone; `random` is drawn from [0, 1).
    pub fn lose(
        &mut self,
        now: f64,
        random: f64,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
    ) {
        self.0.handle_lost(millis(now), random, is_overloaded);
    }

    /// The bus let the connection go, for a shard has the streams from now on; `random` is drawn from [0, 1).
    #[wasm_bindgen(js_name = sentOn)]
    pub fn sent_on(&mut self, now: f64, random: f64) {
        self.0.handle_sent_on(millis(now), random);
    }

    /// The connection went away with the request that held it.
    pub fn moved(&mut self, now: f64) {
        self.0.handle_moved(millis(now));
    }

    /// The moment of `deadline` has come; `random` is drawn from [0, 1).
    pub fn timeout(&mut self, now: f64, random: f64) {
        self.0.handle_timeout(millis(now), random);
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.0.poll_timeout().map(time)
    }

    /// What is to be done about the bus; undefined: nothing now.
    pub fn call(&mut self, now: f64) -> Option<BusLineCall> {
        self.0.poll_call(millis(now)).map(BusLineCall)
    }

    /// The next thing to do for the streams; undefined: nothing now.
    pub fn output(&mut self) -> Option<Told> {
        self.0.poll_output().map(Told)
    }

    /// Whether everything comes, as far as is known.
    #[wasm_bindgen(getter, js_name = isCertain)]
    pub fn is_certain(&self) -> bool {
        self.0.is_certain()
    }

    /// Asks the bus for everything that was published before this call.
    pub fn settle(&mut self, now: f64) {
        self.0.settle(millis(now));
    }

    /// Whether everything that was published before `settle` has been received.
    #[wasm_bindgen(getter, js_name = isSettled)]
    pub fn is_settled(&self) -> bool {
        self.0.is_settled()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    #[wasm_bindgen(getter, js_name = isAway)]
    pub fn is_away(&self) -> bool {
        self.0.is_away()
    }

    /// Bytes that the names of all that its streams want count.
    #[wasm_bindgen(getter)]
    pub fn names(&self) -> usize {
        self.0.names()
    }

    /// As those of an edge.
    #[wasm_bindgen(getter)]
    pub fn counts(&self) -> Vec<u32> {
        let counts = self.0.counts();
        vec![counts.outages, counts.healed, counts.gaps, counts.resyncs]
    }
}

#[wasm_bindgen]
impl BusLineCall {
    /// What it is.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> LineCallKind {
        match self.0 {
            LineCall::Leave => LineCallKind::Leave,
            LineCall::Attach(_) => LineCallKind::Attach,
            LineCall::Send(_) => LineCallKind::Send,
        }
    }

    /// The frame that goes with it.
    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        match &self.0 {
            LineCall::Leave => String::new(),
            LineCall::Attach(text) | LineCall::Send(text) => text.clone(),
        }
    }
}

#[wasm_bindgen]
impl Told {
    /// Whom it is about.
    #[wasm_bindgen(getter)]
    pub fn streams(&self) -> Vec<u32> {
        match &self.0 {
            LineOutput::Send { edges, .. } => edges.iter().map(|edge| edge.0).collect(),
            LineOutput::Lose { edge, .. } | LineOutput::Refuse(edge) => vec![edge.0],
        }
    }

    /// The frames for them, one after another; undefined: they are held no more, and may come back.
    #[wasm_bindgen(getter)]
    pub fn messages(&self) -> Option<Vec<String>> {
        match &self.0 {
            LineOutput::Send { messages, .. } => Some(messages.clone()),
            LineOutput::Lose { .. } | LineOutput::Refuse(_) => None,
        }
    }

    /// Up to where in the log of the bus a stream that is held no more was given everything; undefined
    /// where it was never attached.
    #[wasm_bindgen(getter)]
    pub fn since(&self) -> Option<String> {
        match &self.0 {
            LineOutput::Lose { since, .. } => {
                since.as_ref().map(|mark| event_id::write(Some(mark)))
            }
            LineOutput::Send { .. } | LineOutput::Refuse(_) => None,
        }
    }

    /// Whether the bus has no room for what they want.
    #[wasm_bindgen(getter, js_name = isRefused)]
    pub fn is_refused(&self) -> bool {
        matches!(self.0, LineOutput::Refuse(_))
    }

    /// The frames, read for all of them at once; undefined where each has to read them by itself.
    pub fn shared(&self) -> Option<SharedEvents> {
        match &self.0 {
            LineOutput::Send { messages, .. } => {
                edge::SharedEvents::read(messages).map(SharedEvents)
            }
            LineOutput::Lose { .. } | LineOutput::Refuse(_) => None,
        }
    }
}
