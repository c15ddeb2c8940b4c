use alloc::{borrow::ToOwned, boxed::Box, string::String, vec::Vec};

use crate::{
    client::{
        end::{CloseReason, Loss},
        http::{
            request::HttpRequest,
            request_queue::{RequestHandle, RequestQueue},
            response::{Media, bounded, is_success, media_of, retry_after},
        },
        options::SubscriptionOptions,
        pending_output::PendingOutput,
        pending_output::SubscriptionOutput,
        session::{
            self, ClientSession, SessionMessage,
            reopening::Reopening,
            resource_subscriptions::{ResourceSubscriptions, SubscribeOutcome},
            stream::SessionStream,
        },
    },
    clock::Millis,
    http::Headers,
    listen::concerns,
    sse::{Decoder, Event, Item},
    vocabulary::{filter::SubscriptionFilter, uri::Uri},
};

/// Delivers the changes that a session reports for a filter: from its stream, or on a channel from
/// any message, with a `resources/subscribe` for each resource (2025-11-25, Transports: Listening
/// for Messages from the Server; Resources: Subscriptions).
///
/// A server may close the stream of a session at any time: the client reopens it after the last
/// event it received. If events have no ids, every honored list and resource is reported once more.
#[derive(Debug)]
pub(crate) struct SessionListener {
    session: ClientSession,
    /// The request that ends the session, until it is sent.
    end_request: Option<HttpRequest>,
    options: SubscriptionOptions,
    honored: SubscriptionFilter,
    pending: PendingOutput,
    subscribes: ResourceSubscriptions,
    stream: SessionStream,
    last_event_id: Option<String>,
    reopening: Reopening,
    retry: Option<Millis>,
    /// When the session began, or the last `resources/subscribe` had its response.
    advanced_at: Millis,
    received_at: Millis,
    /// Whether the server sends keep-alives. Only then is silence a sign of a broken stream.
    has_pulse: bool,
    /// Whether this listener replies to the server's requests: false if another component does.
    replies: bool,
}

impl SessionListener {
    pub(crate) fn new(
        session: ClientSession,
        requested: &SubscriptionFilter,
        options: SubscriptionOptions,
        seed: u64,
        now: Millis,
    ) -> Self {
        let honored = requested.honored(session.capabilities, None);
        let honored = SubscriptionFilter {
            task_ids: Vec::new(),
            ..honored
        };
        Self {
            pending: PendingOutput::new(honored.clone(), options.limits.uris),
            subscribes: ResourceSubscriptions::new(&honored.resource_subscriptions),
            stream: SessionStream::Ended,
            last_event_id: None,
            reopening: Reopening::new(seed),
            retry: None,
            advanced_at: now,
            received_at: now,
            has_pulse: false,
            replies: true,
            end_request: session.end(),
            session,
            options,
            honored,
        }
    }

    /// Sends the notification that the session is in use. If nothing is honored, opens and ends at
    /// once.
    pub(crate) fn started(mut self, queue: &mut RequestQueue) -> Self {
        let call = queue.send(self.session.initialized());
        self.stream = SessionStream::Confirming(call);
        if self.honored.is_empty() {
            self.open(queue);
        }
        self
    }

    /// As [`SessionListener::started`], on a channel. If another component has begun the session,
    /// that one sends the notification and responds to the server's requests.
    pub(crate) fn started_on_channel(mut self, has_begun: bool, queue: &mut RequestQueue) -> Self {
        self.replies = has_begun;
        self.stream = SessionStream::Channel;
        self.subscribes.lift_limit();
        if has_begun {
            queue.send(self.session.initialized());
        }
        self.ask_more(queue);
        self
    }

