use mcp_listen::clock::Millis;

/// How a host's bus has been away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absence {
    pub(crate) since: Millis,
    pub(crate) is_overloaded: bool,
    /// Whether an attempt to come back is without any answer.
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

    /// Whether the bus will be found soon: the attempts of an edge whose bus is away for long, or
    /// says that it is overloaded, are spread wider.
    pub(crate) fn is_soon(&self, now: Millis) -> bool {
        !self.is_hanging && !self.is_overloaded && now - self.since <= NOT_LONG
    }
}

/// A bus that was away for so long is found within two seconds.
const NOT_LONG: Millis = Millis(36_000);
