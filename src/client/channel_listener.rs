use alloc::collections::VecDeque;
use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    capabilities::Capabilities,
    clock::Millis,
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
    listen::{ClientEnd, ClientStream, Headers, Incoming, Notice, concerns},
    message::{self, PROTOCOL_VERSION, SUBSCRIBE, UNSUBSCRIBE},
    uri::Uri,
};

use super::{
    end::{End, Loss},
    era::{self, Era, Verdict, Versions},
    joining::Joining,
    options::Options,
    pending::Pending,
    session::{self, Heard, Session, SessionError},
    subscription::Output,
};

/// One subscription on a channel of messages, such as stdio, to a server of whichever revision.
///
/// Each message of the server goes to [`ChannelListener::handle_message`]; after each `handle_*` call
/// send what [`ChannelListener::poll_message`] has, then poll [`ChannelListener::poll_output`].
#[derive(Debug)]
pub struct ChannelListener {
    requested: SubscriptionFilter,
    options: Options,
    ids: Ids,
    step: Step,
    messages: VecDeque<String>,
    honored: SubscriptionFilter,
    pending: Pending,
    acknowledged: Option<SubscriptionFilter>,
    end: Option<End>,
    version: Option<&'static str>,
    since: Millis,
    /// Whether nobody else answers the server's questions.
    is_own: bool,
}

#[derive(Debug)]
enum Step {
    Discovering {
        id: RequestId,
        tried: Vec<Box<str>>,
    },
    Initializing(RequestId),
    Modern(ClientStream),
    /// The resources that were asked for and not answered yet.
    Session(Vec<(RequestId, Uri)>),
    Ended,
}

impl ChannelListener {
    /// Listens for `requested`; `ids` are for its requests, apart from all others on the channel.
    pub fn new(
        requested: SubscriptionFilter,
        options: Options,
        joining: Joining,
        ids: Ids,
        now: Millis,
    ) -> Self {
        let nothing = SubscriptionFilter::default();
        let mut listener = Self {
            requested,
            options,
            ids,
            step: Step::Ended,
            messages: VecDeque::new(),
            pending: Pending::new(nothing.clone(), 0),
            honored: nothing,
            acknowledged: None,
            end: None,
            version: None,
            since: now,
            is_own: !matches!(joining, Joining::Session(_)),
        };
        match joining {
            Joining::Discover => listener.discover(vec![PROTOCOL_VERSION.into()]),
            Joining::Modern => listener.listen(),
            Joining::Legacy => listener.initialize(),
            Joining::Session(capabilities) => listener.subscribe(capabilities),
        }
        listener
    }

    /// A message of the server; the answer is whether it was for this subscription alone.
    pub fn handle_message(&mut self, message: &[u8], now: Millis) -> bool {
        match &mut self.step {
            Step::Ended => false,
            Step::Modern(stream) => match Incoming::read(message, &self.options.limits) {
                Some((id, incoming)) if id == *stream.id() => {
                    self.handle_incoming(incoming);
                    true
                }
                _ => false,
            },
            Step::Session(_) => self.handle_plain(message),
            Step::Discovering { id, .. } | Step::Initializing(id) => {
                let is_answer =
                    session::answered(message, &self.options.limits).as_ref() == Some(id);
                if is_answer {
                    self.judge(Some(message), now);
                }
                is_answer
            }
        }
    }

    /// A message was lost, which may have been any change.
    pub fn handle_gap(&mut self) {
        self.pending.push_all();
    }

    /// The server is gone.
    pub fn handle_exit(&mut self) {
        if !self.is_ended() {
            self.settle(End::Lost(Loss::Disconnected));
        }
    }

    /// The transport was refused a message, with this HTTP status.
    pub fn handle_refusal(&mut self, status: u16) {
        if !self.is_ended() {
            self.settle(End::refused(status, None, String::new()));
        }
    }

