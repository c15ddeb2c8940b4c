use alloc::{borrow::ToOwned, vec::Vec};
use core::fmt;

use crate::vocabulary::error::{Reason, Rejection};

use super::{
    cors,
    headers::{Field, Headers},
    origin::{Host, Origin},
    response::Response,
};

/// Decides by method, host and origin which requests are served.
#[derive(Clone, Debug)]
pub struct Policy {
    origins: Allowed<Origin>,
    hosts: Option<Allowed<Host>>,
    methods: &'static str,
}

/// The outcome of a screening. Every response to the request must carry the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Screening {
    /// The request may proceed.
    Passed(Vec<Field>),
    /// A CORS preflight for a request that is allowed: respond with 204.
    Preflight(Vec<Field>),
    /// The request is rejected.
    Refused(Reason, Vec<Field>),
}

/// Why the options are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// An entry of `allowed_origins` is neither `*` nor an origin.
    NotAnOrigin,
    /// An entry of `allowed_hosts` is neither `*` nor a host.
    NotAHost,
}

#[derive(Clone, Debug)]
struct Allowed<T> {
    every: bool,
    listed: Vec<T>,
}

impl Policy {
    /// Creates a policy with these allow-lists, one entry per line.
    ///
    /// Origins such as `https://app.example` are served in addition to the server's own; `*` allows
    /// every origin. Only hosts such as `mcp.example` or `mcp.example:8443` that are listed are
    /// served; `*` allows every host.
    ///
    /// # Errors
    /// A [`PolicyError`] for the first entry that is not valid.
    pub fn new(origins: &str, hosts: Option<&str>) -> Result<Self, PolicyError> {
        let hosts =
            hosts.map(|hosts| Allowed::parse(hosts, Host::parse).ok_or(PolicyError::NotAHost));
        Ok(Self {
            origins: Allowed::parse(origins, Origin::parse).ok_or(PolicyError::NotAnOrigin)?,
            hosts: hosts.transpose()?,
            methods: METHODS,
        })
    }

    /// Serves only 2026-07-28, which has neither GET nor DELETE (2026-07-28, Streamable HTTP:
    /// Earlier Streamable HTTP Revisions).
    #[must_use]
    pub fn modern_only(self) -> Self {
        Self {
            methods: POST,
            ..self
        }
    }

    /// Does not serve GET, which opens streams in earlier revisions (2025-11-25, Transports:
    /// Listening for Messages from the Server). Has no effect on a policy that is modern only.
    #[must_use]
    pub fn without_streams(self) -> Self {
        Self {
            methods: if self.methods == POST { POST } else { NO_GET },
            ..self
        }
    }

    /// Screens a request by its method, then its host, then its origin; `url` is absolute.
    pub fn screen(&self, method: &str, url: &str, headers: &Headers<'_>) -> Screening {
        let caller = self.caller(method, url, headers);
        let mut fields = match &caller {
            Ok(Caller::Elsewhere(origin)) => cors::for_page(origin),
            _ => Vec::new(),
        };
        // A separator of two characters would add the search for substrings, which may panic.
        let mut served = self.methods.split(',').map(str::trim_ascii_start);
        if method != OPTIONS && !served.any(|known| known == method) {
            fields.push(("allow", self.methods.to_owned()));
            return Screening::Refused(Reason::MethodNotAllowed, fields);
        }
        if let Err(reason) = caller {
            return Screening::Refused(reason, fields);
        }
        let asks = headers.get("access-control-request-method").is_some();
        match headers.get("origin") {
            Some(origin) if method == OPTIONS && asks => {
                let asked = headers.get("access-control-request-headers");
                Screening::Preflight(cors::preflight(
                    origin,
                    self.methods,
                    asked.unwrap_or_default(),
                ))
            }
            _ => Screening::Passed(fields),
        }
    }

