use crate::vocabulary::position::Mark;

/// What was received before an attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumePoint {
    /// Nothing: the stream begins here.
    None,
    /// Every event up to this mark.
    Since(Mark),
    /// Something, but up to where is unknown.
    Unknown,
}
