use mcp_listen::{
    clock::Millis,
    fanout::StreamId,
    isolate::SessionStart,
    listen::{EndReason, ServerStream},
};

use crate::{
    driven::{Driven, Frame, frames_of},
    invariant::{Violation, ensure},
    key::{KEYS, Key, number_of},
    pending::{Content, Pending},
    wire::{Read, Reader, Said},
};

/// The host of one stream: its id in the isolate, and the write that its client has yet to read.
#[derive(Debug)]
pub(crate) struct Host {
    reader: Reader,
    is_of_session: bool,
    /// The isolate of its request, and the one that holds it: a separate one if it is alone.
    pub(crate) origin: usize,
    pub(crate) isolate: usize,
    /// The stream until it is held.
    pub(crate) made: Option<(ServerStream, Option<SessionStart>)>,
    pub(crate) stream: Option<StreamId>,
    /// When the write probe of its isolate decides whether it shares a connection.
    pub(crate) probed_at: Option<Millis>,
    /// The state of the world when it was opened, if nothing prevented that.
    pub(crate) opened_in: Option<u64>,
    /// The ends that were requested.
    pub(crate) allowed: Vec<EndReason>,
    /// When the first attach has to be confirmed.
    opens_until: Millis,
    pending: Pending,
    /// For each key, the number of the last published event when its last cue was written.
    polled: [usize; KEYS],
    pub(crate) written: Option<Written>,
    /// Since when its client has not read that.
    pub(crate) written_at: Option<Millis>,
    progress: Progress,
}

/// One write: its content, and the number of the last published event.
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

    pub(crate) fn contains(&self, key: Key) -> bool {
        let is_of =
            |read: &Read| matches!(&read.said, Said::Changed(event) if Key::of(event) == key);
        self.reads.iter().any(is_of)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Opening,
    Open,
    Closed,
    Ended,
}

/// What is known about whether a stream receives everything that its bus has published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    Certain,
    Uncertain,
    /// The bus is unavailable.
    Unavailable,
}

/// What a stream is opened with.
pub(crate) struct Opening {
    pub(crate) reader: Reader,
    pub(crate) stream: ServerStream,
    /// Its session, for the stream of one.
    pub(crate) start: Option<SessionStart>,
    pub(crate) isolate: usize,
    /// What the client has read so far.
    pub(crate) read: [usize; KEYS],
}

impl Host {
    /// Creates a host that is not connected yet.
    pub(crate) fn open(opening: Opening, now: Millis) -> Self {
        let Opening {
            reader,
            stream,
            start,
            isolate,
            read,
        } = opening;
        Self {
            reader,
            is_of_session: start.is_some(),
            origin: isolate,
            isolate,
            made: Some((stream, start)),
            stream: None,
            probed_at: None,
            opened_in: None,
            allowed: Vec::new(),
            opens_until: now + ATTACH,
            pending: Pending::default(),
            polled: read,
            written: None,
            written_at: None,
            progress: Progress::Opening,
        }
    }

    pub(crate) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(crate) fn polled(&self, key: Key) -> usize {
        self.polled[key.index()]
    }

    /// Whether the client was sent the opening of the stream, and no end.
    pub(crate) fn is_open(&self) -> bool {
        self.progress == Progress::Open
    }

    pub(crate) fn is_late(&self, is_opening: bool, now: Millis) -> bool {
        is_opening && self.opens_until <= now
    }

    /// The additions of these frames are pending in order.
    pub(crate) fn count(
        &mut self,
        contents: &[Content],
        stream: &ServerStream,
    ) -> Result<(), Violation> {
        if self.is_of_session {
            self.pending.retain(stream.honored());
        }
        self.pending.handle(contents, stream)
    }

    /// Whether its client resumes: then it receives what was published before it returned.
    pub(crate) fn is_of_session(&self) -> bool {
        self.is_of_session
    }

    /// Cues without pending ones before them are written at once.
    pub(crate) fn write_at_once(
        &mut self,
        chunk: &[u8],
        stream: &ServerStream,
        published: usize,
        now: Millis,
    ) -> Result<(), Violation> {
        let mut reads = Vec::new();
        for frame in frames_of(chunk) {
            let read = self.reader.read(frame.clone())?;
            if let Said::Changed(event) = &read.said {
                self.pending.pass(Key::of(event))?;
            }
            let honors = |key: Key| key.is_honored(stream.honored());
            reads.push(self.write(frame, honors, published)?);
        }
        self.put(reads, published, now);
        Ok(())
    }

