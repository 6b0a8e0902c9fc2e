//! The process operators.

use super::event::{EventId, RelationId, SetId};

/// A process of one [`Model`](crate::Model). Equal handles are equal terms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcId(pub(crate) u32);

impl ProcId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named definition of one [`Model`](crate::Model), which processes call: the only way to write a
/// recursion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DefId(pub(crate) u32);

/// One operator with its operands. [`Model`](crate::Model) keeps each term once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Term {
    /// Does nothing, for ever.
    Stop,
    /// Terminates.
    Skip,
    /// Has terminated: what is left after a tick.
    Omega,
    /// `e -> P`.
    Prefix(EventId, ProcId),
    /// An external choice of prefixes. Invariant: sorted, no duplicates, at least two.
    Menu(Box<[(EventId, ProcId)]>),
    /// `P [] Q [] ...`. Invariant: sorted, no duplicates, at least two, none itself `External` or
    /// `Stop`.
    External(Box<[ProcId]>),
    /// `P |~| Q |~| ...`. Invariant: sorted, no duplicates, at least two.
    Internal(Box<[ProcId]>),
    /// `P [> Q`.
    Sliding(ProcId, ProcId),
    /// `P ; Q`. Invariant: the first operand is not itself `Seq`.
    Seq(ProcId, ProcId),
    /// `P /\ Q`.
    Interrupt(ProcId, ProcId),
    /// `P [| A |> Q`.
    Exception(ProcId, SetId, ProcId),
    /// `P [| A |] Q [| A |] ...`; interleaving with the empty set.
    /// Invariant: sorted, at least two, none itself `Shared` with the same set.
    Shared(SetId, Box<[ProcId]>),
    /// `|| (A, P) @ [A] P`. Invariant: sorted, at least two.
    Alphabetised(Box<[(SetId, ProcId)]>),
    /// `P \ A`. Invariant: the set is not empty and the operand is not itself `Hide`.
    Hide(ProcId, SetId),
    /// `P [[ a <- b, ... ]]`.
    Rename(ProcId, RelationId),
    /// A call of a definition.
    Call(DefId),
}

impl Term {
    /// What the term costs a memory budget: itself and its list of operands.
    pub(crate) fn weight(&self) -> usize {
        1 + match self {
            Term::Menu(branches) => branches.len(),
            Term::External(operands) | Term::Internal(operands) | Term::Shared(_, operands) => operands.len(),
            Term::Alphabetised(operands) => operands.len(),
            _ => 0,
        }
    }

    /// Calls `visit` with each operand.
    pub(crate) fn for_each_operand(&self, mut visit: impl FnMut(ProcId)) {
        match self {
            Term::Stop | Term::Skip | Term::Omega | Term::Call(_) => {}
            Term::Prefix(_, next) => visit(*next),
            Term::Menu(branches) => branches.iter().for_each(|&(_, next)| visit(next)),
            Term::External(operands) | Term::Internal(operands) | Term::Shared(_, operands) => {
                operands.iter().copied().for_each(visit);
            }
            Term::Alphabetised(operands) => operands.iter().for_each(|&(_, operand)| visit(operand)),
            Term::Sliding(first, second)
            | Term::Seq(first, second)
            | Term::Interrupt(first, second)
            | Term::Exception(first, _, second) => {
                visit(*first);
                visit(*second);
            }
            Term::Hide(operand, _) | Term::Rename(operand, _) => visit(*operand),
        }
    }
}
