use wasm_bindgen::prelude::*;

use mcp_listen::{
    topic::Topic,
    upstream::{self, Follower, Heard, Patience},
};

use crate::{number::millis, number::time, text::texts_of};

/// What is to be done about the bus.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum BusCall {
    /// Give up the attachment that there is.
    Leave,
    /// Attach anew.
    Attach,
    /// Attach again on the same connection.
    Ask,
}

/// Hears every event of a bus, over one connection after another: bus frames in, events out.
#[wasm_bindgen]
pub struct Listener(Follower);

#[wasm_bindgen]
impl Listener {
    /// One that has yet to attach: see `call`. An attach may stay unanswered for `attachMs`.
    #[wasm_bindgen(constructor)]
    pub fn new(#[wasm_bindgen(js_name = attachMs)] attach_ms: f64) -> Self {
        let mut follower = Follower::unattached();
        follower.set_patience(Patience {
            attach: millis(attach_ms),
            ..Patience::default()
        });
        Self(follower)
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.0.poll_timeout().map(time)
    }

    /// The frame with which it attaches, as `call` said.
    #[wasm_bindgen(getter)]
    pub fn frame(&self) -> String {
        self.0.follow(vec![Topic::Everything]).to_json()
    }

    /// How often nobody could tell what was missed.
    #[wasm_bindgen(getter)]
    pub fn resyncs(&self) -> u32 {
        self.0.counts().resyncs
    }

    /// Takes a bus frame; the answer is the events in it that are to be told of, each as JSON text.
    pub fn receive(&mut self, message: &str, now: f64) -> Vec<String> {
        match self.0.handle_message(message, None, millis(now)) {
            Ok(Heard::Events { events, .. }) => texts_of(&events),
            _ => Vec::new(),
        }
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

    /// The moment of `deadline` has come; `random` is drawn from [0, 1).
    pub fn timeout(&mut self, now: f64, random: f64) {
        self.0.handle_timeout(millis(now), random);
    }

    /// What is to be done about the bus; undefined: nothing now.
    pub fn call(&mut self, now: f64) -> Option<BusCall> {
        Some(match self.0.poll_call(millis(now))? {
            upstream::BusCall::Leave => BusCall::Leave,
            upstream::BusCall::Attach => BusCall::Attach,
            upstream::BusCall::Ask => BusCall::Ask,
        })
    }
}
