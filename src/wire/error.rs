use core::fmt;

/// The reason why a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The message is not a JSON object with the members that its type requires.
    Malformed,
    /// The version is not supported.
    UnknownVersion,
    /// The type is unknown.
    UnknownType,
    /// The message is out of place: from an edge that is gone, or an event before the first reply
    /// to a follow.
    OutOfPlace,
}

impl ProtocolError {
    /// Returns a stable code for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-frame",
            Self::UnknownVersion => "unknown-frame-version",
            Self::UnknownType => "unknown-frame-type",
            Self::OutOfPlace => "frame-out-of-place",
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Malformed => "the frame is malformed",
            Self::UnknownVersion => "the frame's version is not known",
            Self::UnknownType => "the frame's type is not known",
            Self::OutOfPlace => "the frame is out of place",
        })
    }
}

impl core::error::Error for ProtocolError {}
