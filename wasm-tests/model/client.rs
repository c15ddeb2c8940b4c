use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    id::RequestId,
    listen::{ClientEndReason, ClientStream, Incoming, Notice},
};

use crate::{
    host::{Host, Written},
    invariant::{Violation, ensure},
    key::{KEYS, Key, Keys},
    ledger::Ledger,
    request::{Asks, Request},
    schedule::Act,
    session::Session,
    watching::Watching,
    wire::Said,
};

/// One client: the stream that it reads, how it reads, and what it was promised.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) kind: Kind,
    pub(crate) host: Option<Host>,
    /// Whether it reads everything at once.
    pub(crate) is_eager: bool,
    /// Whether it has reported that it is ready.
    pub(crate) is_ready: bool,
    /// The keys that it wants.
    pub(crate) wanted: Keys,
    /// For each key, the event after which it was promised every event.
    pub(crate) promised: [Option<usize>; KEYS],
    /// For each key, the number of the last published event when the last cue that it read was
    /// written.
    pub(crate) read: [usize; KEYS],
    pub(crate) last_id: Option<String>,
    /// The number of the last published event when its last read output was written.
    pub(crate) seen: usize,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Subscription {
        raw_id: &'static str,
        stream: Box<ClientStream>,
    },
    /// A client of 2025: its streams come and go, and its session stays.
    Session(Session),
    Watch(Box<Watching>),
}

impl Client {
    pub(crate) fn subscriber(raw_id: &'static str, wanted: Keys) -> Self {
        let id = RequestId::from_raw(raw_id, 256).unwrap();
        let stream = Box::new(ClientStream::new(id, wanted.filter()));
        Self::new(Kind::Subscription { raw_id, stream }, wanted)
    }

    pub(crate) fn new(kind: Kind, wanted: Keys) -> Self {
        Self {
            kind,
            host: None,
            is_eager: true,
            is_ready: true,
            wanted,
            promised: [None; KEYS],
            read: [0; KEYS],
            last_id: None,
            seen: 0,
        }
    }

    pub(crate) fn watch_of(watching: Watching, wanted: Keys) -> Self {
        Self::new(Kind::Watch(Box::new(watching)), wanted)
    }

    pub(crate) fn watching(&mut self) -> Option<&mut Watching> {
        match &mut self.kind {
            Kind::Watch(watching) => Some(watching),
            _ => None,
        }
    }

    pub(crate) fn is_watching(&self) -> bool {
        matches!(self.kind, Kind::Watch(_))
    }

