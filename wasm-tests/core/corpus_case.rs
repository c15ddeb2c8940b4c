//! The parts of a case that all revisions share.

use mcp_listen::{capabilities::Capabilities, error::Reason, limits::Limits};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use crate::body::Text;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    #[serde(deserialize_with = "limits")]
    pub(crate) limits: Limits,
    #[serde(deserialize_with = "capabilities")]
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) legacy: Option<String>,
    pub(crate) principal: Option<Principal>,
}

/// The header fields, as hosts provide them.
fn limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
    let text = Value::deserialize(deserializer)?.to_string();
    Limits::from_json(&text).ok_or_else(|| D::Error::custom("these are no limits"))
}

fn capabilities<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Capabilities>, D::Error> {
    let text = Value::deserialize(deserializer)?.to_string();
    let declared = Capabilities::declared(&text);
    let error = || D::Error::custom("these are no capabilities");
    declared.map(Some).ok_or_else(error)
}

/// The result of `principal`: a name, a denial, or an exception.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Principal {
    Name(#[expect(dead_code, reason = "the core knows no names")] String),
    Denial { denied: u16 },
    Failure { throws: bool },
}

impl Principal {
    pub(crate) fn denial(&self) -> Option<Reason> {
        match self {
            Self::Name(_) => None,
            Self::Denial { denied: 401 } => Some(Reason::Unauthorized),
            Self::Denial { .. } => Some(Reason::Forbidden),
            Self::Failure { throws } => throws.then_some(Reason::AuthorizerFailed),
        }
    }
}

/// Returns the text, if there is one.
pub(crate) fn text(text: Option<&Text>) -> Option<String> {
    text.map(Text::join)
}

/// Checks that `response` is the error that a case expects, without id and data unless the case
/// names them.
pub(crate) fn check_error(
    name: &str,
    response: &str,
    code: i32,
    id: Option<&Text>,
    data: Option<&str>,
) {
    let id = text(id).map_or_else(String::new, |id| format!("\"id\":{id},"));
    let head = format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{{\"code\":{code},\"message\":\"");
    let tail = data.map_or("\"}}".to_owned(), |data| format!("\",\"data\":{data}}}}}"));
    assert!(
        response.starts_with(&head) && response.ends_with(&tail),
        "{name}: {response}"
    );
}
