use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{bus, event::ServerEvent, publish};

use crate::{number::millis, object::object, posted::Posted, text::event_of};

use super::{handle::Bus, number, output::Output};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The events of one publish. */
export interface Publication {
  /** The position of the last event in the log; the earlier ones precede it. */
  position: number;
  /** The frames to send. */
  deliveries: { text: string; edges: Uint32Array }[];
}
";

#[derive(Serialize)]
struct Publication {
    position: f64,
    deliveries: Vec<Output>,
}

#[wasm_bindgen]
impl Bus {
    /// Publishes several events, each as JSON text, `at` milliseconds after 1970: all of them, or
    /// none if one is not valid.
    #[wasm_bindgen(unchecked_return_type = "Publication")]
    pub fn publish(&mut self, events: Vec<String>, at: f64) -> Result<JsValue, JsValue> {
        let bus = self.root()?.bus_mut();
        let events: Result<Vec<ServerEvent>, JsValue> =
            events.iter().map(|event| event_of(event)).collect();
        let mut deliveries = Vec::new();
        for event in events? {
            deliveries.extend(bus.publish_at(&event, Some(millis(at))).deliveries);
        }
        let deliveries = deliveries.into_iter().map(bus::ShardOutput::Send);
        Ok(object(&Publication {
            position: number(bus.cursor().position),
            deliveries: deliveries.map(Output::from).collect(),
        }))
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
