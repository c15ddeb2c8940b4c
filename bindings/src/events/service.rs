use std::sync::Arc;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::events::{
    catalogue,
    exchange::{self, ServiceError},
};

use crate::{error::coded, object::object};

use super::exchange::EventExchange;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A way to deliver events. */
export type DeliveryMode = 'poll' | 'push' | 'webhook';

/** An event type. */
export interface EventDefinitionOptions {
  description?: string;
  /** Default: every mode that the bus has. */
  delivery?: DeliveryMode[];
  /** The JSON Schema of the arguments. Default: any object. */
  inputSchema?: object;
  /** The JSON Schema of the payload. Default: any object. */
  payloadSchema?: object;
  /**
   * JSON pointers into the payload, by argument: an occurrence matches if each argument that the
   * subscription gives equals what its pointer names. `host`: a function of the server decides.
   */
  match?: Record<string, string> | 'host';
  _meta?: object;
}

/** The options of all requests about events. */
export interface EventServiceOptions {
  /** The event types, by name. */
  events: Record<string, EventDefinitionOptions>;
  /** What the bus can deliver. */
  modes: DeliveryMode[];
  /** Whether callers have names, without which there are no webhooks. Default false. */
  namesCallers?: boolean;
  /** Whether the host decides who may receive what. Default false. */
  authorizes?: boolean;
  /** Whether the host validates arguments. Default false. */
  validates?: boolean;
  /** Whether changes of the event types are notified. Default false. */
  listChanged?: boolean;
  /** Whether some methods are served in revisions before 2026-07-28. Default false. */
  legacy?: boolean;
  /** The error numbers. Default `declared`: by the extensions that the client declares. */
  codes?: 'declared' | 'sep' | 'sketch';
  /** The HTTP status of JSON-RPC errors that would have 400. Default 400. */
  errorStatus?: 200 | 400;
  /** Any of bodyBytes, depth and idBytes. */
  limits?: { bodyBytes?: number; depth?: number; idBytes?: number };
}

/** An event type whose subscriptions end, and the error, which states the reason, as JSON text. */
export interface EndedEvent {
  name: string;
  error: string;
}
"#;

/// The event types of a server, and the options for all requests about them.
#[wasm_bindgen]
pub struct EventService(Arc<exchange::EventService>);

#[derive(Serialize)]
struct Ended {
    name: String,
    error: String,
}

#[wasm_bindgen]
impl EventService {
    /// `options`: the JSON text of an `EventServiceOptions`. Throws with a `code` if one of them is
    /// not valid.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, JsValue> {
        let service = exchange::EventService::from_json(options).map_err(refused)?;
        Ok(Self(Arc::new(service)))
    }

    /// Creates the exchange of a POST request with these header fields, lines `name: value`.
    pub fn exchange(&self, headers: &str) -> EventExchange {
        EventExchange::from(exchange::EventExchange::new(self.0.clone(), headers))
    }

    /// Returns the response to `server/discover` or, of a session, to `initialize` with the
    /// capability of events, derived from the body of the MCP server's response. Undefined if that
    /// has no result.
    pub fn advertised(
        &self,
        body: &[u8],
        #[wasm_bindgen(js_name = isOfSession)] is_of_session: bool,
    ) -> Option<String> {
        // Changes of the event types are not notified in sessions.
        let settings = if is_of_session {
            catalogue::capability(false)
        } else {
            self.0.capability()
        };
        catalogue::advertised(body, settings)
    }

    /// Returns the event types whose subscriptions end when `newer` takes the place of this
    /// service.
    #[wasm_bindgen(js_name = endedBy, unchecked_return_type = "EndedEvent[]")]
    pub fn ended_by(&self, newer: &EventService) -> JsValue {
        let ended = self.0.catalogue().ended_by(newer.0.catalogue());
        let ended: Vec<Ended> = ended
            .into_iter()
            .map(|(name, error)| Ended {
                name: name.to_string(),
                error: error.to_json(),
            })
            .collect();
        object(&ended)
    }
}

fn refused(error: ServiceError) -> JsValue {
    coded("invalid-options", &error.to_string())
}
