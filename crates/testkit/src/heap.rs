//! The heap of a running program, as the runtime lays it out.
//!
//! Each thread has an arena, so that addresses depend on its own history only. A small block is
//! never used again: programs are too short for that. A large one is used again by the thread that
//! owns its arena, at once if that thread frees it, otherwise behind a join or a creation that
//! orders the two.
//!
//! A block is known by a handle: its address above the start of the heap, in units of 16 bytes. 0
//! is the null pointer.

use std::collections::BTreeMap;

use raddle_model::ThreadPath;
use raddle_vocab::HEAP;
use raddle_vocab::policy::mix;

/// Names a block, live or freed.
pub(super) type Handle = i32;

/// Bytes of a small block and of a large one, as the program asks for them.
pub(super) const SMALL: u64 = 4;
pub(super) const LARGE: u64 = 5000;
/// Room of each, in units of handles.
const ROOM: [Handle; 2] = [4, 320];
/// Units of an arena.
const ARENA: Handle = 1 << 16;
/// Bytes of a unit.
const UNIT: u64 = 16;
/// What a freed small block holds.
const FILL: i32 = 0xa5a5_a5a5_u32.cast_signed();

/// Room that was handed out.
#[derive(Clone, Debug)]
struct Block {
    is_live: bool,
    is_large: bool,
    value: i32,
}

impl Block {
    fn size(&self) -> u64 {
        if self.is_large { LARGE } else { SMALL }
    }
}

/// What a thread allocates from.
#[derive(Clone, Debug, Default)]
struct Arena {
    /// Units handed out.
    top: Handle,
    /// Large blocks to use again; the last comes first.
    free: Vec<Handle>,
}

/// What a free does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// It ends a block of so many bytes.
    Block(u64),
    /// The block is freed already.
    Twice,
}

/// All blocks and arenas.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    blocks: BTreeMap<Handle, Block>,
    arenas: BTreeMap<u16, Arena>,
}

impl Heap {
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.arenas.clear();
    }

    /// Where a block lies.
    pub fn address(handle: Handle) -> u64 {
        HEAP.start + UNIT * u64::from(handle.cast_unsigned())
    }

    /// A block, and its size. One that is used again holds what it held.
    pub fn allocate(&mut self, arena: u16, is_large: bool) -> (Handle, u64) {
        let own = self.arenas.entry(arena).or_default();
        let again = if is_large { own.free.pop() } else { None };
        let handle = again.unwrap_or_else(|| {
            let handle = Handle::from(arena) * ARENA + 1 + own.top;
            own.top += ROOM[usize::from(is_large)];
            handle
        });
        let fresh = Block { is_live: true, is_large, value: if is_large { 0 } else { FILL } };
        let block = self.blocks.entry(handle).or_insert(fresh);
        block.is_live = true;
        (handle, block.size())
    }

    /// Bytes of a block, live or freed.
    pub fn size(&self, handle: Handle) -> u64 {
        self.blocks.get(&handle).map_or(0, Block::size)
    }

    pub fn is_live(&self, handle: Handle) -> bool {
        self.blocks.get(&handle).is_some_and(|block| block.is_live)
    }

    /// Frees a block. `foreign`: large blocks of other arenas that the thread has freed.
    pub fn free(&mut self, handle: Handle, arena: u16, foreign: &mut Vec<Handle>) -> Freed {
        let Some(block) = self.blocks.get_mut(&handle).filter(|block| block.is_live) else { return Freed::Twice };
        block.is_live = false;
        let size = block.size();
        if !block.is_large {
            block.value = FILL;
            return Freed::Block(size);
        }
        if owner(handle) == arena {
            self.arenas.entry(arena).or_default().free.push(handle);
        } else {
            foreign.push(handle);
        }
        Freed::Block(size)
    }

    /// What one thread has freed happens before what another one, with this arena, allocates:
    /// blocks of the arena can be used again, the others are passed on.
    pub fn inherit(&mut self, from: Vec<Handle>, arena: u16, foreign: &mut Vec<Handle>) {
        for handle in from.into_iter().rev() {
            if owner(handle) == arena {
                self.arenas.entry(arena).or_default().free.push(handle);
            } else {
                foreign.push(handle);
            }
        }
    }

    /// What lies in a block, live or not.
    pub fn value(&self, handle: Handle) -> i32 {
        self.blocks.get(&handle).map_or(0, |block| block.value)
    }

    pub fn write(&mut self, handle: Handle, value: i32) {
        if let Some(block) = self.blocks.get_mut(&handle) {
            block.value = value;
        }
    }

    /// Numbers for all that there is.
    pub fn digest(&self) -> impl Iterator<Item = u64> + '_ {
        let word = |words: &[u64]| words.iter().fold(0x6ea9, |sum, &word| mix(sum ^ word));
        let blocks = self.blocks.iter().map(move |(&handle, block)| {
            let flags = u64::from(block.is_live) | u64::from(block.is_large) << 1;
            word(&[u64::from(handle.cast_unsigned()), flags, u64::from(block.value.cast_unsigned())])
        });
        let arenas = self.arenas.iter().map(move |(&number, arena)| {
            let free = arena.free.iter().map(|&handle| u64::from(handle.cast_unsigned()));
            word(&[u64::from(number), u64::from(arena.top.cast_unsigned())].into_iter().chain(free).collect::<Vec<_>>())
        });
        blocks.chain(arenas)
    }
}

/// The arena that a block belongs to.
fn owner(handle: Handle) -> u16 {
    ((handle - 1) / ARENA) as u16
}

/// The arena of a thread that uses none again: it follows from its path.
///
/// # Panics
/// If the path is too long, or a thread has too many children, for arenas of their own.
pub(super) fn arena_of(path: &ThreadPath) -> u16 {
    const CHILDREN: u32 = 8;
    path.0.iter().fold(0, |arena: u16, &child| {
        assert!(child < CHILDREN && arena < 1 << 12, "there is no arena for {path}");
        arena << 3 | child as u16
    })
}
