//! Values as the files of the corpus describe them, whatever their own text is. Each names every
//! member: where one is new, the files need a case that has it.

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    position::Position,
    session::{NewSession, Session, SessionLimits},
    topic::Topic,
    uri::Uri,
    wire::{Backlog, Batch, Claim, Follow, FollowResponse, Followed, SessionInterest},
};
use serde_json::{Value, json};

pub(super) fn topic(topic: &Topic) -> Value {
    match topic {
        Topic::Everything => json!("everything"),
        Topic::Tools => json!("tools"),
        Topic::Prompts => json!("prompts"),
        Topic::Resources => json!("resources"),
        Topic::Disconnects => json!("disconnects"),
        Topic::Resource(uri) => json!({"resource": **uri}),
        Topic::Task(id) => json!({"task": **id}),
        Topic::Group(name) => json!({"group": **name}),
        Topic::Principal(name) => json!({"principal": **name}),
        other => panic!("not known: {other:?}"),
    }
}

pub(super) fn topics(topics: &[Topic]) -> Value {
    topics.iter().map(topic).collect()
}

pub(super) fn event(of: &ServerEvent) -> Value {
    match of {
        ServerEvent::ToolsListChanged => json!("tools"),
        ServerEvent::PromptsListChanged => json!("prompts"),
        ServerEvent::ResourcesListChanged => json!("resources"),
        ServerEvent::EventsListChanged => json!("events"),
        ServerEvent::ResourceUpdated { uri } => json!({"updated": **uri}),
        ServerEvent::TaskStatus { task } => {
            json!({"task": **task.id(), "members": task.members()})
        }
        ServerEvent::ForGroup { group, event: of } => {
            json!({"group": **group, "event": event(of)})
        }
        ServerEvent::Disconnect { principal } => json!({"disconnect": **principal}),
        other => panic!("describe {other:?} too"),
    }
}

fn events(events: &[(Position, ServerEvent)]) -> Value {
    let events = events.iter();
    events.map(|(at, of)| json!([at.0, event(of)])).collect()
}

pub(super) fn uris(uris: &[Uri]) -> Value {
    uris.iter().map(|uri| Value::from(&**uri)).collect()
}

pub(super) fn claim(claim: &Claim) -> Value {
    let Claim {
        session,
        stream,
        principal,
    } = claim;
    json!({"session": session, "stream": stream, "principal": principal})
}

fn claims(claims: &[Claim]) -> Value {
    claims.iter().map(claim).collect()
}

pub(super) fn follow(follow: &Follow) -> Value {
    let Follow {
        seq,
        is_fresh,
        add,
        drop,
        since,
        epoch,
        joined,
        left,
        edges,
        is_low,
    } = follow;
    json!({
        "seq": seq, "isFresh": is_fresh, "add": topics(add), "drop": topics(drop),
        "since": since.map(|since| since.0), "epoch": epoch,
        "joined": claims(joined), "left": claims(left), "edges": edges, "isLow": is_low,
    })
}

pub(super) fn response(response: &FollowResponse) -> Value {
    match response {
        FollowResponse::Followed(of) => followed(of),
        FollowResponse::Full { seq, room } => json!({"full": seq, "room": room}),
        FollowResponse::Stale { seq } => json!({"stale": seq}),
        FollowResponse::Unknown => json!("unknown"),
        other => panic!("not known: {other:?}"),
    }
}

fn followed(followed: &Followed) -> Value {
    let Followed {
        seq,
        cursor,
        missed,
        is_settled,
        interests,
        room,
    } = followed;
    let missed = missed
        .as_ref()
        .map(|Backlog { after, events: of }| json!({"after": after.0, "events": events(of)}));
    let interests: Value = interests.iter().map(interest).collect();
    json!({
        "seq": seq, "epoch": cursor.epoch, "position": cursor.position.0, "missed": missed,
        "isSettled": is_settled, "interests": interests, "room": room,
    })
}

fn interest(interest: &SessionInterest) -> Value {
    let SessionInterest {
        session,
        uris: of,
        is_paused,
    } = interest;
    let mut described = claim(session);
    described["uris"] = uris(of);
    described["isPaused"] = (*is_paused).into();
    described
}

pub(super) fn batch(batch: &Batch) -> Value {
    let Batch {
        epoch,
        previous,
        through,
        at,
        events: of,
        is_last,
    } = batch;
    json!({
        "epoch": epoch, "previous": previous.map(|at| at.0), "through": through.0,
        "at": at.map(|at| at.0), "events": events(of), "isLast": is_last,
    })
}

pub(super) fn limits(limits: &SessionLimits) -> Value {
    let SessionLimits {
        sessions,
        unnamed_sessions,
        sessions_per_principal,
        uris,
        session_uri_bytes,
        bus_uri_bytes,
        unnamed_uri_bytes,
    } = limits;
    json!({
        "sessions": sessions, "unnamedSessions": unnamed_sessions,
        "sessionsPerPrincipal": sessions_per_principal, "uris": uris,
        "sessionUriBytes": session_uri_bytes, "busUriBytes": bus_uri_bytes,
        "unnamedUriBytes": unnamed_uri_bytes,
    })
}

pub(super) fn begun(new: &NewSession) -> Value {
    let NewSession {
        principal,
        address,
        upstream_id,
        capabilities,
        idle,
    } = new;
    json!({
        "principal": principal, "address": address, "upstreamId": upstream_id,
        "capabilities": capabilities, "idleMs": Millis::from(*idle).0,
    })
}

pub(super) fn session(session: &Session) -> Value {
    let Session {
        new,
        since,
        used_at,
        is_paused,
        uris,
        uri_bytes,
        opened,
        attached,
        shard,
        is_unconfirmed,
    } = session;
    json!({
        "new": begun(new), "since": since, "usedAt": used_at.0, "isPaused": is_paused, "uris": uris,
        "uriBytes": uri_bytes, "opened": opened, "attached": attached, "shard": shard,
        "isUnconfirmed": is_unconfirmed,
    })
}
