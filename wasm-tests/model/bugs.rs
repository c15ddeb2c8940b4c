use mcp_listen::planted::{self, Bug};

use crate::harness_bug::{self, HarnessBug};

/// Where a bug is planted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Planted {
    Core(Bug),
    Around(HarnessBug),
}

/// Each planted bug, and what it does.
pub(crate) const BUGS: [(Planted, &str); 87] = [
    (
        Planted::Core(Bug::AckBeforeConfirmation),
        "the acknowledgment does not wait for the bus",
    ),
    (
        Planted::Core(Bug::CuesBeforeAck),
        "pending cues are written before the acknowledgment",
    ),
    (
        Planted::Core(Bug::RequeuesTopics),
        "a topic that changes again goes to the end of the queue",
    ),
    (
        Planted::Core(Bug::KeepsUnhonoredCues),
        "pending cues stay when the filter no longer honors them",
    ),
    (
        Planted::Core(Bug::EndsWithoutDraining),
        "the end drops pending cues",
    ),
    (
        Planted::Core(Bug::ClosesWithoutResult),
        "a closed stream ends without its result",
    ),
    (
        Planted::Core(Bug::ClosesAsLost),
        "a closed stream ends as if its bus were in doubt",
    ),
    (
        Planted::Core(Bug::ClosesDespiteDoubt),
        "a closed stream ends as if its bus were not in doubt",
    ),
    (
        Planted::Core(Bug::CoversPendingCues),
        "the id of an event covers pending cues",
    ),
    (
        Planted::Core(Bug::ClaimsWhileDraining),
        "a draining stream claims events that it dropped",
    ),
    (
        Planted::Core(Bug::IgnoresPrevious),
        "the edge ignores `previous`",
    ),
    (
        Planted::Core(Bug::MovesCursorOverGap),
        "an event after a gap moves the cursor",
    ),
    (
        Planted::Core(Bug::DeliversOvertakenTasks),
        "an overtaken task state is delivered when it arrives",
    ),
    (
        Planted::Core(Bug::NeverReattaches),
        "an edge that lost its bus does not reattach",
    ),
    (
        Planted::Core(Bug::WaitsTooLong),
        "a short outage of the bus is handled as a long one",
    ),
    (
        Planted::Core(Bug::AcceptsAnyEpoch),
        "a new epoch is taken for the old one",
    ),
    (
        Planted::Core(Bug::IgnoresLostTasks),
        "unknown states of tasks are ignored",
    ),
    (
        Planted::Core(Bug::ReplaysFirstEvents),
        "the first event of each topic is replayed, not the last",
    ),
    (
        Planted::Core(Bug::DeliversToOneEdge),
        "an event goes to one of the edges that follow its topic",
    ),
    (
        Planted::Core(Bug::NamesNoPrevious),
        "a batch does not name the position of the one before it",
    ),
    (
        Planted::Core(Bug::KeepsPrevious),
        "batches name the same previous position",
    ),
    (
        Planted::Core(Bug::EntersTwice),
        "an edge that attaches again counts twice",
    ),
    (
        Planted::Core(Bug::IgnoresAdditions),
        "an edge does not receive the topics that it adds",
    ),
    (
        Planted::Core(Bug::SkipsReplay),
        "a reply says that nothing was missed before its replay",
    ),
    (
        Planted::Core(Bug::EndsAtNewEpoch),
        "a stream whose bus cannot say what was missed ends",
    ),
    (
        Planted::Core(Bug::EndsAtGap),
        "a stream ends when a frame is missing",
    ),
    (
        Planted::Core(Bug::EndsWithBus),
        "a stream ends when its bus is lost",
    ),
    (
        Planted::Core(Bug::FollowsTooSoon),
        "a shared connection counts names as followed before the bus has confirmed them",
    ),
    (
        Planted::Core(Bug::ReattachesWithoutSince),
        "a shared connection that reattaches does not say what it has received",
    ),
    (
        Planted::Core(Bug::ReattachesWithoutResources),
        "a shared connection that reattaches does not name resources",
    ),
    (
        Planted::Core(Bug::ResyncForgetsTopics),
        "a shared connection forgets after a gap what the bus follows for it",
    ),
    (
        Planted::Core(Bug::ResyncCuesNothing),
        "the streams of a shared connection do not learn that something was missed",
    ),
    (
        Planted::Core(Bug::DeliversBeforeHead),
        "a stream on a shared connection takes events from before the head of its acknowledgment",
    ),
    (
        Planted::Core(Bug::ForgetsUnwritten),
        "a stream without room does not receive a published event later either",
    ),
    (
        Planted::Core(Bug::SharesIds),
        "every stream is written the frame of the first one, with its id",
    ),
    (
        Planted::Core(Bug::KeepsClosedStreams),
        "a stream that has left stays in the index of its fan-out",
    ),
    (
        Planted::Core(Bug::FansOutLastOnly),
        "only the last of several events is fanned out",
    ),
    (
        Planted::Core(Bug::HandoverLosesWaiting),
        "a handover of the shared connection loses the waiting streams",
    ),
    (
        Planted::Core(Bug::IgnoresLaterTopics),
        "the root ignores topics that a shard adds later",
    ),
    (
        Planted::Core(Bug::ClearsOutbox),
        "the root drops the pending events of a shard that follows more topics",
    ),
    (
        Planted::Core(Bug::CountsLateCalls),
        "the root waits without end for a call that timed out",
    ),
    (
        Planted::Core(Bug::AnswersTooSoon),
        "a shard replies to an attach before the root has confirmed",
    ),
    (
        Planted::Core(Bug::ConfirmsChangesTooSoon),
        "a shard replies to a change of an edge before the root has confirmed",
    ),
    (
        Planted::Core(Bug::ForgetsFailedCall),
        "a shard whose call failed forgets the change",
    ),
    (
        Planted::Core(Bug::SweepsStreaming),
        "a session with a stream ends",
    ),
    (
        Planted::Core(Bug::CountsEndedSessions),
        "an ended session is still counted",
    ),
    (
        Planted::Core(Bug::CountsUnsubscribed),
        "a resource that was unsubscribed is still counted",
    ),
    (
        Planted::Core(Bug::EndsLatestSession),
        "the session that was used last makes room for another",
    ),
    (
        Planted::Core(Bug::AnswersOtherCallers),
        "a session replies to other callers",
    ),
    (
        Planted::Core(Bug::NotifiesNoShard),
        "a shard does not learn the subscriptions of a session",
    ),
    (
        Planted::Core(Bug::NotifiesShardOnce),
        "a failed call about subscriptions to a shard is not repeated",
    ),
    (
        Planted::Core(Bug::KeepsFormerStream),
        "the previous stream of a session stays open",
    ),
    (
        Planted::Core(Bug::AcceptsOlderStream),
        "an older stream of a session replaces a newer one",
    ),
    (
        Planted::Core(Bug::ReleasesNewerStream),
        "a shard that has to release an older stream of a session releases a newer one",
    ),
    (
        Planted::Core(Bug::ReleasesOnce),
        "a failed release of a session's stream is not repeated",
    ),
    (
        Planted::Core(Bug::DropsMissedResource),
        "a shard drops a resource of which a session has missed an event",
    ),
    (
        Planted::Core(Bug::SkipsAuthentication),
        "a session is asked for an unauthenticated caller",
    ),
    (
        Planted::Core(Bug::ForwardsPings),
        "a ping in a session goes to the upstream server",
    ),
    (
        Planted::Core(Bug::NotifiesUpstreamEndlessly),
        "the upstream server is notified endlessly that a client is ready",
    ),
    (
        Planted::Core(Bug::ForgetsEventId),
        "a session's stream does not resume from its client's position",
    ),
    (
        Planted::Core(Bug::SendsDenied),
        "a session's stream sends what its caller may not receive",
    ),
    (
        Planted::Core(Bug::ReopensSilently),
        "a reopened watch does not report what it may have missed",
    ),
    (
        Planted::Core(Bug::EndsWithStream),
        "a watch stops when the server closes its stream",
    ),
    (
        Planted::Core(Bug::ReopensLate),
        "a watch opens the next stream ten minutes later",
    ),
    (
        Planted::Core(Bug::ReportsLastOnly),
        "a watch reports only the last of several changes",
    ),
    (
        Planted::Core(Bug::IgnoresEnd),
        "a listener does not notice the end of its response",
    ),
    (
        Planted::Core(Bug::ReusesId),
        "each request of a listener has the same id",
    ),
    (
        Planted::Core(Bug::ReadsOneEvent),
        "a listener reads one event of each piece of its response",
    ),
    (
        Planted::Core(Bug::EndsAtKeepAlive),
        "a listener takes a keep-alive for the end",
    ),
    (
        Planted::Core(Bug::HandsOverToSpent),
        "a request that has spent its budget gets the shared socket again",
    ),
    (
        Planted::Core(Bug::CountsWritesByTerm),
        "the budget of a request is renewed whenever it gets the shared socket",
    ),
    (
        Planted::Core(Bug::IgnoresProofs),
        "a request that proves that it runs loses the shared socket",
    ),
    (
        Planted::Core(Bug::NeverTakesOver),
        "the shared socket stays with a request that does not run",
    ),
    (
        Planted::Core(Bug::TakesOverLate),
        "a request takes over the shared socket 30 seconds late",
    ),
    (
        Planted::Core(Bug::ShedsDespiteFresh),
        "streams are shed although a fresh request could continue",
    ),
    (
        Planted::Core(Bug::NeverSheds),
        "no stream is shed when all requests are spent",
    ),
    (
        Planted::Core(Bug::WaitsForSilent),
        "no stream is shed when a fresh request does not run and all others are spent",
    ),
    (
        Planted::Core(Bug::HandoverUnreported),
        "a handover of the shared socket is not reported to the upstream",
    ),
    (
        Planted::Core(Bug::RootKeepsFloor),
        "the bus claims to replay trimmed events",
    ),
    (
        Planted::Core(Bug::RootReusesPosition),
        "a bus that wakes reuses its last position",
    ),
    (
        Planted::Core(Bug::RootReplaysTooLate),
        "a replay starts one event too late",
    ),
    (
        Planted::Core(Bug::RootFollowsNoSession),
        "a session's stream does not follow the session's subscriptions",
    ),
    (
        Planted::Core(Bug::RootReleasesNone),
        "the edge of a session that is over gets a reply",
    ),
    (
        Planted::Around(HarnessBug::ForgetsLastSent),
        "a hibernating bus forgets what it sent last",
    ),
    (
        Planted::Around(HarnessBug::SendsBeforeWriting),
        "an event is sent before it is on disk",
    ),
    (
        Planted::Around(HarnessBug::KeepsEdges),
        "the bus keeps edges that left",
    ),
    (
        Planted::Around(HarnessBug::NeverVerifies),
        "`busProbeIntervalMs` has no effect",
    ),
];

/// Plants a bug in this thread, in place of any other.
pub(crate) fn plant(bug: Option<Planted>) {
    planted::plant(match bug {
        Some(Planted::Core(bug)) => Some(bug),
        _ => None,
    });
    harness_bug::plant(match bug {
        Some(Planted::Around(harness_bug)) => Some(harness_bug),
        _ => None,
    });
}
