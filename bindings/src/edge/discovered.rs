use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::{Capabilities, Discovered as Told},
    json, message, offer,
};

use crate::{error::coded, number::millis};

/// What is known of the server behind: its capabilities and its name.
#[wasm_bindgen]
pub struct Discovered(pub(crate) Told);

#[wasm_bindgen]
impl Discovered {
    /// Takes an object of MCP's `ServerCapabilities`, and `serverInfo`, both as JSON text.
    #[wasm_bindgen(js_name = fromOptions)]
    pub fn from_options(
        capabilities: Option<String>,
        server_info: Option<String>,
    ) -> Result<Self, JsValue> {
        let declared = capabilities.as_deref().and_then(Capabilities::declared);
        let capabilities = declared.ok_or_else(|| {
            coded(
                "invalid-options",
                "capabilities must be an object of MCP server capabilities",
            )
        })?;
        let server_info = server_info.map(|text| compact(&text)).transpose()?;
        Ok(Self(Told {
            capabilities,
            server_info: server_info.map(Into::into),
            fresh_until: None,
            is_public: true,
        }))
    }

    /// The capabilities as JSON text.
    #[wasm_bindgen(getter)]
    pub fn capabilities(&self) -> String {
        self.0.capabilities.to_json()
    }

    /// Reads the body of an answer to `discoverRequest()`, asked for at `now`; undefined where it names no capabilities.
    #[wasm_bindgen(js_name = fromAnswer)]
    pub fn from_answer(body: &[u8], now: f64) -> Option<Self> {
        Told::from_answer(body, millis(now)).map(Self)
    }

    /// Whether it may still be reused.
    #[wasm_bindgen(js_name = isFresh)]
    pub fn is_fresh(&self, now: f64) -> bool {
        self.0.is_fresh(millis(now))
    }

    /// Whether it may be reused for other callers than the one on whose behalf it was asked for.
    #[wasm_bindgen(getter, js_name = isPublic)]
    pub fn is_public(&self) -> bool {
        self.0.is_public
    }
}

/// The body of an answer to `server/discover` or `initialize` as one message that tells changes of all that is offered;
/// undefined where it holds no capabilities.
#[wasm_bindgen(js_name = raisedAnswer)]
pub fn raised_answer(body: &[u8]) -> Option<String> {
    offer::raised(body)
}

/// The same message where no streams are held, which announces no changes; undefined where it holds no capabilities.
#[wasm_bindgen(js_name = withheldAnswer)]
pub fn withheld_answer(body: &[u8]) -> Option<String> {
    offer::withheld(body)
}

/// The `server/discover` request that asks a handler for its capabilities, as JSON text.
#[wasm_bindgen(js_name = discoverRequest)]
pub fn discover_request() -> String {
    message::discover_request(message::DISCOVER_ID)
}

/// The header fields that go with `discoverRequest()`, as lines `name: value`.
#[wasm_bindgen(js_name = discoverHeaders)]
pub fn discover_headers() -> String {
    format!(
        "content-type: application/json\naccept: application/json, text/event-stream\nmcp-protocol-version: {}\nmcp-method: {}",
        message::PROTOCOL_VERSION,
        message::DISCOVER
    )
}

fn compact(text: &str) -> Result<String, JsValue> {
    let problem = || coded("invalid-options", "serverInfo must be JSON");
    let document = json::read(text.as_bytes(), 64).map_err(|_| problem())?;
    Ok(json::to_compact(&document.root))
}
