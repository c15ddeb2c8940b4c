use wasm_bindgen::prelude::*;

use mcp_listen::{event::ServerEvent, publish};

use crate::{number::millis, object::object, posted::Posted, text::event_of};

use super::{handle::Bus, output::Output};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A frame for these edges. */
export interface Delivery {
  text: string;
  edges: Uint32Array;
}
";

#[wasm_bindgen]
impl Bus {
    /// Publishes events, each a line of JSON text, `at` milliseconds after 1970: all of them, or
    /// none if one is not valid. Returns the frames to send; undefined if there are none.
    #[wasm_bindgen(unchecked_return_type = "Delivery[] | undefined")]
    pub fn publish(&mut self, events: &str, at: f64) -> Result<JsValue, JsValue> {
        let root = self.root()?;
        let events: Result<Vec<ServerEvent>, JsValue> = events.lines().map(event_of).collect();
        let mut deliveries = Vec::new();
        for event in events? {
            deliveries.extend(root.publish_at(&event, Some(millis(at))).deliveries);
        }
        if deliveries.is_empty() {
            return Ok(JsValue::UNDEFINED);
        }
        let deliveries = deliveries.into_iter().map(Output::from);
        Ok(object(&deliveries.collect::<Vec<_>>()))
    }
}

/// Reads the body of a publish.
#[wasm_bindgen(unchecked_return_type = "PostedEvents")]
pub fn posted(body: &[u8]) -> JsValue {
    JsValue::from(match publish::events(body) {
        Ok(publish::Posted { events, is_array }) => Posted::Events {
            events: events.iter().map(ServerEvent::to_json).collect(),
            is_array,
        },
        Err(error) => Posted::Invalid {
            code: error.code(),
            problem: error.to_string(),
            index: error.index(),
        },
    })
}
