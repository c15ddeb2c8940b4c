use mcp_listen::{
    bus::{BusMessage, Interest, Mark},
    clock::Millis,
    edge::{Frame, Given, SharedEvents},
};

use crate::{
    host::{Host, Written},
    invariant::{Violation, hold},
    key::{Key, number_of},
    network::Note,
    wire::Read,
};

/// How a host takes what comes over a shared line.
impl Host {
    /// What it asks of its line.
    pub(crate) fn interest(&mut self) -> Interest {
        Interest::Filter(self.edge().stream().honored().clone())
    }

    pub(crate) fn since(&mut self) -> Option<Mark> {
        self.edge().since().cloned()
    }

    /// Takes frames, those that many streams get at once where they are just what comes next.
    pub(crate) fn take(
        &mut self,
        frames: &[String],
        shared: Option<&mut SharedEvents>,
        published: usize,
        now: Millis,
    ) -> Result<(), Violation> {
        if let Some(shared) = shared.filter(|_| self.is_open())
            && self.take_shared(frames, shared, published, now)?
        {
            return Ok(());
        }
        for frame in frames {
            let handled = self.edge().handle_bus_message(frame, now);
            hold(
                "a line says what its streams understand",
                handled.is_ok(),
                || format!("{handled:?} of {frame}"),
            )?;
            self.count(&[note_of(frame)])?;
        }
        Ok(())
    }

    /// The answer is whether they were taken.
    fn take_shared(
        &mut self,
        frames: &[String],
        shared: &mut SharedEvents,
        published: usize,
        now: Millis,
    ) -> Result<bool, Violation> {
        let has_room = self.written_at.is_none();
        match self.edge().handle_shared(shared, has_room, now) {
            Given::Unchanged => Ok(false),
            Given::Waiting => {
                let notes: Vec<Note> = frames.iter().map(|frame| note_of(frame)).collect();
                self.count(&notes)?;
                Ok(true)
            }
            Given::Written(place) => {
                let reads = self.write_at_once(shared.chunk(place), published)?;
                self.put(reads, published, now);
                self.edge().stream().handle_blocked(now);
                Ok(true)
            }
        }
    }

    fn write_at_once(&mut self, chunk: &[u8], published: usize) -> Result<Vec<Read>, Violation> {
        let text = String::from_utf8(chunk.to_vec()).unwrap();
        let frames = text.split_inclusive("\n\n");
        let mut reads = Vec::new();
        for frame in frames {
            reads.push(self.write_unqueued(Frame::Bytes(frame.into()), published)?);
        }
        Ok(reads)
    }

    /// One write to the response, for its reader to take.
    pub(crate) fn put(&mut self, reads: Vec<Read>, published: usize, now: Millis) {
        self.written_at = Some(now);
        self.written = Some(Written {
            reads,
            now: published,
        });
    }
}

/// What a frame of a line says.
pub(crate) fn note_of(frame: &str) -> Note {
    match BusMessage::from_json(frame) {
        Ok(BusMessage::Attached(_)) => Note::Attached,
        Ok(BusMessage::Event { event, .. }) => Note::Event {
            key: Key::of(&event),
            number: number_of(&event).unwrap_or_default(),
        },
        _ => Note::Broken,
    }
}