    fn caller<'h>(
        &self,
        method: &str,
        url: &str,
        headers: &Headers<'h>,
    ) -> Result<Caller<'h>, Reason> {
        let own = self.own(url, headers).ok_or(Reason::ForbiddenHost)?;
        let Some(text) = headers.get("origin") else {
            let is_foreign = method == GET && is_of_other_page(headers) && !self.origins.every;
            return if is_foreign {
                Err(Reason::ForbiddenOrigin)
            } else {
                Ok(Caller::Ours)
            };
        };
        let origin = headers.single("origin").and_then(Origin::parse);
        let origin = origin.ok_or(Reason::ForbiddenOrigin)?;
        if self.is_own(&origin, &own) {
            return Ok(Caller::Ours);
        }
        let is_neighbour = own.host.is_loopback() && origin.is_local_page();
        if is_neighbour || self.origins.every || self.origins.listed.contains(&origin) {
            return Ok(Caller::Elsewhere(text));
        }
        Err(Reason::ForbiddenOrigin)
    }

    /// Returns the origin that the request addresses, if it is served here.
    fn own(&self, url: &str, headers: &Headers<'_>) -> Option<Origin> {
        let url = Origin::of_url(url)?;
        let host = match headers.get("host") {
            Some(_) => Host::parse(headers.single("host")?)?.under(&url.scheme),
            None => url.host.clone(),
        };
        let is_ours = match &self.hosts {
            Some(allowed) => allowed.every || self.is_listed(&host),
            None => host.is_loopback() || !url.host.is_loopback(),
        };
        is_ours.then_some(Origin {
            scheme: url.scheme,
            host,
        })
    }

    /// Whether a page of `origin` belongs to this server. Behind a proxy that terminates TLS, the
    /// page is `https` and the request `http`. The name of a page over plain `http` proves nothing:
    /// an attacker's name that was rebound to this machine looks the same.
    fn is_own(&self, origin: &Origin, own: &Origin) -> bool {
        let is_secure = origin.scheme == "https";
        let is_proven = is_secure
            || own.host.is_address()
            || own.host.is_loopback()
            || self.is_listed(&own.host);
        origin.host == own.host && (origin.scheme == own.scheme || is_secure) && is_proven
    }

    fn is_listed(&self, host: &Host) -> bool {
        let listed = self.hosts.iter().flat_map(|allowed| &allowed.listed);
        listed.into_iter().any(|allowed| allowed.covers(host))
    }
}

/// The page that sent a request.
enum Caller<'h> {
    /// A page of this server, or no page at all.
    Ours,
    /// A page of this allowed origin.
    Elsewhere(&'h str),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            origins: Allowed::default(),
            hosts: None,
            methods: METHODS,
        }
    }
}

impl<T> Allowed<T> {
    fn parse(entries: &str, read: impl Fn(&str) -> Option<T>) -> Option<Self> {
        let mut allowed = Self::default();
        for entry in entries.lines() {
            if entry == "*" {
                allowed.every = true;
            } else {
                allowed.listed.push(read(entry)?);
            }
        }
        Some(allowed)
    }
}

impl<T> Default for Allowed<T> {
    fn default() -> Self {
        Self {
            every: false,
            listed: Vec::new(),
        }
    }
}

impl Screening {
    /// Returns the fields that the response carries.
    pub fn fields(&self) -> &[Field] {
        match self {
            Self::Passed(fields) | Self::Preflight(fields) | Self::Refused(_, fields) => fields,
        }
    }

    /// Returns the response to a request that its head alone determines, and the fields that every
    /// response carries.
    pub fn into_parts(self) -> (Option<Response>, Vec<Field>) {
        match self {
            Self::Passed(fields) => (None, fields),
            Self::Preflight(fields) => (Some(Response::empty(204).unread()), fields),
            Self::Refused(reason, fields) => {
                let response = Response::refused(&Rejection::new(reason, None));
                (Some(response.unread()), fields)
            }
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotAnOrigin => "each entry of allowedOrigins must be an origin or *",
            Self::NotAHost => "each entry of allowedHosts must be a host, a host:port or *",
        })
    }
}

impl core::error::Error for PolicyError {}

/// Whether the browser reports that a page of another origin sent the request: it sends no `Origin`
/// with the GET of an image or a link (Fetch Metadata Request Headers, Section 2.3).
fn is_of_other_page(headers: &Headers<'_>) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

const METHODS: &str = "GET, POST, DELETE, OPTIONS";
const NO_GET: &str = "POST, DELETE, OPTIONS";
const GET: &str = "GET";
const POST: &str = "POST";
/// Never refused: browsers use it for preflights.
const OPTIONS: &str = "OPTIONS";
