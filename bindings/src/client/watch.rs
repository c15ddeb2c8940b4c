use std::collections::VecDeque;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    client::{
        self, CloseReason, HttpAction, MessageTap, RequestHandle, Watch, WatchOutput, WatchState,
    },
    http::Headers,
    id::Ids,
    sse::Bounds,
    stdio::{Line, Lines},
};

use crate::{
    number::{millis, time},
    object::optional,
};

use super::{filter_of, options};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A network operation. */
export type ClientAction =
  /** Join the channel, then call `handleJoined`, or `handleEnd` if there is none. */
  | { kind: 'join' }
  /** Send a request; on a channel, its body is the message. */
  | {
      kind: 'send';
      call: number;
      method: string;
      headers: [string, string][];
      body: string | undefined;
    }
  /** Close the response of a request. */
  | { kind: 'close'; call: number };

/** How a subscription ended: `graceful`, `refused`, or why it was lost. */
export interface ClientEnd {
  code: string;
  /** The HTTP status of a refusal. */
  status?: number;
  /** The JSON-RPC error code of a refusal. */
  rpcCode?: number;
  /** The server's message; not to be trusted. */
  text?: string;
  /** Milliseconds that the server asks to wait before the next attempt. */
  retryAfterMs?: number;
}

/** An output of a watch. */
export type ClientOutput =
  /** The next subscription is requested. */
  | { kind: 'connecting' }
  /**
   * The subscription is open; `honored` is a filter as JSON text, `id` that of the listen request.
   */
  | { kind: 'live'; honored: string; id: string | undefined; version: string | undefined }
  /** A change, as JSON text. */
  | { kind: 'changed'; event: string }
  /** The subscription has ended: the next one is scheduled, or there is none. */
  | { kind: 'waiting' | 'stopped'; end: ClientEnd };
";

/// A subscription to a server of any revision, over HTTP or on a channel of lines, which is
/// reopened when it ends: heads, bytes and the time in, requests and outputs out.
#[wasm_bindgen]
pub struct ClientWatch {
    machine: Watch,
    /// Splits the lines of a channel; `None` over HTTP.
    lines: Option<Lines>,
    bounds: Bounds,
    was_waiting: bool,
    /// Taps of the pending responses; `None` if messages are not logged.
    taps: Option<Vec<(RequestHandle, MessageTap)>>,
    messages: VecDeque<Vec<u8>>,
}

