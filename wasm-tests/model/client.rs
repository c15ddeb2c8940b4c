use mcp_listen::{
    id::RequestId,
    listen::{ClientEnd, ClientStream, Incoming, Notice},
};

use crate::{
    host::{Host, Written},
    invariant::{Violation, hold},
    key::{KEYS, Key, Keys},
    ledger::Ledger,
    schedule::Act,
    wire::Said,
};

/// One client: the stream that it reads, how it reads, and what it was promised.
#[derive(Debug)]
pub(crate) struct Client {
    kind: Kind,
    pub(crate) host: Option<Host>,
    /// Whether it reads whatever comes at once.
    pub(crate) is_eager: bool,
    /// Whether it said that it is ready to hear anything.
    pub(crate) is_ready: bool,
    /// What it wants to hear now.
    pub(crate) wanted: Keys,
    /// For each key, the event after which it was promised to hear of every one.
    promised: [Option<usize>; KEYS],
    /// For each key, up to which event the publisher had come when the last cue that it read was written.
    read: [usize; KEYS],
    last_id: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Subscription {
        raw_id: &'static str,
        stream: Box<ClientStream>,
    },
    /// A client of 2025: its stream comes and goes, and its session stays.
    Session,
}

impl Client {
    pub(crate) fn subscriber(raw_id: &'static str, wanted: Keys) -> Self {
        let id = RequestId::from_raw(raw_id, 256).unwrap();
        let stream = Box::new(ClientStream::new(id, wanted.filter()));
        Self::new(Kind::Subscription { raw_id, stream }, wanted)
    }

    pub(crate) fn session(wanted: Keys) -> Self {
        Self::new(Kind::Session, wanted)
    }

    fn new(kind: Kind, wanted: Keys) -> Self {
        Self {
            kind,
            host: None,
            is_eager: true,
            is_ready: true,
            wanted,
            promised: [None; KEYS],
            read: [0; KEYS],
            last_id: None,
        }
    }

    /// Whether an act would change anything for it.
    pub(crate) fn can(&self, act: Act) -> bool {
        match act {
            Act::Return => self.is_session() && self.host.is_none(),
            Act::Watch | Act::Unwatch => self.is_session(),
            Act::Ready => !self.is_ready,
            Act::Pause => self.host.is_some() && self.is_eager,
            Act::Resume => !self.is_eager,
            _ => self.host.is_some(),
        }
    }

    pub(crate) fn raw_id(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Subscription { raw_id, .. } => Some(raw_id),
            Kind::Session => None,
        }
    }

    pub(crate) fn is_session(&self) -> bool {
        matches!(self.kind, Kind::Session)
    }

    /// What it says that it has read, when it comes back.
    pub(crate) fn last_id(&self) -> Option<String> {
        self.last_id.clone()
    }

    pub(crate) fn read_up_to(&self) -> [usize; KEYS] {
        self.read
    }

    /// Its session begins, in place of an earlier one: it watches nothing yet, and of the lists everything is
    /// promised from now on.
    pub(crate) fn begin_anew(&mut self, published: usize, is_ready: bool) {
        self.wanted = self.wanted.lists();
        self.is_ready = is_ready;
        self.last_id = None;
        self.promised = [None; KEYS];
        self.promise(published);
    }

    /// What is published from now on is promised, unless it was before.
    pub(crate) fn promise(&mut self, published: usize) {
        for key in self.wanted.iter() {
            self.promised[key.index()].get_or_insert(published);
        }
    }

    /// A session watches something more, which is promised from now on.
    pub(crate) fn watch(&mut self, key: Key, published: usize) {
        let is_new = !self.wanted.has(key);
        self.wanted = self.wanted.with(key);
        if is_new {
            self.promised[key.index()] = Some(published);
        }
    }

    pub(crate) fn unwatch(&mut self, key: Key) {
        self.wanted = self.wanted.without(key);
        self.promised[key.index()] = None;
    }

    /// Whether event `number` of a key was promised.
    pub(crate) fn is_promised(&self, key: Key, number: usize) -> bool {
        self.wanted.has(key) && self.promised[key.index()].is_some_and(|after| number > after)
    }

    /// The client takes one write; the answer is whether the stream goes on.
    pub(crate) fn read(&mut self, written: Written) -> Result<bool, Violation> {
        for read in written.reads {
            if read.id.is_some() {
                self.last_id = read.id;
            }
            if let Said::Changed(event) = &read.said {
                self.read[Key::of(event).index()] = written.now;
            }
            if read.said == Said::End {
                return Ok(false);
            }
            self.hear(read.said)?;
        }
        Ok(true)
    }

    /// The core's own client has to understand what it hears, as what it is.
    fn hear(&mut self, said: Said) -> Result<(), Violation> {
        let Kind::Subscription { stream, .. } = &mut self.kind else {
            return Ok(());
        };
        let (incoming, expected) = match said {
            Said::Acknowledged(filter) => {
                let wanted = self.wanted.filter();
                (Incoming::Acknowledged(filter), Notice::Acknowledged(wanted))
            }
            Said::Changed(event) => (Incoming::Changed(event.clone()), Notice::Changed(event)),
            Said::Result => (Incoming::Result, Notice::Ended(ClientEnd::Graceful)),
            Said::Opened | Said::KeepAlive | Said::End => return Ok(()),
        };
        let notice = stream.handle_message(incoming);
        hold(
            "a client understands what it is sent",
            notice == Some(expected),
            || format!("it took it for {notice:?}"),
        )
    }

    /// Everything that was promised and published has been heard, by the cue that the client read last.
    pub(crate) fn check_heard(&self, ledger: &Ledger) -> Result<(), Violation> {
        for key in self.wanted.iter() {
            let last = ledger.last(key);
            let is_heard = !self.is_promised(key, last) || self.read[key.index()] >= last;
            hold("no silent loss", is_heard, || {
                format!("event {last} of {} was never followed by a cue", key.name())
            })?;
            let is_latest =
                !key.is_task() || !self.is_promised(key, last) || self.has_state(key, last);
            hold("of a task the latest state is told", is_latest, || {
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
