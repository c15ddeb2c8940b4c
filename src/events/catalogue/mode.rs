use alloc::{string::String, vec::Vec};

use crate::json::Node;

/// A way to deliver events (SEP-3415, Delivery Modes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// `events/poll`
    Poll,
    /// `events/stream`
    Push,
    /// `events/subscribe`
    Webhook,
}

/// A set of delivery modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes(u8);

impl Mode {
    /// Every mode, in the order of lists.
    pub const ALL: [Self; 3] = [Self::Poll, Self::Push, Self::Webhook];

    /// Returns the name of the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Push => "push",
            Self::Webhook => "webhook",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl Modes {
    /// No mode.
    pub const NONE: Self = Self(0);

    /// Reads a list of names; `None` if it is not one.
    pub(crate) fn from_node(node: &Node<'_>) -> Option<Self> {
        let modes = node.as_array()?.iter();
        let modes = modes.map(|node| Mode::from_name(node.as_str()?));
        modes.collect()
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether the set has a mode.
    pub fn has(self, mode: Mode) -> bool {
        self.0 & bit(mode) != 0
    }

    /// Returns the modes in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the modes in either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set without a mode.
    #[must_use]
    pub fn without(self, mode: Mode) -> Self {
        Self(self.0 & !bit(mode))
    }

    /// Returns the names as a JSON array.
    pub fn to_json(self) -> String {
        let modes = Mode::ALL.into_iter().filter(|mode| self.has(*mode));
        let names: Vec<String> = modes.map(|mode| format!("\"{}\"", mode.name())).collect();
        format!("[{}]", names.join(","))
    }
}

impl FromIterator<Mode> for Modes {
    fn from_iter<I: IntoIterator<Item = Mode>>(modes: I) -> Self {
        let modes = modes.into_iter();
        Self(modes.fold(0, |set, mode| set | bit(mode)))
    }
}

fn bit(mode: Mode) -> u8 {
    match mode {
        Mode::Poll => 1,
        Mode::Push => 2,
        Mode::Webhook => 4,
    }
}
