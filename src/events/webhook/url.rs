use alloc::{boxed::Box, string::String, vec::Vec};
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use serde::{Deserialize, Serialize};

use super::address::is_public;

/// A callback url, split by the host's parser of the WHATWG URL standard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlParts {
    /// The url as the client gave it.
    pub text: Box<str>,
    /// `URL.protocol`, with the colon.
    pub protocol: Box<str>,
    /// `URL.hostname`: in lower case, punycode, an IPv6 address in brackets.
    pub hostname: Box<str>,
    /// `URL.port`: empty for the default port.
    pub port: Box<str>,
    /// `URL.username`.
    pub username: Box<str>,
    /// `URL.password`.
    pub password: Box<str>,
    /// `URL.hash`.
    pub hash: Box<str>,
    /// The bytes of `URL.href`.
    pub href_bytes: usize,
}

/// Which callback urls are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UrlRules {
    /// Accepts every port. Default false: 443 only. For hosts that connect to the address that they
    /// have checked.
    pub any_port: bool,
    /// Accepts `localhost` and loopback addresses, also over http. Default false; for tests.
    pub allow_insecure_localhost: bool,
    /// Origins whose operators have consented out of band: they are not asked for consent by a
    /// challenge. Default none.
    pub allowed_origins: Vec<Box<str>>,
    /// Refuses all other origins. Default false.
    pub only_allowed_origins: bool,
}

/// An accepted callback url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Callback {
    /// The host to whose limits it counts.
    pub host: Box<str>,
    /// Whether its origin is an allowed one, which needs no challenge.
    pub is_allowed: bool,
    /// Whether it is on this machine, see [`UrlRules::allow_insecure_localhost`].
    pub is_local: bool,
}

/// Why a callback url is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// It has more than 2,048 bytes.
    TooLong,
    /// It has characters that parsers of urls drop or replace, or a host that is none.
    Malformed,
    /// Its scheme is not `https`.
    NotHttps,
    /// It has a user name or password.
    Credentials,
    /// It has a fragment.
    Fragment,
    /// Its port is not 443.
    Port,
    /// Its host is an address outside the public internet.
    SpecialAddress,
    /// Its host is a name outside the public internet.
    SpecialName,
    /// Its origin is not one of the allowed ones.
    NotAllowed,
}

impl UrlRules {
    /// Checks a callback url.
    ///
    /// # Errors
    /// A [`UrlError`] that says what is wrong.
    pub fn check(&self, url: &UrlParts) -> Result<Callback, UrlError> {
        check_text(url)?;
        let host = Host::of(&url.hostname).ok_or(UrlError::Malformed)?;
        let is_local = self.allow_insecure_localhost && host.is_local();
        if !is_local {
            self.check_remote(url, &host)?;
        }
        let origin = origin(url);
        let is_allowed = self.allowed_origins.iter().any(|own| **own == *origin);
        if self.only_allowed_origins && !is_allowed {
            return Err(UrlError::NotAllowed);
        }
        Ok(Callback {
            host: url.hostname.clone(),
            is_allowed,
            is_local,
        })
    }

    fn check_remote(&self, url: &UrlParts, host: &Host<'_>) -> Result<(), UrlError> {
        if &*url.protocol != "https:" {
            return Err(UrlError::NotHttps);
        }
        if !self.any_port && !url.port.is_empty() {
            return Err(UrlError::Port);
        }
        match host {
            Host::Address(address) if !is_public(*address) => Err(UrlError::SpecialAddress),
            Host::Name(name) if is_special(name) => Err(UrlError::SpecialName),
            _ => Ok(()),
        }
    }
}

