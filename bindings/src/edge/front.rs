use wasm_bindgen::prelude::*;

use mcp_listen::{error, front, listen::Headers, message};

use crate::error::coded;

/// Decides by method, host and origin which requests are looked at; made once, with the allow-lists.
#[wasm_bindgen]
pub struct Policy(front::Policy);

/// What becomes of one request.
#[wasm_bindgen]
pub struct Screening(front::Screening);

#[wasm_bindgen]
impl Policy {
    /// The allow-lists, one entry a line; without `hosts` every host but a rebound one is served.
    /// `isModernOnly`: nothing earlier than 2026-07-28 is, and so neither GET nor DELETE. `holdsStreams`: without it GET is
    /// not served either.
    #[wasm_bindgen(constructor)]
    pub fn new(
        origins: &str,
        hosts: Option<String>,
        #[wasm_bindgen(js_name = isModernOnly)] is_modern_only: bool,
        #[wasm_bindgen(js_name = holdsStreams)] holds_streams: bool,
    ) -> Result<Self, JsValue> {
        let mut policy = front::Policy::new(origins, hosts.as_deref())
            .map_err(|error| coded("invalid-options", &error.to_string()))?;
        if is_modern_only {
            policy = policy.modern_only();
        }
        if !holds_streams {
            policy = policy.without_streams();
        }
        Ok(Self(policy))
    }

    /// Judges a request by its method, absolute URL and header fields (lines `name: value`).
    pub fn screen(&self, method: &str, url: &str, headers: &str) -> Screening {
        Screening(self.0.screen(method, url, &Headers::new(headers)))
    }
}

#[wasm_bindgen]
impl Screening {
    /// The HTTP status of the answer; undefined where the request goes on.
    #[wasm_bindgen(getter)]
    pub fn status(&self) -> Option<u16> {
        match &self.0 {
            front::Screening::Passed(_) => None,
            front::Screening::Preflight(_) => Some(204),
            front::Screening::Refused(reason, _) => Some(reason.status()),
        }
    }

    /// Which kind of refusal it counts as; undefined where it is none.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> Option<String> {
        match &self.0 {
            front::Screening::Refused(reason, _) => Some(reason.kind().to_owned()),
            _ => None,
        }
    }

    /// The body of the answer, a JSON-RPC error, if it has one.
    #[wasm_bindgen(getter)]
    pub fn body(&self) -> Option<String> {
        match &self.0 {
            // The answer to HEAD has none.
            front::Screening::Refused(error::Reason::MethodNotAllowed, _) => None,
            front::Screening::Refused(reason, _) => {
                Some(message::error(&error::Rejection::new(reason.clone(), None)))
            }
            _ => None,
        }
    }

    /// Fields that the answer carries, whoever gives it, as lines `name: value`.
    #[wasm_bindgen(getter)]
    pub fn headers(&self) -> String {
        let lines: Vec<String> = self
            .0
            .fields()
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        lines.join("\n")
    }
}
