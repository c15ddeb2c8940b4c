use js_sys::Uint8Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    stdio::{self, ChannelLimits, Input, SubscriptionHandle},
};

use crate::{
    edge::options::{filter_of, limits_of},
    edge::request::{
        discovered::{capabilities_of, declared},
        refusal::Refusal,
    },
    object::{object, optional},
    text::event_of,
};

/// The server side of one stdio connection.
#[wasm_bindgen]
pub struct Channel(stdio::Channel);

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What the host has to do with a line from the client. */
export type ChannelInput =
  /** Forward the bytes to the MCP server. */
  | { kind: 'forward'; bytes: Uint8Array }
  /**
   * Serve a listen request, or the notifications of a client of an earlier revision; `requested` is
   * the JSON text of a filter.
   */
  | { kind: 'listen' | 'session'; handle: number; requested: string };

/** The state of a channel. */
export interface ChannelState {
  /** The number of subscriptions. */
  subscriptions: number;
  /** Whether responses are pending: pass no more input until they are written. */
  hasResponses: boolean;
  /** Whether the lines of the MCP server have to be passed to `handleServerLine`. */
  awaitsResponses: boolean;
}
";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChannelState {
    subscriptions: usize,
    has_responses: bool,
    awaits_responses: bool,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum ChannelInput {
    Forward {
        #[serde(with = "serde_wasm_bindgen::preserve")]
        bytes: Uint8Array,
    },
    Listen {
        handle: u32,
        requested: String,
    },
    Session {
        handle: u32,
        requested: String,
    },
}

#[wasm_bindgen]
impl Channel {
    /// Creates a channel. `limits` are as in `ServiceOptions`; `lineBytes` limits each line,
    /// `subscriptions` how many are open. `capabilities` replace the server's notification
    /// capabilities, as JSON text; undefined leaves them as they are.
    #[wasm_bindgen(constructor)]
    pub fn new(
        limits: Option<String>,
        #[wasm_bindgen(js_name = lineBytes)] line_bytes: usize,
        subscriptions: usize,
        capabilities: Option<String>,
    ) -> Result<Self, JsValue> {
        let known = capabilities.as_deref().map(Capabilities::from_json);
        let bounds = ChannelLimits {
            line_bytes,
            subscriptions,
        };
        let channel = stdio::Channel::new(limits_of(limits)?, bounds);
        Ok(Self(channel.with_capabilities(known)))
    }