/// Checks what the parts do not show: parsers drop tabs and line breaks, take `\` for `/`, and an
/// empty fragment or user name for none.
fn check_text(url: &UrlParts) -> Result<(), UrlError> {
    if url.text.len().max(url.href_bytes) > MAX_BYTES {
        return Err(UrlError::TooLong);
    }
    let is_odd = |byte: u8| byte <= b' ' || byte == b'\\' || byte == 0x7f;
    let (scheme, rest) = url.text.split_once(':').ok_or(UrlError::Malformed)?;
    let rest = rest.strip_prefix("//").ok_or(UrlError::Malformed)?;
    if url.text.bytes().any(is_odd) {
        return Err(UrlError::Malformed);
    }
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return Err(UrlError::NotHttps);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(UrlError::Malformed);
    }
    if authority.as_bytes().contains(&b'@') || !url.username.is_empty() || !url.password.is_empty()
    {
        return Err(UrlError::Credentials);
    }
    if url.text.as_bytes().contains(&b'#') || !url.hash.is_empty() {
        return Err(UrlError::Fragment);
    }
    Ok(())
}

fn origin(url: &UrlParts) -> String {
    let mut origin = format!("{}//{}", url.protocol, url.hostname);
    if !url.port.is_empty() {
        origin.push(':');
        origin.push_str(&url.port);
    }
    origin
}

#[derive(Debug)]
enum Host<'u> {
    Address(IpAddr),
    Name(&'u str),
}

impl<'u> Host<'u> {
    /// Reads a host; `None` if it is neither an address nor a domain name without a final dot.
    fn of(hostname: &'u str) -> Option<Self> {
        if let Some(inner) = hostname.strip_prefix('[') {
            let address = inner.strip_suffix(']')?.parse::<Ipv6Addr>();
            return Some(Self::Address(address.ok()?.into()));
        }
        if let Ok(address) = hostname.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let is_name = hostname.len() <= MAX_NAME && hostname.split('.').all(is_label);
        // The other spellings of an IPv4 address end in a number.
        let last = hostname.rsplit('.').next()?;
        let is_number = last.starts_with(|character: char| character.is_ascii_digit());
        (is_name && !is_number).then_some(Self::Name(hostname))
    }

    fn is_local(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => *name == LOCALHOST,
        }
    }
}

fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    (1..=63).contains(&label.len()) && label.bytes().all(is_allowed)
}

/// Whether a name is not one of the public domain name system.
fn is_special(name: &str) -> bool {
    let is_within = |suffix: &&str| {
        let rest = name.strip_suffix(*suffix);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !name.as_bytes().contains(&b'.') || SPECIAL_NAMES.iter().any(is_within)
}

impl UrlError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::TooLong => "callback-too-long",
            Self::Malformed => "callback-malformed",
            Self::NotHttps => "callback-not-https",
            Self::Credentials => "callback-credentials",
            Self::Fragment => "callback-fragment",
            Self::Port => "callback-port",
            Self::SpecialAddress => "callback-special-address",
            Self::SpecialName => "callback-special-name",
            Self::NotAllowed => "callback-not-allowed",
        }
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLong => "the callback url has more than 2048 bytes",
            Self::Malformed => "the callback url is malformed",
            Self::NotHttps => "the callback url does not use https",
            Self::Credentials => "the callback url has a user name or password",
            Self::Fragment => "the callback url has a fragment",
            Self::Port => "the callback url does not use port 443",
            Self::SpecialAddress => "the callback url has an address that is not public",
            Self::SpecialName => "the callback url has a host name that is not public",
            Self::NotAllowed => "the origin of the callback url is not allowed",
        })
    }
}

impl core::error::Error for UrlError {}

/// Maximum bytes of a callback url, as given and as parsed.
const MAX_BYTES: usize = 2_048;
/// Maximum bytes of a host name.
const MAX_NAME: usize = 253;
const LOCALHOST: &str = "localhost";

/// Names of the registry of special-use domain names, and others that private networks use. The
/// documentation's `example.com` is left out: it resolves, and is public.
const SPECIAL_NAMES: &[&str] = &[
    "alt",
    "arpa",
    "corp",
    "example",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    LOCALHOST,
    "mail",
    "onion",
    "private",
    "test",
];
