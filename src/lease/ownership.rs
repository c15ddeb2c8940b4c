/// The number of a term, which begins when a member takes the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term(pub u32);

/// The owner of the socket.
#[derive(Debug)]
pub(super) enum Ownership<Id> {
    Held {
        by: Id,
        term: Term,
        /// The number of proofs that its request runs.
        proofs: u32,
    },
    /// No member owns it: the appointed member, or the next one that enters, takes it.
    Vacant,
    /// No member owns it, and none is appointed yet.
    Vacated,
}

impl<Id: Copy> Ownership<Id> {
    pub(super) fn held(by: Id, term: Term) -> Self {
        let proofs = 0;
        Self::Held { by, term, proofs }
    }

    pub(super) fn owner(&self) -> Option<Id> {
        match self {
            Self::Held { by, .. } => Some(*by),
            Self::Vacant | Self::Vacated => None,
        }
    }

    pub(super) fn is_vacated(&self) -> bool {
        matches!(self, Self::Vacated)
    }

    /// Records a proof; ignores one of an earlier term.
    pub(super) fn handle_proof(&mut self, shown: Term) {
        match self {
            Self::Held { term, proofs, .. } if *term == shown => *proofs = proofs.wrapping_add(1),
            _ => {}
        }
    }

    /// Returns the current sign; `terms` is the number of terms so far.
    pub(super) fn sign(&self, terms: u32) -> Sign {
        let proofs = match self {
            Self::Held { proofs, .. } => Some(*proofs),
            Self::Vacant | Self::Vacated => None,
        };
        Sign { terms, proofs }
    }
}

/// The last sign of life of the owner. If it stays the same for too long, the owner's request does
/// not run, or there is no owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sign {
    terms: u32,
    proofs: Option<u32>,
}

impl Sign {
    /// Returns the term of the owner, if there is one.
    pub(super) fn term(self) -> Option<Term> {
        self.proofs.map(|_| Term(self.terms))
    }
}
