use std::sync::Arc;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::{self, Capabilities},
    json, offer,
};

use crate::{
    error::coded,
    number::{millis, time},
    object::{object, optional},
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What an MCP server has declared about itself. */
export interface Discovered {
  /** The notifications that it offers, as one number: see `Exchange.handleDiscovered`. */
  offers: number;
  /** Its name and version, as JSON text; undefined if it has not declared them. */
  serverInfo: string | undefined;
  /** When this expires, on the clock of `discoveredIn`; undefined: never. */
  freshUntil: number | undefined;
  /** Whether this may be reused for other callers than the one for whom it was requested. */
  isPublic: boolean;
}
";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    offers: u32,
    server_info: Option<String>,
    fresh_until: Option<f64>,
    is_public: bool,
}

/// Returns what an object of MCP's `ServerCapabilities` and `serverInfo` declare, both as JSON
/// text. It never expires.
#[wasm_bindgen(js_name = discoveredOf, unchecked_return_type = "Discovered")]
pub fn discovered_of(
    capabilities: Option<String>,
    #[wasm_bindgen(js_name = serverInfo)] server_info: Option<String>,
) -> Result<JsValue, JsValue> {
    let declared = capabilities.as_deref().and_then(Capabilities::declared);
    let capabilities = declared.ok_or_else(|| {
        coded(
            "invalid-options",
            "capabilities must be an object of MCP server capabilities",
        )
    })?;
    let server_info = server_info.map(|text| compact(&text)).transpose()?;
    Ok(object(&Discovered::from(capabilities::Discovered {
        server_info: server_info.map(Into::into),
        ..capabilities.into()
    })))
}

/// Reads the body of a response to `ProbeQuestion.Discover`, requested at `now`; undefined if it
/// names no capabilities.
#[wasm_bindgen(js_name = discoveredIn, unchecked_return_type = "Discovered | undefined")]
pub fn discovered_in(body: &[u8], now: f64) -> JsValue {
    let discovered = capabilities::Discovered::from_response(body, millis(now));
    optional(discovered.map(Discovered::from))
}

/// Returns the body of a response to `server/discover` or `initialize` as one message that
/// advertises change notifications for everything it offers; none of them unless `areServed`, for
/// a server that holds no streams. Undefined if it contains no capabilities.
#[wasm_bindgen(js_name = advertiseChanges)]
pub fn advertise_changes(
    body: &[u8],
    #[wasm_bindgen(js_name = areServed)] are_served: bool,
) -> Option<String> {
    if are_served {
        offer::advertise_changes(body)
    } else {
        offer::withhold_changes(body)
    }
}

/// Returns what a server with these `offers` and this `serverInfo` has declared.
pub(crate) fn declared(offers: u32, server_info: Option<Arc<str>>) -> capabilities::Discovered {
    capabilities::Discovered {
        server_info,
        ..capabilities_of(offers).into()
    }
}

/// Returns the capabilities with these `offers`.
pub(crate) fn capabilities_of(offers: u32) -> Capabilities {
    let is_offered = |bit: u32| offers & bit != 0;
    Capabilities {
        tools_list_changed: is_offered(1),
        prompts_list_changed: is_offered(2),
        resources_list_changed: is_offered(4),
        resources_subscribe: is_offered(8),
        events_list_changed: is_offered(16),
        tasks: is_offered(32),
    }
}

/// The inverse of [`capabilities_of`].
fn offers_of(capabilities: Capabilities) -> u32 {
    let flags = [
        capabilities.tools_list_changed,
        capabilities.prompts_list_changed,
        capabilities.resources_list_changed,
        capabilities.resources_subscribe,
        capabilities.events_list_changed,
        capabilities.tasks,
    ];
    let bits = flags.into_iter().zip([1, 2, 4, 8, 16, 32]);
    bits.map(|(is_offered, bit)| u32::from(is_offered) * bit)
        .sum()
}

impl From<capabilities::Discovered> for Discovered {
    fn from(discovered: capabilities::Discovered) -> Self {
        Self {
            offers: offers_of(discovered.capabilities),
            server_info: discovered.server_info.as_deref().map(Into::into),
            fresh_until: discovered.fresh_until.map(time),
            is_public: discovered.is_public,
        }
    }
}

fn compact(text: &str) -> Result<String, JsValue> {
    let problem = || coded("invalid-options", "serverInfo must be JSON");
    let document = json::read(text.as_bytes(), 64).map_err(|_| problem())?;
    Ok(json::to_compact(&document.root))
}
