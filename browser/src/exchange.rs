use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use js_sys::{Array, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Headers, ReadableStreamDefaultReader, ReadableStreamReadResult, Request,
    RequestCache, RequestInit, RequestRedirect, Response,
};

use mcp_listen::client::HttpRequest;

use super::{
    host,
    options::ListenOptions,
    token::{PendingToken, Token},
};

/// The endpoint, and the options of its requests.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: String,
    pub(super) options: ListenOptions,
    /// The token of the last request, which the final requests reuse.
    last_token: RefCell<Option<String>>,
}

/// One request and its response so far. When dropped, the request is aborted.
#[derive(Debug)]
pub(super) struct Exchange {
    target: Rc<Target>,
    request: HttpRequest,
    sent: Option<Sent>,
    awaited: Awaited,
    is_retried: bool,
}

#[derive(Debug)]
enum Awaited {
    Token(PendingToken),
    Head(JsFuture),
    Chunk(ReadableStreamDefaultReader, JsFuture),
    /// The response has no body, and its end has not been reported yet.
    End,
    Nothing,
}

/// An input from the network.
pub(super) enum Arrival {
    /// The head of the response: status, and header fields as lines `name: value`.
    Head(u16, String),
    /// A piece of the response body.
    Bytes(Vec<u8>),
    /// The end of the response: the body is complete, broke off, or no response came.
    End,
}

/// A pending request, which is aborted on drop.
#[derive(Debug)]
struct Sent(AbortController);

impl Drop for Sent {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Target {
    pub(super) fn new(url: &str, options: ListenOptions) -> Self {
        Self {
            url: url.to_owned(),
            options,
            last_token: RefCell::default(),
        }
    }

    /// Sends a request without waiting for its response.
    pub(super) fn send_final(&self, request: &HttpRequest) {
        if let Ok(request) = self.request(request, None) {
            // The future handles a rejection, so that the page does not report an unhandled one.
            drop(JsFuture::from(host::fetch(&request)));
        }
    }

    /// Creates a request. Fails if the URL or a header field is not valid.
    fn request(
        &self,
        request: &HttpRequest,
        controller: Option<&AbortController>,
    ) -> Result<Request, JsValue> {
        let init = RequestInit::new();
        init.set_method(request.method);
        init.set_headers_headers(&self.headers(request)?);
        // Chromium (156) may send a DELETE twice if it finds the stream of the session in its
        // cache.
        init.set_cache(RequestCache::NoStore);
        // Credentials must not reach the target of a redirect.
        if self.holds_credentials() {
            init.set_redirect(RequestRedirect::Manual);
        }
        if let Some(controller) = controller {
            init.set_signal(Some(&controller.signal()));
        }
        if let Some(body) = &request.body {
            init.set_body(&body.into());
        }
        Request::new_with_str_and_init(&self.url, &init)
    }

    fn holds_credentials(&self) -> bool {
        self.options.token.is_some() || !self.options.headers.is_empty()
    }

    /// Returns the caller's header fields, overridden by those of the protocol.
    fn headers(&self, request: &HttpRequest) -> Result<Headers, JsValue> {
        let headers = Headers::new()?;
        for (name, value) in &self.options.headers {
            headers.append(name, value)?;
        }
        if let Some(token) = &*self.last_token.borrow() {
            headers.set("Authorization", &["Bearer ", token].concat())?;
        }
        for (name, value) in &request.headers {
            headers.set(name, value)?;
        }
        Ok(headers)
    }
}

impl Exchange {
    /// Creates a request that is sent as soon as its token is available.
    pub(super) fn new(target: &Rc<Target>, request: HttpRequest) -> Self {
        Self {
            awaited: Awaited::Token(PendingToken::of(target.options.token.as_ref())),
            target: Rc::clone(target),
            request,
            sent: None,
            is_retried: false,
        }
    }

    /// Returns the next arrival; none follows the end. Fails if the URL or a header field is not
    /// valid.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Arrival, JsValue>> {
        loop {
            let settled = match &mut self.awaited {
                Awaited::Token(pending) => {
                    let token = ready!(pending.poll(context));
                    self.send(token)?;
                    continue;
                }
                Awaited::Head(promise) | Awaited::Chunk(_, promise) => {
                    ready!(Pin::new(promise).poll(context)).ok()
                }
                Awaited::End => None,
                Awaited::Nothing => return Poll::Pending,
            };
            let awaited = std::mem::replace(&mut self.awaited, Awaited::Nothing);
            return Poll::Ready(Ok(match (awaited, settled) {
                (Awaited::Head(_), Some(response)) => {
                    let response = response.unchecked_into();
                    if self.retries(&response) {
                        continue;
                    }
                    self.begin(&response)
                }
                (Awaited::Chunk(reader, _), Some(read)) => {
                    self.read_on(reader, &read.unchecked_into())
                }
                _ => Arrival::End,
            }));
        }
    }

    fn send(&mut self, token: Option<String>) -> Result<(), JsValue> {
        self.awaited = Awaited::Nothing;
        self.target.last_token.replace(token);
        let controller = AbortController::new()?;
        let request = self.target.request(&self.request, Some(&controller))?;
        self.awaited = Awaited::Head(host::fetch(&request).into());
        self.sent = Some(Sent(controller));
        Ok(())
    }

    /// Whether the request is sent once more with a new token, because the old one may have
    /// expired.
    fn retries(&mut self, response: &Response) -> bool {
        let token = self.target.options.token.as_ref();
        let may_change = token.is_some_and(Token::may_change);
        if response.status() != UNAUTHORIZED || !may_change || self.is_retried {
            return false;
        }
        self.is_retried = true;
        self.sent = None;
        self.awaited = Awaited::Token(PendingToken::of(token));
        true
    }

    fn begin(&mut self, response: &Response) -> Arrival {
        self.awaited = response.body().map_or(Awaited::End, |body| {
            Awaited::next(body.get_reader().unchecked_into())
        });
        Arrival::Head(response.status(), lines_of(&response.headers()))
    }

    fn read_on(
        &mut self,
        reader: ReadableStreamDefaultReader,
        read: &ReadableStreamReadResult,
    ) -> Arrival {
        if read.get_done() == Some(true) {
            return Arrival::End;
        }
        self.awaited = Awaited::next(reader);
        Arrival::Bytes(Uint8Array::new(&read.get_value()).to_vec())
    }
}

impl Awaited {
    fn next(reader: ReadableStreamDefaultReader) -> Self {
        let chunk = reader.read().into();
        Self::Chunk(reader, chunk)
    }
}

/// Returns the header fields that CORS exposes to a page.
fn lines_of(headers: &Headers) -> String {
    let mut lines = String::new();
    for entry in headers.entries().into_iter().flatten() {
        let field: Array = entry.unchecked_into();
        lines.push_str(&field.get(0).as_string().unwrap_or_default());
        lines.push_str(": ");
        lines.push_str(&field.get(1).as_string().unwrap_or_default());
        lines.push('\n');
    }
    lines
}

const UNAUTHORIZED: u16 = 401;
