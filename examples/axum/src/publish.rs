//! `POST /publish`: changes that come from elsewhere, as `{"kind":"resource_updated","uri":"note://todo"}`.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use mcp_listen::publish::{self, PublishError};

use crate::streams::Streams;

/// Publishes one event or several: all of them or none. Whoever deploys this asks first who may; here programs of this
/// machine may, and pages may not. A browser sends `Origin` with every POST of a page, and JSON from a page of another
/// origin only after a question that nothing here answers.
///
/// # Errors
/// 403 for a page, 415 for what is not JSON, 400 for what is no event, and for a revocation.
pub async fn answer(
    State(streams): State<Arc<Streams>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, (StatusCode, String)> {
    if headers.contains_key(header::ORIGIN) {
        return Err((StatusCode::FORBIDDEN, "pages do not publish".to_owned()));
    }
    if !is_json(&headers) {
        let problem = "Content-Type must be application/json".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    let posted = publish::events(&body).map_err(refused)?;
    for event in posted.events {
        streams.publish(event);
    }
    Ok(StatusCode::NO_CONTENT)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    let media_type = text.and_then(|text| text.split(';').next());
    media_type.is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

fn refused(error: PublishError) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, error.to_string())
}
