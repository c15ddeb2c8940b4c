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
        for client in &mut self.clients {
            let Some(mut host) = client.host.take() else {
                continue;
            };
            let checked = check_mark(client, &mut host, &self.ledger);
            client.host = Some(host);
            checked?;
        }
        Ok(())
    }
}

fn check_mark(client: &Client, host: &mut Host, ledger: &Ledger) -> Result<(), Violation> {
    if !host.is_open() || !host.edge().stream().is_open() {
        return Ok(());
    }
    let Some(mark) = host.edge().mark().cloned() else {
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
