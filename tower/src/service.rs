use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header, request::Parts};
use mcp_listen::{
    error::{Reason, Rejection},
    front::{Field, Screening},
    listen::{Accepted, Claim, Headers, Verdict, claim, judge},
    message,
};
use tokio::time::timeout;
use tower_service::Service;

use crate::{
    authorize::Grant,
    body::{Body, Own},
    layer::Settings,
    request::{length, lines, read, url},
    streams::Full,
};

/// Answers listen requests, and passes every other request on to the inner service; [`ListenLayer`](crate::ListenLayer) makes it.
///
/// A request is passed on as it came, unread, unless it may be a listen request: one that says so in its header fields, or
/// one of JSON whose length is known and within the limit. Every request is judged by its method, host and origin.
#[derive(Clone)]
pub struct Listen<S> {
    inner: S,
    settings: Arc<Settings>,
}

impl<S> Listen<S> {
    pub(crate) fn new(inner: S, settings: Arc<Settings>) -> Self {
        Self { inner, settings }
    }
}

impl<S, Sent, Given> Service<Request<Sent>> for Listen<S>
where
    S: Service<Request<Sent>, Response = Response<Given>> + Clone + Send + 'static,
    S::Future: Send,
    Sent: http_body::Body<Data = Bytes> + From<Bytes> + Send + 'static,
    Sent::Error: Send,
{
    type Response = Response<Body<Given>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Sent>) -> Self::Future {
        let settings = Arc::clone(&self.settings);
        // The one that is ready is the one that is called.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            let length = length(&request);
            let (parts, body) = request.into_parts();
            let fields = match settings.screened(&parts) {
                Ok(fields) => fields,
                Err(answer) => return Ok(answer.map(Body::own)),
            };
            let answer = match settings.judged(parts, body, length).await {
                Outcome::Answered(answer) => answer.map(Body::own),
                Outcome::Passed(request) => inner.call(*request).await?.map(Body::inner),
            };
            Ok(with(&fields, answer))
        })
    }
}

/// What becomes of a request.
enum Outcome<Sent> {
    Answered(Box<Response<Own>>),
    /// It is for the inner service.
    Passed(Box<Request<Sent>>),
}

impl Settings {
    /// The fields that the answer carries, or the answer where the request goes no further.
    fn screened(&self, parts: &Parts) -> Result<Vec<Field>, Box<Response<Own>>> {
        let lines = lines(parts);
        let headers = Headers::new(&lines);
        match self
            .policy
            .screen(parts.method.as_str(), &url(parts), &headers)
        {
            Screening::Passed(fields) => Ok(fields),
            Screening::Preflight(fields) => {
                let mut answer = Response::new(Own::text(""));
                *answer.status_mut() = StatusCode::NO_CONTENT;
                Err(Box::new(with(&fields, answer)))
            }
            Screening::Refused(reason, fields) => {
                let answer = refused(&Rejection::new(reason, None));
                Err(Box::new(with(&fields, answer)))
            }
        }
    }

    async fn judged<Sent>(&self, parts: Parts, body: Sent, length: Option<u64>) -> Outcome<Sent>
    where
        Sent: http_body::Body<Data = Bytes> + From<Bytes>,
    {
        let lines = lines(&parts);
        let headers = Headers::new(&lines);
        let method = parts.method.as_str();
        let limit = self.limits.body_bytes;
        match claim(method, &headers, &[], &self.limits) {
            Claim::Unread => {
                let verdict = match self.read(body).await {
                    Ok(bytes) if bytes.len() > limit => rejected(Reason::BodyTooLarge),
                    Ok(bytes) => judge(&headers, &bytes, &self.limits),
                    Err(reason) => rejected(reason),
                };
                self.answered(verdict, parts).await
            }
            Claim::Read(verdict) => self.answered(verdict, parts).await,
            Claim::Rejected(rejection) => Outcome::Answered(Box::new(refused(&rejection))),
            Claim::NotOurs => {
                let may_be = method == "POST"
                    && headers.declare_json()
                    && length.is_some_and(|length| (1..=limit as u64).contains(&length));
                if !may_be {
                    return Outcome::Passed(Box::new(Request::from_parts(parts, body)));
                }
                let bytes = match self.read(body).await {
                    Ok(bytes) => bytes,
                    Err(reason) => return self.answered(rejected(reason), parts).await,
                };
                match claim(method, &headers, &bytes, &self.limits) {
                    Claim::Read(verdict) => self.answered(verdict, parts).await,
                    Claim::Rejected(rejection) => Outcome::Answered(Box::new(refused(&rejection))),
                    Claim::Unread | Claim::NotOurs => {
                        let body = Sent::from(bytes);
                        Outcome::Passed(Box::new(Request::from_parts(parts, body)))
                    }
                }
            }
        }
    }

