use std::collections::VecDeque;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    client::{Approach, Call, End, State, Tap, Transfer, Watch, WatchOutput},
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
/** What is to be done on the network. */
export type ClientTransfer =
  /** Join the channel, for `joined`, or `finish` where there is none. */
  | { kind: 'join' }
  /** Send a request; on a channel its body is the message. */
  | { kind: 'send'; call: number; method: string; headers: [string, string][]; body: string | undefined }
  /** Close the response of a request. */
  | { kind: 'close'; call: number };

/** How a subscription ended: `graceful`, `refused`, or why it was lost. */
export interface ClientEnd {
  code: string;
  /** The HTTP status of a refusal. */
  status?: number;
  /** Its JSON-RPC error code. */
  rpcCode?: number;
  /** The server's words on it; not to be trusted. */
  text?: string;
  /** Milliseconds that the server asks to wait before the next attempt. */
  retryAfterMs?: number;
}

/** What there is to tell. */
export type ClientNews =
  /** The next subscription is asked for. */
  | { kind: 'connecting' }
  /** It is open; `honored` is a filter as JSON text, `id` that of the listen request. */
  | { kind: 'live'; honored: string; id: string | undefined; version: string | undefined }
  /** An event, as JSON text. */
  | { kind: 'changed'; event: string }
  /** It has ended: the next one waits for its time, or there is none. */
  | { kind: 'waiting' | 'stopped'; end: ClientEnd };
";

/// A subscription to a server of whichever revision, over HTTP or on a channel of lines, which is opened
/// again when it ends: heads, bytes and the time in, requests and news out.
#[wasm_bindgen]
pub struct ClientWatch {
    machine: Watch,
    /// What splits the lines of a channel; `None`: it is over HTTP.
    lines: Option<Lines>,
    bounds: Bounds,
    was_waiting: bool,
    /// What reads the answers as they stand; `None`: they are not shown.
    taps: Option<Vec<(Call, Tap)>>,
    messages: VecDeque<Vec<u8>>,
}

