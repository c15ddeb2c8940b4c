use wasm_bindgen::prelude::*;

use crate::{
    bus::Interest,
    edge::{self, Frame},
    legacy::event_id,
    listen::{Ending, ServerStream},
    upstream::{self, Past, Patience},
    uri::Uri,
};

use super::{
    grant::{expire, question_of, renew, scope_of},
    millis,
    tally::Tally,
    time,
};

/// What is to be done about the bus.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum BusCall {
    /// Give up the attachment that there is.
    Leave,
    /// Attach anew, with `since`.
    Attach,
    /// Attach again where the edge is attached, with `since`.
    Ask,
}

/// One client's stream: bus frames in, bytes of the response body out.
#[wasm_bindgen]
pub struct Edge {
    pub(super) edge: edge::Edge,
}

/// Why a stream is to end that is neither closed nor lost.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Retirement {
    /// It has reached its age.
    Rotated,
    /// The server sends its clients elsewhere.
    Drained,
    /// The server makes room.
    Shed,
    /// The bus object no longer serves this deployment.
    Outdated,
    /// The processor budget of its request is spent.
    Exhausted,
}

#[wasm_bindgen]
impl Edge {
    /// The honored filter as JSON text, with what is told to the bus alone.
    #[wasm_bindgen(getter)]
    pub fn honored(&mut self) -> String {
        Interest::Filter(self.edge.stream().honored().clone()).to_json()
    }

    /// Whether the bus has yet to confirm.
    #[wasm_bindgen(getter, js_name = isOpening)]
    pub fn is_opening(&mut self) -> bool {
        self.edge.stream().is_opening()
    }

