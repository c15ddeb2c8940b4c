use std::collections::VecDeque;

use mcp_listen::scope::Name;

/// The latest disconnects of a bus. A caller that is disconnected while its rights are looked up
/// has no stream yet that could end.
#[derive(Debug, Default)]
pub(crate) struct Disconnects {
    count: u64,
    latest: VecDeque<Name>,
}

impl Disconnects {
    /// Returns how many there have been.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn push(&mut self, principal: Name) {
        if self.latest.len() >= MAX_NAMES {
            self.latest.pop_front();
        }
        self.latest.push_back(principal);
        self.count += 1;
    }

    /// Whether one of `principals` was disconnected after the first `count` disconnects. If there
    /// were too many since then, each caller with a name counts as disconnected.
    pub(crate) fn include(&self, principals: &[Name], count: u64) -> bool {
        let since = usize::try_from(self.count.saturating_sub(count)).unwrap_or(usize::MAX);
        let mut names = self.latest.iter().rev().take(since);
        let is_named = !principals.is_empty();
        is_named && (since > self.latest.len() || names.any(|name| principals.contains(name)))
    }
}

const MAX_NAMES: usize = 256;
