use std::collections::BTreeMap;

use mcp_listen::scope::Name;

/// How many streams each caller with a name has. The names of a caller are a set: their order does
/// not matter.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    counts: BTreeMap<Vec<Name>, usize>,
}

impl Callers {
    pub(crate) fn streams_of(&self, principals: &[Name]) -> usize {
        let count = self.counts.get(&set(principals));
        count.copied().unwrap_or_default()
    }

    pub(crate) fn add_stream(&mut self, principals: &[Name]) {
        if !principals.is_empty() {
            *self.counts.entry(set(principals)).or_default() += 1;
        }
    }

    pub(crate) fn remove_stream(&mut self, principals: &[Name]) {
        let names = set(principals);
        if let Some(count) = self.counts.get_mut(&names) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&names);
            }
        }
    }
}

fn set(principals: &[Name]) -> Vec<Name> {
    let mut names = principals.to_vec();
    names.sort_unstable();
    names.dedup();
    names
}
