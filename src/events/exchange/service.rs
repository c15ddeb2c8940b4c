use core::fmt;

use serde::Deserialize;

use crate::{
    events::{
        catalogue::{Catalogue, CatalogueError, Mode, Modes, capability},
        error::Codes,
    },
    json::{self, Node},
    vocabulary::limits::Limits,
};

use super::request::Method;

/// The event types of a server, and the settings for all requests about them.
#[derive(Clone, Debug)]
pub struct EventService {
    catalogue: Catalogue,
    settings: Settings,
}

/// The settings for all requests about events.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each setting is independent of the others"
)]
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Whether callers have names, without which there are no webhooks. Default `false`.
    pub names_callers: bool,
    /// Whether the host decides who may receive what:
    /// [`EventStep::Authorize`](super::EventStep::Authorize) and
    /// [`EventStep::AuthorizeList`](super::EventStep::AuthorizeList). Default `false`.
    pub authorizes: bool,
    /// Whether the host validates arguments: [`EventStep::Validate`](super::EventStep::Validate).
    /// Default `false`.
    pub validates: bool,
    /// Whether changes of the event types are notified. Default `false`.
    pub list_changed: bool,
    /// Whether `events/list`, `events/subscribe` and `events/unsubscribe` of revisions before
    /// 2026-07-28 are served. Default `false`.
    pub legacy: bool,
    /// The numbers of errors. Default: by the extensions that the client declares.
    pub codes: Codes,
    /// The HTTP status of JSON-RPC errors that would have 400. Default 400.
    pub error_status: ErrorStatus,
    /// The maximum sizes of requests.
    pub limits: Limits,
}

/// An HTTP status, 200 or 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ErrorStatus(u32);

/// Why the options of a service are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// They are not a JSON object with the members that [`EventService::from_json`] names.
    Malformed,
    /// A definition is not valid.
    Catalogue(CatalogueError),
}

impl EventService {
    /// Creates a service for these event types.
    pub fn new(catalogue: Catalogue, settings: Settings) -> Self {
        Self {
            catalogue,
            settings,
        }
    }

    /// Reads an object with `events`, the definitions by name (see [`Catalogue::from_json`]),
    /// `modes`, a list of what the bus can deliver, and the members of [`Settings`] in camel case.
    ///
    /// # Errors
    /// A [`ServiceError`].
    pub fn from_json(text: &str) -> Result<Self, ServiceError> {
        let document = json::read(text.as_bytes(), MAX_DEPTH);
        let document = document.map_err(|_| ServiceError::Malformed)?;
        if document.has_duplicate_key {
            return Err(ServiceError::Malformed);
        }
        let root = &document.root;
        let settings = Settings::from_node(root).ok_or(ServiceError::Malformed)?;
        let events = root.get("events").ok_or(ServiceError::Malformed)?;
        let modes = root.get("modes").and_then(Modes::from_node);
        let modes = modes.ok_or(ServiceError::Malformed)?;
        let served = if settings.names_callers {
            modes
        } else {
            modes.without(Mode::Webhook)
        };
        let catalogue = Catalogue::from_node(events, served).map_err(ServiceError::Catalogue)?;
        Ok(Self::new(catalogue, settings))
    }

    /// Returns the event types.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the settings to advertise, a JSON object.
    pub fn capability(&self) -> &'static str {
        capability(self.settings.list_changed)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the server offers a method: that of a delivery mode, if an event type has it.
    pub(super) fn serves(&self, method: Method) -> bool {
        let mode = match method {
            Method::List => return true,
            Method::Poll => Mode::Poll,
            Method::Stream => Mode::Push,
            Method::Subscribe | Method::Unsubscribe => Mode::Webhook,
        };
        self.catalogue.modes().has(mode)
    }
}

impl Settings {
    fn from_node(node: &Node<'_>) -> Option<Self> {
        let settings: Self = json::from_node(node).ok()?;
        matches!(settings.error_status.0, 200 | 400).then_some(settings)
    }

    /// Returns the HTTP status of an error that would have this one.
    pub(super) fn status(&self, status: u16) -> u16 {
        if status == 400 && self.error_status.0 == 200 {
            200
        } else {
            status
        }
    }
}

impl Default for ErrorStatus {
    fn default() -> Self {
        Self(400)
    }
}

impl ServiceError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "invalid-options",
            Self::Catalogue(error) => error.code(),
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the options of events are not valid"),
            Self::Catalogue(error) => error.fmt(formatter),
        }
    }
}

impl core::error::Error for ServiceError {}

/// Maximum depth of the options, whose schemas may nest deeper than a request.
const MAX_DEPTH: usize = 128;
