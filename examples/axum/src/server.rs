//! A placeholder for your MCP server: it responds to `server/discover` only.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// Handles every request other than a listen request.
pub async fn respond(Json(request): Json<Value>) -> Response {
    let Some(id) = request.get("id") else {
        return StatusCode::ACCEPTED.into_response();
    };
    if request.get("method").and_then(Value::as_str) == Some("server/discover") {
        let response = json!({ "jsonrpc": "2.0", "id": id, "result": discovery() });
        return Json(response).into_response();
    }
    let error = json!({ "code": -32601, "message": "Method not found" });
    let response = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    (StatusCode::NOT_FOUND, Json(response)).into_response()
}

fn discovery() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
        },
        "ttlMs": 0,
        "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "axum", "version": "0.1.0" } },
    })
}
