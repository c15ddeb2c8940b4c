use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header, request::Parts};
use mcp_listen::{
    error::Reason,
    exchange::{self, Exchange, Step},
    http::{self as core_http, Field, Headers},
    listen::{Accepted, is_listen_by_header},
    scope::Scope,
};
use tokio::time::timeout;
use tower_service::Service;

use crate::{
    authorize::{Denied, Grant},
    body::{Body, Own},
    layer::Settings,
    request::{length, lines, read, url},
    streams::Full,
};

/// Serves listen requests, and passes every other request on to the inner service; created by
/// [`ListenLayer`](crate::ListenLayer).
///
/// A request is passed on unread and unchanged unless it may be a listen request: one whose header
/// fields say so, or one of JSON whose length is known and within the limit. Every request is
/// screened by its method, host and origin.
#[derive(Clone)]
pub struct Listen<S> {
    inner: S,
    service: Arc<exchange::Service>,
    settings: Arc<Settings>,
}

impl<S> Listen<S> {
    pub(crate) fn new(inner: S, service: Arc<exchange::Service>, settings: Arc<Settings>) -> Self {
        Self {
            inner,
            service,
            settings,
        }
    }
}

impl<S, RequestBody, ResponseBody> Service<Request<RequestBody>> for Listen<S>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>> + Clone + Send + 'static,
    S::Future: Send,
    RequestBody: http_body::Body<Data = Bytes> + From<Bytes> + Send + 'static,
    RequestBody::Error: Send,
{
    type Response = Response<Body<ResponseBody>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let (service, settings) = (Arc::clone(&self.service), Arc::clone(&self.settings));
        // Call the service that was polled ready, not its clone.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            let length = length(&request);
            let (parts, body) = request.into_parts();
            let url = url(&parts);
            let lines = lines(&parts);
            let is_readable = may_read(&lines, length, service.limits().body_bytes);
            let mut exchange =
                Exchange::new(service, parts.method.as_str(), &url, &lines, is_readable);
            let response = match settings.outcome(&mut exchange, parts, body).await {
                Outcome::Responded(response) => response.map(Body::own),
                Outcome::Passed(request) => inner.call(*request).await?.map(Body::inner),
            };
            Ok(with(exchange.fields(), response))
        })
    }
}

/// The outcome of a request.
enum Outcome<RequestBody> {
    Responded(Box<Response<Own>>),
    /// The request is for the inner service.
    Passed(Box<Request<RequestBody>>),
}

impl Settings {
    async fn outcome<RequestBody>(
        &self,
        exchange: &mut Exchange,
        parts: Parts,
        body: RequestBody,
    ) -> Outcome<RequestBody>
    where
        RequestBody: http_body::Body<Data = Bytes> + From<Bytes>,
    {
        let mut body = Some(body);
        let response = loop {
            match exchange.poll() {
                Step::Body { max_bytes: max } => {
                    let read = match body.take() {
                        Some(body) => self.read(body, max).await,
                        None => Err(Reason::ParseError),
                    };
                    match read {
                        Ok(bytes) => {
                            exchange.handle_body(bytes.to_vec());
                            body = Some(RequestBody::from(bytes));
                        }
                        Err(reason) => break refused(&exchange.refuse(reason)),
                    }
                }
                // `authorize` identifies the caller, together with its rights.
                Step::Caller => exchange.handle_caller(None),
                Step::Listen(accepted) => match self.open_stream(&accepted, parts).await {
                    Ok(response) => break response,
                    Err(reason) => break refused(&exchange.refuse(reason)),
                },
                Step::Pass { .. } => match body {
                    Some(body) => {
                        return Outcome::Passed(Box::new(Request::from_parts(parts, body)));
                    }
                    None => break refused(&exchange.refuse(Reason::ParseError)),
                },
                Step::Respond(response) => break refused(&response),
                // Sessions belong to the inner service.
                _ => break refused(&exchange.refuse(Reason::Unavailable)),
            }
        };
        Outcome::Responded(Box::new(response))
    }

    async fn read<RequestBody>(&self, body: RequestBody, max: usize) -> Result<Bytes, Reason>
    where
        RequestBody: http_body::Body<Data = Bytes>,
    {
        match timeout(self.body_timeout, read(body, max)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            // The client has disconnected: the response is never read.
            Ok(Err(_)) => Err(Reason::ParseError),
            Err(_) => Err(Reason::BodyTimeout),
        }
    }

    async fn open_stream(
        &self,
        accepted: &Accepted,
        parts: Parts,
    ) -> Result<Response<Own>, Reason> {
        let disconnects = self.bus.streams.disconnects();
        let grant = match &self.authorize {
            None => None,
            Some(authorize) => {
                let granted = authorize(parts, accepted.requested.clone()).await;
                Some(granted.map_err(Denied::reason)?)
            }
        };
        let (allowed, scope) = match grant {
            None => (None, Scope::default()),
            Some(Grant { filter, scope }) => (Some(filter), scope),
        };
        let principals = scope.principals.clone();
        let make = |now| {
            let mut stream =
                accepted.open(&self.discovered, allowed.as_ref(), self.keep_alive, now);
            stream.stall_after(self.write_timeout);
            stream.scope_to(scope);
            stream
        };
        let max = self.max_subscriptions;
        let opened = self.bus.streams.open(max, &principals, disconnects, make);
        let stream = opened.map_err(|full| match full {
            Full::Closing => Reason::Closing,
            Full::Disconnected => Reason::AuthorizerFailed,
            Full::TooMany => Reason::TooManyStreams,
        })?;
        let mut response = Response::new(Own::Stream(stream));
        // Proxies must neither buffer the stream nor change it.
        for (name, value) in STREAM_FIELDS {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }
}

/// Whether the body may be read: its length is known and within the limit, or the header fields
/// claim a listen request.
fn may_read(lines: &str, length: Option<u64>, max: usize) -> bool {
    let is_within = length.is_some_and(|length| (1..=max as u64).contains(&length));
    is_within || is_listen_by_header(&Headers::new(lines))
}

/// Builds the response to a rejected request; status, text and code come from the core.
fn refused(refusal: &core_http::Response) -> Response<Own> {
    let body = refusal.body.clone();
    let is_json = body.is_some();
    let mut response = Response::new(Own::text(body.unwrap_or_default()));
    let status = StatusCode::from_u16(refusal.status);
    *response.status_mut() = status.unwrap_or(StatusCode::BAD_REQUEST);
    let headers = response.headers_mut();
    if is_json {
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
    }
    if let Some(seconds) = refusal.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn with<B>(fields: &[Field], mut response: Response<B>) -> Response<B> {
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().append(*name, value);
        }
    }
    response
}

const STREAM_FIELDS: [(&str, &str); 3] = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
];
