use crate::vocabulary::position::Cursor;

/// What was received before an attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumePoint {
    /// Nothing: the stream begins here.
    None,
    /// Every event up to this cursor.
    Since(Cursor),
    /// Something, but up to where is unknown.
    Unknown,
}
