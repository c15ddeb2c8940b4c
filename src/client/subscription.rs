use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    http::Headers,
    json,
    listen::{ClientEndReason, ClientStream, Incoming, Notice},
    message::{LISTEN, PROTOCOL_VERSION},
    sse::{Decoder, Event, Item},
    vocabulary::{filter::SubscriptionFilter, id::RequestId},
};

use super::{
    end::{CloseReason, Loss},
    http::{
        request::HttpRequest,
        response::{Media, RpcError, bounded, is_success, media_of, retry_after},
    },
    options::SubscriptionOptions,
    pending_output::{PendingOutput, SubscriptionOutput},
};

/// One subscription over HTTP, from its request to its end (2026-07-28, Subscriptions, Streamable
/// HTTP).
///
/// Send [`Subscription::request`] once, pass its response to the `handle_*` methods, and after each
/// call poll [`Subscription::poll_output`] until it returns `None`; call
/// [`Subscription::handle_timeout`] at the time of [`Subscription::poll_timeout`]. Changes that are
/// not polled collapse to one event per subject. After [`SubscriptionOutput::Ended`], and after
/// [`Subscription::cancel`], close the response if it is still open; no message is posted
/// (2026-07-28, Streamable HTTP: Cancellation).
#[derive(Debug)]
pub struct Subscription {
    stream: ClientStream,
    options: SubscriptionOptions,
    status: u16,
    body: Body,
    pending: PendingOutput,
    /// The cancellation to send on carriers that require one.
    cancellation: Option<String>,
    /// When the request was sent, or the server last sent something.
    received_at: Millis,
    opened_at: Millis,
    retry_after: Option<Millis>,
}

#[derive(Debug)]
enum Body {
    /// Status and header fields are pending.
    Awaited,
    Events(Decoder),
    Json(Vec<u8>),
    /// The rest of the body is ignored.
    Ignored,
}

impl Subscription {
    /// Creates a subscription that is requested now; see [`crate::vocabulary::id::Ids`] for its id.
    pub fn new(
        id: RequestId,
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        now: Millis,
    ) -> Self {
        Self {
            stream: ClientStream::new(id, requested),
            status: 0,
            body: Body::Awaited,
            pending: PendingOutput::new(SubscriptionFilter::default(), options.limits.uris),
            cancellation: None,
            received_at: now,
            opened_at: now,
            retry_after: None,
            options,
        }
    }

    /// Returns the request to send.
    pub fn request(&self) -> HttpRequest {
        let body = self.stream.request(self.options.client_info.as_deref());
        HttpRequest::modern(PROTOCOL_VERSION, LISTEN, body)
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &RequestId {
        self.stream.id()
    }

    /// Handles the head of the response.
    pub fn handle_head(&mut self, status: u16, headers: &Headers<'_>, now: Millis) {
        if !matches!(self.body, Body::Awaited) {
            return;
        }
        self.received_at = now;
        self.status = status;
        self.retry_after = retry_after(headers).filter(|_| !is_success(status));
        match media_of(headers) {
            Media::EventStream if is_success(status) => {
                self.body = Body::Events(Decoder::new(self.options.bounds));
            }
            Media::Json => self.body = Body::Json(Vec::new()),
            Media::EventStream | Media::Other => self.settle(self.unread()),
        }
    }

    /// Handles a piece of the response body.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Millis) {
        self.received_at = now;
        match &mut self.body {
            Body::Events(decoder) => {
                decoder.handle_bytes(bytes);
                self.read_events();
            }
            Body::Json(read) if read.len() + bytes.len() <= self.options.limits.body_bytes => {
                read.extend_from_slice(bytes);
            }
            Body::Json(_) if is_success(self.status) => {
                self.settle(CloseReason::Lost(Loss::ResponseTooLarge));
            }
            Body::Json(_) => self.settle(self.unread()),
            Body::Awaited | Body::Ignored => {}
        }
    }

    /// Handles the end of the response: the body is complete, broke off, or no response came.
    pub fn handle_end(&mut self) {
        match core::mem::replace(&mut self.body, Body::Ignored) {
            Body::Json(bytes) => self.read_json(&bytes),
            Body::Awaited | Body::Events(_) => self.settle(CloseReason::Lost(Loss::Disconnected)),
            Body::Ignored => {}
        }
    }

