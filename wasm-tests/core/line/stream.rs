//! One stream of a line, and what its client has read.

use std::collections::BTreeMap;

use mcp_listen::{
    bus::EdgeId,
    clock::Millis,
    edge::{Edge, Given, SharedEvents},
    event::ServerEvent,
};

pub(super) struct Stream {
    pub(super) edge: Edge,
    /// Its number on the line.
    pub(super) number: Option<EdgeId>,
    /// The cues of events published since its acknowledgment that it has yet to write.
    pub(super) owed: BTreeMap<String, ServerEvent>,
    pub(super) written: Vec<String>,
    pub(super) has_ended: bool,
}

impl Stream {
    pub(super) fn is_acknowledged(&self) -> bool {
        !self.written.is_empty()
    }

    /// Takes frames that others may get too, as its host does.
    pub(super) fn hear(
        &mut self,
        frames: &[String],
        shared: Option<&mut SharedEvents>,
        has_room: bool,
        now: Millis,
    ) {
        let given = shared.map(|shared| {
            let given = self.edge.handle_shared(shared, has_room, now);
            if let Given::Written(place) = given {
                self.read(shared.chunk(place));
            }
            given
        });
        if given.is_none_or(|given| given == Given::Unchanged) {
            for frame in frames {
                self.edge.handle_bus_message(frame, now).unwrap();
            }
        }
    }

    /// The client reads frames.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        for frame in text.split_inclusive("\n\n") {
            let cue = frame
                .strip_prefix("event: message\ndata: ")
                .map_or(frame, str::trim_end);
            self.owed.remove(cue);
            self.written.push(cue.to_owned());
        }
    }
}
