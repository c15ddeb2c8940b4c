use alloc::vec::Vec;

use crate::{
    http::Headers,
    sse::{Bounds, Decoder, Item},
};

use crate::client::http::response::{Media, media_of};

/// Reads the raw JSON-RPC messages of one response, for logging.
#[derive(Debug)]
pub struct MessageTap {
    body: Body,
    bounds: Bounds,
}

#[derive(Debug)]
enum Body {
    Events(Decoder),
    Text(Vec<u8>),
    Ignored,
}

impl MessageTap {
    /// Reads the body that follows these header fields.
    pub fn new(headers: &Headers<'_>, bounds: Bounds) -> Self {
        let body = match media_of(headers) {
            Media::EventStream => Body::Events(Decoder::new(bounds)),
            Media::Json => Body::Text(Vec::new()),
            Media::Other => Body::Ignored,
        };
        Self { body, bounds }
    }

    /// Handles a piece of the body; poll [`MessageTap::poll_message`] next.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        match &mut self.body {
            Body::Events(decoder) => decoder.handle_bytes(bytes),
            Body::Text(text) if text.len() + bytes.len() <= self.bounds.event_bytes => {
                text.extend_from_slice(bytes);
            }
            Body::Text(_) => self.body = Body::Ignored,
            Body::Ignored => {}
        }
    }

    /// Handles the end of the body. Returns the message of a JSON body.
    pub fn handle_end(&mut self) -> Option<Vec<u8>> {
        match core::mem::replace(&mut self.body, Body::Ignored) {
            Body::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns the next message of an event stream, or `None` until more bytes arrive.
    pub fn poll_message(&mut self) -> Option<Vec<u8>> {
        let Body::Events(decoder) = &mut self.body else {
            return None;
        };
        loop {
            match decoder.poll_item() {
                Ok(Some(Item::Event(event))) if !event.data.is_empty() => return Some(event.data),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }
}