/// How a client first contacts a server.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ServerHint {
    /// Sends `server/discover`.
    Discover,
    /// As `Discover`, in a browser page: a missing response may come from a server of an earlier
    /// revision.
    DiscoverFromPage,
    /// The server speaks 2026-07-28.
    Modern,
    /// The server keeps sessions.
    Legacy,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Action {
    Join {},
    Send {
        call: RequestHandle,
        method: &'static str,
        headers: Vec<(&'static str, String)>,
        body: Option<String>,
    },
    Close {
        call: RequestHandle,
    },
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Output {
    Connecting {},
    Live {
        honored: String,
        id: Option<String>,
        version: Option<&'static str>,
    },
    Changed {
        event: String,
    },
    Waiting {
        end: Ended,
    },
    Stopped {
        end: Ended,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rpc_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<f64>,
}

#[wasm_bindgen]
impl ClientWatch {
    /// Creates a watch; `filter` and `clientInfo` are JSON texts. Without `hint`, it is on a
    /// channel. `ackMs` limits the wait for an acknowledgment, `silenceMs` the silence over HTTP,
    /// both in milliseconds; zero sets no limit. `used_ids` ids have been used before, `random` is
    /// drawn from [0, 1).
    #[wasm_bindgen(constructor)]
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would weigh more than all of them"
    )]
    pub fn new(
        filter: &str,
        hint: Option<ServerHint>,
        #[wasm_bindgen(js_name = clientInfo)] client_info: Option<String>,
        #[wasm_bindgen(js_name = ackMs)] ack_ms: f64,
        #[wasm_bindgen(js_name = silenceMs)] silence_ms: f64,
        #[wasm_bindgen(js_name = isTapped)] is_tapped: bool,
        #[wasm_bindgen(js_name = opensAgain)] opens_again: bool,
        used_ids: f64,
        random: f64,
        now: f64,
    ) -> Result<Self, JsValue> {
        let (filter, ids) = (filter_of(filter)?, Ids::after(millis(used_ids).0));
        let options = options(&filter, client_info, ack_ms, silence_ms);
        let (bounds, seed) = (options.bounds, random.to_bits());
        let machine = match hint.map(client::ServerHint::from) {
            None => Watch::on_channel(filter, options, seed),
            Some(way) => Watch::with_ids(filter, options, way, (ids, seed), millis(now)),
        };
        let machine = machine.without_repeats();
        Ok(Self {
            machine: if opens_again { machine } else { machine.once() },
            lines: hint.is_none().then(|| Lines::new(bounds.line_bytes)),
            bounds,
            was_waiting: false,
            taps: is_tapped.then(Vec::new),
            messages: VecDeque::new(),
        })
    }

    /// Handles a joined channel. `capabilities` are those of the server in a session that another
    /// owner has begun, as JSON text. `used_ids` ids have been used on the channel before.
    #[wasm_bindgen(js_name = handleJoined)]
    pub fn handle_joined(
        &mut self,
        hint: ServerHint,
        capabilities: Option<String>,
        used_ids: f64,
        now: f64,
    ) {
        let hint = match (hint.into(), capabilities) {
            (client::ServerHint::Modern, _) | (_, None) => hint.into(),
            (_, Some(text)) => client::ServerHint::Joined(Capabilities::from_json(&text)),
        };
        self.lines = Some(Lines::new(self.bounds.line_bytes));
        let ids = Ids::after(millis(used_ids).0);
        self.machine.handle_joined(hint, ids, millis(now));
    }

    /// Returns the next network operation; undefined if there is none now.
    #[wasm_bindgen(js_name = pollAction, unchecked_return_type = "ClientAction | undefined")]
    pub fn poll_action(&mut self) -> JsValue {
        let next = self.machine.poll_action().and_then(|action| {
            Some(match action {
                HttpAction::Send(call, request) => Action::Send {
                    call,
                    method: request.method,
                    headers: request.headers,
                    body: request.body,
                },
                HttpAction::Close(call) => Action::Close { call },
                _ => return None,
            })
        });
        let join = || self.machine.poll_join().then_some(Action::Join {});
        optional(next.or_else(join))
    }

    /// Handles the head of the response to `call`; `headers` are its fields, one per line. On a
    /// channel, handles the refusal of a message.
    #[wasm_bindgen(js_name = handleHead)]
    pub fn handle_head(&mut self, call: u32, status: u16, headers: &str, now: f64) {
        if self.lines.is_some() {
            return self.machine.handle_refusal(status);
        }
        let headers = Headers::new(headers);
        if let Some(taps) = &mut self.taps {
            taps.push((call, MessageTap::new(&headers, self.bounds)));
        }
        self.machine
            .handle_head(call, status, &headers, millis(now));
    }

    /// Handles a piece of the response body, or of the lines of a channel. Returns whether all of
    /// it was for this subscription alone.
    #[wasm_bindgen(js_name = handleBytes)]
    pub fn handle_bytes(&mut self, call: u32, bytes: &[u8], now: f64) -> bool {
        if self.lines.is_some() {
            return self.receive_lines(bytes, now);
        }
        if let Some(tap) = self.tap(call) {
            tap.handle_bytes(bytes);
            let messages: Vec<Vec<u8>> = std::iter::from_fn(|| tap.poll_message()).collect();
            self.messages.extend(messages);
        }
        self.machine.handle_bytes(call, bytes, millis(now));
        true
    }

    /// Handles the end of the response: the body is complete, broke off, or no response came. On a
    /// channel, handles its end.
    #[wasm_bindgen(js_name = handleEnd)]
    pub fn handle_end(&mut self, call: u32, now: f64) {
        if self.lines.is_some() {
            return self.machine.handle_exit();
        }
        let last = self.tap(call).and_then(MessageTap::handle_end);
        self.messages.extend(last);
        if let Some(taps) = &mut self.taps {
            taps.retain(|(other, _)| *other != call);
        }
        self.machine.handle_end(call, millis(now));
    }

    /// Returns the next raw message of the server, for logging; undefined if there is none now.
    #[wasm_bindgen(js_name = pollMessage)]
    pub fn poll_message(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// When to call `handleTimeout`, on the clock of the other calls; undefined if no deadline is
    /// set.
    #[wasm_bindgen(js_name = pollTimeout)]
    pub fn poll_timeout(&self) -> Option<f64> {
        self.machine.poll_timeout().map(time)
    }

    /// Handles the deadline.
    #[wasm_bindgen(js_name = handleTimeout)]
    pub fn handle_timeout(&mut self, now: f64) {
        self.machine.handle_timeout(millis(now));
    }

    /// Handles the return of the network.
    #[wasm_bindgen(js_name = handleOnline)]
    pub fn handle_online(&mut self, now: f64) {
        self.machine.handle_online(millis(now));
    }

    /// Returns the next output; undefined if there is none now.
    #[wasm_bindgen(js_name = pollOutput, unchecked_return_type = "ClientOutput | undefined")]
    pub fn poll_output(&mut self, now: f64) -> JsValue {
        let state = self.machine.state();
        let was_waiting = std::mem::replace(&mut self.was_waiting, state == WatchState::Waiting);
        if was_waiting && state == WatchState::Connecting {
            return optional(Some(Output::Connecting {}));
        }
        let output = self.machine.poll_output(millis(now));
        optional(output.and_then(|output| self.output_of(output)))
    }

    /// Whether there is no subscription now: every response has to be closed, except those to the
    /// final requests.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&self) -> bool {
        self.machine.is_ended()
    }

    /// Cancels the subscription: no output follows.
    pub fn cancel(&mut self) {
        self.machine.cancel();
    }

    /// `None` for an output that these bindings do not know.
    fn output_of(&mut self, output: WatchOutput) -> Option<Output> {
        Some(match output {
            WatchOutput::Live { honored, .. } => Output::Live {
                honored: honored.to_json(),
                id: self.machine.id().map(|id| id.raw().to_owned()),
                version: self.machine.version(),
            },
            WatchOutput::Changed(event) => Output::Changed {
                event: event.to_public_json(),
            },
            WatchOutput::Waiting { end, .. } => {
                self.was_waiting = true;
                Output::Waiting {
                    end: self.ended(end),
                }
            }
            WatchOutput::Stopped(end) => Output::Stopped {
                end: self.ended(end),
            },
            _ => return None,
        })
    }

    fn ended(&self, end: CloseReason) -> Ended {
        let code = end.code();
        let refusal = if let CloseReason::Refused(refusal) = end {
            Some(refusal)
        } else {
            None
        };
        Ended {
            code,
            status: refusal.as_ref().map(|refusal| refusal.status),
            rpc_code: refusal.as_ref().and_then(|refusal| refusal.code),
            text: refusal.map(|refusal| refusal.text),
            retry_after_ms: self.machine.retry_after().map(time),
        }
    }

    fn tap(&mut self, call: RequestHandle) -> Option<&mut MessageTap> {
        let taps = self.taps.as_mut()?;
        let found = taps.iter_mut().find(|(other, _)| *other == call);
        found.map(|(_, tap)| tap)
    }

    fn receive_lines(&mut self, bytes: &[u8], now: f64) -> bool {
        let Some(lines) = &mut self.lines else {
            return false;
        };
        lines.handle_bytes(bytes);
        let mut is_ours = true;
        while let Some(line) = lines.poll_line() {
            match line {
                Line::TooLong => self.machine.handle_gap(),
                Line::Whole(line) => {
                    is_ours &= self.machine.handle_message(&line, millis(now));
                    if self.taps.is_some() {
                        self.messages.push_back(line.trim_ascii_end().to_vec());
                    }
                }
                _ => {}
            }
        }
        is_ours
    }
}

impl From<ServerHint> for client::ServerHint {
    fn from(hint: ServerHint) -> Self {
        match hint {
            ServerHint::Discover => Self::Discover { is_page: false },
            ServerHint::DiscoverFromPage => Self::Discover { is_page: true },
            ServerHint::Modern => Self::Modern,
            ServerHint::Legacy => Self::Legacy,
        }
    }
}
