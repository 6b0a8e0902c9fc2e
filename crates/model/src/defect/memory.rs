//! Errors in the use of the heap: accesses outside of live blocks, frees of what is no live block,
//! and blocks that were lost. Each names the access, the end of the block and its allocation, in
//! this order, as far as they are known.

use std::collections::BTreeMap;

use raddle_vocab::{HeapCalls, Misuse, RunStatus};

use super::{Defect, Part, PartPosition};
use crate::execution::{Execution, Incident, IncidentKind};
use crate::finding::{Kind, Severity};
use crate::race::heap::{Block, BlockSite, MemoryError};

/// The defect for a wrong access.
pub(super) fn of_error(error: &MemoryError) -> Defect {
    let access = &error.access;
    let first = part(access.thread, access.pc, access.position.into());
    let detail = error.word();
    let text = match (detail, &error.block) {
        ("out-of-bounds", Some(block)) => distance(block, error.addr),
        _ => String::new(),
    };
    let defect = Defect::new(Kind::Memory, detail, vec![access.pc]).about(Some(error.addr));
    Defect { text, block: error.block, ..defect.with(with_block(first, error.block.as_ref())) }
}

/// The defects for frees of what was no live block, and for blocks that were lost.
pub(super) fn of_bad_frees(execution: &Execution, found: &[(u32, Option<Block>)]) -> Vec<Defect> {
    let is_leak = |number: u32| execution.incidents[number as usize].kind == IncidentKind::Misuse(Misuse::Leak);
    let bad = found.iter().filter(|(number, _)| !is_leak(*number));
    let mut defects: Vec<Defect> =
        bad.map(|&(number, block)| of_bad_free(number, &execution.incidents[number as usize], block)).collect();
    defects.extend(leaks(execution, found.iter().filter(|(number, _)| is_leak(*number))));
    defects
}

/// What was lost of the blocks that one place has allocated.
#[derive(Default)]
struct Lost {
    blocks: u64,
    bytes: u64,
    /// Blocks that only lost ones lead to.
    behind: u64,
}

/// Blocks that nothing leads to when the process ends, by the place of their allocation. A program
/// that a failure has stopped could not free them.
fn leaks<'a>(execution: &Execution, found: impl Iterator<Item = &'a (u32, Option<Block>)>) -> Vec<Defect> {
    let has_failed = execution.incidents.iter().any(|incident| matches!(incident.kind, IncidentKind::Failure(_)));
    if has_failed || execution.status != RunStatus::Rest {
        return Vec::new();
    }
    let mut by_place: BTreeMap<u64, (Lost, Defect)> = BTreeMap::new();
    for &(number, block) in found {
        let Some(block) = block else { continue };
        let Some(site) = block.allocated else { continue };
        let incident = &execution.incidents[number as usize];
        let (lost, _) = by_place.entry(site.pc).or_insert_with(|| {
            let first = part(site.thread, site.pc, site.position.into());
            let defect = Defect::new(Kind::Memory, "leak", vec![site.pc]).about(Some(block.start)).with(vec![first]);
            (Lost::default(), Defect { severity: Severity::Warning, block: Some(block), ..defect })
        });
        lost.blocks += 1;
        lost.bytes += block.end - block.start;
        lost.behind += incident.arg;
    }
    let with_text = |(lost, defect): (Lost, Defect)| Defect { text: lost.text(), ..defect };
    by_place.into_values().map(with_text).collect()
}

impl Lost {
    fn text(&self) -> String {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let own = match self.blocks {
            1 => format!("{} byte{}", self.bytes, plural(self.bytes)),
            count => format!("{} byte{} in {count} blocks", self.bytes, plural(self.bytes)),
        };
        match self.behind {
            0 => own,
            behind => format!("{own}, and {behind} block{} behind", plural(behind)),
        }
    }
}

/// The defect for a free of what was no live block, given the block that was there.
fn of_bad_free(number: u32, incident: &Incident, block: Option<Block>) -> Defect {
    let first = part(incident.thread, incident.pc, PartPosition::Incident(number));
    if incident.kind == IncidentKind::Misuse(Misuse::MismatchedFree) {
        let defect = Defect::new(Kind::Memory, "alloc-dealloc-mismatch", vec![incident.pc]).about(Some(incident.obj));
        let text = mismatch(incident.arg, block.as_ref());
        return Defect { block, text, ..defect.with(with_block(first, block.as_ref())) };
    }
    let twice = incident.arg != 0;
    let detail = if twice { "double-free" } else { "bad-free" };
    let block = block.filter(|block| twice || (block.start..block.end).contains(&incident.obj));
    let defect = Defect::new(Kind::Memory, detail, vec![incident.pc]).about(Some(incident.obj));
    Defect { block, ..defect.with(with_block(first, block.as_ref())) }
}

/// How a block was allocated, and how it is freed.
fn mismatch(arg: u64, block: Option<&Block>) -> String {
    let Some(calls) = HeapCalls::unpack(arg) else { return "freed in another way than it was allocated".into() };
    let (allocated, freed) = (calls.allocated.allocates(), calls.freed.frees());
    match block {
        Some(block) if calls.allocated == calls.freed => {
            let bytes = block.end - block.start;
            format!("allocated by {allocated} with {bytes} bytes, freed by {freed} with {}", calls.size)
        }
        _ => format!("allocated by {allocated}, freed by {freed}"),
    }
}

fn part(thread: u16, pc: u64, position: PartPosition) -> Part {
    Part { thread, pc, position, waits: None, locks: Vec::new() }
}

/// The part, and those of the block's end and allocation.
fn with_block(first: Part, block: Option<&Block>) -> Vec<Part> {
    let sites = block.into_iter().flat_map(|block| [block.freed, block.allocated]).flatten();
    let of_site = |site: BlockSite| part(site.thread, site.pc, site.position.into());
    std::iter::once(first).chain(sites.map(of_site)).collect()
}

/// Where an address outside of a block lies.
fn distance(block: &Block, addr: u64) -> String {
    let bytes = |count: u64| format!("{count} byte{}", if count == 1 { "" } else { "s" });
    if addr < block.start {
        format!("{} before", bytes(block.start - addr))
    } else if addr == block.end {
        "right behind".into()
    } else {
        format!("{} behind the end of", bytes(addr - block.end))
    }
}