    pub(crate) fn handle_head(
        &mut self,
        call: RequestHandle,
        (status, headers): (u16, &Headers<'_>),
        queue: &mut RequestQueue,
        now: Millis,
    ) {
        match self.stream {
            SessionStream::Confirming(own) if own == call => self.confirm(status, queue),
            SessionStream::Requested(own) if own == call => {
                self.handle_stream_head(call, (status, headers), queue, now);
            }
            _ => self.subscribes.handle_head(call, status, headers),
        }
    }

    pub(crate) fn handle_bytes(
        &mut self,
        call: RequestHandle,
        bytes: &[u8],
        queue: &mut RequestQueue,
        now: Millis,
    ) {
        match &mut self.stream {
            SessionStream::Open { call: own, decoder } if *own == call => {
                self.received_at = now;
                decoder.handle_bytes(bytes);
                self.read_events(queue);
            }
            _ => {
                let max_bytes = self.options.bounds.event_bytes;
                self.subscribes.handle_bytes(call, bytes, max_bytes);
            }
        }
    }

    pub(crate) fn handle_end(
        &mut self,
        call: RequestHandle,
        queue: &mut RequestQueue,
        now: Millis,
    ) {
        match self.stream {
            SessionStream::Confirming(own) if own == call => {
                self.settle(CloseReason::Lost(Loss::Disconnected));
            }
            SessionStream::Requested(own) | SessionStream::Open { call: own, .. }
                if own == call =>
            {
                self.break_off(now);
            }
            SessionStream::Ended => {}
            _ => {
                if let Some(subscribed) = self.subscribes.handle_end(call, &self.session) {
                    self.handle_subscribed(subscribed, queue, now);
                }
            }
        }
    }

    /// Handles a message on a channel. Returns whether it is the response to one of our
    /// requests: changes concern every listener, responses only one.
    pub(crate) fn handle_line(
        &mut self,
        message: &[u8],
        queue: &mut RequestQueue,
        now: Millis,
    ) -> bool {
        let message = session::read_message(message, &self.options.limits);
        if let SessionMessage::Response { id, is_result } = &message
            && let Some(subscribed) = self.subscribes.handle_line(id, *is_result)
        {
            self.handle_subscribed(subscribed, queue, now);
            return true;
        }
        self.handle_session_message(message, queue);
        false
    }

    pub(crate) fn handle_timeout(&mut self, queue: &mut RequestQueue, now: Millis) {
        if self.opening_ends().is_some_and(|deadline| deadline <= now) {
            if let SessionStream::Channel = self.stream {
                self.leave(queue);
            }
            return self.settle(CloseReason::Lost(Loss::NotAcknowledged));
        }
        match self.stream {
            SessionStream::Waiting { .. } => self.request_stream(queue, now),
            SessionStream::Requested(call) | SessionStream::Open { call, .. } => {
                queue.close(call);
                self.break_off(now);
            }
            SessionStream::Channel | SessionStream::Confirming(_) | SessionStream::Ended => {}
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        if self.is_ended() {
            return None;
        }
        let of_stream = self
            .stream
            .deadline(&self.options, self.received_at, self.has_pulse);
        of_stream.into_iter().chain(self.opening_ends()).min()
    }

    /// Returns the deadline by which the subscription has to be open, or closer to that: it may
    /// take many requests.
    fn opening_ends(&self) -> Option<Millis> {
        let late = self.options.late_after(self.advanced_at);
        late.filter(|_| !self.pending.is_open())
    }

    pub(crate) fn poll_output(&mut self) -> Option<SubscriptionOutput> {
        self.pending.poll()
    }

    pub(crate) fn report_all(&mut self) {
        self.pending.push_all();
    }

    /// Ends the session if the server assigned an id. On a channel the session continues, and only
    /// unsubscribes from its resources.
    pub(crate) fn leave(&mut self, queue: &mut RequestQueue) {
        if let SessionStream::Channel = self.stream {
            for uri in core::mem::take(&mut self.honored.resource_subscriptions) {
                let id = queue.ids.mint();
                queue.send(self.session.unsubscribe(&id, &uri));
            }
        }
        if let Some(request) = self.end_request.take() {
            queue.send(request);
        }
    }

    pub(crate) fn version(&self) -> &'static str {
        self.session.version
    }

    /// Returns how long the server asked to wait before the next attempt.
    pub(crate) fn retry_after(&self) -> Option<Millis> {
        self.retry
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.stream, SessionStream::Ended)
    }

    fn confirm(&mut self, status: u16, queue: &mut RequestQueue) {
        if is_success(status) {
            let call = queue.send(self.session.stream(None));
            self.stream = SessionStream::Requested(call);
        } else {
            self.settle(CloseReason::refused(status, None, String::new()));
        }
    }

    fn request_stream(&mut self, queue: &mut RequestQueue, now: Millis) {
        let call = queue.send(self.session.stream(self.last_event_id.as_deref()));
        self.stream = SessionStream::Requested(call);
        self.received_at = now;
    }

