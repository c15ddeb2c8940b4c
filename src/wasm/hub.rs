use wasm_bindgen::prelude::*;

use crate::{
    bus::{self, EdgeId, Interest, Mark, Position, ProtocolError},
    event::ServerEvent,
    uri::Uri,
};

use super::{error::coded, text::event_of};

/// A bus without its I/O.
#[wasm_bindgen]
pub struct Hub(bus::Hub);

/// What a frame from an edge led to.
#[wasm_bindgen]
pub struct Received(Result<bus::Received, ProtocolError>);

/// One published event, to be logged and then sent.
#[wasm_bindgen]
pub struct Publication(bus::Publication);

/// What one edge missed, collapsed.
#[wasm_bindgen]
pub struct Replay(bus::Replay);

#[wasm_bindgen]
impl Hub {
    /// A bus whose log ends at `position` of `epoch` and keeps at least the last `window` events.
    #[wasm_bindgen(constructor)]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positions are whole numbers below 2^53, and the cast saturates"
    )]
    pub fn new(epoch: &str, position: f64, window: u32) -> Self {
        let hub = bus::Hub::new(Mark {
            epoch: epoch.into(),
            position: Position(position as u64),
        });
        Self(hub.with_window(window.into()))
    }

    /// A connection came up; the answer is its number.
    pub fn connect(&mut self) -> u32 {
        self.0.connect().0
    }

    /// A connection that attached before a restart; `interest` as `Received` gave it.
    pub fn restore(&mut self, interest: &str) -> Result<u32, JsValue> {
        let interest = Interest::from_json(interest)
            .map_err(|error| coded(error.code(), &error.to_string()))?;
        Ok(self.0.restore(interest).0)
    }

    /// A frame came from an edge.
    pub fn receive(&mut self, edge: u32, message: &str) -> Received {
        Received(self.0.handle_message(EdgeId(edge), message))
    }

    /// The session of an attached edge watches these URIs now; the answer is the frame to send.
    pub fn watch(&mut self, edge: u32, uris: Vec<String>) -> Option<String> {
        let uris = uris.iter().filter_map(|uri| Uri::new(uri, usize::MAX).ok());
        self.0.watch(EdgeId(edge), uris.collect())
    }

    /// What an attached edge missed, to be read from the log.
    pub fn replay(&self, edge: u32) -> Option<Replay> {
        let interest = self.0.interest(EdgeId(edge))?;
        Some(Replay(bus::Replay::new(interest.clone())))
    }

    /// A connection went away.
    pub fn disconnect(&mut self, edge: u32) {
        self.0.disconnect(EdgeId(edge));
    }

    /// An event, as JSON text, was published.
    pub fn publish(&mut self, event: &str) -> Result<Publication, JsValue> {
        let event: ServerEvent = event_of(event)?;
        Ok(Publication(self.0.publish(event)))
    }

    /// How many edges are attached.
    #[wasm_bindgen(getter)]
    pub fn attached(&self) -> usize {
        self.0.attached()
    }
}

#[wasm_bindgen]
impl Received {
    /// The frame to send back.
    #[wasm_bindgen(getter)]
    pub fn answer(&self) -> Option<String> {
        match &self.0 {
            Ok(bus::Received::Attached { answer, .. }) => Some(answer.clone()),
            _ => None,
        }
    }

    /// What the edge wants from now on, as JSON text, for `restore`.
    #[wasm_bindgen(getter)]
    pub fn interest(&self) -> Option<String> {
        match &self.0 {
            Ok(bus::Received::Attached { interest, .. }) => Some(interest.to_json()),
            _ => None,
        }
    }

    /// Whether the edge asked to be let go.
    #[wasm_bindgen(getter, js_name = isDetached)]
    pub fn is_detached(&self) -> bool {
        self.0 == Ok(bus::Received::Detached)
    }

    /// The code of the error, if the frame had to be dropped.
    #[wasm_bindgen(getter)]
    pub fn dropped(&self) -> Option<String> {
        self.0.as_ref().err().map(|error| error.code().to_owned())
    }
}

#[wasm_bindgen]
impl Received {
    /// The session whose URIs `Hub.watch` has to be told before the answer is sent.
    #[wasm_bindgen(getter)]
    pub fn session(&self) -> Option<String> {
        match &self.0 {
            Ok(bus::Received::Attached { session, .. }) => session.as_deref().map(str::to_owned),
            _ => None,
        }
    }

    /// The position beyond which the log has to be replayed after the answer.
    #[wasm_bindgen(getter, js_name = replayAfter)]
    #[expect(clippy::cast_precision_loss, reason = "positions stay below 2^53")]
    pub fn replay_after(&self) -> Option<f64> {
        match &self.0 {
            Ok(bus::Received::Attached { replay_after, .. }) => {
                replay_after.map(|position| position.0 as f64)
            }
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl Replay {
    /// The next event of the log, as JSON text.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positions are whole numbers below 2^53, and the cast saturates"
    )]
    pub fn push(&mut self, position: f64, event: &str) -> Result<(), JsValue> {
        self.0.push(Position(position as u64), &event_of(event)?);
        Ok(())
    }

    /// The frames to send; the replay is over.
    pub fn frames(self) -> Vec<String> {
        self.0.frames()
    }
}

#[wasm_bindgen]
impl Publication {
    /// The event's place in the log.
    #[wasm_bindgen(getter)]
    #[expect(clippy::cast_precision_loss, reason = "positions stay below 2^53")]
    pub fn position(&self) -> f64 {
        self.0.position.0 as f64
    }

    /// The frame for every edge in `edges`.
    #[wasm_bindgen(getter)]
    pub fn message(&self) -> String {
        self.0.message.clone()
    }

    /// The numbers of the edges that get it.
    #[wasm_bindgen(getter)]
    pub fn edges(&self) -> Vec<u32> {
        self.0.edges.iter().map(|edge| edge.0).collect()
    }
}
