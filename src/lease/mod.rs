//! The lease of the socket that the streams of an isolate share: decides which of their requests
//! owns it, and for how long.

mod budget;
mod members;
mod output;
mod ownership;

use alloc::collections::VecDeque;

use crate::clock::Millis;

use members::{Check, Members};
use ownership::Ownership;

pub use budget::Budget;
pub use output::LeaseOutput;
pub use ownership::Term;

/// Decides which member owns the shared socket. A member is a stream with its request. The request
/// of the owner opens the socket, writes for all members, and closes the socket.
///
/// A request is spent after [`Budget::writes`] writes, and never owns the socket again while there
/// is another member. The members take turns to request a proof that the owner's request still
/// runs. A member that gets none takes over the socket.
///
/// After each other call, poll [`Lease::poll_output`] until it returns `None`. Each member has a
/// timer: see [`Lease::poll_timeout_of`].
#[derive(Debug)]
pub struct Lease<Id> {
    budget: Budget,
    members: Members<Id>,
    ownership: Ownership<Id>,
    /// The number of times that a member took the socket.
    terms: u32,
    /// Whether a socket was given up that [`Lease::take_moved`] has not reported yet.
    has_moved: bool,
    /// The time before which no member is ended.
    next_end: Option<Millis>,
    outputs: VecDeque<LeaseOutput<Id>>,
}

impl<Id: Copy + Ord> Lease<Id> {
    /// Creates a lease without members.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            members: Members::default(),
            ownership: Ownership::Vacant,
            terms: 0,
            has_moved: false,
            next_end: None,
            outputs: VecDeque::new(),
        }
    }

    /// Sets how much a request may write for others.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
        self.members.apply_limit(budget.writes);
    }

    /// Returns the member that owns the socket.
    pub fn owner(&self) -> Option<Id> {
        self.ownership.owner()
    }

    /// Adds a member. Its request then calls [`Lease::take`] and [`Lease::handle_timeout_of`].
    pub fn enter(&mut self, id: Id) {
        self.members.enter(id);
    }

    /// Removes a member. If its request owns the socket, it closes the socket.
    pub fn leave(&mut self, id: Id) {
        let is_member = self.members.leave(id);
        // Without an owner, this may be the member that was appointed.
        if is_member && self.owner().is_none_or(|owner| owner == id) {
            self.vacate();
        }
    }

    /// Gives the socket to a member whose request runs now. Returns `None` if another member owns
    /// it or the request is spent.
    pub fn take(&mut self, id: Id) -> Option<Term> {
        if self.owner().is_some() || !self.members.may_own(id) {
            return None;
        }
        self.terms = self.terms.wrapping_add(1);
        self.members.check(id, Check::Nothing);
        let term = Term(self.terms);
        self.ownership = Ownership::held(id, term);
        Some(term)
    }

    /// Counts writes to streams as work of the owner's request.
    pub fn handle_writes(&mut self, writes: usize) {
        if let Some(owner) = self.owner() {
            self.members.count(owner, writes, self.budget.writes);
        }
    }

    /// Handles a proof that the owner's request ran in this term.
    pub fn handle_proof(&mut self, term: Term) {
        self.ownership.handle_proof(term);
    }

    /// Handles the timer of a member: see [`Lease::poll_timeout_of`]. `random` is drawn from [0,
    /// 1).
    pub fn handle_timeout_of(&mut self, id: Id, now: Millis, random: f64) {
        if self.owner() == Some(id) {
            return;
        }
        let (look, sign) = (
            now + self.members.turn(random),
            self.ownership.sign(self.terms),
        );
        match self.members.check_of(id) {
            Some(Check::Nothing) => self.members.check(id, Check::Look(look)),
            Some(Check::Look(at)) if at <= now => {
                let (at, asked) = (now + PROOF, sign);
                self.members.check(id, Check::Proof { at, asked });
                self.outputs.extend(sign.term().map(LeaseOutput::Prove));
            }
            Some(Check::Proof { at, asked }) if at <= now => {
                self.members.check(id, Check::Look(look));
                if asked == sign {
                    let times = self.members.count_silence(id, sign);
                    self.take_over(id, times, now);
                }
            }
            _ => {}
        }
    }

    /// Returns when the request of a member calls [`Lease::handle_timeout_of`]; `None` for the
    /// owner, and before the first call.
    pub fn poll_timeout_of(&self, id: Id) -> Option<Millis> {
        match self.members.check_of(id)? {
            Check::Nothing => None,
            Check::Look(at) | Check::Proof { at, .. } => Some(at),
        }
    }

    /// Returns the next output. `random` is drawn from [0, 1).
    pub fn poll_output(&mut self, now: Millis, random: f64) -> Option<LeaseOutput<Id>> {
        if self.outputs.is_empty() {
            self.decide(now, random);
        }
        self.outputs.pop_front()
    }

    /// Whether the owner's request is spent and a fresh one can continue: write nothing more until
    /// that owns the socket.
    pub fn must_yield(&self) -> bool {
        self.is_owner_spent() && self.members.has_fresh()
    }

    /// Whether the socket was given up since the last call.
    pub fn take_moved(&mut self) -> bool {
        core::mem::take(&mut self.has_moved)
    }

    fn decide(&mut self, now: Millis, random: f64) {
        if self.must_yield() {
            self.release();
        } else if self.is_owner_spent() {
            self.end_oldest(now);
        } else if self.ownership.is_vacated() {
            self.ownership = Ownership::Vacant;
            match self.members.choose(random) {
                Some(next) => self.outputs.push_back(LeaseOutput::Appoint(next)),
                None => self.end_oldest(now),
            }
        }
    }

    /// Handles a silent owner or appointee, which member `id` has found silent `times` times in a
    /// row.
    fn take_over(&mut self, id: Id, times: u32, now: Millis) {
        if self.members.may_own(id) {
            self.release();
            self.ownership = Ownership::Vacant;
            self.outputs.push_back(LeaseOutput::Appoint(id));
        } else if !self.members.has_fresh() || times >= MAX_SILENT {
            // A fresh request that still runs would own the socket by now.
            self.end_oldest(now);
        }
    }

    /// Ends some of the oldest streams if no fresh request can continue: their clients reconnect
    /// with fresh requests.
    fn end_oldest(&mut self, now: Millis) {
        let is_due = self.next_end.is_none_or(|at| at <= now);
        if self.members.len() <= 1 || !is_due {
            return;
        }
        self.next_end = Some(now + self.budget.end_interval.into());
        let count = self.members.len().div_ceil(self.budget.end_share.max(1));
        let oldest = self.members.oldest();
        let others = oldest.filter(|id| Some(*id) != self.owner());
        let ended = others.take(count).collect();
        self.outputs.push_back(LeaseOutput::End(ended));
    }

    fn release(&mut self) {
        if let Some(owner) = self.owner() {
            self.outputs.push_back(LeaseOutput::Release(owner));
        }
        self.vacate();
    }

    fn vacate(&mut self) {
        self.has_moved |= self.owner().is_some();
        self.ownership = Ownership::Vacated;
    }

    fn is_owner_spent(&self) -> bool {
        self.owner().is_some_and(|id| !self.members.is_fresh(id))
    }
}

/// The number of silent checks in a row after which a spent member knows that every other member
/// that still runs has checked too.
const MAX_SILENT: u32 = 3;
/// Milliseconds within which the owner has to prove that its request runs.
const PROOF: Millis = Millis(1_000);
