//! Stands for the MCP server that you have: it tells what it notifies about, and nothing else.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use mcp_listen::capabilities::{Capabilities, Discovered};
use serde_json::{Value, json};

/// Answers what is no listen.
pub fn answer(body: &[u8]) -> Response {
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Some(id) = request.get("id") else {
        return StatusCode::ACCEPTED.into_response();
    };
    let is_discovery = request.get("method").and_then(Value::as_str) == Some("server/discover");
    let (status, outcome) = if is_discovery {
        (StatusCode::OK, ("result", discovery()))
    } else {
        let error = json!({ "code": -32601, "message": "Method not found" });
        (StatusCode::NOT_FOUND, ("error", error))
    };
    let answer = json!({ "jsonrpc": "2.0", "id": id, outcome.0: outcome.1 });
    let fields = [(header::CONTENT_TYPE, "application/json")];
    (status, fields, answer.to_string()).into_response()
}

/// The same for the core, which honors nothing else. A server of another process is asked, and [`Discovered::from_answer`]
/// reads what it says.
pub fn discovered() -> Discovered {
    Discovered {
        capabilities: Capabilities {
            tasks: false,
            ..Capabilities::ALL
        },
        server_info: Some(server_info().to_string().into()),
        fresh_until: None,
        is_public: true,
    }
}

fn discovery() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": [mcp_listen::message::PROTOCOL_VERSION],
        "capabilities": {
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
        },
        "ttlMs": 0,
        "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": server_info() },
    })
}

fn server_info() -> Value {
    json!({ "name": "axum", "version": env!("CARGO_PKG_VERSION") })
}
