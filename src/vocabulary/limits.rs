//! How large a listen request may be.

use serde::{Deserialize, Serialize};

use crate::json;

/// Upper bounds on one listen request; each is the largest value still accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Bytes of the request's body (default 65,536).
    pub body_bytes: usize,
    /// Nesting of arrays and objects in the body (default 64).
    pub depth: usize,
    /// Bytes of a request id (default 256).
    pub id_bytes: usize,
    /// Different resource URIs in one filter (default 256).
    pub uris: usize,
    /// Bytes of one resource URI (default 2,048).
    pub uri_bytes: usize,
    /// Different task ids in one filter (default 256).
    pub task_ids: usize,
    /// Bytes of one task id (default 2,048).
    pub task_id_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 65_536,
            depth: 64,
            id_bytes: 256,
            uris: 256,
            uri_bytes: 2_048,
            task_ids: 256,
            task_id_bytes: 2_048,
        }
    }
}

impl Limits {
    /// Reads an object with any of `bodyBytes`, `depth`, `idBytes`, `uris`, `uriBytes`, `taskIds`,
    /// `taskIdBytes`, passing over all others; `None` where it is none, or one of them no whole number.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }
}
