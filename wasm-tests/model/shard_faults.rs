use mcp_listen::bus::ShardId;

use crate::{
    invariant::Violation,
    mail::Mail,
    network::SocketId,
    schedule::{Act, Step},
    shard::ShardObject,
    world::World,
};

/// Faults of shards, and of the calls between them and their root.
impl World {
    /// A fault of the mail or of a shard.
    pub(crate) fn move_shards(&mut self, step: Step) -> Result<(), Violation> {
        self.note(|| format!("{:?} {} of the shards", step.act, step.what % 6));
        match step.act {
            Act::Mail => self.move_mail(step)?,
            _ => self.move_shard(step)?,
        }
        Ok(())
    }

    /// All shards are lost, with their storage.
    pub(crate) fn reset_shards(&mut self) {
        let objects = self.shards.objects.values_mut();
        let sockets: Vec<SocketId> = objects.flat_map(ShardObject::reset).collect();
        for socket in sockets {
            self.lose_socket(socket, true);
        }
        self.shards.clear();
    }

    fn move_mail(&mut self, step: Step) -> Result<(), Violation> {
        let at = usize::from(step.who).checked_rem(self.shards.mail.len());
        match (step.what % 6, at) {
            (0, _) => self.shards.is_paused = true,
            (1, _) => self.shards.is_paused = false,
            (kind, Some(at)) => {
                let Some(mail) = self.shards.mail.remove(at) else {
                    return Ok(());
                };
                match kind {
                    2 => self.arrive_mail(&mail)?,
                    3 => self.fail_mail(&mail, step.spin.is_multiple_of(4))?,
                    4 => {
                        self.post(mail.clone());
                        self.arrive_mail(&mail)?;
                    }
                    _ => {
                        self.note(|| format!("  {mail:?} is lost"));
                        if let Mail::SessionCall(_, ticket, _) | Mail::Done(_, ticket) = mail {
                            self.fail_ticket(ticket)?;
                        }
                    }
                }
            }
            (3, None) => self.shards.is_refusing = true,
            (_, None) => {}
        }
        Ok(())
    }

    fn move_shard(&mut self, step: Step) -> Result<(), Violation> {
        let shards: Vec<ShardId> = self.shards.objects.keys().copied().collect();
        let Some(place) = usize::from(step.who).checked_rem(shards.len()) else {
            return Ok(());
        };
        let shard = shards[place];
        if step.act != Act::SleepShard {
            return self.reset_shard(shard, step.what.is_multiple_of(2));
        }
        let is_called = self.shards.mail.iter().any(|mail| mail.shard() == shard);
        let object = self.shards.objects.get_mut(&shard);
        let sleeps = !is_called && object.is_some_and(ShardObject::hibernate);
        self.note(|| format!("  it sleeps: {sleeps}"));
        Ok(())
    }

    /// The memory of a shard is lost, with its sockets.
    pub(crate) fn reset_shard(
        &mut self,
        shard: ShardId,
        loses_frames: bool,
    ) -> Result<(), Violation> {
        let Some(object) = self.shards.objects.get_mut(&shard) else {
            return Ok(());
        };
        let sockets = object.reset();
        // The root does not wait for the reply to a call of its earlier instance.
        self.shards
            .mail
            .retain(|mail| !matches!(mail, Mail::Reply(to, ..) if *to == shard));
        for socket in sockets {
            self.lose_socket(socket, loses_frames);
        }
        // Calls of an earlier instance are not carried out.
        let is_posted = |ticket: u32| {
            let mut mail = self.shards.mail.iter();
            mail.any(|mail| match mail {
                Mail::SessionCall(_, posted, _) | Mail::Done(_, posted) => *posted == ticket,
                _ => false,
            })
        };
        let tickets = self.shards.tickets.iter();
        let lost = tickets.filter(|(ticket, (pending, _))| {
            ShardId(pending.shard) == shard && !is_posted(**ticket)
        });
        for ticket in lost.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.fail_ticket(ticket)?;
        }
        Ok(())
    }
}
