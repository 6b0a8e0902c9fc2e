//! Facts come from a file: nothing in them is trusted.

use super::{Act, FACTS_VERSION, Facts, Spans};

/// Why facts cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// Of another version.
    #[error("the facts have format {0}, this raddle reads format {FACTS_VERSION}")]
    Version(u32),
    /// A number that names nothing.
    #[error("the facts are damaged: {0}")]
    Damaged(&'static str),
}

impl Facts {
    /// Whether every number in the facts names something.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn validate(&self) -> Result<(), FactsError> {
        if self.version != FACTS_VERSION {
            return Err(FactsError::Version(self.version));
        }
        let ensure = |fine: bool, what| if fine { Ok(()) } else { Err(FactsError::Damaged(what)) };
        let node = |number: u32| (number as usize) < self.nodes.len();
        let function = |number: u32| (number as usize) < self.functions.len();
        ensure(function(self.main), "there is no main function")?;
        for entry in self.functions.iter().map(|function| function.entry) {
            ensure(node(entry), "a function begins nowhere")?;
        }
        for item in &self.nodes {
            ensure(function(item.function), "an operation belongs to no function")?;
            ensure(item.next.iter().all(|&next| node(next)), "an operation leads nowhere")?;
            ensure(self.sites.is_empty() || item.site <= self.sites.len() as u64, "an operation lies nowhere")?;
            match &item.act {
                Act::Create { bodies: list, .. } | Act::Call { targets: list } => {
                    ensure(list.iter().all(|&target| function(target)), "a call of no function")?;
                }
                Act::Join { created_at: Some(create) } => {
                    let creates = node(*create) && matches!(self.nodes[*create as usize].act, Act::Create { .. });
                    ensure(creates, "a join of no thread")?;
                }
                act => ensure(self.spans(act).all(|spans| self.fits(spans)), "an access to no object")?,
            }
        }
        Ok(())
    }

    fn fits(&self, spans: &Spans) -> bool {
        spans.list.iter().all(|span| (span.object as usize) < self.objects.len() && span.from <= span.to)
    }

    fn spans<'a>(&self, act: &'a Act) -> impl Iterator<Item = &'a Spans> + use<'a> {
        let (first, second) = match act {
            Act::Access { at, .. } | Act::Sync { at } => (Some(at), None),
            Act::Acquire { lock, .. } | Act::Holds { lock, .. } | Act::Release { lock } => (Some(lock), None),
            Act::Wait { cond, mutex } => (Some(cond), Some(mutex)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}
