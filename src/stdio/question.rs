use alloc::string::String;

use crate::{
    json::{self, Node},
    message,
};

/// Asks the server behind a channel for its capabilities, between the lines of the client.
#[derive(Clone, Debug)]
pub struct Question {
    id: String,
}

impl Question {
    /// `token` makes the id one that no client uses.
    pub fn new(token: &str) -> Self {
        Self {
            id: format!("{}:{token}", message::DISCOVER_ID),
        }
    }

    /// The line for the server behind.
    pub fn line(&self) -> String {
        message::discover_request(&self.id) + "\n"
    }

    /// Whether a line of the server behind is the answer, whatever it tells: it is then not for the client.
    pub fn is_answered_by(&self, line: &[u8]) -> bool {
        let Ok(document) = json::read(line, MAX_DEPTH) else {
            return false;
        };
        let id = document.root.get("id").and_then(Node::as_str);
        id == Some(&self.id) && document.root.get("method").is_none()
    }
}

/// An answer may nest deeper than a request.
const MAX_DEPTH: usize = 128;
