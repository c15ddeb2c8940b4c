use mcp_listen::{
    bus::{EdgeMessage, ShardId},
    clock::Millis,
    edge::{BusCall, Edge, Frame, Past, Patience},
    id::RequestId,
    legacy::event_id,
    listen::{Ending, ServerStream, Stamp},
};

use crate::{
    absence::Absence,
    bus::without_previous,
    invariant::{Violation, hold},
    key::{KEYS, Key, Keys, number_of},
    network::{self, Note, SocketId},
    pending::Pending,
    slip::{self, Slip},
    wire::{Read, Reader, Said},
};

/// What holds one stream in its isolate: the [`Edge`], its socket, and the one write that its reader has yet to take.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something of its own"
)]
#[derive(Debug)]
pub(crate) struct Host {
    edge: Edge,
    reader: Reader,
    session: Option<usize>,
    /// Whether it is of the version before: it notices nothing and ends with its bus.
    pub(crate) is_old: bool,
    /// Its isolate, whose line it may share.
    pub(crate) isolate: usize,
    pub(crate) shares: bool,
    /// Whether it is on the line.
    pub(crate) is_riding: bool,
    /// When the trial of its isolate says whether it may be.
    pub(crate) tried_at: Option<Millis>,
    /// Its own socket.
    pub(crate) socket: Option<SocketId>,
    /// Whether anything came over the socket, and how often it was sent on before that.
    pub(crate) has_heard: bool,
    pub(crate) hops: usize,
    /// How the world was when it was opened, where nothing stood in the way of that.
    pub(crate) opened_in: Option<u64>,
    /// The ends that somebody asked for.
    pub(crate) allowed: Vec<Ending>,
    /// The shard that it remembers; none: it asks the root.
    pub(crate) home: Option<ShardId>,
    /// How often it was sent elsewhere: that costs another wait.
    pub(crate) moves: usize,
    /// Until when the first attach has to be confirmed.
    opens_until: Millis,
    absence: Option<Absence>,
    pending: Pending,
    /// For each key, up to which event the publisher had come when its last cue was written.
    polled: [usize; KEYS],
    pub(crate) written: Option<Written>,
    /// Since when its reader takes nothing of that.
    pub(crate) written_at: Option<Millis>,
    progress: Progress,
}

/// One write: what it says, and up to which event the publisher had come.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) reads: Vec<Read>,
    pub(crate) now: usize,
}

impl Written {
    pub(crate) fn names(&self) -> String {
        let names = self.reads.iter().map(|read| read.said.name());
        names.collect::<Vec<_>>().join(", ")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Opening,
    Open,
    Answered,
    Ended,
}

/// What a stream is opened with.
pub(crate) struct Opening {
    pub(crate) keys: Keys,
    /// The JSON text of the listen request's id; a session's stream has none.
    pub(crate) id: Option<&'static str>,
    pub(crate) session: Option<usize>,
    /// The id of the last event that a session's client has read.
    pub(crate) last_id: Option<String>,
    pub(crate) is_old: bool,
    pub(crate) isolate: usize,
    pub(crate) shares: bool,
    pub(crate) keep_alive: Millis,
    pub(crate) verify: Millis,
    /// What the client has read up to now.
    pub(crate) read: [usize; KEYS],
}

impl Host {
    pub(crate) fn open(opening: Opening, now: Millis) -> Self {
        let id = opening.id.and_then(|raw| RequestId::from_raw(raw, 256));
        let (stamp, reader) = match id {
            Some(id) => (Stamp::Subscription(id.clone()), Reader::Subscription(id)),
            None => (Stamp::None, Reader::Session),
        };
        let mut stream =
            ServerStream::with_stamp(stamp, opening.keys.filter(), opening.keep_alive, now);
        stream.stall_after(STALL);
        let past = opening.last_id.map_or(Past::None, |id| {
            event_id::read(&id).map_or(Past::Unknown, Past::Since)
        });
        let mut edge = Edge::resuming(stream, past);
        if opening.session.is_some() {
            edge = edge.of_session();
        }
        edge.set_patience(Patience {
            attach: ATTACH,
            verify: if slip::has(Slip::NeverVerifies) {
                Millis(0)
            } else {
                opening.verify
            },
        });
        Self {
            edge,
            reader,
            session: opening.session,
            is_old: opening.is_old,
            isolate: opening.isolate,
            shares: opening.shares,
            is_riding: false,
            tried_at: None,
            socket: None,
            has_heard: false,
            hops: 0,
            opened_in: None,
            allowed: Vec::new(),
            home: None,
            moves: 0,
            opens_until: now + ATTACH,
            absence: None,
            pending: Pending::default(),
            polled: opening.read,
            written: None,
            written_at: None,
            progress: Progress::Opening,
        }
    }

