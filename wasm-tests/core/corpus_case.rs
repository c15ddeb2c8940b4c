//! What the cases of the corpus share, whatever the revision.

use mcp_listen::{capabilities::Capabilities, limits::Limits};
use serde::Deserialize;

use crate::body::Text;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) limits: Limits,
    pub(crate) capabilities: Option<Capabilities>,
}

/// The text, where there is one.
pub(crate) fn text(text: Option<&Text>) -> Option<String> {
    text.map(Text::join)
}

/// Checks that `answer` is the error that a case expects, with neither id nor data where it names none.
pub(crate) fn check_error(
    name: &str,
    answer: &str,
    code: i32,
    id: Option<&Text>,
    data: Option<&str>,
) {
    let id = text(id).map_or_else(String::new, |id| format!("\"id\":{id},"));
    let head = format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{{\"code\":{code},\"message\":\"");
    let tail = data.map_or("\"}}".to_owned(), |data| format!("\",\"data\":{data}}}}}"));
    assert!(
        answer.starts_with(&head) && answer.ends_with(&tail),
        "{name}: {answer}"
    );
}
