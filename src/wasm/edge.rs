use wasm_bindgen::prelude::*;

use crate::{
    edge::{self, Frame, Past},
    listen::ServerStream,
};

use super::millis;

/// One client's stream: bus frames in, bytes of the response body out.
#[wasm_bindgen]
pub struct Edge {
    edge: edge::Edge,
    is_ended: bool,
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

    /// Whether `poll` has said everything.
    #[wasm_bindgen(getter, js_name = isEnded)]
    pub fn is_ended(&self) -> bool {
        self.is_ended
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
                Some(Frame::End) => self.is_ended = true,
                None => break,
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
            is_ended: false,
        }
    }
}

/// A write of about this size is worth its cost; what waits beyond it may still collapse.
const CHUNK_BYTES: usize = 16_384;
