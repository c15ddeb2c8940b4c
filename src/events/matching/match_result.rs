use alloc::{boxed::Box, vec::Vec};

use crate::{
    events::{MAX_DATA_BYTES, MAX_DEPTH},
    json::{self, Node, Value},
};

/// What a function of the server decided about one occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchResult {
    /// The subscription receives it.
    Matched,
    /// It does not.
    NotMatched,
    /// It receives it with another payload, a compact JSON object.
    Transformed(Box<str>),
    /// The function failed.
    Failed,
}

/// Whether a text is one result, and not that of a failure.
pub fn is_match_result(text: &str) -> bool {
    let document = json::read(text.as_bytes(), MAX_DEPTH + 1);
    document.is_ok_and(|document| MatchResult::from_node(&document.root) != MatchResult::Failed)
}

/// Reads a list of results: `true`, `false`, `{"data":OBJECT}`, and anything else for a failure.
/// `None` if the text is not a JSON array.
pub fn match_results(text: &str) -> Option<Vec<MatchResult>> {
    let document = json::read(text.as_bytes(), MAX_DEPTH + 2).ok()?;
    let results = document.root.as_array()?.iter();
    Some(results.map(MatchResult::from_node).collect())
}

/// Reads the results of several classes, `[{"class":N,"results":[...]}]`. `None` if the text is
/// not such a list.
pub fn match_results_by_class(text: &str) -> Option<Vec<(u32, Vec<MatchResult>)>> {
    let document = json::read(text.as_bytes(), MAX_DEPTH + 4).ok()?;
    let classes = document.root.as_array()?.iter().map(|node| {
        let class = u32::try_from(node.get("class")?.as_u53()?).ok()?;
        let results = node.get("results")?.as_array()?.iter();
        Some((class, results.map(MatchResult::from_node).collect()))
    });
    classes.collect()
}

impl MatchResult {
    /// Reads one result.
    pub(crate) fn from_node(node: &Node<'_>) -> Self {
        match &node.value {
            Value::Bool(true) => Self::Matched,
            Value::Bool(false) => Self::NotMatched,
            Value::Object(object) => Self::transformed(object.get("data")),
            _ => Self::Failed,
        }
    }

    fn transformed(data: Option<&Node<'_>>) -> Self {
        let data = data.filter(|data| data.as_object().is_some());
        let data = data.map(json::to_compact);
        match data.filter(|data| data.len() <= MAX_DATA_BYTES) {
            Some(data) => Self::Transformed(data.into_boxed_str()),
            None => Self::Failed,
        }
    }
}
