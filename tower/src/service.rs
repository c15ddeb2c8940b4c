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
    listen::is_listen_by_header,
    scope::Scope,
};
use tokio::time::timeout;
use tower_service::Service;

use crate::{
    authorize::Refusal,
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
                Ok(Outcome::Responded(response)) => response.map(Body::own),
                Ok(Outcome::Passed(request)) => inner.call(*request).await?.map(Body::inner),
                Err(Refusal { reason, challenge }) => {
                    let refused = refused(&exchange.refuse(reason));
                    challenged(refused, challenge).map(Body::own)
                }
            };
            Ok(with(exchange.fields(), response))
        })
    }
}

/// The outcome of a request.
enum Outcome<RequestBody> {
    Responded(Response<Own>),
    /// The request is for the inner service.
    Passed(Box<Request<RequestBody>>),
}

impl Settings {
    /// Carries out the steps of a request. Returns its outcome, or why it is refused.
    async fn outcome<RequestBody>(
        &self,
        exchange: &mut Exchange,
        parts: Parts,
        body: RequestBody,
    ) -> Result<Outcome<RequestBody>, Refusal>
    where
        RequestBody: http_body::Body<Data = Bytes> + From<Bytes>,
    {
        let (mut parts, mut body) = (Some(parts), Some(body));
        let (mut scope, mut disconnects) = (Scope::default(), 0);
        loop {
            match exchange.poll() {
                Step::Body { max_bytes: max } => {
                    let unread = body.take().ok_or(Reason::ParseError)?;
                    let bytes = self.read(unread, max).await?;
                    exchange.handle_body(bytes.to_vec());
                    body = Some(RequestBody::from(bytes));
                }
                // `authorize` identifies the caller, together with its rights.
                Step::Caller => exchange.handle_caller(None),
                Step::Authorize { requested } => {
                    disconnects = self.bus.streams.disconnects();
                    let Some(authorize) = &self.authorize else {
                        exchange.handle_permit(None);
                        continue;
                    };
                    let parts = parts.take().ok_or(Reason::Unavailable)?;
                    let grant = authorize(parts, requested).await?;
                    scope = grant.scope;
                    exchange.handle_permit(Some(grant.filter));
                }
                // The bus is in this process, and checks for room when it opens the stream.
                Step::Admit => exchange.handle_admitted(),
                Step::Discover => exchange.handle_discovered(self.discovered.clone()),
                Step::Open => {
                    let response = self.open_stream(exchange, scope, disconnects)?;
                    return Ok(Outcome::Responded(response));
                }
                Step::Pass { .. } => {
                    let parts = parts.ok_or(Reason::ParseError)?;
                    let body = body.ok_or(Reason::ParseError)?;
                    return Ok(Outcome::Passed(Box::new(Request::from_parts(parts, body))));
                }
                Step::Respond(response) => return Ok(Outcome::Responded(refused(&response))),
                // Sessions belong to the inner service.
                _ => return Err(Reason::Unavailable.into()),
            }
        }
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

    fn open_stream(
        &self,
        exchange: &mut Exchange,
        scope: Scope,
        disconnects: u64,
    ) -> Result<Response<Own>, Reason> {
        let streams = &self.bus.streams;
        let opened = exchange.open(self.keep_alive, streams.now());
        let (mut stream, _) = opened.ok_or(Reason::Unavailable)?;
        let principals = scope.principals.clone();
        stream.stall_after(self.write_timeout);
        stream.scope_to(scope);
        let opened = streams.open(self.room, &principals, disconnects, stream);
        let stream = opened.map_err(|full| match full {
            Full::Closing => Reason::Closing,
            Full::Disconnected => Reason::AuthorizerFailed,
            Full::TooMany => Reason::TooManyStreams,
            Full::TooManyOfCaller => Reason::TooManyOfCaller,
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

/// Adds how to authenticate.
fn challenged(mut response: Response<Own>, challenge: Option<HeaderValue>) -> Response<Own> {
    if let Some(challenge) = challenge {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
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