    /// The moment of [`ChannelListener::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.poll_timeout().is_none_or(|deadline| deadline > now) {
            return;
        }
        if matches!(self.step, Step::Discovering { .. }) {
            self.judge(None, now);
        } else {
            self.cancel();
            self.settle(End::Lost(Loss::NotAcknowledged));
        }
    }

    /// When to call [`ChannelListener::handle_timeout`]; `None` while nothing has a limit.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let limit = self.options.acknowledgment;
        let is_opening = match &self.step {
            Step::Discovering { .. } => return Some(self.since + limit_of_probe(limit)),
            Step::Initializing(_) => true,
            Step::Modern(stream) => stream.is_opening(),
            Step::Session(unanswered) => !unanswered.is_empty(),
            Step::Ended => false,
        };
        (is_opening && limit > Millis(0)).then(|| self.since + limit)
    }

    /// Gives the subscription up: the server is told, and nothing more is told of it.
    pub fn cancel(&mut self) {
        match core::mem::replace(&mut self.step, Step::Ended) {
            Step::Modern(mut stream) => self.messages.extend(stream.cancel()),
            Step::Session(_) => {
                for uri in core::mem::take(&mut self.honored.resource_subscriptions) {
                    let id = self.ids.mint();
                    let request = message::resource_request(&id, UNSUBSCRIBE, &uri);
                    self.messages.push_back(request);
                }
            }
            Step::Discovering { .. } | Step::Initializing(_) | Step::Ended => {}
        }
        self.acknowledged = None;
        self.pending = Pending::new(SubscriptionFilter::default(), 0);
        self.end = None;
    }

    /// The next message for the server, or `None` until something is handled again.
    pub fn poll_message(&mut self) -> Option<String> {
        self.messages.pop_front()
    }

    /// What to tell next, or `None` until something is handled again.
    pub fn poll_output(&mut self) -> Option<Output> {
        if matches!(&self.step, Step::Session(unanswered) if !unanswered.is_empty()) {
            return None;
        }
        let acknowledged = self.acknowledged.take().map(Output::Acknowledged);
        acknowledged
            .or_else(|| self.pending.pop().map(Output::Changed))
            .or_else(|| self.end.take().map(Output::Ended))
    }

    /// The revision that the server speaks; `None` until that is known.
    pub fn version(&self) -> Option<&'static str> {
        self.version
    }

    /// The id of the listen request, where there is one.
    pub fn id(&self) -> Option<&RequestId> {
        match &self.step {
            Step::Modern(stream) => Some(stream.id()),
            _ => None,
        }
    }

    /// How many ids were given by now.
    pub fn minted(&self) -> u64 {
        self.ids.minted()
    }

    /// Whether it has ended; what is left to tell may still be polled.
    pub fn is_ended(&self) -> bool {
        matches!(self.step, Step::Ended)
    }

    fn discover(&mut self, tried: Vec<Box<str>>) {
        let id = self.ids.mint();
        let version = tried.last().map(|version| &**version).unwrap_or_default();
        let info = self.options.client_info.as_deref();
        let request = message::probe_request(&id, version, info);
        self.messages.push_back(request);
        self.step = Step::Discovering { id, tried };
    }

    fn initialize(&mut self) {
        let id = self.ids.mint();
        let request = session::open(&id, self.options.client_info.as_deref());
        self.messages.extend(request.body);
        self.step = Step::Initializing(id);
    }

    fn listen(&mut self) {
        self.version = Some(PROTOCOL_VERSION);
        let stream = ClientStream::new(self.ids.mint(), self.requested.clone());
        let request = stream.request(self.options.client_info.as_deref());
        self.messages.push_back(request);
        self.step = Step::Modern(stream);
    }

    fn subscribe(&mut self, capabilities: Capabilities) {
        self.version.get_or_insert(LATEST_SESSION);
        self.honored = self.requested.honored(capabilities, None);
        self.honored.task_ids.clear();
        self.pending = Pending::new(self.honored.clone(), self.options.limits.uris);
        let mut unanswered = Vec::new();
        for uri in self.honored.resource_subscriptions.clone() {
            let id = self.ids.mint();
            let request = message::resource_request(&id, SUBSCRIBE, &uri);
            self.messages.push_back(request);
            unanswered.push((id, uri));
        }
        self.step = Step::Session(unanswered);
        self.open_if_answered();
    }

    /// The answer to the question about the server; `None`: there was none in time.
    fn judge(&mut self, answer: Option<&[u8]>, now: Millis) {
        self.since = now;
        match core::mem::replace(&mut self.step, Step::Ended) {
            Step::Discovering { tried, .. } => self.choose(answer, tried),
            Step::Initializing(_) => self.begin(answer.unwrap_or_default()),
            step => self.step = step,
        }
    }

    fn choose(&mut self, answer: Option<&[u8]>, mut tried: Vec<Box<str>>) {
        let versions: Vec<&str> = tried.iter().map(|version| &**version).collect();
        match era::of_line(answer, &versions, Versions::OURS) {
            Verdict::Settled(Era::Modern(_)) => self.listen(),
            Verdict::Settled(Era::Legacy) => self.initialize(),
            Verdict::Retry(version) => {
                tried.push(version);
                self.discover(tried);
            }
            Verdict::NoCommonVersion(_) | Verdict::Unknown => {
                self.settle(End::refused(0, Some(UNSUPPORTED_VERSION), String::new()));
            }
        }
    }

    fn begin(&mut self, answer: &[u8]) {
        match Session::from_answer(200, &Headers::new(""), answer) {
            Ok(session) => {
                self.version = Some(session.version);
                self.messages.push_back(message::initialized());
                self.subscribe(session.capabilities);
            }
            Err(SessionError::Refused(refusal)) => {
                self.settle(End::refused(0, refusal.code, refusal.text));
            }
            Err(SessionError::UnsupportedVersion) => {
                self.settle(End::refused(0, Some(UNSUPPORTED_VERSION), String::new()));
            }
            Err(_) => self.settle(End::Lost(Loss::InvalidAnswer)),
        }
    }

    fn handle_incoming(&mut self, incoming: Incoming) {
        let Step::Modern(stream) = &mut self.step else {
            return;
        };
        let was_opening = stream.is_opening();
        let loss = match incoming {
            Incoming::Cancelled => Loss::Cancelled,
            _ => Loss::InvalidAnswer,
        };
        match stream.handle_message(incoming) {
            None => {}
            Some(Notice::Acknowledged(honored)) => self.acknowledge(honored),
            Some(Notice::Changed(event)) => self.pending.push(&event),
            Some(Notice::Malformed) if was_opening => {
                self.cancel();
                self.settle(End::Lost(Loss::MalformedAcknowledgment));
            }
            Some(Notice::Malformed) => self.pending.push_all(),
            Some(Notice::Ended(ClientEnd::Graceful)) => {
                if was_opening {
                    self.acknowledged = Some(SubscriptionFilter::default());
                }
                self.settle(End::Graceful);
            }
            Some(Notice::Ended(ClientEnd::Lost)) => self.settle(End::Lost(loss)),
            Some(Notice::Ended(ClientEnd::Refused { code, text })) => {
                self.settle(End::refused(0, Some(code), text));
            }
        }
    }

    /// A message on a session. Changes are everybody's; the answers to our requests are ours.
    fn handle_plain(&mut self, message: &[u8]) -> bool {
        if let Some(id) = session::answered(message, &self.options.limits) {
            return self.handle_answer(&id, message);
        }
        match session::heard(message, &self.options.limits) {
            Heard::Changed(event) if concerns(&self.honored, &event) => self.pending.push(&event),
            Heard::Malformed => self.pending.push_all(),
            Heard::Question(answer) if self.is_own => self.messages.push_back(answer),
            Heard::Question(_) | Heard::Changed(_) | Heard::Nothing => {}
        }
        false
    }

    fn handle_answer(&mut self, id: &RequestId, message: &[u8]) -> bool {
        let Step::Session(unanswered) = &mut self.step else {
            return false;
        };
        let Some(place) = unanswered.iter().position(|(own, _)| own == id) else {
            return false;
        };
        let (_, uri) = unanswered.swap_remove(place);
        if !session::is_taken(message) {
            let honored = &mut self.honored.resource_subscriptions;
            honored.retain(|other| *other != uri);
        }
        self.open_if_answered();
        true
    }

    /// Once all resources are answered for, the subscription is open.
    fn open_if_answered(&mut self) {
        if matches!(&self.step, Step::Session(unanswered) if unanswered.is_empty()) {
            self.acknowledge(self.honored.clone());
            if self.honored.is_empty() {
                self.settle(End::Graceful);
            }
        }
    }

    /// What a session told before is told after.
    fn acknowledge(&mut self, honored: SubscriptionFilter) {
        let fresh = Pending::new(honored.clone(), self.options.limits.uris);
        let mut held = core::mem::replace(&mut self.pending, fresh);
        while let Some(event) = held.pop() {
            if concerns(&honored, &event) {
                self.pending.push(&event);
            }
        }
        self.acknowledged = Some(honored);
    }

    fn settle(&mut self, end: End) {
        self.step = Step::Ended;
        self.end = Some(end);
    }
}

/// A server of an earlier revision may pass over what comes before `initialize`.
fn limit_of_probe(acknowledgment: Millis) -> Millis {
    if acknowledgment > Millis(0) {
        LONGEST_PROBE.min(Millis(acknowledgment.0 / 2))
    } else {
        LONGEST_PROBE
    }
}

const LONGEST_PROBE: Millis = Millis(5_000);
const LATEST_SESSION: &str = "2025-11-25";
const UNSUPPORTED_VERSION: i32 = -32_022;
