use alloc::{borrow::ToOwned, boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
    listen::Headers,
    message::PROTOCOL_VERSION,
};

use super::{
    end::{End, Loss},
    era::{self, Era, Verdict, Versions},
    options::Options,
    reply::Reply,
    session::{self, Session, SessionError},
    session_listener::SessionListener,
    subscription::{Output, Subscription},
    wire::{Call, Transfer, Wire},
};

/// One subscription over HTTP to a server of whichever revision: asks which one it speaks, then
/// listens in its way.
///
/// Several requests may be under way, so each has a number: what comes of it goes to the `handle_*`
/// methods with that. After each of them poll [`Listener::poll_transfer`] until it answers `None`,
/// then [`Listener::poll_output`] whenever its owner has time: what waits there collapses. Once
/// [`Listener::is_ended`], close every response; what is still to be sent is a farewell.
#[derive(Debug)]
pub struct Listener {
    requested: SubscriptionFilter,
    options: Options,
    approach: Approach,
    seed: u64,
    wire: Wire,
    step: Step,
    retry_after: Option<Millis>,
}

/// How a server is approached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// It is asked with `server/discover`; to a page, no answer at all may come from a server of an
    /// earlier revision (see [`era::of_no_response`]).
    Discover {
        /// Whether a browser stands between.
        is_page: bool,
    },
    /// It is known to speak 2026-07-28.
    Modern,
    /// It is known to keep sessions.
    Legacy,
}

#[derive(Debug)]
enum Step {
    /// A question about the server awaits its answer.
    Asking {
        call: Call,
        question: Question,
        reply: Reply,
        since: Millis,
    },
    Modern {
        call: Call,
        subscription: Box<Subscription>,
    },
    Session(Box<SessionListener>),
    /// The end is told once.
    Ended(Option<End>),
}

#[derive(Debug)]
enum Question {
    /// Whether it speaks the last of these versions.
    Discover {
        is_page: bool,
        tried: Vec<Box<str>>,
    },
    Initialize,
}

impl Listener {
    /// Listens for `requested`; `ids` are for its requests, `seed` is any random number.
    pub fn new(
        requested: SubscriptionFilter,
        options: Options,
        approach: Approach,
        (ids, seed): (Ids, u64),
        now: Millis,
    ) -> Self {
        let mut listener = Self {
            requested,
            options,
            approach,
            seed,
            wire: Wire::new(ids),
            step: Step::Ended(None),
            retry_after: None,
        };
        listener.begin(now);
        listener
    }

    /// Asks the server as at first, with new ids and numbers.
    pub(super) fn begin(&mut self, now: Millis) {
        self.retry_after = None;
        match self.approach {
            Approach::Discover { is_page } => {
                self.discover(is_page, vec![PROTOCOL_VERSION.into()], now);
            }
            Approach::Modern => self.listen(now),
            Approach::Legacy => self.initialize(now),
        }
    }

    /// The answer to `call` begins.
    ///
    /// A redirect that was not followed (in browsers its status is 0) is the end: whoever holds credentials follows none.
    pub fn handle_head(&mut self, call: Call, status: u16, headers: &Headers<'_>, now: Millis) {
        if is_redirect(status) && !self.is_ended() {
            return self.end(End::Lost(Loss::Redirected), None);
        }
        match &mut self.step {
            Step::Asking {
                call: own, reply, ..
            } if *own == call => reply.begin(status, headers),
            Step::Modern {
                call: own,
                subscription,
            } if *own == call => subscription.handle_head(status, headers, now),
            Step::Session(session) => {
                session.handle_head(call, (status, headers), &mut self.wire, now);
            }
            _ => {}
        }
    }

    /// More of the body of the answer to `call` came.
    pub fn handle_bytes(&mut self, call: Call, bytes: &[u8], now: Millis) {
        match &mut self.step {
            Step::Asking {
                call: own, reply, ..
            } if *own == call => {
                reply.push(bytes, self.options.bounds.event_bytes);
                if reply.is_too_large() {
                    self.end(End::Lost(Loss::AnswerTooLarge), None);
                }
            }
            Step::Modern {
                call: own,
                subscription,
            } if *own == call => subscription.handle_bytes(bytes, now),
            Step::Session(session) => session.handle_bytes(call, bytes, &mut self.wire, now),
            _ => {}
        }
    }

