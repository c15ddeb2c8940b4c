//! The MCP endpoint: from a request to a stream, a refusal, or the server behind.

use std::{future::poll_fn, pin::Pin, sync::Arc};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_core::Stream;
use mcp_listen::{
    error::{Reason, Rejection},
    front::{Field, Policy, PolicyError, Screening},
    limits::Limits,
    listen::{Accepted, Headers, Verdict, accept},
    message,
};

use crate::{behind, streams::Streams};

/// What all requests share.
pub struct Endpoint {
    streams: Arc<Streams>,
    policy: Policy,
    limits: Limits,
    /// Where this server is, which a request does not say by itself.
    url: String,
}

impl Endpoint {
    /// The endpoint of a server at `origin`.
    ///
    /// # Errors
    /// None here: the policy has no entries that could be wrong.
    pub fn new(streams: Arc<Streams>, origin: &str) -> Result<Self, PolicyError> {
        // Pages of this machine and of this server may ask, under no other host than this one.
        let policy = Policy::new("", None)?;
        Ok(Self {
            streams,
            policy,
            limits: Limits::default(),
            url: format!("{origin}/mcp"),
        })
    }
}

/// Answers one request to the endpoint.
pub async fn answer(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let method = parts.method.as_str();
    let lines = lines(&parts.headers);
    let headers = Headers::new(&lines);
    match endpoint.policy.screen(method, &endpoint.url, &headers) {
        Screening::Passed(fields) => with(&fields, endpoint.judged(method, &headers, body).await),
        Screening::Preflight(fields) => with(&fields, StatusCode::NO_CONTENT.into_response()),
        Screening::Refused(reason, fields) => with(&fields, refused(&Rejection::new(reason, None))),
    }
}

impl Endpoint {
    /// Leads what is no listen to the server behind. Whoever has tokens to check calls `claim` and `judge` in place of
    /// `accept`, and checks them in between.
    async fn judged(&self, method: &str, headers: &Headers<'_>, body: Body) -> Response {
        let Ok(body) = read(body, self.limits.body_bytes).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        match accept(method, headers, &body, &self.limits) {
            Verdict::Accepted(accepted) => self.listening(&accepted),
            Verdict::Rejected(rejection) => refused(&rejection),
            Verdict::NotOurs if body.len() > self.limits.body_bytes => {
                StatusCode::PAYLOAD_TOO_LARGE.into_response()
            }
            Verdict::NotOurs => behind::answer(&body),
        }
    }

    fn listening(&self, accepted: &Accepted) -> Response {
        let Some(body) = self.streams.open(accepted, &behind::discovered()) else {
            return refused(&Rejection::new(Reason::Closing, Some(accepted.id.clone())));
        };
        // Proxies must neither keep the stream back nor change it.
        let fields = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache, no-transform"),
        ];
        (
            fields,
            [("x-accel-buffering", "no")],
            Body::from_stream(body),
        )
            .into_response()
    }
}

/// Status, text and code of a refusal are the core's.
fn refused(rejection: &Rejection) -> Response {
    let status = StatusCode::from_u16(rejection.reason.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let json = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, json, message::error(rejection)).into_response();
    if let Some(seconds) = rejection.reason.retry_after() {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn with(fields: &[Field], mut response: Response) -> Response {
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().append(*name, value);
        }
    }
    response
}

/// The fields as the core reads them. What is no text says nothing that the core asks about.
fn lines(headers: &HeaderMap) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        if let Ok(value) = value.to_str() {
            lines.push_str(name.as_str());
            lines.push_str(": ");
            lines.push_str(value);
            lines.push('\n');
        }
    }
    lines
}

/// The body, cut off somewhere beyond `limit`: the core refuses what is longer, and says so.
async fn read(body: Body, limit: usize) -> Result<Vec<u8>, axum::Error> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while bytes.len() <= limit {
        match poll_fn(|context| Pin::new(&mut chunks).poll_next(context)).await {
            Some(chunk) => bytes.extend_from_slice(&chunk?),
            None => break,
        }
    }
    Ok(bytes)
}