    async fn read<Sent>(&self, body: Sent) -> Result<Bytes, Reason>
    where
        Sent: http_body::Body<Data = Bytes>,
    {
        let reading = read(body, self.limits.body_bytes);
        match timeout(self.body_timeout, reading).await {
            Ok(Ok(bytes)) => Ok(bytes),
            // The client has gone: nobody reads the answer.
            Ok(Err(_)) => Err(Reason::ParseError),
            Err(_) => Err(Reason::BodyTimeout),
        }
    }

    async fn answered<Sent>(&self, verdict: Verdict, parts: Parts) -> Outcome<Sent> {
        let answer = match verdict {
            Verdict::Accepted(accepted) => self.listening(&accepted, parts).await,
            Verdict::Rejected(rejection) => Err(rejection),
            Verdict::NotOurs => Err(Rejection::new(Reason::MethodNotFound, None)),
        };
        Outcome::Answered(Box::new(answer.unwrap_or_else(|error| refused(&error))))
    }

    async fn listening(
        &self,
        accepted: &Accepted,
        parts: Parts,
    ) -> Result<Response<Own>, Rejection> {
        let refused = |reason| Rejection::new(reason, Some(accepted.id.clone()));
        let grant = match &self.authorize {
            None => None,
            Some(authorize) => {
                let asked = authorize(parts, accepted.requested.clone()).await;
                Some(asked.map_err(|denied| refused(denied.reason()))?)
            }
        };
        let opened = self.bus.streams.open(self.most_streams, |now| {
            let allowed = grant.as_ref().map(|grant| &grant.filter);
            let mut stream = accepted.open(&self.told, allowed, self.keep_alive, now);
            stream.stall_after(self.stall);
            if let Some(Grant { scope, .. }) = grant {
                stream.scope_to(scope);
            }
            stream
        });
        let stream = opened.map_err(|full| {
            refused(match full {
                Full::Closing => Reason::Closing,
                Full::TooMany => Reason::TooManyStreams,
            })
        })?;
        let mut answer = Response::new(Own::Stream(stream));
        // Proxies must neither keep the stream back nor change it.
        for (name, value) in STREAM_FIELDS {
            let value = HeaderValue::from_static(value);
            answer.headers_mut().insert(name, value);
        }
        Ok(answer)
    }
}

fn rejected(reason: Reason) -> Verdict {
    Verdict::Rejected(Rejection::new(reason, None))
}

/// Status, text and code of a refusal are the core's.
fn refused(rejection: &Rejection) -> Response<Own> {
    let mut answer = Response::new(Own::text(message::error(rejection)));
    let status = StatusCode::from_u16(rejection.reason.status());
    *answer.status_mut() = status.unwrap_or(StatusCode::BAD_REQUEST);
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    if let Some(seconds) = rejection.reason.retry_after() {
        let headers = answer.headers_mut();
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}

fn with<B>(fields: &[Field], mut answer: Response<B>) -> Response<B> {
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::from_str(value) {
            answer.headers_mut().append(*name, value);
        }
    }
    answer
}

const STREAM_FIELDS: [(&str, &str); 3] = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
];
