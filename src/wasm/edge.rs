use wasm_bindgen::prelude::*;

use crate::{
    edge::{self, Frame, Past},
    listen::{Ending, ServerStream},
};

use super::millis;

/// One client's stream: bus frames in, bytes of the response body out.
#[wasm_bindgen]
pub struct Edge {
    edge: edge::Edge,
}

/// Why a stream is to end that is neither closed nor lost.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Retirement {
    /// It has reached its age.
    Rotated,
    /// The server sends its clients elsewhere.
    Drained,
    /// The server makes room.
    Shed,
}

#[wasm_bindgen]
impl Edge {
    /// The honored filter as JSON text.
    #[wasm_bindgen(getter)]
    pub fn honored(&mut self) -> String {
        self.edge.stream().honored().to_json()
    }

    /// Whether nothing at all is honored.
    #[wasm_bindgen(getter, js_name = honorsNothing)]
    pub fn honors_nothing(&mut self) -> bool {
        self.edge.stream().honored().is_empty()
    }

    /// Whether the bus has yet to confirm.
    #[wasm_bindgen(getter, js_name = isOpening)]
    pub fn is_opening(&mut self) -> bool {
        self.edge.stream().is_opening()
    }

    /// Whether `poll` has nothing more to say, whatever room there is.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&mut self) -> bool {
        self.edge.stream().is_ending()
    }

    /// When to call `timeout`, on the clock of the other calls; undefined: not now.
    #[wasm_bindgen(getter)]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a clock stays far below 2^53 ms"
    )]
    pub fn deadline(&mut self) -> Option<f64> {
        self.edge.stream().poll_timeout().map(|at| at.0 as f64)
    }

    /// Takes a bus frame; the answer is the code of the error if it had to be dropped.
    pub fn receive(&mut self, message: &str, now: f64) -> Option<String> {
        let handled = self.edge.handle_bus_message(message, millis(now));
        handled.err().map(|error| error.code().to_owned())
    }

    /// There is nothing to register with a bus: acknowledge and end.
    #[wasm_bindgen(js_name = finishWithoutBus)]
    pub fn finish_without_bus(&mut self, now: f64) {
        self.edge.finish_without_bus(millis(now));
    }

    /// The moment of `deadline` has come.
    pub fn timeout(&mut self, now: f64) {
        self.edge.stream().handle_timeout(millis(now));
    }

    /// The response has no room.
    pub fn blocked(&mut self, now: f64) {
        self.edge.stream().handle_blocked(millis(now));
    }

    /// A reader that takes nothing for so many milliseconds, while something waits for it, is given up; 0: never.
    #[wasm_bindgen(js_name = stallAfter)]
    pub fn stall_after(&mut self, ms: f64) {
        self.edge.stream().stall_after(millis(ms));
    }

    /// Ends at that moment, without a result, after what is pending then. Of several moments the earliest counts.
    #[wasm_bindgen(js_name = retireAt)]
    pub fn retire_at(&mut self, at: f64, why: Retirement) {
        let why = match why {
            Retirement::Rotated => Ending::Rotated,
            Retirement::Drained => Ending::Drained,
            Retirement::Shed => Ending::Shed,
        };
        self.edge.stream().retire_at(millis(at), why);
    }

    /// Why it ends or ended, by its stable name; undefined while it goes on.
    #[wasm_bindgen(getter)]
    pub fn ending(&mut self) -> Option<String> {
        let ending = self.edge.stream().ending();
        ending.map(|ending| ending.code().to_owned())
    }

    /// Ends gracefully: what is pending, then the result.
    pub fn close(&mut self) {
        self.edge.stream().close();
    }

    /// Ends at once, without a result.
    pub fn abort(&mut self) {
        self.edge.stream().abort();
    }

    /// The next bytes to write, several frames at once where several wait; undefined: nothing
    /// now, or nothing any more (see `isEnded`).
    pub fn poll(&mut self, now: f64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK_BYTES {
            match self.edge.poll_frame(millis(now)) {
                Some(Frame::Bytes(frame)) => bytes.extend(frame),
                Some(Frame::End) | None => break,
            }
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl Edge {
    pub(super) fn new(stream: ServerStream) -> Self {
        Self::resuming(stream, Past::None)
    }

    pub(super) fn resuming(stream: ServerStream, past: Past) -> Self {
        Self {
            edge: edge::Edge::resuming(stream, past),
        }
    }
}

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