    fn handle_stream_head(
        &mut self,
        call: RequestHandle,
        (status, headers): (u16, &Headers<'_>),
        queue: &mut RequestQueue,
        now: Millis,
    ) {
        if is_success(status) && media_of(headers) == Media::EventStream {
            self.received_at = now;
            self.reopening.handle_open();
            self.stream = SessionStream::Open {
                call,
                decoder: Box::new(Decoder::new(self.options.bounds)),
            };
            // Without event ids, the changes between two streams are unknown.
            if self.pending.is_open() && self.last_event_id.is_none() {
                self.pending.push_all();
            }
            return self.ask_more(queue);
        }
        queue.close(call);
        self.handle_stream_refusal(status, headers, now);
    }

    fn handle_stream_refusal(&mut self, status: u16, headers: &Headers<'_>, now: Millis) {
        self.retry = retry_after(headers).or(self.retry);
        match self.reopening.end_after(status) {
            Some(end) => self.settle(end),
            None => self.break_off(now),
        }
    }

    /// Handles the loss of the stream. Schedules a new attempt if the stream was open before.
    fn break_off(&mut self, now: Millis) {
        match self.reopening.next_wait(self.retry) {
            Some(wait) => self.stream = SessionStream::Waiting { until: now + wait },
            None => self.settle(CloseReason::Lost(Loss::Disconnected)),
        }
    }

    fn read_events(&mut self, queue: &mut RequestQueue) {
        while let SessionStream::Open { decoder, .. } = &mut self.stream {
            let item = decoder.poll_item();
            let id = decoder.last_event_id();
            if id.is_some() && id != self.last_event_id.as_deref() {
                self.last_event_id = id.map(str::to_owned);
            }
            match item {
                Ok(Some(Item::Event(event))) => self.handle_event(&event, queue),
                Ok(Some(Item::Retry(wait))) => self.retry = Some(bounded(wait)),
                Ok(Some(Item::Comment)) => self.has_pulse = true,
                Ok(None) => return,
                Err(error) => self.settle(CloseReason::Lost(Loss::Stream(error))),
            }
        }
    }

    fn handle_event(&mut self, event: &Event, queue: &mut RequestQueue) {
        if event.kind != b"message" || event.data.is_empty() {
            return;
        }
        self.reopening.handle_event();
        let message = session::read_message(&event.data, &self.options.limits);
        self.handle_session_message(message, queue);
    }

    fn handle_session_message(&mut self, message: SessionMessage, queue: &mut RequestQueue) {
        match message {
            SessionMessage::Changed(change) if concerns(&self.honored, &change) => {
                self.pending.push(&change);
            }
            SessionMessage::Question(reply) if self.replies => {
                queue.send(self.session.post(reply));
            }
            SessionMessage::Malformed => self.pending.push_all(),
            SessionMessage::Question(_)
            | SessionMessage::Changed(_)
            | SessionMessage::Response { .. }
            | SessionMessage::Nothing => {}
        }
    }

    /// Handles the complete response to a `resources/subscribe`; a refused resource is not honored.
    fn handle_subscribed(
        &mut self,
        (uri, outcome): (Uri, SubscribeOutcome),
        queue: &mut RequestQueue,
        now: Millis,
    ) {
        self.advanced_at = now;
        match outcome {
            SubscribeOutcome::Accepted => {}
            SubscribeOutcome::Refused => {
                let honored = &mut self.honored.resource_subscriptions;
                honored.retain(|other| *other != uri);
            }
            SubscribeOutcome::Failed(end, retry) => {
                self.retry = retry.or(self.retry);
                self.settle(end);
                return self.leave(queue);
            }
        }
        self.ask_more(queue);
    }

    /// Subscribes to more resources. Once all of them have a response, the subscription is open.
    fn ask_more(&mut self, queue: &mut RequestQueue) {
        self.subscribes.ask(&self.session, queue);
        if self.subscribes.is_done() && !self.pending.is_open() {
            self.open(queue);
        }
    }

    fn open(&mut self, queue: &mut RequestQueue) {
        self.pending.open(self.honored.clone());
        if self.honored.is_empty() {
            self.settle(CloseReason::Graceful);
            self.leave(queue);
        }
    }

    pub(crate) fn settle(&mut self, end: CloseReason) {
        self.stream = SessionStream::Ended;
        self.pending.end(end);
    }
}
