use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    stdio::{self, Bounds, Input, Number},
};

use crate::{
    edge::accept::{Refusal, filter_of, limits_of},
    edge::discovered::Discovered,
    text::event_of,
};

/// The server's side of one stdio connection.
#[wasm_bindgen]
pub struct Channel(stdio::Channel);

/// What the host has to do with what the client sent: `forward` bytes, serve listen request `number`, or,
/// where it is of a session, notify a client of an earlier revision.
#[wasm_bindgen]
pub struct ChannelInput(Input);

/// A question of ours to the server behind a channel.
#[wasm_bindgen]
pub struct Question(stdio::Question);

#[wasm_bindgen]
impl Channel {
    /// `limits` as `Acceptor` takes them; `lineBytes` bounds every line, `subscriptions` how many are open.
    /// `capabilities`: what the server really notifies about, as JSON text; undefined: what it says itself.
    #[wasm_bindgen(constructor)]
    pub fn new(
        limits: Option<String>,
        #[wasm_bindgen(js_name = lineBytes)] line_bytes: usize,
        subscriptions: usize,
        capabilities: Option<String>,
    ) -> Result<Self, JsValue> {
        let known = capabilities.as_deref().map(Capabilities::from_json);
        let bounds = Bounds {
            line_bytes,
            subscriptions,
        };
        let channel = stdio::Channel::new(limits_of(limits)?, bounds);
        Ok(Self(channel.with_capabilities(known)))
    }

    /// Bytes came from the client; take every `input` now.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.0.handle_bytes(bytes);
    }

    /// What to do with what the client sent; undefined: nothing until more comes.
    pub fn input(&mut self) -> Option<ChannelInput> {
        self.0.poll_input().map(ChannelInput)
    }

    /// The client's bytes came to their end; the answer is the rest for the server behind.
    pub fn finish(&mut self) -> Vec<u8> {
        self.0.handle_end()
    }

    /// Serves the listen request as far as `authorized` (JSON text of a filter; undefined: everything) goes.
    pub fn open(
        &mut self,
        number: u32,
        discovered: &Discovered,
        authorized: Option<String>,
    ) -> Result<(), JsValue> {
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        self.0
            .open(Number(number), &discovered.0, authorized.as_ref());
        Ok(())
    }

    /// Lets a client of an earlier revision hear what it asked for; otherwise as `open`.
    pub fn watch(&mut self, number: u32, authorized: Option<String>) -> Result<(), JsValue> {
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        self.0.watch(Number(number), authorized.as_ref());
        Ok(())
    }

    /// Whether lines of the server behind have to come here.
    #[wasm_bindgen(getter, js_name = awaitsAnswers)]
    pub fn awaits_answers(&self) -> bool {
        self.0.awaits_answers()
    }

    /// A line of the server behind; the answer is what the client gets in its place. Take every `input` then.
    #[wasm_bindgen(js_name = serverLine)]
    pub fn server_line(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        self.0.handle_server_line(line)
    }

    /// Refuses the request, if it still waits.
    pub fn refuse(&mut self, number: u32, refusal: Refusal) {
        self.0.refuse(Number(number), refusal.reason());
    }

    /// Events were published, each a line of JSON text.
    pub fn publish(&mut self, events: &str) -> Result<(), JsValue> {
        let events: Result<_, _> = events.lines().map(event_of).collect();
        self.0.handle_events(events?);
        Ok(())
    }

    /// Events may have been missed.
    pub fn gap(&mut self) {
        self.0.handle_gap();
    }

    /// As `gap`, where all subscriptions are about to close.
    #[wasm_bindgen(js_name = lastDoubt)]
    pub fn last_doubt(&mut self) {
        self.0.handle_last_doubt();
    }

    /// The bus is gone for good: subscriptions are cancelled, requests refused.
    #[wasm_bindgen(js_name = busClosed)]
    pub fn bus_closed(&mut self) {
        self.0.handle_bus_closed();
    }

    /// Ends all subscriptions gracefully.
    pub fn close(&mut self) {
        self.0.close();
    }

    /// The next lines for the client; undefined: none now.
    pub fn poll(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            let Some(line) = self.0.poll_line() else {
                break;
            };
            bytes.extend(line.into_bytes());
        }
        (!bytes.is_empty()).then_some(bytes)
    }

    /// How many subscriptions there are.
    #[wasm_bindgen(getter)]
    pub fn subscriptions(&self) -> usize {
        self.0.subscriptions()
    }

    /// Whether answers wait: until they are written, more input should wait too.
    #[wasm_bindgen(getter, js_name = hasAnswers)]
    pub fn has_answers(&self) -> bool {
        self.0.pending_answers() > 0
    }
}

#[wasm_bindgen]
impl ChannelInput {
    /// Bytes for the server behind.
    #[wasm_bindgen(getter)]
    pub fn forward(&self) -> Option<Vec<u8>> {
        match &self.0 {
            Input::Forward(bytes) => Some(bytes.clone()),
            Input::Listen { .. } | Input::Watch { .. } => None,
        }
    }

    /// The number of a listen request, or of what a session is to hear.
    #[wasm_bindgen(getter)]
    pub fn number(&self) -> Option<u32> {
        match &self.0 {
            Input::Forward(_) => None,
            Input::Listen { number, .. } | Input::Watch { number, .. } => Some(number.0),
        }
    }

    /// Whether it is of a session of an earlier revision.
    #[wasm_bindgen(getter, js_name = isOfSession)]
    pub fn is_of_session(&self) -> bool {
        matches!(self.0, Input::Watch { .. })
    }

    /// What is asked to be heard, as JSON text.
    #[wasm_bindgen(getter)]
    pub fn requested(&self) -> Option<String> {
        match &self.0 {
            Input::Forward(_) => None,
            Input::Listen { requested, .. } | Input::Watch { requested, .. } => {
                Some(requested.to_json())
            }
        }
    }
}

#[wasm_bindgen]
impl Question {
    /// `token`: what no client could guess.
    #[wasm_bindgen(constructor)]
    pub fn new(token: &str) -> Self {
        Self(stdio::Question::new(token))
    }

    /// The line for the server behind.
    #[wasm_bindgen(getter)]
    pub fn line(&self) -> String {
        self.0.line()
    }

    /// Whether a line of the server behind is the answer: it is then not for the client.
    #[wasm_bindgen(js_name = isAnsweredBy)]
    pub fn is_answered_by(&self, line: &[u8]) -> bool {
        self.0.is_answered_by(line)
    }
}

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