    /// Whether `poll` has nothing more to say, whatever room there is.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&mut self) -> bool {
        self.edge.stream().is_ending()
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.edge.poll_timeout().map(time)
    }

    /// What an attach says that was heard before, as `attachMessage` takes it.
    #[wasm_bindgen(getter)]
    pub fn since(&self) -> Option<String> {
        self.edge.since().map(|mark| event_id::write(Some(mark)))
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    #[wasm_bindgen(getter, js_name = isAway)]
    pub fn is_away(&self) -> bool {
        self.edge.is_away()
    }

    /// How often the bus was lost, how often it confirmed again after that, how often frames were missing on a connection that stayed
    /// open, and nobody could tell what was missed.
    #[wasm_bindgen(getter)]
    pub fn counts(&self) -> Vec<u32> {
        let counts = self.edge.counts();
        vec![counts.outages, counts.healed, counts.gaps, counts.resyncs]
    }

    /// Counts in `tally` what happens; `epoch` is the moment at which the clock of the other calls began, in milliseconds
    /// since 1970.
    #[wasm_bindgen(js_name = countIn)]
    pub fn count_in(&mut self, tally: &Tally, epoch: f64) {
        self.edge.count_in(tally.0.clone(), millis(epoch));
    }

    /// How long an attach may stay unanswered, and how often a silent bus is asked (0: never).
    #[wasm_bindgen(js_name = setPatience)]
    pub fn set_patience(
        &mut self,
        #[wasm_bindgen(js_name = attachMs)] attach_ms: f64,
        #[wasm_bindgen(js_name = verifyMs)] verify_ms: f64,
    ) {
        self.edge.set_patience(Patience {
            attach: millis(attach_ms),
            verify: millis(verify_ms),
        });
    }

    /// The bus is gone; `random` is drawn from [0, 1). A stream that is still opening ends.
    pub fn lose(
        &mut self,
        now: f64,
        random: f64,
        #[wasm_bindgen(js_name = isOverloaded)] is_overloaded: bool,
    ) {
        self.edge
            .handle_bus_lost(millis(now), random, is_overloaded);
    }

    /// What is to be done about the bus; undefined: nothing now.
    pub fn call(&mut self, now: f64) -> Option<BusCall> {
        self.edge.poll_call(millis(now)).map(call)
    }

    /// Takes a bus frame; the answer is the code of the error if it had to be dropped.
    pub fn receive(&mut self, message: &str, now: f64) -> Option<String> {
        let handled = self.edge.handle_bus_message(message, millis(now));
        handled.err().map(|error| error.code().to_owned())
    }

    /// The moment of `deadline` has come; `random` is drawn from [0, 1).
    pub fn timeout(&mut self, now: f64, random: f64) {
        self.edge.handle_timeout(millis(now), random);
    }

    /// The response has no room.
    pub fn blocked(&mut self, now: f64) {
        self.edge.stream().handle_blocked(millis(now));
    }

    /// A reader that takes nothing for so many milliseconds, while something waits for it, is given up; 0: never.
    #[wasm_bindgen(js_name = stallAfter)]
    pub fn stall_after(&mut self, ms: f64) {
        self.edge.stream().stall_after(millis(ms));
    }

    /// At that moment the stream ends at once, whatever waits; undefined: never.
    #[wasm_bindgen(js_name = expireAt)]
    pub fn expire_at(&mut self, at: Option<f64>) {
        expire(self.edge.stream(), at);
    }

    /// What the caller hears of what is not for everybody, as JSON text: `audiences`, and its name in `principals`. To be said before it is
    /// attached anywhere; throws where one of them is no name.
    #[wasm_bindgen(js_name = scopeTo)]
    pub fn scope_to(&mut self, scope: &str) -> Result<(), JsValue> {
        self.edge.scope_to(scope_of(scope)?);
        Ok(())
    }

    /// What it was promised is asked for again once it is older than so many milliseconds; 0: never.
    #[wasm_bindgen(js_name = grantFor)]
    pub fn grant_for(&mut self, ms: f64, now: f64) {
        self.edge.stream().grant_for(millis(ms), millis(now));
    }

    /// The filter, as JSON text, of which somebody has to say whether the caller may still hear it: what is to be written waits for
    /// `renew`. Undefined: nobody has to, or somebody is being asked.
    pub fn question(&mut self) -> Option<String> {
        question_of(self.edge.stream())
    }

    /// What the caller may hear now, as JSON text of a filter; undefined: nothing. A stream that was promised more ends at once, and one
    /// whose caller has further audiences is to be attached again: see `call`. The
    /// answer says what is wrong with a text that is no filter, which counts as nothing.
    pub fn renew(&mut self, authorized: Option<String>, now: f64) -> Option<String> {
        let renewed = renew(self.edge.stream(), authorized.as_deref(), millis(now));
        if let Some(scope) = renewed.scope {
            self.edge.handle_scope(scope, millis(now));
        }
        renewed.wrong
    }

    /// Ends at that moment, without a result, after what is pending then. Of several moments the earliest counts.
    #[wasm_bindgen(js_name = retireAt)]
    pub fn retire_at(&mut self, at: f64, why: Retirement) {
        self.edge.stream().retire_at(millis(at), why.ending());
    }

    /// Why it ends or ended, by its stable name; undefined while it goes on.
    #[wasm_bindgen(getter)]
    pub fn ending(&mut self) -> Option<String> {
        let ending = self.edge.stream().ending();
        ending.map(|ending| ending.code().to_owned())
    }

    /// Somebody else knows that something may be missing.
    pub fn doubt(&mut self, now: f64) {
        self.edge.handle_doubt(millis(now));
    }

    /// Ends gracefully: what is pending, then the result.
    pub fn close(&mut self) {
        self.edge.close();
    }

    /// Ends once the bus has confirmed that nothing published before this call is missing, and at `until` at the
    /// latest: without `why` as `close` does, else without a result. The bus is to be asked: see `call`.
    #[wasm_bindgen(js_name = endBy)]
    pub fn end_by(&mut self, until: f64, now: f64, why: Option<Retirement>) {
        let why = why.map_or(Ending::Closed, Retirement::ending);
        self.edge.end_by(millis(until), why, millis(now));
    }

    /// Whether all that is left to be polled is to be written at once, whatever room there is.
    #[wasm_bindgen(getter, js_name = isFrozen)]
    pub fn is_frozen(&mut self) -> bool {
        self.edge.stream().is_frozen()
    }

    /// Ends at once, without a result.
    pub fn abort(&mut self) {
        self.edge.stream().give_up();
    }

    /// The next bytes to write, several frames at once where several wait; undefined: nothing
    /// now, or nothing any more (see `isEnded`).
    pub fn poll(&mut self, now: f64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            match self.edge.poll_frame(millis(now)) {
                Some(Frame::Bytes(frame)) => bytes.extend(frame),
                Some(Frame::End) | None => break,
            }
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl Edge {
    /// The stream of a session.
    pub(super) fn resuming(stream: ServerStream, past: Past, denied: Vec<Uri>) -> Self {
        Self {
            edge: edge::Edge::resuming(stream, past)
                .of_session()
                .denying(denied),
        }
    }
}

impl Retirement {
    pub(super) fn ending(self) -> Ending {
        match self {
            Self::Rotated => Ending::Rotated,
            Self::Drained => Ending::Drained,
            Self::Shed => Ending::Shed,
            Self::Outdated => Ending::Outdated,
            Self::Exhausted => Ending::Exhausted,
        }
    }
}

pub(super) fn call(call: upstream::BusCall) -> BusCall {
    match call {
        upstream::BusCall::Leave => BusCall::Leave,
        upstream::BusCall::Attach => BusCall::Attach,
        upstream::BusCall::Ask => BusCall::Ask,
    }
}

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
