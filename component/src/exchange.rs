use std::{cell::RefCell, sync::Arc};

use mcp_listen::{
    capabilities::{Capabilities, Discovered as Known},
    clock::Millis,
    error::Reason,
    exchange,
    http::{self, Policy},
    json,
    limits::Limits,
    listen::ServerStream,
    position::Cursor,
};

use crate::{
    Component,
    convert::{error, filter_of, lines_of, out_of_place, scope_of},
    wit::{
        exchange::{
            Discovered as DiscoveredHandle, DiscoveredBorrow, Exchange as ExchangeHandle, Guest,
            GuestDiscovered, GuestExchange, GuestService, GuestStream, LegacyMode, Refusal,
            Response, Service as ServiceHandle, ServiceOptions, Step, Stream as StreamHandle,
            StreamOptions,
        },
        types::{Error, ErrorCode},
    },
};

impl Guest for Component {
    type Discovered = Discovered;
    type Stream = Stream;
    type Service = Service;
    type Exchange = Exchange;
}

/// What the MCP server offers.
pub(crate) struct Discovered(Known);

/// A stream that no fan-out holds.
pub(crate) struct Stream {
    pub(crate) inner: ServerStream,
    /// The place in the log of a bus up to which it was given every event.
    pub(crate) since: Option<Cursor>,
}

/// What all requests share.
pub(crate) struct Service(Arc<exchange::Service>);

/// One request.
pub(crate) struct Exchange(RefCell<exchange::Exchange>);

impl GuestDiscovered for Discovered {
    fn declared(
        capabilities: String,
        server_info: Option<String>,
    ) -> Result<DiscoveredHandle, Error> {
        let capabilities = Capabilities::declared(&capabilities)
            .ok_or_else(|| invalid("capabilities must be an object of MCP server capabilities"))?;
        let server_info = server_info.map(|text| compact(&text)).transpose()?;
        Ok(DiscoveredHandle::new(Self(Known {
            server_info: server_info.map(Into::into),
            ..capabilities.into()
        })))
    }

    fn from_response(body: Vec<u8>, now: u64) -> Option<DiscoveredHandle> {
        let known = Known::from_response(&body, Millis(now))?;
        Some(DiscoveredHandle::new(Self(known)))
    }

    fn is_fresh(&self, now: u64, is_other: bool) -> bool {
        self.0.is_fresh(Millis(now)) && (self.0.is_public || !is_other)
    }
}

impl GuestStream for Stream {
    fn honored(&self) -> String {
        self.inner.honored().to_json()
    }
}

impl From<ServerStream> for Stream {
    fn from(inner: ServerStream) -> Self {
        Self { inner, since: None }
    }
}

impl GuestService for Service {
    fn create(options: ServiceOptions) -> Result<ServiceHandle, Error> {
        let hosts = options.hosts.map(|hosts| hosts.join("\n"));
        let policy = Policy::new(&options.origins.join("\n"), hosts.as_deref())
            .map_err(|problem| invalid(&problem.to_string()))?;
        let limits = options.limits.as_deref().map_or_else(
            || Ok(Limits::default()),
            |text| {
                Limits::from_json(text).ok_or_else(|| invalid("each limit must be a whole number"))
            },
        )?;
        let service = exchange::Service::new(policy, limits, options.legacy.into());
        let service = if options.holds_streams {
            service
        } else {
            service.without_streams()
        };
        Ok(ServiceHandle::new(Self(Arc::new(service))))
    }

    fn begin(
        &self,
        method: String,
        url: String,
        headers: Vec<(String, String)>,
        is_readable: bool,
    ) -> ExchangeHandle {
        let service = Arc::clone(&self.0);
        let core =
            exchange::Exchange::new(service, &method, &url, &lines_of(&headers), is_readable);
        ExchangeHandle::new(Exchange(RefCell::new(core)))
    }
}

impl GuestExchange for Exchange {
    fn fields(&self) -> Vec<(String, String)> {
        let core = self.0.borrow();
        let fields = core.fields().iter();
        fields
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    fn poll(&self) -> Step {
        let mut core = self.0.borrow_mut();
        match core.poll() {
            exchange::Step::Respond(response) => Step::Respond(response.into()),
            exchange::Step::Body { max_bytes } => {
                Step::Body(u32::try_from(max_bytes).unwrap_or(u32::MAX))
            }
            exchange::Step::Caller => Step::Caller,
            exchange::Step::Authorize { requested } => Step::Listen(requested.to_json()),
            exchange::Step::Pass { withholds } => Step::Pass(withholds),
            // The steps of sessions, which no service here keeps.
            exchange::Step::Session
            | exchange::Step::Initialize
            | exchange::Step::Ask(_)
            | exchange::Step::Send { .. }
            | exchange::Step::Forward => Step::Pass(false),
            // `open` carries these out, so the stream is open.
            exchange::Step::Admit | exchange::Step::Discover | exchange::Step::Open => {
                Step::Respond(core.refuse(Reason::Unavailable).into())
            }
            _ => Step::Respond(core.refuse(Reason::Unavailable).into()),
        }
    }

    fn handle_body(&self, body: Vec<u8>) {
        self.0.borrow_mut().handle_body(body);
    }

    fn handle_caller(&self, principal: Option<String>) {
        self.0.borrow_mut().handle_caller(principal.as_deref());
    }

    fn refuse(&self, why: Refusal) -> Response {
        self.0.borrow().refuse(why.into()).into()
    }

    fn open(
        &self,
        discovered: DiscoveredBorrow<'_>,
        options: StreamOptions,
        now: u64,
    ) -> Result<StreamHandle, Error> {
        let allowed = options.allowed.as_deref().map(filter_of).transpose()?;
        let scope = options.scope.as_deref().map(scope_of).transpose()?;
        let mut core = self.0.borrow_mut();
        core.handle_permit(allowed);
        core.handle_admitted();
        core.handle_discovered(discovered.get::<Discovered>().0.clone());
        let opened = core.open(Millis(options.keep_alive), Millis(now));
        let (mut stream, _) = opened.ok_or_else(|| out_of_place("the request is not a listen"))?;
        if let Some(scope) = scope {
            stream.scope_to(scope);
        }
        Ok(StreamHandle::new(Stream::from(stream)))
    }
}

impl From<http::Response> for Response {
    fn from(response: http::Response) -> Self {
        Self {
            status: response.status,
            refusal: response.refusal.map(str::to_owned),
            body: response.body,
            retry_after: response.retry_after,
            is_unread: response.is_unread,
        }
    }
}

impl From<LegacyMode> for exchange::LegacyMode {
    fn from(mode: LegacyMode) -> Self {
        match mode {
            LegacyMode::Stateless => Self::Stateless,
            LegacyMode::Reject => Self::Reject,
        }
    }
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unauthorized => Self::Unauthorized,
            Refusal::Forbidden => Self::Forbidden,
            Refusal::BodyTimeout => Self::BodyTimeout,
            Refusal::TooManyOfCaller => Self::TooManyOfCaller,
            Refusal::TooManyStreams => Self::TooManyStreams,
            Refusal::AuthorizerFailed => Self::AuthorizerFailed,
            Refusal::Unavailable => Self::Unavailable,
            Refusal::Closing => Self::Closing,
        }
    }
}

fn compact(text: &str) -> Result<String, Error> {
    let document =
        json::read(text.as_bytes(), 64).map_err(|_| invalid("serverInfo must be JSON"))?;
    Ok(json::to_compact(&document.root))
}

fn invalid(message: &str) -> Error {
    error(ErrorCode::InvalidOptions, message)
}
