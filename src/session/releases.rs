//! The releases that shards have not confirmed.

use alloc::vec::Vec;

use crate::{bus::EdgeCloseReason, wire::SessionCall};

use super::{Claim, Session, SessionOutput, SessionStore, Sessions};

impl<S: SessionStore> Sessions<S> {
    /// Handles the confirmation of a shard that it has carried out a [`SessionOutput::Call`].
    ///
    /// # Errors
    /// The errors of the store.
    pub fn handle_confirmed(&mut self, shard: u32, call: &SessionCall) -> Result<(), S::Error> {
        match call {
            SessionCall::Release(claim) => self.store.forget_release(shard, claim),
            // The shard joins the session again after this call.
            SessionCall::Changed(_) => Ok(()),
        }
    }

    /// Releases all streams of a session that has ended. If `is_awaited`, the request waits for it.
    pub(super) fn release_all(
        &mut self,
        id: &str,
        session: &Session,
        is_awaited: bool,
    ) -> Result<(), S::Error> {
        self.release_local(id, EdgeCloseReason::Over);
        let Some(shard) = session.at_shard() else {
            return Ok(());
        };
        // The number is greater than those of all its streams.
        let claim = Claim {
            stream: session.opened.saturating_add(1),
            ..session.claim(id)
        };
        self.release(shard, claim, is_awaited)
    }

    /// Makes a shard close the streams of a session that are older than this one, which is
    /// elsewhere.
    pub(super) fn release(
        &mut self,
        shard: u32,
        claim: Claim,
        is_awaited: bool,
    ) -> Result<(), S::Error> {
        self.store.keep_release(shard, &claim)?;
        self.notify_release(shard, claim, is_awaited);
        Ok(())
    }

    pub(super) fn release_local(&mut self, id: &str, close_reason: EdgeCloseReason) {
        if let Some(edge) = self.local.remove(id) {
            self.outputs
                .push_back(SessionOutput::Close(edge, close_reason));
        }
    }

    /// Repeats the pending calls to shards, which may have failed.
    pub(super) fn release_again(&mut self) -> Result<(), S::Error> {
        for (shard, claim) in self.store.releases()? {
            self.notify_release(shard, claim, false);
        }
        Ok(())
    }

    /// Drops the releases of a shard that has restarted, or that no longer exists.
    pub(super) fn forget_releases(&mut self, shard: u32) -> Result<(), S::Error> {
        let releases = self.store.releases()?;
        let there: Vec<Claim> = releases
            .into_iter()
            .filter(|(at, _)| *at == shard)
            .map(|(_, claim)| claim)
            .collect();
        for claim in there {
            self.store.forget_release(shard, &claim)?;
        }
        Ok(())
    }

    fn notify_release(&mut self, shard: u32, claim: Claim, is_awaited: bool) {
        self.outputs.push_back(SessionOutput::Call {
            shard,
            call: SessionCall::Release(claim),
            is_awaited,
        });
    }
}