    /// Ends it gracefully. Without a result end only streams with tasks that may miss events.
    pub(crate) fn close(&mut self, driven: &mut Driven<'_>, certainty: Certainty) {
        let has_tasks = driven.read(|stream| !stream.honored().task_ids.is_empty());
        if !has_tasks || certainty != Certainty::Unavailable {
            self.allow(EndReason::Closed);
        }
        if has_tasks && certainty != Certainty::Certain {
            self.allow(EndReason::Lost);
        }
        driven.close();
        let pending = &mut self.pending;
        driven.read(|stream| pending.handle_closed(stream));
    }

    pub(crate) fn poll_timeout(&self, driven: Option<&mut Driven<'_>>) -> Option<Millis> {
        if self.progress == Progress::Ended {
            return None;
        }
        let Some(driven) = driven else {
            return [Some(self.opens_until), self.probed_at]
                .into_iter()
                .flatten()
                .min();
        };
        if driven.is_opening() {
            return Some(self.opens_until);
        }
        None
    }

    /// Writes while there is room; `published` is the number of the last published event.
    pub(crate) fn pump(
        &mut self,
        driven: &mut Driven<'_>,
        now: Millis,
        published: usize,
    ) -> Result<(), Violation> {
        if self.written.is_none() {
            let mut reads = Vec::new();
            let needs_result = !self.is_of_session && driven.ending() == Some(EndReason::Closed);
            for frame in driven.poll(now, self.progress == Progress::Ended) {
                let honored = driven.read(|stream| stream.honored().clone());
                let honors = |key: Key| key.is_honored(&honored);
                let is_cut = self.is_open() && frame == Frame::End;
                ensure(
                    "a closed stream ends with its result",
                    !(needs_result && is_cut),
                    || "it ended without one".to_owned(),
                )?;
                reads.push(self.write(frame, honors, published)?);
            }
            if !reads.is_empty() {
                self.put(reads, published, now);
            }
        }
        if self.written.is_some() {
            driven.handle_blocked(now);
        }
        Ok(())
    }

    /// One write to the response, for its client to read.
    fn put(&mut self, reads: Vec<Read>, published: usize, now: Millis) {
        self.written_at = Some(now);
        self.written = Some(Written {
            reads,
            now: published,
        });
    }

    /// A client receives nothing before it is ready.
    pub(crate) fn check_hold(&self, is_ready: bool) -> Result<(), Violation> {
        let is_cue = |read: &Read| matches!(read.said, Said::Changed(_));
        let written = self.written.as_ref();
        let says = written.is_some_and(|written| written.reads.iter().any(is_cue));
        ensure(
            "a session sends nothing before its client is ready",
            is_ready || !says,
            || "a cue was written".to_owned(),
        )
    }

    /// The client reads this many events, of one write at `count`.
    pub(crate) fn take_written(&mut self, count: usize) -> Option<Written> {
        let mut written = self.written.take()?;
        let rest = written.reads.split_off(count.min(written.reads.len()));
        if rest.is_empty() {
            self.written_at = None;
        }
        if !rest.is_empty() {
            let now = written.now;
            self.written = Some(Written { reads: rest, now });
        }
        Some(written)
    }

    fn write(
        &mut self,
        frame: Frame,
        honors: impl Fn(Key) -> bool,
        published: usize,
    ) -> Result<Read, Violation> {
        let read = self.reader.read(frame)?;
        self.progress = self.progress_after(&read.said)?;
        if let Said::Acknowledged(_) = &read.said {
            // Its client reads events published before it after it.
            self.polled = [published; KEYS];
        }
        if let Said::Changed(event) = &read.said {
            let key = Key::of(event);
            ensure("nothing outside the honored filter", honors(key), || {
                format!("{} was written", key.name())
            })?;
            self.pending.take(key, number_of(event))?;
            self.polled[key.index()] = published;
        }
        if read.said == Said::Result {
            ensure("a graceful end drains", self.pending.is_empty(), || {
                "the result was written before pending cues".to_owned()
            })?;
        }
        Ok(read)
    }

    fn progress_after(&self, said: &Said) -> Result<Progress, Violation> {
        match (self.progress, said) {
            (Progress::Opening, Said::Acknowledged(_) | Said::Opened | Said::KeepAlive)
            | (Progress::Open, Said::Changed(_) | Said::KeepAlive) => Ok(Progress::Open),
            (Progress::Open, Said::Result) => Ok(Progress::Closed),
            (Progress::Opening | Progress::Open | Progress::Closed, Said::End) => {
                Ok(Progress::Ended)
            }
            (progress, _) => Err(Violation::new(
                "the acknowledgment is first, and nothing follows the end",
                format!("{said:?} was written to a stream that is {progress:?}"),
            )),
        }
    }
}

/// How long an attach may stay without a reply.
pub(crate) const ATTACH: Millis = Millis(3_000);
pub(crate) const STALL: Millis = Millis(60_000);