    /// The answer to `call` came to its end or broke off, or there was none.
    pub fn handle_end(&mut self, call: Call, now: Millis) {
        match &mut self.step {
            Step::Asking { call: own, .. } if *own == call => self.judge(now),
            Step::Modern {
                call: own,
                subscription,
            } if *own == call => subscription.handle_end(),
            Step::Session(session) => session.handle_end(call, &mut self.wire, now),
            _ => {}
        }
    }

    /// The moment of [`Listener::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        let is_due = self.poll_timeout().is_some_and(|deadline| deadline <= now);
        match &mut self.step {
            Step::Asking { .. } if is_due => self.end(End::Lost(Loss::NotAcknowledged), None),
            Step::Modern { subscription, .. } => subscription.handle_timeout(now),
            Step::Session(session) if is_due => session.handle_timeout(&mut self.wire, now),
            _ => {}
        }
    }

    /// Gives the subscription up: nothing more is told of it.
    pub fn cancel(&mut self) {
        if !self.is_ended() {
            self.wire.clear();
        }
        if let Step::Session(session) = &mut self.step {
            session.leave(&mut self.wire);
        }
        self.step = Step::Ended(None);
    }

    /// Something may have been missed: tells all that is honored once.
    pub(super) fn tell_all(&mut self) {
        match &mut self.step {
            Step::Modern { subscription, .. } => subscription.tell_all(),
            Step::Session(session) => session.tell_all(),
            Step::Asking { .. } | Step::Ended(_) => {}
        }
    }

    /// What to do on the network next, or `None` until something is handled again.
    pub fn poll_transfer(&mut self) -> Option<Transfer> {
        self.wire.pop()
    }

    /// What to tell next, or `None` until something is handled again.
    pub fn poll_output(&mut self) -> Option<Output> {
        match &mut self.step {
            Step::Asking { .. } => None,
            Step::Modern { subscription, .. } => subscription.poll_output(),
            Step::Session(session) => session.poll_output(),
            Step::Ended(end) => end.take().map(Output::Ended),
        }
    }

    /// When to call [`Listener::handle_timeout`]; `None` while nothing has a limit.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let limit = self.options.acknowledgment;
        match &self.step {
            Step::Asking { since, .. } => (limit > Millis(0)).then(|| *since + limit),
            Step::Modern { subscription, .. } => subscription.poll_timeout(),
            Step::Session(session) => session.poll_timeout(),
            Step::Ended(_) => None,
        }
    }

    /// The revision that the server speaks; `None` until that is known.
    pub fn version(&self) -> Option<&'static str> {
        match &self.step {
            Step::Modern { .. } => Some(PROTOCOL_VERSION),
            Step::Session(session) => Some(session.version()),
            Step::Asking { .. } | Step::Ended(_) => None,
        }
    }

    /// How long the server asks to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Millis> {
        match &self.step {
            Step::Modern { subscription, .. } => subscription.retry_after(),
            Step::Session(session) => session.retry_after(),
            Step::Asking { .. } | Step::Ended(_) => self.retry_after,
        }
    }

    /// The id of the listen request; a session has none, and nothing before the server's revision is known.
    pub fn id(&self) -> Option<&RequestId> {
        match &self.step {
            Step::Modern { subscription, .. } => Some(subscription.id()),
            _ => None,
        }
    }

    /// How many ids were given by now, for whoever goes on with [`Ids::after`].
    pub fn minted(&self) -> u64 {
        self.wire.ids.minted()
    }

    /// Whether it has ended; what is left to tell may still be polled.
    pub fn is_ended(&self) -> bool {
        match &self.step {
            Step::Asking { .. } => false,
            Step::Modern { subscription, .. } => subscription.is_ended(),
            Step::Session(session) => session.is_ended(),
            Step::Ended(_) => true,
        }
    }

    fn discover(&mut self, is_page: bool, tried: Vec<Box<str>>, now: Millis) {
        let id = self.wire.ids.mint();
        let version = tried.last().map(|version| &**version).unwrap_or_default();
        let request = era::probe(&id, version, self.options.client_info.as_deref());
        let call = self.wire.send(request);
        self.ask(call, Question::Discover { is_page, tried }, now);
    }

    fn initialize(&mut self, now: Millis) {
        let id = self.wire.ids.mint();
        let request = session::open(&id, self.options.client_info.as_deref());
        let call = self.wire.send(request);
        self.ask(call, Question::Initialize, now);
    }

    fn ask(&mut self, call: Call, question: Question, now: Millis) {
        self.step = Step::Asking {
            call,
            question,
            reply: Reply::default(),
            since: now,
        };
    }

    fn listen(&mut self, now: Millis) {
        let id = self.wire.ids.mint();
        let requested = self.requested.clone();
        let subscription = Subscription::new(id, requested, self.options.clone(), now);
        let call = self.wire.send(subscription.request());
        self.step = Step::Modern {
            call,
            subscription: Box::new(subscription),
        };
    }

    /// The answer to the question is whole.
    fn judge(&mut self, now: Millis) {
        let asked = core::mem::replace(&mut self.step, Step::Ended(None));
        let Step::Asking {
            question, reply, ..
        } = asked
        else {
            return;
        };
        match question {
            Question::Discover { is_page, tried } => self.choose(&reply, is_page, tried, now),
            Question::Initialize => self.enter(&reply, now),
        }
    }

    fn choose(&mut self, reply: &Reply, is_page: bool, mut tried: Vec<Box<str>>, now: Millis) {
        let versions: Vec<&str> = tried.iter().map(|version| &**version).collect();
        let verdict = reply.status().map_or_else(
            || era::of_no_response(is_page),
            |status| {
                let head = (status, reply.media());
                era::of_response(head, reply.body(), &versions, Versions::OURS)
            },
        );
        match verdict {
            Verdict::Settled(Era::Modern(_)) => self.listen(now),
            Verdict::Settled(Era::Legacy) => self.initialize(now),
            Verdict::Retry(version) => {
                tried.push(version);
                self.discover(is_page, tried, now);
            }
            Verdict::NoCommonVersion(_) => self.end(no_common_version(reply), None),
            Verdict::Unknown => self.end(reply.end(), reply.retry_after()),
        }
    }

    fn enter(&mut self, reply: &Reply, now: Millis) {
        let Some(status) = reply.status() else {
            return self.end(reply.end(), None);
        };
        match Session::from_answer(status, &reply.headers(), reply.body()) {
            Ok(session) => {
                let options = self.options.clone();
                let begun = SessionListener::new(session, &self.requested, options, self.seed, now);
                self.step = Step::Session(Box::new(begun.started(&mut self.wire)));
            }
            Err(SessionError::Refused(refusal)) => {
                self.end(End::Refused(refusal), reply.retry_after());
            }
            Err(SessionError::UnsupportedVersion) => self.end(no_common_version(reply), None),
            Err(_) => self.end(End::Lost(Loss::InvalidAnswer), None),
        }
    }

    fn end(&mut self, end: End, retry_after: Option<Millis>) {
        self.retry_after = retry_after;
        self.step = Step::Ended(Some(end));
    }
}

/// 304 is none: it has no place to go to.
fn is_redirect(status: u16) -> bool {
    matches!(status, 0 | 301 | 302 | 303 | 307 | 308)
}

/// No version in common is the same tomorrow.
fn no_common_version(reply: &Reply) -> End {
    let status = reply.status().unwrap_or_default();
    End::refused(
        status,
        Some(UNSUPPORTED_VERSION),
        "no version in common".to_owned(),
    )
}

const UNSUPPORTED_VERSION: i32 = -32_022;
