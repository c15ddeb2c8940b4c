//! Hosts and origins, parsed from text and compared in a normal form.

use alloc::string::String;

/// A host name or address, with its port unless it is the default of the scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    name: String,
    port: Option<u16>,
}

/// The origin of a page, or the target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) scheme: String,
    pub(super) host: Host,
}

impl Host {
    /// Reads `name` or `name:port`; `None` for anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port_of(port)?)),
            _ => (text, None),
        };
        let name = name.to_ascii_lowercase();
        is_name(&name).then_some(Self { name, port })
    }

    /// Whether this is one of the loopback names.
    pub(super) fn is_loopback(&self) -> bool {
        matches!(self.name.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Whether this is an IP address, which DNS cannot point elsewhere.
    pub(super) fn is_address(&self) -> bool {
        self.name.starts_with('[')
            || self
                .name
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    }

    /// Whether `other` is this host; without a port, it matches every port.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.name == other.name && (self.port.is_none() || self.port == other.port)
    }

    /// Normalizes the host for `scheme`: drops the scheme's default port.
    pub(super) fn under(self, scheme: &str) -> Self {
        let implied = match scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        Self {
            port: self.port.filter(|port| Some(*port) != implied),
            ..self
        }
    }
}

impl Origin {
    /// Reads an origin as RFC 6454 serializes it; `None` for `null` and for anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once(':')?;
        Self::of_parts(scheme, rest.strip_prefix("//")?)
    }

    /// Returns the origin of an absolute URL.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let host = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
        Self::of_parts(scheme, host)
    }

    fn of_parts(scheme: &str, host: &str) -> Option<Self> {
        let scheme = scheme.to_ascii_lowercase();
        let host = Host::parse(host)?.under(&scheme);
        is_scheme(&scheme).then_some(Self { scheme, host })
    }

    /// Whether this is the origin of a page that this machine serves.
    pub(super) fn is_local_page(&self) -> bool {
        matches!(self.scheme.as_str(), "http" | "https") && self.host.is_loopback()
    }
}

fn port_of(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_name(name: &str) -> bool {
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match inner {
        Some(address) => {
            address.contains(':')
                && address
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        }
        None => {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
        }
    }
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}
