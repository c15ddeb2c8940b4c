use mcp_listen::clock::Millis;

/// How the bus of a host is unavailable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absence {
    pub(crate) since: Millis,
    pub(crate) is_overloaded: bool,
    /// Whether the last attempt to reconnect has no reply yet.
    pub(crate) is_hanging: bool,
}

impl Absence {
    pub(crate) fn since(since: Millis) -> Self {
        Self {
            since,
            is_overloaded: false,
            is_hanging: false,
        }
    }

    /// Whether the bus will be found soon: attempts are spread wider if the bus is unavailable for
    /// long or reports overload.
    pub(crate) fn is_soon(&self, now: Millis) -> bool {
        !self.is_hanging && !self.is_overloaded && now - self.since <= NOT_LONG
    }
}

/// A bus that was unavailable for this long is found within two seconds.
const NOT_LONG: Millis = Millis(36_000);