    /// Handles bytes from the client; then call `pollInput` until it returns undefined.
    #[wasm_bindgen(js_name = handleBytes)]
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.0.handle_bytes(bytes);
    }

    /// Handles the end of the client's bytes. Returns the rest, to forward to the MCP server.
    #[wasm_bindgen(js_name = handleEnd)]
    pub fn handle_end(&mut self) -> Vec<u8> {
        self.0.handle_end()
    }

    /// Returns what to do with the client's next line; undefined until more bytes arrive.
    #[wasm_bindgen(js_name = pollInput, unchecked_return_type = "ChannelInput | undefined")]
    pub fn poll_input(&mut self) -> JsValue {
        optional(self.0.poll_input().and_then(ChannelInput::of))
    }

    /// Returns what a subscription honors, if it is served within `offers`, as in `Discovered`, and
    /// `authorized` (undefined: everything), as JSON text; undefined if it has ended.
    pub fn honored(
        &self,
        handle: u32,
        offers: Option<u32>,
        authorized: Option<String>,
    ) -> Result<Option<String>, JsValue> {
        let capabilities = offers.map(capabilities_of);
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let honored = self.0.honored(
            SubscriptionHandle(handle),
            capabilities.unwrap_or(Capabilities::ALL),
            authorized.as_ref(),
        );
        Ok(honored.map(|honored| honored.to_json()))
    }

    /// Whether a subscription has not ended.
    pub fn holds(&self, handle: u32) -> bool {
        self.0.holds(SubscriptionHandle(handle))
    }

    /// Serves a `listen` by what the MCP server has declared, as in `Discovered`; or, without
    /// `offers`, the notifications of a `session`. It is limited to what `authorized` names (JSON
    /// text of a filter; undefined: everything).
    pub fn open(
        &mut self,
        handle: u32,
        offers: Option<u32>,
        #[wasm_bindgen(js_name = serverInfo)] server_info: Option<String>,
        authorized: Option<String>,
    ) -> Result<(), JsValue> {
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let (handle, authorized) = (SubscriptionHandle(handle), authorized.as_ref());
        match offers {
            Some(offers) => {
                let discovered = declared(offers, server_info.map(Into::into));
                self.0.open(handle, &discovered, authorized);
            }
            None => self.0.open_session(handle, authorized),
        }
        Ok(())
    }

    /// Handles a line from the MCP server. Returns what to send to the client in its place. Then
    /// call `pollInput` until it returns undefined.
    #[wasm_bindgen(js_name = handleServerLine)]
    pub fn handle_server_line(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        self.0.handle_server_line(line)
    }

    /// Rejects the request, if it is still pending.
    pub fn refuse(&mut self, handle: u32, refusal: Refusal) {
        self.0.refuse(SubscriptionHandle(handle), refusal.reason());
    }

    /// Publishes events, each a line of JSON text.
    #[wasm_bindgen(js_name = handleEvents)]
    pub fn handle_events(&mut self, events: &str) -> Result<(), JsValue> {
        let events: Result<_, _> = events.lines().map(event_of).collect();
        self.0.handle_events(events?);
        Ok(())
    }

    /// Handles a possible loss of events; `isClosing` says that all subscriptions are about to
    /// close.
    #[wasm_bindgen(js_name = handleGap)]
    pub fn handle_gap(&mut self, #[wasm_bindgen(js_name = isClosing)] is_closing: bool) {
        if is_closing {
            self.0.handle_loss_at_close();
        } else {
            self.0.handle_gap();
        }
    }

    /// Ends all subscriptions gracefully. If the bus is permanently lost, cancels them instead, and
    /// rejects pending requests.
    pub fn close(&mut self, #[wasm_bindgen(js_name = isLost)] is_lost: bool) {
        if is_lost {
            self.0.handle_bus_closed();
        } else {
            self.0.close();
        }
    }

    /// Returns the next lines for the client; undefined if there are none now.
    #[wasm_bindgen(js_name = pollLines)]
    pub fn poll_lines(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            let Some(line) = self.0.poll_line() else {
                break;
            };
            bytes.extend(line.into_bytes());
        }
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Returns the state.
    #[wasm_bindgen(unchecked_return_type = "ChannelState")]
    pub fn state(&self) -> JsValue {
        object(&ChannelState {
            subscriptions: self.0.subscriptions(),
            has_responses: self.0.pending_responses() > 0,
            awaits_responses: self.0.awaits_responses(),
        })
    }
}

impl ChannelInput {
    /// `None` for an input that these bindings do not know.
    fn of(input: Input) -> Option<Self> {
        Some(match input {
            Input::Forward(bytes) => Self::Forward {
                bytes: bytes.as_slice().into(),
            },
            Input::Listen { handle, requested } => Self::Listen {
                handle: handle.0,
                requested: requested.to_json(),
            },
            Input::Session { handle, requested } => Self::Session {
                handle: handle.0,
                requested: requested.to_json(),
            },
            _ => return None,
        })
    }
}

/// Whether a line from the MCP server is the response to `ProbeQuestion.DiscoverLine` with this
/// detail: then do not forward it to the client.
#[wasm_bindgen(js_name = isDiscoverResponse)]
pub fn is_discover_response(token: &str, line: &[u8]) -> bool {
    stdio::DiscoverRequest::new(token).is_response(line)
}

/// The size in bytes at which a write is worth its cost; output beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