    pub(crate) fn edge(&mut self) -> &mut Edge {
        &mut self.edge
    }

    pub(crate) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(crate) fn polled(&self, key: Key) -> usize {
        self.polled[key.index()]
    }

    pub(crate) fn is_opening(&mut self) -> bool {
        self.edge.stream().is_opening()
    }

    /// Whether the client was told that the stream is open, and no end of it.
    pub(crate) fn is_open(&self) -> bool {
        self.progress == Progress::Open
    }

    pub(crate) fn is_late(&mut self, now: Millis) -> bool {
        self.is_opening() && self.opens_until <= now
    }

    /// The frame that attaches; the stream of a session says which one it is.
    pub(crate) fn attach_message(&self) -> network::Frame {
        let text = self.edge.attach_message();
        let text = match (self.session, EdgeMessage::from_json(&text)) {
            (Some(session), Ok(EdgeMessage::Attach(mut attach))) => {
                attach.session = Some(session.to_string().into());
                EdgeMessage::Attach(attach).to_json()
            }
            _ => text,
        };
        let note = Note::Attach;
        network::Frame { text, note }
    }

    pub(crate) fn receive(&mut self, frame: network::Frame, now: Millis) -> Result<(), Violation> {
        self.has_heard = true;
        let network::Frame { text, note } = frame;
        let text = if self.is_old {
            without_previous(text)
        } else {
            text
        };
        // A frame that had to be dropped is counted on a real host, and nothing more.
        let _ = self.edge.handle_bus_message(&text, now);
        if !self.edge.is_away() {
            self.absence = None;
        }
        self.count(&[note])
    }

    /// What these frames added waits in its place.
    pub(crate) fn count(&mut self, notes: &[Note]) -> Result<(), Violation> {
        self.pending.handle(notes, self.edge.stream())
    }

    /// A cue that nothing came before is written without waiting.
    pub(crate) fn write_unqueued(
        &mut self,
        frame: Frame,
        published: usize,
    ) -> Result<Read, Violation> {
        let read = self.reader.read(frame.clone())?;
        if let Said::Changed(event) = &read.said {
            self.pending.pass(Key::of(event))?;
        }
        self.write(frame, published)
    }

    /// The bus is gone, as far as this host knows.
    pub(crate) fn lose(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        self.socket = None;
        let since = self.absence.map_or(now, |absence| absence.since);
        self.absence = Some(Absence {
            is_overloaded,
            ..Absence::since(since)
        });
        if self.is_old {
            self.allow(Ending::Aborted);
            self.edge.stream().abort();
        } else {
            self.edge.handle_bus_lost(now, random, is_overloaded);
        }
    }

    /// An attempt to reach the bus gets no answer.
    pub(crate) fn hang(&mut self, now: Millis) {
        let absence = self.absence.get_or_insert(Absence::since(now));
        absence.is_hanging = true;
    }

    pub(crate) fn absence(&self) -> Option<Absence> {
        self.absence
    }

    pub(crate) fn abort(&mut self) {
        self.socket = None;
        self.allow(Ending::Aborted);
        self.edge.stream().abort();
    }

    /// Ends it gracefully; `is_certain` says of a shared line whether everything comes.
    pub(crate) fn close(&mut self, is_certain: bool, now: Millis) {
        self.allow(Ending::Closed);
        self.allow(Ending::Lost);
        if !is_certain {
            self.edge.handle_doubt(now);
        }
        self.edge.close();
        self.pending.handle_closed(self.edge.stream());
    }

