//! Size limits on a listen request.

use serde::{Deserialize, Serialize};

use crate::json;

/// Size limits on one listen request; each is the largest accepted value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Bytes of the request's body. Default 65,536.
    pub body_bytes: usize,
    /// Nesting depth of arrays and objects in the body. Default 64.
    pub depth: usize,
    /// Bytes of a request id. Default 256.
    pub id_bytes: usize,
    /// Distinct resource URIs in one filter. Default 256.
    pub uris: usize,
    /// Bytes of one resource URI. Default 2,048.
    pub uri_bytes: usize,
    /// Distinct task ids in one filter. Default 256.
    pub task_ids: usize,
    /// Bytes of one task id. Default 2,048.
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
    /// `taskIdBytes`, ignoring other members. Returns `None` if it is not an object, or one of them
    /// is not a whole number.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }
}
