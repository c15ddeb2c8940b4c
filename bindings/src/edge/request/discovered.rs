use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::{Capabilities, Discovered as Inner},
    json, offer,
};

use crate::{error::coded, number::millis};

/// The known capabilities and name of the MCP server.
#[wasm_bindgen]
pub struct Discovered(pub(crate) Inner);

#[wasm_bindgen]
impl Discovered {
    /// Creates it from an object of MCP's `ServerCapabilities`, and `serverInfo`, both as JSON
    /// text.
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
        Ok(Self(Inner {
            server_info: server_info.map(Into::into),
            ..capabilities.into()
        }))
    }

    /// The capabilities as JSON text.
    #[wasm_bindgen(getter)]
    pub fn capabilities(&self) -> String {
        self.0.capabilities.to_json()
    }

    /// Reads the body of a response to `ProbeQuestion.Discover`, requested at `now`; undefined if
    /// it names no capabilities.
    #[wasm_bindgen(js_name = fromResponse)]
    pub fn from_response(body: &[u8], now: f64) -> Option<Self> {
        Inner::from_response(body, millis(now)).map(Self)
    }

    /// Whether it may still be reused; `isOther` says that it is for another caller than the one
    /// for whom it was requested.
    #[wasm_bindgen(js_name = isFresh)]
    pub fn is_fresh(&self, now: f64, #[wasm_bindgen(js_name = isOther)] is_other: bool) -> bool {
        self.0.is_fresh(millis(now)) && (self.0.is_public || !is_other)
    }
}

/// Returns the body of a response to `server/discover` or `initialize` as one message that
/// advertises change notifications for everything it offers; undefined if it contains no
/// capabilities.
#[wasm_bindgen(js_name = advertiseChanges)]
pub fn advertise_changes(body: &[u8]) -> Option<String> {
    offer::advertise_changes(body)
}

/// As `advertiseChanges`, for a server that holds no streams: advertises no change notifications.
#[wasm_bindgen(js_name = withholdChanges)]
pub fn withhold_changes(body: &[u8]) -> Option<String> {
    offer::withhold_changes(body)
}

fn compact(text: &str) -> Result<String, JsValue> {
    let problem = || coded("invalid-options", "serverInfo must be JSON");
    let document = json::read(text.as_bytes(), 64).map_err(|_| problem())?;
    Ok(json::to_compact(&document.root))
}
