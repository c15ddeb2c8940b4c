//! `POST /publish` publishes changes from other programs, such as
//! `{"kind":"resource_updated","uri":"note://todo"}`.

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use mcp_listen_tower::{Bus, events_in};

/// Publishes one or more events: all of them or none. Programs of this machine may publish. Pages
/// may not: a browser sends `Origin` with every POST of a page.
///
/// # Errors
/// 403 for a page, 415 for a body that is not JSON, 400 for an invalid event or a disconnect.
pub async fn respond(
    State(bus): State<Bus>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, (StatusCode, String)> {
    if headers.contains_key(header::ORIGIN) {
        return Err((StatusCode::FORBIDDEN, "pages may not publish".to_owned()));
    }
    if headers
        .get(header::CONTENT_TYPE)
        .is_none_or(|media| media != "application/json")
    {
        let problem = "Content-Type must be application/json".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    let posted = events_in(&body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    bus.publish_all(posted.events);
    Ok(StatusCode::NO_CONTENT)
}
