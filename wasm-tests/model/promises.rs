use mcp_listen::bus::Mark;

use crate::{
    client::Client,
    host::Host,
    invariant::{Violation, hold},
    key::Key,
    ledger::Ledger,
    world::World,
};

impl World {
    /// What holds after every step: a stream that stands at a mark has heard all that was promised up to it.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        let budget = self.budget();
        for client in &mut self.clients {
            let Some(mut host) = client.host.take() else {
                continue;
            };
            let line = &self.isolates[host.isolate];
            let checked = if !host.is_riding {
                check_mark(client, &mut host, None, &self.ledger)
            } else if line.must_retire(budget) {
                // Something is left to be told.
                Ok(())
            } else {
                check_mark(client, &mut host, line.line.reached(), &self.ledger)
            };
            client.host = Some(host);
            checked?;
        }
        Ok(())
    }
}

/// `of_line` is where the line stands that a stream shares.
fn check_mark(
    client: &Client,
    host: &mut Host,
    of_line: Option<&Mark>,
    ledger: &Ledger,
) -> Result<(), Violation> {
    if !host.is_open() || !host.edge().stream().is_open() {
        return Ok(());
    }
    let is_alone = !host.is_riding;
    let own = host.edge().mark().filter(|_| is_alone).cloned();
    let Some(mark) = of_line.cloned().or(own) else {
        return Ok(());
    };
    for key in Key::all() {
        let Some(last) = ledger.last_up_to(key, &mark) else {
            continue;
        };
        let is_behind = client.is_promised(key, last) && host.polled(key) < last;
        let is_lost = is_behind && !host.pending().has(key) && host.honors(key);
        hold("a mark moves only over what was heard", !is_lost, || {
            let position = mark.position.0;
            format!(
                "event {last} of {} is behind position {position}, and nothing waits",
                key.name()
            )
        })?;
    }
    Ok(())
}