/// How a server is approached.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ClientApproach {
    /// It is asked with `server/discover`.
    Discover,
    /// The same, where a page asks: no answer at all may come from a server of an earlier revision.
    DiscoverFromPage,
    /// It speaks 2026-07-28.
    Modern,
    /// It keeps sessions.
    Legacy,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Transferring {
    Join {},
    Send {
        call: Call,
        method: &'static str,
        headers: Vec<(&'static str, String)>,
        body: Option<String>,
    },
    Close {
        call: Call,
    },
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum News {
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
    /// `filter` is JSON text; `clientInfo` too. Without `approach` it is on a channel. An acknowledgment is
    /// awaited for `ackMs`, silence over HTTP borne for `silenceMs`, zero sets no limit. `minted` ids were given
    /// before, `random` is drawn from [0, 1).
    #[wasm_bindgen(constructor)]
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would weigh more than all of them"
    )]
    pub fn new(
        filter: &str,
        approach: Option<ClientApproach>,
        #[wasm_bindgen(js_name = clientInfo)] client_info: Option<String>,
        #[wasm_bindgen(js_name = ackMs)] ack_ms: f64,
        #[wasm_bindgen(js_name = silenceMs)] silence_ms: f64,
        #[wasm_bindgen(js_name = isTapped)] is_tapped: bool,
        #[wasm_bindgen(js_name = opensAgain)] opens_again: bool,
        minted: f64,
        random: f64,
        now: f64,
    ) -> Result<Self, JsValue> {
        let options = options(client_info, ack_ms, silence_ms);
        let (bounds, seed) = (options.bounds, random.to_bits());
        let (filter, ids) = (filter_of(filter)?, Ids::after(millis(minted).0));
        let machine = match approach.map(Approach::from) {
            None => Watch::on_channel(filter, options, seed),
            Some(way) => Watch::with_ids(filter, options, way, (ids, seed), millis(now)),
        };
        let machine = machine.without_repeats();
        Ok(Self {
            machine: if opens_again { machine } else { machine.once() },
            lines: approach.is_none().then(|| Lines::new(bounds.line_bytes)),
            bounds,
            was_waiting: false,
            taps: is_tapped.then(Vec::new),
            messages: VecDeque::new(),
        })
    }

    /// The channel was joined. `capabilities`: what the server says in a session that another owner has
    /// begun, as JSON text. `minted` ids were given there before.
    pub fn joined(
        &mut self,
        approach: ClientApproach,
        capabilities: Option<String>,
        minted: f64,
        now: f64,
    ) {
        let approach = match (approach.into(), capabilities) {
            (Approach::Modern, _) | (_, None) => approach.into(),
            (_, Some(text)) => Approach::Joined(Capabilities::from_json(&text)),
        };
        self.lines = Some(Lines::new(self.bounds.line_bytes));
        let ids = Ids::after(millis(minted).0);
        self.machine.handle_joined(approach, ids, millis(now));
    }

    /// Takes the next thing to do on the network; undefined: nothing now.
    #[wasm_bindgen(unchecked_return_type = "ClientTransfer | undefined")]
    pub fn transfer(&mut self) -> JsValue {
        let next = self.machine.poll_transfer().map(|transfer| match transfer {
            Transfer::Send(call, request) => Transferring::Send {
                call,
                method: request.method,
                headers: request.headers,
                body: request.body,
            },
            Transfer::Close(call) => Transferring::Close { call },
        });
        let join = || self.machine.poll_join().then_some(Transferring::Join {});
        optional(next.or_else(join))
    }

    /// The answer to `call` begins; `headers` are its fields, one a line. Or a channel was refused a message.
    pub fn head(&mut self, call: u32, status: u16, headers: &str, now: f64) {
        if self.lines.is_some() {
            return self.machine.handle_refusal(status);
        }
        let headers = Headers::new(headers);
        if let Some(taps) = &mut self.taps {
            taps.push((call, Tap::new(&headers, self.bounds)));
        }
        self.machine
            .handle_head(call, status, &headers, millis(now));
    }

    /// More of the body of the answer came, or of the lines of a channel. Whether all of it was for
    /// this subscription alone.
    pub fn receive(&mut self, call: u32, bytes: &[u8], now: f64) -> bool {
        if self.lines.is_some() {
            return self.receive_lines(bytes, now);
        }
        if let Some(tap) = self.tap(call) {
            tap.handle_bytes(bytes);
            let told: Vec<Vec<u8>> = std::iter::from_fn(|| tap.poll_message()).collect();
            self.messages.extend(told);
        }
        self.machine.handle_bytes(call, bytes, millis(now));
        true
    }

    /// The body came to its end or broke off, or there was no answer, or the channel is gone.
    pub fn finish(&mut self, call: u32, now: f64) {
        if self.lines.is_some() {
            return self.machine.handle_exit();
        }
        let last = self.tap(call).and_then(Tap::handle_end);
        self.messages.extend(last);
        if let Some(taps) = &mut self.taps {
            taps.retain(|(other, _)| *other != call);
        }
        self.machine.handle_end(call, millis(now));
    }

    /// The next message of the server as it stood, where they are wanted; undefined: none now.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.machine.poll_timeout().map(time)
    }

    /// The moment of `deadline` has come.
    pub fn timeout(&mut self, now: f64) {
        self.machine.handle_timeout(millis(now));
    }

    /// The network is back.
    pub fn online(&mut self, now: f64) {
        self.machine.handle_online(millis(now));
    }

    /// Takes what is to be told next; undefined: nothing now.
    #[wasm_bindgen(unchecked_return_type = "ClientNews | undefined")]
    pub fn news(&mut self, now: f64) -> JsValue {
        let state = self.machine.state();
        let was_waiting = std::mem::replace(&mut self.was_waiting, state == State::Waiting);
        if was_waiting && state == State::Connecting {
            return optional(Some(News::Connecting {}));
        }
        let output = self.machine.poll_output(millis(now));
        optional(output.map(|output| self.news_of(output)))
    }

    /// Whether there is no subscription now: every response but a farewell's is to be closed.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&self) -> bool {
        self.machine.is_ended()
    }

    /// Gives it up: there is no more news.
    pub fn cancel(&mut self) {
        self.machine.cancel();
    }

    fn news_of(&mut self, output: WatchOutput) -> News {
        match output {
            WatchOutput::Live { honored, .. } => News::Live {
                honored: honored.to_json(),
                id: self.machine.id().map(|id| id.raw().to_owned()),
                version: self.machine.version(),
            },
            WatchOutput::Changed(event) => News::Changed {
                event: event.to_json(),
            },
            WatchOutput::Waiting { end, .. } => {
                self.was_waiting = true;
                News::Waiting {
                    end: self.ended(end),
                }
            }
            WatchOutput::Stopped(end) => News::Stopped {
                end: self.ended(end),
            },
        }
    }

    fn ended(&self, end: End) -> Ended {
        let code = end.code();
        let refusal = match end {
            End::Refused(refusal) => Some(refusal),
            _ => None,
        };
        Ended {
            code,
            status: refusal.as_ref().map(|refusal| refusal.status),
            rpc_code: refusal.as_ref().and_then(|refusal| refusal.code),
            text: refusal.map(|refusal| refusal.text),
            retry_after_ms: self.machine.retry_after().map(time),
        }
    }

    fn tap(&mut self, call: Call) -> Option<&mut Tap> {
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
            }
        }
        is_ours
    }
}

impl From<ClientApproach> for Approach {
    fn from(approach: ClientApproach) -> Self {
        match approach {
            ClientApproach::Discover => Self::Discover { is_page: false },
            ClientApproach::DiscoverFromPage => Self::Discover { is_page: true },
            ClientApproach::Modern => Self::Modern,
            ClientApproach::Legacy => Self::Legacy,
        }
    }
}
