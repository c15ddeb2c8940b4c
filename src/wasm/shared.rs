use wasm_bindgen::prelude::*;

use crate::edge::{self, Given};

use super::{edge::Edge, millis};

/// Bus frames with events for many streams; those of `Told`.
#[wasm_bindgen]
pub struct SharedEvents(pub(super) edge::SharedEvents);

#[wasm_bindgen]
impl SharedEvents {
    /// Gives them to a stream, which may have room: the answer is the place of the bytes to write at once. -1: they wait until there is
    /// room; -2: nothing has changed, and each frame is to be given to it like any other.
    pub fn give(
        &mut self,
        stream: &mut Edge,
        #[wasm_bindgen(js_name = hasRoom)] has_room: bool,
        now: f64,
    ) -> i32 {
        match stream
            .edge
            .handle_shared(&mut self.0, has_room, millis(now))
        {
            Given::Written(place) => i32::try_from(place).unwrap_or(i32::MAX),
            Given::Waiting => -1,
            Given::Unchanged => -2,
        }
    }

    /// The bytes at a place.
    pub fn chunk(&self, place: u32) -> Vec<u8> {
        self.0.chunk(place as usize).to_vec()
    }
}