    /// The deadline of its watch.
    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        match &self.kind {
            Kind::Watch(watching) => watching.poll_timeout(),
            _ => None,
        }
    }

    /// Whether its watch has no stream, or takes one that is gone for open.
    pub(crate) fn is_late(&self) -> bool {
        let has_none = self.host.is_none();
        matches!(&self.kind, Kind::Watch(watching) if has_none || watching.is_late())
    }

    /// Its watch reports a change.
    pub(crate) fn receive_change(&mut self, event: &ServerEvent) -> Result<(), Violation> {
        let key = Key::of(event);
        self.read[key.index()] = self.seen;
        ensure(
            "a watch reports only what it watches",
            self.wanted.has(key),
            || key.name().to_owned(),
        )
    }

    /// The id of its listen request.
    pub(crate) fn listen_id(&self) -> Option<RequestId> {
        match &self.kind {
            Kind::Subscription { raw_id, .. } => RequestId::from_raw(raw_id, 256),
            _ => None,
        }
    }

    /// Whether an act would change anything for it.
    pub(crate) fn can(&self, act: Act) -> bool {
        let session = self.in_session();
        match act {
            Act::Return => session.is_some() && self.host.is_none(),
            Act::TakeOver => session.is_some() && self.host.is_some() && self.last_id.is_some(),
            Act::Watch | Act::Unwatch | Act::EndSession | Act::Ping => session.is_some(),
            Act::Ready => session.is_some() && !self.is_ready,
            Act::Pause => self.host.is_some() && self.is_eager,
            Act::Resume => !self.is_eager,
            _ => self.host.is_some(),
        }
    }

    /// The request of the client.
    pub(crate) fn request(&self, asks: Asks) -> Request {
        match &self.kind {
            Kind::Subscription { raw_id, .. } => Request::listen(raw_id, &self.wanted.filter()),
            Kind::Watch(watching) => watching.request(),
            Kind::Session(session) => {
                let id = session.id.as_deref().filter(|_| asks != Asks::Initialize);
                let last_id = self.last_id.as_deref().filter(|_| asks == Asks::Open);
                Request::of_session(asks, id, last_id)
            }
        }
    }

    pub(crate) fn is_session(&self) -> bool {
        matches!(self.kind, Kind::Session(_))
    }

    pub(crate) fn read_up_to(&self) -> [usize; KEYS] {
        self.read
    }

    /// Its stream may not deliver any resource.
    pub(crate) fn deny_resources(&mut self) {
        for key in self.wanted.resources().collect::<Vec<_>>() {
            self.wanted = self.wanted.without(key);
        }
        if let Kind::Subscription { raw_id, stream } = &mut self.kind {
            let id = RequestId::from_raw(raw_id, 256).unwrap();
            **stream = ClientStream::new(id, self.wanted.filter());
        }
    }

    /// Events published from now on are promised, unless they were before.
    pub(crate) fn promise(&mut self, published: usize) {
        for key in self.wanted.iter() {
            self.promised[key.index()].get_or_insert(published);
        }
    }

    /// Whether event `number` of a key was promised.
    pub(crate) fn is_promised(&self, key: Key, number: usize) -> bool {
        self.wanted.has(key) && self.promised[key.index()].is_some_and(|after| number > after)
    }

    /// The client takes one write; returns whether the stream continues.
    pub(crate) fn read(&mut self, written: Written, now: Millis) -> Result<bool, Violation> {
        self.seen = written.now;
        if let Some(watching) = self.watching() {
            return Ok(watching.read(&written.reads, now));
        }
        for read in written.reads {
            if read.id.is_some() {
                self.last_id = read.id;
            }
            if let Said::Changed(event) = &read.said {
                self.check_asked(Key::of(event))?;
                self.read[Key::of(event).index()] = written.now;
            }
            if read.said == Said::End {
                return Ok(false);
            }
            self.receive(read.said)?;
        }
        Ok(true)
    }

    /// The client of the core has to classify its messages in the same way.
    fn receive(&mut self, said: Said) -> Result<(), Violation> {
        let Kind::Subscription { stream, .. } = &mut self.kind else {
            return Ok(());
        };
        let (incoming, expected) = match said {
            Said::Acknowledged(filter) => {
                let wanted = self.wanted.filter();
                (Incoming::Acknowledged(filter), Notice::Acknowledged(wanted))
            }
            Said::Changed(event) => (Incoming::Changed(event.clone()), Notice::Changed(event)),
            Said::Result => (Incoming::Result, Notice::Ended(ClientEndReason::Graceful)),
            Said::Opened | Said::KeepAlive | Said::End => return Ok(()),
        };
        let notice = stream.handle_message(incoming);
        ensure(
            "a client understands its messages",
            notice == Some(expected),
            || format!("it took it for {notice:?}"),
        )
    }

    /// Every promised and published event has been received, through the last cue that the client
    /// read. A watch is promised events published after it was first live: before that, its client
    /// knows of no stream.
    pub(crate) fn check_received(&self, ledger: &Ledger) -> Result<(), Violation> {
        for key in self.wanted.iter() {
            let last = ledger.last(key);
            let is_before = match &self.kind {
                Kind::Watch(watching) => watching.live_from().is_none_or(|from| last <= from),
                _ => false,
            };
            let is_promised = !is_before && self.is_promised(key, last);
            let is_received = !is_promised || self.read[key.index()] >= last;
            ensure("no silent loss", is_received, || {
                format!("event {last} of {} was never followed by a cue", key.name())
            })?;
            let is_latest =
                !key.is_task() || !self.is_promised(key, last) || self.has_state(key, last);
            ensure("the latest state of a task is delivered", is_latest, || {
                format!("state {last} of {} was not", key.name())
            })?;
        }
        Ok(())
    }

    fn has_state(&self, key: Key, number: usize) -> bool {
        let host = self.host.as_ref();
        host.is_none_or(|host| host.pending().written(key) >= number)
    }
}
