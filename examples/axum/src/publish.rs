//! `POST /publish`: changes that come from elsewhere, as `{"kind":"resource_updated","uri":"note://todo"}`.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use mcp_listen::event::ServerEvent;

use crate::streams::Streams;

/// Publishes one event. Whoever deploys this asks first who may.
pub async fn answer(
    State(streams): State<Arc<Streams>>,
    text: String,
) -> Result<StatusCode, (StatusCode, String)> {
    let event = ServerEvent::from_json(&text);
    let event = event.map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    streams.publish(event);
    Ok(StatusCode::NO_CONTENT)
}
