use bytes::Bytes;
use http::Request;
use http_body_util::Full;

/// A listen request for the list of tools.
pub(crate) fn listen() -> Request<Full<Bytes>> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{
        "_meta":{
            "io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{}
        },
        "notifications":{"toolsListChanged":true}
    }}"#;
    Request::post("/mcp")
        .header("host", "notes.example")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-method", "subscriptions/listen")
        .header("mcp-protocol-version", "2026-07-28")
        .body(Full::from(body))
        .unwrap()
}
