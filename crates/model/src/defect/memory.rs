//! Errors in the use of the heap: accesses outside of live blocks, and frees of what is no live
//! block. Each names the access, the end of the block and its allocation, in this order, as far as
//! they are known.

use super::{Defect, Part, PartPosition};
use crate::execution::Incident;
use crate::finding::Kind;
use crate::race::heap::{Block, MemoryError, Site};

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

/// The defect for a free of what was no live block, given the block that was there.
pub(super) fn of_bad_free(number: u32, incident: &Incident, block: Option<Block>) -> Defect {
    let first = part(incident.thread, incident.pc, PartPosition::Incident(number));
    let twice = incident.arg != 0;
    let detail = if twice { "double-free" } else { "bad-free" };
    let block = block.filter(|block| twice || (block.start..block.end).contains(&incident.obj));
    let defect = Defect::new(Kind::Memory, detail, vec![incident.pc]).about(Some(incident.obj));
    Defect { block, ..defect.with(with_block(first, block.as_ref())) }
}

fn part(thread: u16, pc: u64, position: PartPosition) -> Part {
    Part { thread, pc, position, waits: None, locks: Vec::new() }
}

/// The part, and those of the block's end and allocation.
fn with_block(first: Part, block: Option<&Block>) -> Vec<Part> {
    let sites = block.into_iter().flat_map(|block| [block.freed, block.allocated]).flatten();
    let of_site = |site: Site| part(site.thread, site.pc, site.position.into());
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
