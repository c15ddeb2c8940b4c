use alloc::{borrow::ToOwned, string::String, vec::Vec};

/// An HTTP request to send; the sender adds the URL and the authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `POST`, `GET` or `DELETE`.
    pub method: &'static str,
    /// Header names and values.
    pub headers: Vec<(&'static str, String)>,
    /// The body, one JSON-RPC message; `None` for GET and DELETE.
    pub body: Option<String>,
}

impl HttpRequest {
    /// Creates a POST of the message `body`, a request of this revision that calls `method`
    /// (2026-07-28, Streamable HTTP: Sending Messages, Request Metadata).
    pub(crate) fn modern(version: &str, method: &str, body: String) -> Self {
        let mut request = Self::post(body);
        request.add(VERSION, version);
        request.add(METHOD, method);
        request
    }

    /// Creates a POST of the message `body` (2025-11-25, Transports: Sending Messages to the
    /// Server).
    pub(crate) fn post(body: String) -> Self {
        let mut request = Self {
            method: "POST",
            headers: Vec::new(),
            body: Some(body),
        };
        request.add("Content-Type", "application/json");
        request.add("Accept", "application/json, text/event-stream");
        request
    }

    /// Creates a request without a body.
    pub(crate) fn bare(method: &'static str) -> Self {
        Self {
            method,
            headers: Vec::new(),
            body: None,
        }
    }

    pub(crate) fn add(&mut self, name: &'static str, value: &str) {
        self.headers.push((name, value.to_owned()));
    }
}

pub(crate) const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
