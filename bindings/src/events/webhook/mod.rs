//! Webhooks: what hosts need for a subscription and for a message, and their deliverer.

mod deliverer;
mod output;
mod rows;

use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::{
        self,
        webhook::{self, UrlParts, UrlRules},
    },
    json,
};

use crate::{error::coded, object::object};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A callback url, split by `URL`. */
export interface CallbackUrl {
  /** The url as the client gave it. */
  text: string;
  protocol: string;
  hostname: string;
  port: string;
  username: string;
  password: string;
  hash: string;
  /** Bytes of `href`. */
  hrefBytes: number;
}

/** Which callback urls are accepted. */
export interface CallbackRules {
  /**
   * Accepts every port: the host connects to the address that it has checked. Default false: 443.
   */
  anyPort?: boolean;
  /** Accepts `localhost` and loopback addresses, also over http; for tests. Default false. */
  allowInsecureLocalhost?: boolean;
  /** Origins that have consented out of band: they are not sent a challenge. Default none. */
  allowedOrigins?: string[];
  /** Refuses all other origins. Default false. */
  onlyAllowedOrigins?: boolean;
}

/** An accepted callback url. */
export interface AcceptedCallback {
  /** The host to whose limits it counts. */
  host: string;
  /** Its origin is one of `allowedOrigins`. */
  isAllowed: boolean;
  /** It is on this machine, as `allowInsecureLocalhost` accepts: its address is not checked. */
  isLocal: boolean;
}
";

/// Returns the text whose SHA-256 identifies a subscription. `arguments` is canonical.
#[wasm_bindgen(js_name = subscriptionIdentity)]
pub fn subscription_identity(principal: &str, url: &str, name: &str, arguments: &str) -> String {
    events::identity(principal, url, name, arguments)
}

/// Returns the id of a subscription from the SHA-256 of its identity; undefined if that is none.
#[wasm_bindgen(js_name = subscriptionId)]
pub fn subscription_id(digest: &[u8]) -> Option<String> {
    events::subscription_id(digest).map(String::from)
}

/// Checks a callback url; `url` and `rules` are JSON text of a `CallbackUrl` and of
/// `CallbackRules`. Throws with a `code`, and a message for the client, if it is refused.
#[wasm_bindgen(js_name = checkCallback, unchecked_return_type = "AcceptedCallback")]
pub fn check_callback(url: &str, rules: &str) -> Result<JsValue, JsValue> {
    let malformed = || coded("invalid-options", "the url or its rules cannot be read");
    let url: UrlParts = json::from_text(url).ok_or_else(malformed)?;
    let rules: UrlRules = json::from_text(rules).ok_or_else(malformed)?;
    let checked = rules.check(&url);
    let callback = checked.map_err(|error| coded("refused", &error.to_string()))?;
    Ok(object(&callback))
}

/// Whether a text is an IP address to which a webhook may connect.
#[wasm_bindgen(js_name = isPublicAddress)]
pub fn is_public_address(text: &str) -> bool {
    webhook::is_public_address(text)
}
