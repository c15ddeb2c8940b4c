use crate::vocabulary::position::Mark;

/// What was heard before an attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Past {
    /// Nothing: it begins here.
    None,
    /// Everything up to this mark.
    Since(Mark),
    /// Something, but nobody can say up to where.
    Unknown,
}
