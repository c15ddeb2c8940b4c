use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::exchange;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A response that does not come from the MCP server. */
export interface Answer {
  /** HTTP status. */
  status: number;
  /** The class of the refusal, for metrics; undefined if it is none. */
  refusal: string | undefined;
  /** The JSON-RPC error or result, if the response has a body. */
  body: string | undefined;
  /** Seconds for `Retry-After`, if a retry may help. */
  retryAfter: number | undefined;
  /** The body of the request has not been read, and will not be. */
  isUnread: boolean;
}
";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    status: u16,
    refusal: Option<&'static str>,
    body: Option<String>,
    retry_after: Option<u32>,
    is_unread: bool,
}

impl From<exchange::Answer> for Answer {
    fn from(answer: exchange::Answer) -> Self {
        let rejection = answer.rejection.as_ref();
        Self {
            status: answer.status,
            refusal: rejection.map(|rejection| rejection.reason.kind()),
            body: answer.body(),
            retry_after: answer.retry_after(),
            is_unread: answer.is_unread,
        }
    }
}
