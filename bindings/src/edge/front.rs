use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{error, front, listen::Headers, message};

use crate::{error::coded, object::object};

/// Decides by method, host and origin which requests are looked at; made once, with the allow-lists.
#[wasm_bindgen]
pub struct Policy(front::Policy);

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What becomes of one request. */
export interface Screening {
  /** The HTTP status of the answer; undefined where the request goes on. */
  status: number | undefined;
  /** Which kind of refusal it counts as; undefined where it is none. */
  kind: string | undefined;
  /** The body of the answer, a JSON-RPC error, if it has one. */
  body: string | undefined;
  /** Names and values of fields that the answer carries, whoever gives it. */
  fields: [string, string][];
}
";

#[derive(Serialize)]
struct Screening<'s> {
    status: Option<u16>,
    kind: Option<&'static str>,
    body: Option<String>,
    fields: &'s [(&'static str, String)],
}

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
    #[wasm_bindgen(unchecked_return_type = "Screening")]
    pub fn screen(&self, method: &str, url: &str, headers: &str) -> JsValue {
        let screening = self.0.screen(method, url, &Headers::new(headers));
        let (status, reason) = match &screening {
            front::Screening::Passed(_) => (None, None),
            front::Screening::Preflight(_) => (Some(204), None),
            front::Screening::Refused(reason, _) => (Some(reason.status()), Some(reason)),
        };
        // The answer to HEAD has no body.
        let told = reason.filter(|reason| **reason != error::Reason::MethodNotAllowed);
        object(&Screening {
            status,
            kind: reason.map(error::Reason::kind),
            body: told.map(|told| message::error(&error::Rejection::new(told.clone(), None))),
            fields: screening.fields(),
        })
    }
}
