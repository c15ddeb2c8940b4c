use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{message, probe, stdio};

use crate::{edge::options::filter_of, object::object};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A request of this package to the upstream server. */
export interface QuestionRequest {
  /** Its header fields, as lines `name: value`. */
  headers: string;
  /** Its JSON-RPC message. */
  body: string;
}

/** The content of a response. */
export interface Probed {
  /** The filter that it acknowledges, as JSON text; undefined if there is none. */
  acknowledged: string | undefined;
  /** Whether it is an error for an unknown method or revision. */
  isUnknown: boolean;
  /** Whether it is an error for a request that exceeds a limit. */
  isOverLimit: boolean;
}
";

/// A question to the upstream server.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ProbeQuestion {
    /// Its capabilities.
    Discover,
    /// Its capabilities, in a line between those of its client; the detail is a token that no
    /// client could guess.
    DiscoverLine,
    /// Whether it serves a caller, for a server of 2025.
    Initialize,
    /// What it honors of a filter, which is the detail, as JSON text.
    Listen,
}

#[derive(Serialize)]
struct QuestionRequest {
    headers: String,
    body: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Probed {
    acknowledged: Option<String>,
    is_unknown: bool,
    is_over_limit: bool,
}

/// Returns the request for a question.
#[wasm_bindgen(js_name = questionOf, unchecked_return_type = "QuestionRequest")]
pub fn question_of(question: ProbeQuestion, detail: Option<String>) -> Result<JsValue, JsValue> {
    let detail = detail.unwrap_or_default();
    let (method, body) = match question {
        ProbeQuestion::Discover => {
            let body = message::discover_request(message::DISCOVER_ID);
            (Some(message::DISCOVER), body)
        }
        ProbeQuestion::DiscoverLine => (None, stdio::DiscoverRequest::new(&detail).line()),
        ProbeQuestion::Initialize => (None, probe::initialize_request()),
        ProbeQuestion::Listen => {
            let body = probe::listen_request(&filter_of(&detail)?);
            (Some(message::LISTEN), body)
        }
    };
    let headers = headers_of(method);
    Ok(object(&QuestionRequest { headers, body }))
}

/// Reads the body of a response.
#[wasm_bindgen(unchecked_return_type = "Probed")]
pub fn probed(body: &[u8]) -> JsValue {
    object(&Probed {
        acknowledged: probe::acknowledged(body).map(|filter| filter.to_json()),
        is_unknown: probe::is_unknown(body),
        is_over_limit: probe::is_over_limit(body),
    })
}

/// Revisions before 2026-07-28 have no additional header fields.
fn headers_of(method: Option<&str>) -> String {
    let common = "content-type: application/json\naccept: application/json, text/event-stream";
    method.map_or_else(
        || common.to_owned(),
        |method| {
            let version = message::PROTOCOL_VERSION;
            format!("{common}\nmcp-protocol-version: {version}\nmcp-method: {method}")
        },
    )
}
