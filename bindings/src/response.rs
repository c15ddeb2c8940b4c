use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::http;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A response that does not come from the MCP server. */
export interface HttpResponse {
  /** HTTP status. */
  status: number;
  /** The JSON-RPC message; undefined if the response has no body. */
  body: string | undefined;
  /** The class of the refusal, for metrics; undefined if it is none. */
  refusal: string | undefined;
  /** Seconds for `Retry-After`, if a retry may help. */
  retryAfter: number | undefined;
  /** The body of the request has not been read, and will not be. */
  isUnread: boolean;
}
";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpResponse {
    status: u16,
    body: Option<String>,
    refusal: Option<&'static str>,
    retry_after: Option<u32>,
    is_unread: bool,
}

impl From<http::Response> for HttpResponse {
    fn from(response: http::Response) -> Self {
        Self {
            status: response.status,
            body: response.body,
            refusal: response.refusal,
            retry_after: response.retry_after,
            is_unread: response.is_unread,
        }
    }
}
