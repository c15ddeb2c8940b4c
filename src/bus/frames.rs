use crate::{
    clock::Millis,
    position::{Mark, Position},
};

use super::protocol::{VERSION, mark_members};

/// The frame of `attached` from a bus that takes an `adjust`, for an attach that named the position `since`.
pub(super) fn attached_frame(
    mark: &Mark,
    head: Position,
    since: Option<Position>,
    room: usize,
) -> String {
    let (mark, room) = (mark_members(mark), room_member(room));
    let head = head.0;
    let since = since.map_or_else(|| ",\"since\":null".into(), |at| member("since", at.0));
    format!(
        r#"{{"v":{VERSION},"type":"attached",{mark},"head":{head},"adjust":true{since}{room}}}"#
    )
}

/// The frame of `adjusted`, from a bus whose log ends at `head`.
pub(super) fn adjusted_frame(seq: u64, head: Position, room: usize) -> String {
    let (head, room) = (head.0, room_member(room));
    format!(r#"{{"v":{VERSION},"type":"adjusted","seq":{seq},"head":{head}{room}}}"#)
}

/// The frame of `refused`.
pub(super) fn refused_frame(seq: u64, room: usize) -> String {
    let room = room_member(room);
    format!(r#"{{"v":{VERSION},"type":"refused","seq":{seq}{room}}}"#)
}

/// Nothing where there are no bounds.
fn room_member(room: usize) -> String {
    if room == usize::MAX {
        return String::new();
    }
    member("room", room as u64)
}

fn member(name: &str, value: u64) -> String {
    format!(",\"{name}\":{value}")
}

/// The frame of `event` for an event that is JSON text already.
pub(super) fn event_frame(
    position: Position,
    previous: Option<Position>,
    at: Option<Millis>,
    event: &str,
) -> String {
    let mut frame = format!(
        r#"{{"v":{VERSION},"type":"event","position":{}"#,
        position.0
    );
    if let Some(previous) = previous {
        frame += &member("previous", previous.0);
    }
    if let Some(at) = at {
        frame += &member("at", at.0);
    }
    frame.push_str(",\"event\":");
    frame.push_str(event);
    frame.push('}');
    frame
}
