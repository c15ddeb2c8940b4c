use alloc::string::String;

use crate::{
    json::{self, Node},
    message,
};

/// A request for the capabilities of the upstream server of a channel, sent between the lines of
/// the client.
#[derive(Clone, Debug)]
pub struct DiscoverRequest {
    id: String,
}

impl DiscoverRequest {
    /// Creates the request; `token` makes its id one that no client uses.
    pub fn new(token: &str) -> Self {
        Self {
            id: format!("{}:{token}", message::DISCOVER_ID),
        }
    }

    /// Returns the line to send to the MCP server.
    pub fn line(&self) -> String {
        message::discover_request(&self.id) + "\n"
    }

    /// Whether a line from the MCP server is the response, successful or not: then do not forward
    /// it to the client.
    pub fn is_response(&self, line: &[u8]) -> bool {
        let Ok(document) = json::read(line, json::MAX_PEER_DEPTH) else {
            return false;
        };
        let id = document.root.get("id").and_then(Node::as_str);
        id == Some(&self.id) && document.root.get("method").is_none()
    }
}
