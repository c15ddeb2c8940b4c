/// Numbers the times that a member took the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term(pub u32);

/// Who has the socket.
#[derive(Debug)]
pub(super) enum Seat<Id> {
    Held {
        by: Id,
        term: Term,
        /// How often its request has shown that it runs.
        proofs: u32,
    },
    /// No member has it: the one that was appointed, or the next that enters, takes it.
    Vacant,
    /// No member has it, and none was appointed yet.
    Vacated,
}

impl<Id: Copy> Seat<Id> {
    pub(super) fn held(by: Id, term: Term) -> Self {
        let proofs = 0;
        Self::Held { by, term, proofs }
    }

    pub(super) fn holder(&self) -> Option<Id> {
        match self {
            Self::Held { by, .. } => Some(*by),
            Self::Vacant | Self::Vacated => None,
        }
    }

    pub(super) fn is_vacated(&self) -> bool {
        matches!(self, Self::Vacated)
    }

    /// A proof of an earlier term counts for nothing.
    pub(super) fn handle_proof(&mut self, shown: Term) {
        match self {
            Self::Held { term, proofs, .. } if *term == shown => *proofs = proofs.wrapping_add(1),
            _ => {}
        }
    }

    /// The last sign of life, where so many terms have begun.
    pub(super) fn sign(&self, terms: u32) -> Sign {
        let proofs = match self {
            Self::Held { proofs, .. } => Some(*proofs),
            Self::Vacant | Self::Vacated => None,
        };
        Sign { terms, proofs }
    }
}

/// The last sign of life of the holder. One that stays the same for too long says that its request does not run, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sign {
    terms: u32,
    proofs: Option<u32>,
}

impl Sign {
    /// The term of the holder, where there is one.
    pub(super) fn term(self) -> Option<Term> {
        self.proofs.map(|_| Term(self.terms))
    }
}
