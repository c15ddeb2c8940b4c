use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    clock::Millis,
    session::{Claim, Session, Store, Totals},
    uri::Uri,
};

use crate::any::{claim, uri};

/// A store in memory, which keeps sessions as the text that others write to disk.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(super) sessions: BTreeMap<Box<str>, String>,
    pub(super) order: Vec<Box<str>>,
    pub(super) uris: BTreeMap<Box<str>, BTreeSet<Uri>>,
    pub(super) releases: BTreeSet<(u32, String)>,
    pub(super) writes: usize,
}

impl Rows {
    pub(super) fn all(&self) -> impl Iterator<Item = (&Box<str>, Session)> {
        let ids = self.order.iter();
        ids.filter_map(|id| self.get(id).unwrap().map(|session| (id, session)))
    }

    fn those(&self, is: impl Fn(&Session) -> bool) -> Vec<Box<str>> {
        let all = self.all().filter(|(_, session)| is(session));
        all.map(|(id, _)| id.clone()).collect()
    }
}

impl Store for Rows {
    type Error = core::convert::Infallible;

    fn get(&self, id: &str) -> Result<Option<Session>, Self::Error> {
        let text = self.sessions.get(id);
        Ok(text.map(|text| serde_json::from_str(text).unwrap()))
    }

    fn put(&mut self, id: &str, session: &Session) -> Result<(), Self::Error> {
        let text = serde_json::to_string(session).unwrap();
        if self.sessions.insert(id.into(), text).is_none() {
            self.order.push(id.into());
        }
        self.writes += 1;
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), Self::Error> {
        self.sessions.remove(id);
        self.order.retain(|each| **each != *id);
        self.uris.remove(id);
        Ok(())
    }

    fn subscriptions(&self, id: &str) -> Result<Vec<Uri>, Self::Error> {
        let uris = self.uris.get(id);
        Ok(uris.into_iter().flatten().cloned().collect())
    }

    fn is_subscribed(&self, id: &str, uri: &str) -> Result<bool, Self::Error> {
        Ok(self.uris.get(id).is_some_and(|uris| uris.contains(uri)))
    }

    fn subscribe(&mut self, id: &str, name: &str) -> Result<(), Self::Error> {
        assert!(self.uris.entry(id.into()).or_default().insert(uri(name)));
        Ok(())
    }

    fn unsubscribe(&mut self, id: &str, uri: &str) -> Result<(), Self::Error> {
        assert!(self.uris.get_mut(id).unwrap().remove(uri));
        Ok(())
    }

    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.new.caller().as_deref() == Some(caller)))
    }

    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.ends_at() < now))
    }

    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.shard == Some(shard)))
    }

    fn keep_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error> {
        self.releases.insert((shard, claim.to_text()));
        Ok(())
    }

    fn forget_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error> {
        self.releases.remove(&(shard, claim.to_text()));
        Ok(())
    }

    fn releases(&self) -> Result<Vec<(u32, Claim)>, Self::Error> {
        let releases = self.releases.iter();
        let read = |(shard, text): &(u32, String)| (*shard, claim(text));
        Ok(releases.map(read).collect())
    }

    fn totals(&self) -> Result<[Totals; 2], Self::Error> {
        let mut totals = [Totals::default(); 2];
        for (id, session) in self.all() {
            let of = &mut totals[usize::from(!session.is_named())];
            of.sessions += 1;
            let subscriptions = self.subscriptions(id)?;
            of.bytes += subscriptions
                .iter()
                .map(|uri| uri.len() + 64)
                .sum::<usize>();
        }
        Ok(totals)
    }
}