    pub(crate) fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        if self.is_old {
            return None;
        }
        self.edge.poll_call(now)
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Millis> {
        if self.progress == Progress::Ended {
            return None;
        }
        if self.is_opening() {
            return [Some(self.opens_until), self.tried_at]
                .into_iter()
                .flatten()
                .min();
        }
        if self.is_old {
            return self.edge.stream().poll_timeout();
        }
        self.edge.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Millis, random: f64) {
        if self.is_old {
            self.edge.stream().handle_timeout(now);
        } else {
            self.edge.handle_timeout(now, random);
        }
        if self.edge.is_away() {
            self.absence.get_or_insert(Absence::since(now));
        }
    }

    /// Writes while there is room; `published` is up to which event the publisher has come.
    pub(crate) fn pump(&mut self, now: Millis, published: usize) -> Result<(), Violation> {
        if self.written.is_none() {
            let mut reads = Vec::new();
            while let Some(frame) = self.edge.poll_frame(now) {
                reads.push(self.write(frame, published)?);
            }
            if !reads.is_empty() {
                self.put(reads, published, now);
            }
        }
        if self.written.is_some() {
            self.edge.stream().handle_blocked(now);
        }
        Ok(())
    }

    /// Nothing is said to a client before it is ready.
    pub(crate) fn check_hold(&self, is_ready: bool) -> Result<(), Violation> {
        let is_cue = |read: &Read| matches!(read.said, Said::Changed(_));
        let written = self.written.as_ref();
        let says = written.is_some_and(|written| written.reads.iter().any(is_cue));
        hold(
            "a session hears nothing before its client is ready",
            is_ready || !says,
            || "a cue was written".to_owned(),
        )
    }

    /// What the reader takes: so many events, of one write at most.
    pub(crate) fn take_written(&mut self, most: usize) -> Option<Written> {
        let mut written = self.written.take()?;
        let rest = written.reads.split_off(most.min(written.reads.len()));
        if rest.is_empty() {
            self.written_at = None;
        }
        if !rest.is_empty() {
            let now = written.now;
            self.written = Some(Written { reads: rest, now });
        }
        Some(written)
    }

    fn write(&mut self, frame: Frame, published: usize) -> Result<Read, Violation> {
        let read = self.reader.read(frame)?;
        self.progress = self.progress_after(&read.said)?;
        if let Said::Changed(event) = &read.said {
            let key = Key::of(event);
            hold(
                "nothing outside the honored filter",
                self.honors(key),
                || format!("{} was written", key.name()),
            )?;
            self.pending.take(key, number_of(event))?;
            self.polled[key.index()] = published;
        }
        if read.said == Said::Result {
            hold("a graceful end drains", self.pending.is_empty(), || {
                "the result was written before what waited".to_owned()
            })?;
        }
        Ok(read)
    }

    fn progress_after(&self, said: &Said) -> Result<Progress, Violation> {
        match (self.progress, said) {
            (Progress::Opening, Said::Acknowledged(_) | Said::Opened | Said::KeepAlive)
            | (Progress::Open, Said::Changed(_) | Said::KeepAlive) => Ok(Progress::Open),
            (Progress::Open, Said::Result) => Ok(Progress::Answered),
            (Progress::Opening | Progress::Open | Progress::Answered, Said::End) => {
                Ok(Progress::Ended)
            }
            (progress, _) => Err(Violation::new(
                "the acknowledgment is first, and nothing follows the end",
                format!("{said:?} was written to a stream that is {progress:?}"),
            )),
        }
    }

    pub(crate) fn honors(&mut self, key: Key) -> bool {
        let honored = self.edge.stream().honored();
        honored.accepts(&key.event(0))
    }
}

/// How long an attach may stay unanswered.
pub(crate) const ATTACH: Millis = Millis(5_000);
pub(crate) const STALL: Millis = Millis(60_000);
