use mcp_listen::seeded::{self, Bug};

use crate::slip::{self, Slip};

/// Where a bug is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seeded {
    Core(Bug),
    Around(Slip),
}

/// Each bug that is planted, and what it does.
pub(crate) const BUGS: [(Seeded, &str); 72] = [
    (
        Seeded::Core(Bug::AcknowledgesUnregistered),
        "the acknowledgment does not wait for the bus",
    ),
    (
        Seeded::Core(Bug::CuesBeforeAcknowledging),
        "what already waits is written before the acknowledgment",
    ),
    (
        Seeded::Core(Bug::LosesItsPlace),
        "a key that changes again goes to the end of the queue",
    ),
    (
        Seeded::Core(Bug::KeepsWhatIsNotHonored),
        "what waits stays when the filter no longer honors it",
    ),
    (
        Seeded::Core(Bug::EndsWithoutDraining),
        "the end forgets what waits",
    ),
    (
        Seeded::Core(Bug::CoversWhatWaits),
        "the id of an event covers what still waits",
    ),
    (
        Seeded::Core(Bug::HearsWhileDraining),
        "a draining stream says that it heard what it did not take in",
    ),
    (
        Seeded::Core(Bug::IgnoresPrevious),
        "the edge ignores `previous`",
    ),
    (
        Seeded::Core(Bug::MovesTheMarkOverAGap),
        "an event after a gap moves the cursor",
    ),
    (
        Seeded::Core(Bug::TellsWhatWasOvertaken),
        "what was overtaken is told of when it comes",
    ),
    (
        Seeded::Core(Bug::StaysAway),
        "an edge that lost its bus does not attach again",
    ),
    (
        Seeded::Core(Bug::WaitsTooLong),
        "a short absence of the bus is waited out as a long one",
    ),
    (
        Seeded::Core(Bug::TakesAnyMarkForWhole),
        "a new epoch is taken for the old one",
    ),
    (
        Seeded::Core(Bug::PassesOverTasks),
        "states of tasks that nobody can tell are passed over",
    ),
    (
        Seeded::Core(Bug::ReplaysTheFirst),
        "of each subject the first event is replayed, not the last",
    ),
    (
        Seeded::Core(Bug::EndsAtANewEpoch),
        "a stream whose bus cannot say what was missed ends",
    ),
    (
        Seeded::Core(Bug::EndsAtAGap),
        "a stream ends when a frame is missing",
    ),
    (
        Seeded::Core(Bug::EndsWithItsBus),
        "a stream ends when its bus is lost",
    ),
    (
        Seeded::Core(Bug::AdjustsTooSoon),
        "a shared connection counts names as followed before the bus has confirmed them",
    ),
    (
        Seeded::Core(Bug::HandsOverWithoutSince),
        "a shared connection that attaches again does not say what it has received",
    ),
    (
        Seeded::Core(Bug::AttachesWithoutNames),
        "a shared connection that attaches again does not name resources",
    ),
    (
        Seeded::Core(Bug::ResyncForgetsWhatIsFollowed),
        "a shared connection forgets after a gap what the bus follows for it",
    ),
    (
        Seeded::Core(Bug::ResyncTellsNobody),
        "the streams of a shared connection do not learn that something was missed",
    ),
    (
        Seeded::Core(Bug::TakesBeforeTheHead),
        "a stream on a shared connection takes what stands before the head of its acknowledgment",
    ),
    (
        Seeded::Core(Bug::ForgetsTheMissed),
        "who has no room for what is fanned out does not hear of it later either",
    ),
    (
        Seeded::Core(Bug::StampsAllAlike),
        "every stream is written the frame of the first one, with its id",
    ),
    (
        Seeded::Core(Bug::KeepsWhoLeftInTheIndex),
        "a stream that has left stays in the index of its fan-out",
    ),
    (
        Seeded::Core(Bug::FansOutTheLastOnly),
        "of several events the last one alone is fanned out",
    ),
    (
        Seeded::Core(Bug::HandsOverWithoutTheWaiting),
        "a hand-over of the shared connection loses the streams that wait",
    ),
    (
        Seeded::Core(Bug::EntersTheFirstNamesOnly),
        "the root does not enter what a shard adds later",
    ),
    (
        Seeded::Core(Bug::ClearsWhatIsOwed),
        "the root forgets what it owes a shard that follows something more",
    ),
    (
        Seeded::Core(Bug::CountsLateCalls),
        "the root waits without end for a call that timed out",
    ),
    (
        Seeded::Core(Bug::AnswersTooSoon),
        "a shard answers an attach before the root has confirmed",
    ),
    (
        Seeded::Core(Bug::ChangesAtAShardTooSoon),
        "a shard answers a change of an edge before the root has confirmed",
    ),
    (
        Seeded::Core(Bug::ForgetsAFailedCall),
        "a shard whose call failed forgets what it was to change",
    ),
    (
        Seeded::Core(Bug::SweepsWhoStreams),
        "a session is over although it has a stream",
    ),
    (
        Seeded::Core(Bug::CountsWhoIsGone),
        "a session that is over goes on being counted",
    ),
    (
        Seeded::Core(Bug::KeepsTheBytes),
        "a resource that is watched no longer goes on counting",
    ),
    (
        Seeded::Core(Bug::EndsTheLatest),
        "the session that was used last makes room for another one",
    ),
    (
        Seeded::Core(Bug::AnswersAnyone),
        "a session answers callers that it does not belong to",
    ),
    (
        Seeded::Core(Bug::TellsNoShard),
        "a shard does not learn what a session watches",
    ),
    (
        Seeded::Core(Bug::TellsOnce),
        "a shard that could not be told what a session watches is not told again",
    ),
    (
        Seeded::Core(Bug::LeavesTheFormer),
        "the former stream of a session stays open",
    ),
    (
        Seeded::Core(Bug::LetsTheOlderIn),
        "an older stream of a session takes over from a newer one",
    ),
    (
        Seeded::Core(Bug::ReleasesTheNewer),
        "a shard that is to let an older stream of a session go lets a newer one go",
    ),
    (
        Seeded::Core(Bug::ReleasesOnce),
        "a shard that could not let a session's stream go is not told again",
    ),
    (
        Seeded::Core(Bug::DropsWhatWasMissed),
        "a shard drops a resource of which a session has missed something",
    ),
    (
        Seeded::Core(Bug::AsksNobody),
        "a session is asked for a caller who was not named",
    ),
    (
        Seeded::Core(Bug::PassesSignsOfLife),
        "a ping in a session goes to the server behind",
    ),
    (
        Seeded::Core(Bug::TellsWithoutEnd),
        "the server behind is told without end that a client is ready",
    ),
    (
        Seeded::Core(Bug::ForgetsWhereItWas),
        "a session's stream does not go on from where its client was",
    ),
    (
        Seeded::Core(Bug::TellsWhatIsDenied),
        "a session's stream tells what its caller may not hear of",
    ),
    (
        Seeded::Core(Bug::OpensAgainSilently),
        "a watch that is open again does not tell what it may have missed",
    ),
    (
        Seeded::Core(Bug::EndsWithItsStream),
        "a watch stops when the server closes its stream",
    ),
    (
        Seeded::Core(Bug::StaysAwayForLong),
        "a watch opens the next stream ten minutes later",
    ),
    (
        Seeded::Core(Bug::TellsTheLastOnly),
        "a watch tells the last of several changes alone",
    ),
    (
        Seeded::Core(Bug::HandsOverToTheSpent),
        "a request that has spent its budget gets the shared socket again",
    ),
    (
        Seeded::Core(Bug::CountsWritesByTerm),
        "what a request may write begins anew whenever it gets the shared socket",
    ),
    (
        Seeded::Core(Bug::IgnoresProofs),
        "a request that proves that it runs loses the shared socket",
    ),
    (
        Seeded::Core(Bug::NeverTakesOver),
        "the shared socket stays with a request that does not run",
    ),
    (
        Seeded::Core(Bug::ShedsTheFresh),
        "streams are shed although a fresh request could go on",
    ),
    (
        Seeded::Core(Bug::NeverSheds),
        "where all requests are spent no stream is shed",
    ),
    (
        Seeded::Core(Bug::WaitsForTheSilent),
        "where a fresh request does not run, and all others are spent, no stream is shed",
    ),
    (
        Seeded::Core(Bug::HandsOverUnsaid),
        "a hand-over of the shared socket is not told to what follows the bus",
    ),
    (
        Seeded::Around(Slip::ForgetsWhatItSent),
        "a bus that sleeps forgets what it sent last",
    ),
    (
        Seeded::Around(Slip::KeepsTheFloor),
        "what the log has let go of is said to be reached",
    ),
    (
        Seeded::Around(Slip::RepeatsAPosition),
        "a bus that wakes gives its last position out again",
    ),
    (
        Seeded::Around(Slip::ReplaysTooLate),
        "a replay is read from one event too late",
    ),
    (
        Seeded::Around(Slip::SendsBeforeItWrites),
        "an event is sent before it is on disk",
    ),
    (Seeded::Around(Slip::KeepsWhoLeft), "the bus keeps who left"),
    (
        Seeded::Around(Slip::FollowsNoSession),
        "a session's stream does not follow what the session watches",
    ),
    (
        Seeded::Around(Slip::NeverVerifies),
        "`busProbeIntervalMs` has no effect",
    ),
];

/// Plants a bug in this thread, in place of any other.
pub(crate) fn plant(bug: Option<Seeded>) {
    seeded::plant(match bug {
        Some(Seeded::Core(bug)) => Some(bug),
        _ => None,
    });
    slip::plant(match bug {
        Some(Seeded::Around(slip)) => Some(slip),
        _ => None,
    });
}
