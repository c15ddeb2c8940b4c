use std::collections::VecDeque;

use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities,
    client::{self, Approach, Call, End, Listener, Output, Tap},
    clock::Millis,
    id::Ids,
    listen::Headers,
    sse::Bounds,
    stdio::{Line, Lines},
};

use crate::{number::millis, number::time};

use super::{filter_of, lossy, options, seed, transferring::Transferring};

/// One subscription to a server of whichever revision, over HTTP or on a channel of lines: heads,
/// bytes and the time in, requests and news out.
#[wasm_bindgen]
pub struct ClientListener {
    machine: Listener,
    /// What splits the lines of a channel; `None`: it is over HTTP.
    lines: Option<Lines>,
    bounds: Bounds,
    transfer: Transferring,
    news: String,
    end: Option<End>,
    /// What reads the answers as they stand; `None`: nobody wants to see them.
    taps: Option<Vec<(Call, Tap)>>,
    messages: VecDeque<String>,
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

/// What `news` says.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ClientNews {
    /// Nothing until more comes.
    None,
    /// It is open: `text` is the filter that is honored.
    Acknowledged,
    /// Something changed: `text` is the event.
    Changed,
    /// It has ended: see `endCode`.
    Ended,
}

#[wasm_bindgen]
impl ClientListener {
    /// `filter` is JSON text; `clientInfo` too. An acknowledgment is awaited for `ackMs`, silence borne
    /// for `silenceMs`, zero being for ever. `minted` ids were given before, `random` is drawn from [0, 1).
    #[wasm_bindgen(constructor)]
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would weigh more than all of them"
    )]
    pub fn new(
        filter: &str,
        approach: ClientApproach,
        #[wasm_bindgen(js_name = clientInfo)] client_info: Option<String>,
        #[wasm_bindgen(js_name = ackMs)] ack_ms: f64,
        #[wasm_bindgen(js_name = silenceMs)] silence_ms: f64,
        #[wasm_bindgen(js_name = isTapped)] is_tapped: bool,
        minted: f64,
        random: f64,
        now: f64,
    ) -> Result<Self, JsValue> {
        let options = options(client_info, ack_ms, silence_ms);
        let bounds = options.bounds;
        let approach = match approach {
            ClientApproach::Discover => Approach::Discover { is_page: false },
            ClientApproach::DiscoverFromPage => Approach::Discover { is_page: true },
            ClientApproach::Modern => Approach::Modern,
            ClientApproach::Legacy => Approach::Legacy,
        };
        let ids = (Ids::after(millis(minted).0), seed(random));
        let machine = Listener::new(filter_of(filter)?, options, approach, ids, millis(now));
        Ok(Self::on(machine, None, bounds, is_tapped))
    }

    /// The same on a channel of lines. `capabilities`: what the server says in a session that somebody
    /// else has begun, as JSON text.
    #[wasm_bindgen(js_name = onChannel)]
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would weigh more than all of them"
    )]
    pub fn on_channel(
        filter: &str,
        approach: ClientApproach,
        capabilities: Option<String>,
        #[wasm_bindgen(js_name = clientInfo)] client_info: Option<String>,
        #[wasm_bindgen(js_name = ackMs)] ack_ms: f64,
        #[wasm_bindgen(js_name = isTapped)] is_tapped: bool,
        minted: f64,
        now: f64,
    ) -> Result<Self, JsValue> {
        let options = options(client_info, ack_ms, 0.0);
        let bounds = options.bounds;
        let approach = match (approach, capabilities) {
            (ClientApproach::Modern, _) => Approach::Modern,
            (_, Some(text)) => Approach::Joined(Capabilities::from_json(&text)),
            (ClientApproach::Legacy, None) => Approach::Legacy,
            _ => Approach::Discover { is_page: false },
        };
        let (filter, ids) = (filter_of(filter)?, Ids::after(millis(minted).0));
        let machine = Listener::on_channel(filter, options, approach, ids, millis(now));
        let lines = Lines::new(bounds.line_bytes);
        Ok(Self::on(machine, Some(lines), bounds, is_tapped))
    }

    /// Takes the next thing to do on the network, told by `call` and `method`; false: nothing now.
    pub fn transfer(&mut self) -> bool {
        let next = self.machine.poll_transfer().map(Transferring::of);
        let is_any = next.is_some();
        self.transfer = next.unwrap_or_default();
        is_any
    }

    /// The number of the request.
    #[wasm_bindgen(getter)]
    pub fn call(&self) -> u32 {
        self.transfer.call
    }

    /// Its method, which a channel has no use for; undefined: its response is to be closed.
    #[wasm_bindgen(getter)]
    pub fn method(&self) -> Option<String> {
        self.transfer.method.map(str::to_owned)
    }

    /// Its header fields, one a line.
    #[wasm_bindgen(getter)]
    pub fn headers(&self) -> String {
        self.transfer.headers.clone()
    }

    /// Its body, or the message.
    #[wasm_bindgen(getter)]
    pub fn body(&self) -> Option<String> {
        self.transfer.body.clone()
    }

    /// The answer to `call` begins; `headers` are its fields, one a line.
    pub fn head(&mut self, call: u32, status: u16, headers: &str, now: f64) {
        let headers = Headers::new(headers);
        if let Some(taps) = &mut self.taps {
            taps.push((call, Tap::new(&headers, self.bounds)));
        }
        match self.lines {
            None => self
                .machine
                .handle_head(call, status, &headers, millis(now)),
            Some(_) => self.machine.handle_refusal(status),
        }
    }

    /// More of the body of the answer came, or of the lines of a channel. Whether all of it was for
    /// this subscription alone.
    pub fn receive(&mut self, call: u32, bytes: &[u8], now: f64) -> bool {
        if let Some(tap) = self.tap(call) {
            tap.handle_bytes(bytes);
            let told: Vec<Vec<u8>> = std::iter::from_fn(|| tap.poll_message()).collect();
            self.messages.extend(told.into_iter().map(lossy));
        }
        if self.lines.is_some() {
            return self.receive_lines(bytes, now);
        }
        self.machine.handle_bytes(call, bytes, millis(now));
        true
    }

    /// The body came to its end or broke off, or there was no answer, or the channel is gone.
    pub fn finish(&mut self, call: u32, now: f64) {
        let last = self.tap(call).and_then(Tap::handle_end);
        self.messages.extend(last.map(lossy));
        if let Some(taps) = &mut self.taps {
            taps.retain(|(other, _)| *other != call);
        }
        match self.lines {
            None => self.machine.handle_end(call, millis(now)),
            Some(_) => self.machine.handle_exit(),
        }
    }

    /// The next message of the server as it stood, where they are wanted; undefined: none now.
    pub fn message(&mut self) -> Option<String> {
        self.messages.pop_front()
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&mut self) -> Option<f64> {
        self.machine.poll_timeout().map(time)
    }

    /// The moment of `deadline` has come.
    pub fn timeout(&mut self, now: f64) {
        self.machine.handle_timeout(millis(now));
    }

    /// Takes what is to be told next.
    pub fn news(&mut self) -> ClientNews {
        match self.machine.poll_output() {
            Some(Output::Acknowledged(honored)) => {
                self.news = honored.to_json();
                ClientNews::Acknowledged
            }
            Some(Output::Changed(event)) => {
                self.news = event.to_json();
                ClientNews::Changed
            }
            Some(Output::Ended(end)) => {
                self.end = Some(end);
                ClientNews::Ended
            }
            _ => ClientNews::None,
        }
    }

    /// What the last `news` carries.
    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        self.news.clone()
    }

    /// How it ended: `graceful`, `refused`, or why it was lost.
    #[wasm_bindgen(getter, js_name = endCode)]
    pub fn end_code(&self) -> Option<String> {
        self.end.as_ref().map(|end| end.code().to_owned())
    }

    /// The HTTP status of a refusal.
    #[wasm_bindgen(getter, js_name = endStatus)]
    pub fn end_status(&self) -> Option<u16> {
        self.refusal().map(|refusal| refusal.status)
    }

    /// The JSON-RPC error code of a refusal, where it has one.
    #[wasm_bindgen(getter, js_name = endRpcCode)]
    pub fn end_rpc_code(&self) -> Option<i32> {
        self.refusal().and_then(|refusal| refusal.code)
    }

    /// The server's words on a refusal; not to be trusted.
    #[wasm_bindgen(getter, js_name = endText)]
    pub fn end_text(&self) -> Option<String> {
        self.refusal().map(|refusal| refusal.text.clone())
    }

    /// Milliseconds that the server asks to wait before the next attempt.
    #[wasm_bindgen(getter, js_name = retryAfter)]
    pub fn retry_after(&self) -> Option<f64> {
        self.machine.retry_after().map(time)
    }

    /// The revision that the server speaks; undefined until that is known.
    #[wasm_bindgen(getter)]
    pub fn version(&mut self) -> Option<String> {
        self.machine.version().map(str::to_owned)
    }

    /// The id of the listen request as JSON text, where there is one.
    #[wasm_bindgen(getter)]
    pub fn id(&mut self) -> Option<String> {
        self.machine.id().map(|id| id.raw().to_owned())
    }

    /// How many ids were given by now.
    #[wasm_bindgen(getter)]
    pub fn minted(&mut self) -> f64 {
        time(Millis(self.machine.minted()))
    }

    /// Whether it has ended: every response but a farewell's is to be closed.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&mut self) -> bool {
        self.machine.is_ended()
    }

    /// Gives it up: nothing more is told.
    pub fn cancel(&mut self) {
        self.machine.cancel();
    }

    fn on(machine: Listener, lines: Option<Lines>, bounds: Bounds, is_tapped: bool) -> Self {
        Self {
            machine,
            lines,
            bounds,
            transfer: Transferring::default(),
            news: String::new(),
            end: None,
            taps: is_tapped.then(Vec::new),
            messages: VecDeque::new(),
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
        let listener = &mut self.machine;
        lines.handle_bytes(bytes);
        let mut is_ours = true;
        while let Some(line) = lines.poll_line() {
            match line {
                Line::TooLong => listener.handle_gap(),
                Line::Whole(line) => {
                    is_ours &= listener.handle_message(&line, millis(now));
                    if self.taps.is_some() {
                        self.messages
                            .push_back(lossy(line.trim_ascii_end().to_vec()));
                    }
                }
            }
        }
        is_ours
    }

    fn refusal(&self) -> Option<&client::Refusal> {
        match &self.end {
            Some(End::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }
}