    /// Handles the deadline of [`Subscription::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.poll_timeout().is_some_and(|deadline| deadline <= now) {
            let loss = if self.stream.is_opening() {
                Loss::NotAcknowledged
            } else {
                Loss::Silence
            };
            self.settle(CloseReason::Lost(loss));
        }
    }

    /// Cancels the subscription: no output follows. Closing the response is the only signal to the
    /// server.
    pub fn cancel(&mut self) {
        self.settle(CloseReason::Lost(Loss::Disconnected));
        self.pending.clear();
    }

    /// Returns the next output, or `None` until the next `handle_*` call.
    pub fn poll_output(&mut self) -> Option<SubscriptionOutput> {
        self.pending.poll()
    }

    /// Returns when to call [`Subscription::handle_timeout`]; `None` if no deadline is set.
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.stream.is_ended() {
            return None;
        }
        if self.stream.is_opening() {
            self.options.late_after(self.opened_at)
        } else {
            self.options.silent_after(self.received_at)
        }
    }

    /// Returns how long the server asks to wait before the next request, capped at an hour.
    pub fn retry_after(&self) -> Option<Millis> {
        self.retry_after
    }

    /// Whether the subscription has ended; pending output may still be polled.
    pub fn is_ended(&self) -> bool {
        self.stream.is_ended()
    }

    /// Reports every honored list and resource once, since a change may have been missed.
    pub(super) fn report_all(&mut self) {
        self.pending.push_all();
    }

    /// Handles a message on a channel. Returns whether it names this subscription.
    pub(super) fn handle_line(&mut self, message: &[u8]) -> bool {
        match Incoming::read(message, &self.options.limits) {
            Some((id, incoming)) if id == *self.stream.id() => {
                self.handle_message(incoming);
                true
            }
            _ => false,
        }
    }

    /// Returns the message that cancels the subscription on a channel, once.
    pub(super) fn poll_cancellation(&mut self) -> Option<String> {
        self.cancellation.take()
    }

    fn read_events(&mut self) {
        while let Body::Events(decoder) = &mut self.body {
            match decoder.poll_item() {
                Ok(Some(Item::Event(event))) => self.handle_event(&event),
                Ok(Some(Item::Retry(wait))) => self.retry_after = Some(bounded(wait)),
                Ok(Some(Item::Comment)) => {}
                Ok(None) => return,
                Err(error) => self.settle(CloseReason::Lost(Loss::Stream(error))),
            }
        }
    }

    /// Handles an event of the stream. An event without data only carries an id.
    fn handle_event(&mut self, event: &Event) {
        let data = event.data.as_slice();
        if event.kind != b"message" || data.is_empty() {
            return;
        }
        match Incoming::read(data, &self.options.limits) {
            Some((id, incoming)) if id == *self.stream.id() => self.handle_message(incoming),
            Some(_) => {}
            None => self.handle_unknown(data),
        }
    }

    /// Handles data that belongs to no subscription. An error without an id can only be the
    /// response to our request. Data that is not JSON may have been a change.
    fn handle_unknown(&mut self, data: &[u8]) {
        if let Some(error) = RpcError::read(data).filter(|error| error.id.is_none()) {
            let RpcError { code, text, .. } = error;
            self.handle_message(Incoming::Refused { code, text });
        } else if json::read(data, self.options.limits.depth).is_err() {
            self.handle_message(Incoming::Malformed);
        }
    }

    fn handle_message(&mut self, incoming: Incoming) {
        let was_opening = self.stream.is_opening();
        let loss = match incoming {
            Incoming::Cancelled => Loss::Cancelled,
            _ => Loss::InvalidResponse,
        };
        match self.stream.handle_message(incoming) {
            None => {}
            Some(Notice::Acknowledged(honored)) => self.pending.open(honored),
            Some(Notice::Changed(event)) => self.pending.push(&event),
            Some(Notice::Malformed) if was_opening => {
                self.settle(CloseReason::Lost(Loss::MalformedAcknowledgment));
            }
            Some(Notice::Malformed) => self.pending.push_all(),
            Some(Notice::Ended(end)) => self.finish(end, loss, was_opening),
        }
    }

    /// Ends the subscription on the server's message. A result in place of the acknowledgment opens
    /// it with nothing honored first.
    fn finish(&mut self, end: ClientEndReason, loss: Loss, was_opening: bool) {
        self.body = Body::Ignored;
        if was_opening && end == ClientEndReason::Graceful {
            self.pending.open(SubscriptionFilter::default());
        }
        self.pending.end(match end {
            ClientEndReason::Graceful => CloseReason::Graceful,
            ClientEndReason::Lost => CloseReason::Lost(loss),
            ClientEndReason::Refused { code, text } => {
                CloseReason::refused(self.status, Some(code), text)
            }
        });
    }

    /// Reads a JSON body: the server may respond with one JSON text instead of a stream
    /// (2026-07-28, Streamable HTTP: Sending Messages).
    fn read_json(&mut self, bytes: &[u8]) {
        let error = RpcError::read(bytes);
        let own_id = self.stream.id().raw();
        let error = error.filter(|error| error.id.as_deref().is_none_or(|id| id == own_id));
        if let Some(RpcError { code, text, .. }) = error {
            return self.settle(CloseReason::refused(self.status, Some(code), text));
        }
        let read = Incoming::read(bytes, &self.options.limits);
        let is_own = read
            .is_some_and(|(id, incoming)| id == *self.stream.id() && incoming == Incoming::Result);
        if is_own && is_success(self.status) {
            self.handle_message(Incoming::Result);
        } else {
            self.settle(self.unread());
        }
    }

    /// Ends the subscription, regardless of what the server still sends.
    pub(super) fn settle(&mut self, end: CloseReason) {
        self.body = Body::Ignored;
        if let Some(cancellation) = self.stream.cancel() {
            self.cancellation = Some(cancellation);
            self.pending.end(end);
        }
    }

    /// Returns the end for a response whose body says nothing.
    fn unread(&self) -> CloseReason {
        if is_success(self.status) {
            return CloseReason::Lost(Loss::InvalidResponse);
        }
        CloseReason::refused(self.status, None, String::new())
    }
}
