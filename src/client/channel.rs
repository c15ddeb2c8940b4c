use alloc::string::String;
use core::time::Duration;

use crate::{
    clock::Millis,
    vocabulary::{filter::SubscriptionFilter, id::Ids},
};

use super::{
    end::{CloseReason, Loss},
    http::request::HttpRequest,
    listener::{Carrier, Listener, ListenerStep},
    options::SubscriptionOptions,
    probe_request::{ProbeRequest, ProbeResponse},
    server_hint::ServerHint,
    session::{self, SessionMessage},
};

/// A listener on a message channel, such as stdio.
impl Listener {
    /// Listens for `requested` on a channel. `ids` generates the ids of its requests, which must
    /// differ from all others on the channel. No limit on silence applies.
    pub fn on_channel(
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
        hint: ServerHint,
        ids: Ids,
        now: Millis,
    ) -> Self {
        let mut listener = Self::idle_on_channel(requested, options);
        listener.queue.ids = ids;
        listener.begin(hint, now);
        listener
    }

    /// Creates a listener that has no channel yet.
    pub(super) fn idle_on_channel(
        requested: SubscriptionFilter,
        options: SubscriptionOptions,
    ) -> Self {
        let options = SubscriptionOptions {
            silence: Duration::ZERO,
            ..options
        };
        Self::idle(Carrier::Channel, requested, options, (Ids::default(), 0))
    }

    /// Handles a message from the server on the channel. Returns whether the message was for this
    /// subscription alone.
    pub fn handle_message(&mut self, message: &[u8], now: Millis) -> bool {
        match &mut self.step {
            ListenerStep::Asking { id: own, .. } => {
                let read = session::read_message(message, &self.options.limits);
                let is_response = matches!(read, SessionMessage::Response { id, .. } if id == *own);
                if is_response {
                    self.handle_channel_response(Some(message), now);
                }
                is_response
            }
            ListenerStep::Modern { subscription, .. } => {
                let is_ours = subscription.handle_line(message);
                self.send_cancellation();
                is_ours
            }
            ListenerStep::Session(session) => session.handle_line(message, &mut self.queue, now),
            ListenerStep::Ended(_) => false,
        }
    }

    /// Handles the loss of a message on the channel: it may have been any change.
    pub fn handle_gap(&mut self) {
        self.report_all();
    }

    /// Handles the end of the channel: nothing more can be sent on it.
    pub fn handle_exit(&mut self) {
        self.break_off(CloseReason::Lost(Loss::Disconnected));
        self.queue.clear();
    }

    /// Handles the channel's refusal of a message, with this HTTP status.
    pub fn handle_refusal(&mut self, status: u16) {
        self.break_off(CloseReason::refused(status, None, String::new()));
    }

    /// Whether the response to `server/discover` is pending on a channel, where a server of an
    /// earlier revision may ignore it.
    pub(super) fn is_probing(&self) -> bool {
        let ListenerStep::Asking { question, .. } = &self.step else {
            return false;
        };
        self.carrier == Carrier::Channel && matches!(question, ProbeRequest::Discover { .. })
    }

    /// Evaluates the response to the pending question; `None` if none came in time.
    pub(super) fn handle_channel_response(&mut self, line: Option<&[u8]>, now: Millis) {
        if let Some((question, _)) = self.take_question() {
            self.follow(question.next(ProbeResponse::Message(line)), now);
        }
    }

    /// Ends the subscription. A session that continues without it unsubscribes from its resources.
    fn break_off(&mut self, end: CloseReason) {
        match &mut self.step {
            ListenerStep::Asking { .. } => self.end(end, None),
            ListenerStep::Modern { subscription, .. } => {
                subscription.settle(end);
                subscription.poll_cancellation();
            }
            ListenerStep::Session(session) if !session.is_ended() => {
                session.leave(&mut self.queue);
                session.settle(end);
            }
            ListenerStep::Session(_) | ListenerStep::Ended(_) => {}
        }
    }

    /// Sends the server a cancellation on a channel if the subscription was given up.
    pub(super) fn send_cancellation(&mut self) {
        if let ListenerStep::Modern { subscription, .. } = &mut self.step
            && self.carrier == Carrier::Channel
            && let Some(cancellation) = subscription.poll_cancellation()
        {
            self.queue.send(HttpRequest::post(cancellation));
        }
    }
}
