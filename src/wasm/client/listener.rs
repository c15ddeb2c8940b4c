use std::collections::{BTreeMap, VecDeque};

use wasm_bindgen::prelude::*;

use crate::{
    client::{self, Approach, Call, End, HttpRequest, Options, Output, Tap, Transfer},
    clock::Millis,
    id::Ids,
    listen::Headers,
    sse::Bounds,
};

use super::{
    super::{millis, time},
    filter_of, lines_of,
};

/// One subscription over HTTP to a server of whichever revision: heads, bytes and the time in,
/// requests and news out.
#[wasm_bindgen]
pub struct ClientListener {
    listener: client::Listener,
    bounds: Bounds,
    transfer: Transferring,
    news: String,
    end: Option<End>,
    /// What reads the answers as they stand; `None`: nobody wants to see them.
    taps: Option<BTreeMap<Call, Tap>>,
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

#[derive(Default)]
struct Transferring {
    call: Call,
    request: Option<HttpRequest>,
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
        let options = Options {
            client_info,
            acknowledgment: millis(ack_ms),
            silence: millis(silence_ms),
            ..Options::default()
        };
        let bounds = options.bounds;
        let approach = match approach {
            ClientApproach::Discover => Approach::Discover { is_page: false },
            ClientApproach::DiscoverFromPage => Approach::Discover { is_page: true },
            ClientApproach::Modern => Approach::Modern,
            ClientApproach::Legacy => Approach::Legacy,
        };
        let ids = Ids::after(millis(minted).0);
        let filter = filter_of(filter)?;
        Ok(Self {
            listener: client::Listener::new(
                filter,
                options,
                approach,
                (ids, seed(random)),
                millis(now),
            ),
            bounds,
            transfer: Transferring::default(),
            news: String::new(),
            end: None,
            taps: is_tapped.then(BTreeMap::new),
            messages: VecDeque::new(),
        })
    }

    /// Takes the next thing to do on the network, told by `call` and `method`; false: nothing now.
    pub fn transfer(&mut self) -> bool {
        let Some(transfer) = self.listener.poll_transfer() else {
            return false;
        };
        self.transfer = match transfer {
            Transfer::Send(call, request) => Transferring {
                call,
                request: Some(request),
            },
            Transfer::Close(call) => Transferring {
                call,
                request: None,
            },
        };
        true
    }

    /// The number of the request.
    #[wasm_bindgen(getter)]
    pub fn call(&self) -> u32 {
        self.transfer.call
    }

    /// Its method; undefined: its response is to be closed.
    #[wasm_bindgen(getter)]
    pub fn method(&self) -> Option<String> {
        let request = self.transfer.request.as_ref();
        request.map(|request| request.method.to_owned())
    }

    /// Its header fields, one a line.
    #[wasm_bindgen(getter)]
    pub fn headers(&self) -> String {
        let request = self.transfer.request.as_ref();
        request.map_or_else(String::new, |request| lines_of(&request.headers))
    }

    /// Its body.
    #[wasm_bindgen(getter)]
    pub fn body(&self) -> Option<String> {
        let request = self.transfer.request.as_ref();
        request.and_then(|request| request.body.clone())
    }

    /// The answer to `call` begins; `headers` are its fields, one a line.
    pub fn head(&mut self, call: u32, status: u16, headers: &str, now: f64) {
        let headers = Headers::new(headers);
        if let Some(taps) = &mut self.taps {
            taps.insert(call, Tap::new(&headers, self.bounds));
        }
        self.listener
            .handle_head(call, status, &headers, millis(now));
    }

    /// More of the body of the answer came.
    pub fn receive(&mut self, call: u32, bytes: &[u8], now: f64) {
        if let Some(tap) = self.taps.as_mut().and_then(|taps| taps.get_mut(&call)) {
            tap.handle_bytes(bytes);
            let told = std::iter::from_fn(|| tap.poll_message());
            self.messages.extend(told.map(lossy));
        }
        self.listener.handle_bytes(call, bytes, millis(now));
    }

    /// The body came to its end or broke off, or there was no answer.
    pub fn finish(&mut self, call: u32, now: f64) {
        if let Some(mut tap) = self.taps.as_mut().and_then(|taps| taps.remove(&call)) {
            self.messages.extend(tap.handle_end().map(lossy));
        }
        self.listener.handle_end(call, millis(now));
    }

    /// The next message of the server as it stood, where they are wanted; undefined: none now.
    pub fn message(&mut self) -> Option<String> {
        self.messages.pop_front()
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.listener.poll_timeout().map(time)
    }

    /// The moment of `deadline` has come.
    pub fn timeout(&mut self, now: f64) {
        self.listener.handle_timeout(millis(now));
    }

    /// Takes what is to be told next.
    pub fn news(&mut self) -> ClientNews {
        match self.listener.poll_output() {
            None => ClientNews::None,
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
        self.listener.retry_after().map(time)
    }

    /// The revision that the server speaks; undefined until that is known.
    #[wasm_bindgen(getter)]
    pub fn version(&self) -> Option<String> {
        self.listener.version().map(str::to_owned)
    }

    /// The id of the listen request as JSON text, where there is one.
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> Option<String> {
        self.listener.id().map(|id| id.raw().to_owned())
    }

    /// How many ids were given by now.
    #[wasm_bindgen(getter)]
    pub fn minted(&self) -> f64 {
        time(Millis(self.listener.minted()))
    }

    /// Whether it has ended: every response but a farewell's is to be closed.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&self) -> bool {
        self.listener.is_ended()
    }

    /// Gives it up: nothing more is told.
    pub fn cancel(&mut self) {
        self.listener.cancel();
    }

    fn refusal(&self) -> Option<&client::Refusal> {
        match &self.end {
            Some(End::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }
}

/// A message for people and logs: what is no UTF-8 is replaced.
fn lossy(message: Vec<u8>) -> String {
    String::from_utf8(message)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A seed from a number drawn from [0, 1).
pub(super) fn seed(random: f64) -> u64 {
    random.to_bits()
}
