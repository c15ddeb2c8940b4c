use js_sys::Uint8Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    stdio::{self, Bounds, Input, Number},
};

use crate::{
    edge::discovered::Discovered,
    edge::options::{filter_of, limits_of},
    edge::refusal::Refusal,
    object::{object, optional},
    text::event_of,
};

/// The server's side of one stdio connection.
#[wasm_bindgen]
pub struct Channel(stdio::Channel);

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What the host has to do with what the client sent. */
export type ChannelInput =
  /** Bytes for the server behind. */
  | { kind: 'forward'; bytes: Uint8Array }
  /** Serve a listen request, or what a client of an earlier revision wants to hear; `requested` is the JSON text of a filter. */
  | { kind: 'listen' | 'watch'; number: number; requested: string };

/** Where a channel stands. */
export interface ChannelState {
  /** How many subscriptions there are. */
  subscriptions: number;
  /** Whether answers wait: until they are written, more input should wait too. */
  hasAnswers: boolean;
  /** Whether lines of the server behind have to come here. */
  awaitsAnswers: boolean;
}
";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChannelState {
    subscriptions: usize,
    has_answers: bool,
    awaits_answers: bool,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum ChannelInput {
    Forward {
        #[serde(with = "serde_wasm_bindgen::preserve")]
        bytes: Uint8Array,
    },
    Listen {
        number: u32,
        requested: String,
    },
    Watch {
        number: u32,
        requested: String,
    },
}

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

    /// Bytes came from the client; take every `input` now. Undefined: they came to their end; returns the rest for the server
    /// behind.
    pub fn receive(&mut self, bytes: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let Some(bytes) = bytes else {
            return Some(self.0.handle_end());
        };
        self.0.handle_bytes(&bytes);
        None
    }

    /// What to do with what the client sent; undefined: nothing until more comes.
    #[wasm_bindgen(unchecked_return_type = "ChannelInput | undefined")]
    pub fn input(&mut self) -> JsValue {
        optional(self.0.poll_input().map(ChannelInput::from))
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

    /// Events may have been missed; `isClosing`: all subscriptions are about to close.
    pub fn gap(&mut self, #[wasm_bindgen(js_name = isClosing)] is_closing: bool) {
        if is_closing {
            self.0.handle_last_doubt();
        } else {
            self.0.handle_gap();
        }
    }

    /// Ends all subscriptions gracefully. Where the bus is gone for good, they are cancelled, and requests refused.
    pub fn close(&mut self, #[wasm_bindgen(js_name = isLost)] is_lost: bool) {
        if is_lost {
            self.0.handle_bus_closed();
        } else {
            self.0.close();
        }
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

    /// Where it stands.
    #[wasm_bindgen(unchecked_return_type = "ChannelState")]
    pub fn state(&self) -> JsValue {
        object(&ChannelState {
            subscriptions: self.0.subscriptions(),
            has_answers: self.0.pending_answers() > 0,
            awaits_answers: self.0.awaits_answers(),
        })
    }
}

impl From<Input> for ChannelInput {
    fn from(input: Input) -> Self {
        match input {
            Input::Forward(bytes) => Self::Forward {
                bytes: bytes.as_slice().into(),
            },
            Input::Listen { number, requested } => Self::Listen {
                number: number.0,
                requested: requested.to_json(),
            },
            Input::Watch { number, requested } => Self::Watch {
                number: number.0,
                requested: requested.to_json(),
            },
        }
    }
}

/// Whether a line of the server behind answers `Question.DiscoverLine` with this detail: it is then not for the client.
#[wasm_bindgen(js_name = answersQuestion)]
pub fn answers_question(token: &str, line: &[u8]) -> bool {
    stdio::Question::new(token).is_answered_by(line)
}

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
