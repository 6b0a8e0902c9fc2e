//! Names of objects and places that do not depend on where things happen to lie in memory.

use std::collections::BTreeMap;

use raddle_model::{AccessKind, Execution, ThreadPath};

use crate::mappings::Mapping;

/// Turns addresses into names; names from debug information are better than those of [`ModuleNames`].
pub trait RecordingNames {
    /// The object at an address.
    fn object(&self, address: u64) -> Option<String>;
    /// The place in the program with this return address.
    fn place(&self, pc: u64) -> Option<String>;
}

/// Names without debug information: `program+0x4010` in a file, `heap T1#3+8` in the third block that T1 allocated.
#[derive(Clone, Debug, Default)]
pub struct ModuleNames {
    mappings: Vec<Mapping>,
    /// Heap blocks by address: size, thread, number among that thread's blocks.
    blocks: BTreeMap<u64, (u64, ThreadPath, u32)>,
}

impl ModuleNames {
    /// Names for the addresses of one execution.
    #[must_use]
    pub fn new(mappings: &[Mapping], execution: &Execution) -> Self {
        let mut blocks = BTreeMap::new();
        let mut made = vec![0; execution.threads.len()];
        for access in execution.accesses.iter().filter(|access| access.kind == AccessKind::Alloc) {
            let thread = usize::from(access.thread);
            let (Some(count), Some(info)) = (made.get_mut(thread), execution.threads.get(thread)) else { continue };
            *count += 1;
            blocks.insert(access.addr, (access.size, info.path.clone(), *count));
        }
        ModuleNames { mappings: mappings.to_vec(), blocks }
    }

    fn in_module(&self, address: u64) -> Option<String> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?).filter(|mapping| address < mapping.end)?;
        // Addresses count from where the whole file starts, as linkers and debuggers do.
        let start =
            self.mappings.iter().find(|other| other.path == mapping.path).map_or(mapping.start, |first| first.start);
        let file = mapping.path.file_name()?.to_string_lossy();
        Some(format!("{file}+{:#x}", address - start))
    }
}

impl RecordingNames for ModuleNames {
    fn object(&self, address: u64) -> Option<String> {
        let block = self.blocks.range(..=address).next_back();
        match block {
            Some((start, (size, thread, number))) if address - start < *size => {
                Some(format!("heap {thread}#{number}+{}", address - start))
            }
            _ => self.in_module(address),
        }
    }

    fn place(&self, pc: u64) -> Option<String> {
        self.in_module(pc)
    }
}
