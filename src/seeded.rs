//! Bugs that can be planted, one at a time, to show that the model checker finds them. Nothing that is published is built
//! with the feature `seeded-bugs`; without it there are none, and the compiler leaves out what asks for them.

/// One bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bug {
    /// The acknowledgment does not wait for the bus.
    AcknowledgesUnregistered,
    /// What already waits is written before the acknowledgment.
    CuesBeforeAcknowledging,
    /// A key that changes again goes to the end of the queue.
    LosesItsPlace,
    /// What waits stays when the filter no longer honors it.
    KeepsWhatIsNotHonored,
    /// The end forgets what waits.
    EndsWithoutDraining,
    /// The id of an event covers what still waits.
    CoversWhatWaits,
    /// A stream that drains says that it heard what it did not take in.
    HearsWhileDraining,
    /// The edge does not look at what came before an event.
    IgnoresPrevious,
    /// An event after a gap moves the mark.
    MovesTheMarkOverAGap,
    /// What was overtaken is told of when it comes.
    TellsWhatWasOvertaken,
    /// An edge that lost its bus does not attach again.
    StaysAway,
    /// A short absence of the bus is waited out as a long one.
    WaitsTooLong,
    /// Whatever mark the bus goes on from, nothing was missed.
    TakesAnyMarkForWhole,
    /// States of tasks that nobody can tell are passed over.
    PassesOverTasks,
    /// Of each subject the first event is replayed, not the last.
    ReplaysTheFirst,
    /// A stream whose bus cannot say what was missed ends, whatever it honors.
    EndsAtANewEpoch,
    /// A stream ends when a frame is missing.
    EndsAtAGap,
    /// A stream that is open ends when its bus is lost.
    EndsWithItsBus,
    /// A line counts what it adds as followed before the bus has confirmed it.
    AdjustsTooSoon,
    /// A line that attaches again does not say what it has received.
    HandsOverWithoutSince,
    /// A line that attaches again does not name the resources of its streams.
    AttachesWithoutNames,
    /// After a gap that cannot be recovered, a line takes nothing for followed that it had asked for.
    ResyncForgetsWhatIsFollowed,
    /// After a gap that cannot be recovered, the streams of a line are not told so.
    ResyncTellsNobody,
    /// A stream on a line takes what stands before the head that its acknowledgment names.
    TakesBeforeTheHead,
    /// Who has no room for what is fanned out does not hear of it later either.
    ForgetsTheMissed,
    /// Every stream is written the frame of the first one, with its id.
    StampsAllAlike,
    /// A stream that has left stays in the index of its fan-out.
    KeepsWhoLeftInTheIndex,
    /// Of several events the last one alone is fanned out.
    FansOutTheLastOnly,
    /// A hand-over of the connection loses the streams that wait for the bus.
    HandsOverWithoutTheWaiting,
    /// The root does not enter what a shard adds later.
    EntersTheFirstNamesOnly,
    /// The root forgets what it has yet to tell a shard whenever that follows something more.
    ClearsWhatIsOwed,
    /// A call to a shard that timed out counts as one under way.
    CountsLateCalls,
    /// A shard answers an attach before the root has confirmed.
    AnswersTooSoon,
    /// A shard answers a change of an edge before the root has confirmed.
    ChangesAtAShardTooSoon,
    /// A shard whose call failed forgets what it was to change.
    ForgetsAFailedCall,
}

/// Whether this bug is planted.
#[cfg(not(feature = "seeded-bugs"))]
pub(crate) const fn has(_: Bug) -> bool {
    false
}

#[cfg(feature = "seeded-bugs")]
pub(crate) use planting::has;
#[cfg(feature = "seeded-bugs")]
pub use planting::plant;

#[cfg(feature = "seeded-bugs")]
mod planting {
    use std::cell::Cell;

    use super::Bug;

    /// Plants a bug in this thread, in place of any other.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    pub(crate) fn has(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    std::thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }
}
