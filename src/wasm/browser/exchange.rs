use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use js_sys::{Array, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Headers, ReadableStreamDefaultReader, ReadableStreamReadResult, Request,
    RequestInit, Response,
};

use crate::client::HttpRequest;

use super::{host, options::ListenOptions};

/// One request and its answer, as far as it has come; dropped, both are given up.
#[derive(Debug)]
pub(super) struct Exchange {
    controller: AbortController,
    awaited: Awaited,
}

#[derive(Debug)]
enum Awaited {
    Head(JsFuture),
    Chunk(ReadableStreamDefaultReader, JsFuture),
    /// There is no body, and nobody was told yet.
    End,
    Nothing,
}

/// What came of a request.
pub(super) enum Arrival {
    /// The answer begins: status, and header fields as lines `name: value`.
    Head(u16, String),
    /// More of its body.
    Bytes(Vec<u8>),
    /// Its body came to its end or broke off, or there was no answer.
    End,
}

impl Exchange {
    /// Sends the request; fails where the URL or a header field is none.
    pub(super) fn new(
        url: &str,
        request: &HttpRequest,
        options: &ListenOptions,
    ) -> Result<Self, JsValue> {
        let controller = AbortController::new()?;
        let init = RequestInit::new();
        init.set_method(request.method);
        init.set_headers_headers(&headers_of(request, options)?);
        init.set_signal(Some(&controller.signal()));
        if let Some(body) = &request.body {
            init.set_body(&body.into());
        }
        let request = Request::new_with_str_and_init(url, &init)?;
        Ok(Self {
            controller,
            awaited: Awaited::Head(host::fetch(&request).into()),
        })
    }

    /// What came next; nothing follows the end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Arrival> {
        let settled = match &mut self.awaited {
            Awaited::Head(promised) | Awaited::Chunk(_, promised) => {
                ready!(Pin::new(promised).poll(context)).ok()
            }
            Awaited::End => None,
            Awaited::Nothing => return Poll::Pending,
        };
        let awaited = std::mem::replace(&mut self.awaited, Awaited::Nothing);
        Poll::Ready(match (awaited, settled) {
            (Awaited::Head(_), Some(response)) => self.begin(&response.unchecked_into()),
            (Awaited::Chunk(reader, _), Some(read)) => self.go_on(reader, &read.unchecked_into()),
            _ => Arrival::End,
        })
    }

    fn begin(&mut self, response: &Response) -> Arrival {
        self.awaited = response.body().map_or(Awaited::End, |body| {
            Awaited::next(body.get_reader().unchecked_into())
        });
        Arrival::Head(response.status(), lines_of(&response.headers()))
    }

    fn go_on(
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

impl Drop for Exchange {
    fn drop(&mut self) {
        self.controller.abort();
    }
}

/// The caller's header fields, and over them those of the protocol.
fn headers_of(request: &HttpRequest, options: &ListenOptions) -> Result<Headers, JsValue> {
    let headers = Headers::new()?;
    for (name, value) in &options.headers {
        headers.append(name, value)?;
    }
    if let Some(token) = &options.token {
        headers.set("Authorization", &["Bearer ", token].concat())?;
    }
    for (name, value) in &request.headers {
        headers.set(name, value)?;
    }
    Ok(headers)
}

/// Only what CORS lets a page read.
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
