use mcp_listen::{filter::SubscriptionFilter, listen::ServerStream, position::Cursor};

use crate::{
    client::Client,
    invariant::{Violation, ensure},
    key::Key,
    ledger::Ledger,
    world::World,
};

impl World {
    /// The promises after every step: a stream that has reached a cursor has received everything
    /// promised up to it, and a running request gets its connection soon.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        self.check_recorded()?;
        for at in 0..self.clients.len() {
            let Some((host, mut driven)) = self.driven(at) else {
                continue;
            };
            let is_open = host.is_open() && driven.read(ServerStream::is_open);
            // Something may still be pending.
            let is_idle = !driven.isolate.has_output();
            let cursor = driven.isolate.cursor().filter(|_| is_idle).cloned();
            if let (true, Some(cursor)) = (is_open, cursor) {
                let honored = driven.read(|stream| stream.honored().clone());
                let client = &self.clients[at];
                check_mark(client, &honored, &cursor, &self.ledger)?;
            }
        }
        self.check_room()?;
        self.check_leases()
    }
}

fn check_mark(
    client: &Client,
    honored: &SubscriptionFilter,
    cursor: &Cursor,
    ledger: &Ledger,
) -> Result<(), Violation> {
    let Some(host) = &client.host else {
        return Ok(());
    };
    for key in Key::all() {
        let Some(last) = ledger.last_up_to(key, cursor) else {
            continue;
        };
        let is_behind = client.is_promised(key, last) && host.polled(key) < last;
        let is_lost = is_behind && !host.pending().has(key) && key.is_honored(honored);
        ensure("a cursor moves only over received events", !is_lost, || {
            let position = cursor.position.0;
            format!(
                "event {last} of {} is behind position {position}, and nothing waits",
                key.name()
            )
        })?;
    }
    Ok(())
}
