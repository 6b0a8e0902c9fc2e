//! What a call does to mapped memory, beside reading and writing it.

use crate::byte_enum;

byte_enum! {
    /// A change of mapped pages. Two of them, or one and an access by another thread, must be
    /// ordered where the access would fail, or find something else, in another order.
    MappingChange {
        /// The pages are gone: `munmap`, the old place of `mremap`, `sbrk` downwards, `shmdt`.
        Unmap = 0,
        /// Other pages take their place: `mmap` with `MAP_FIXED`.
        Replace = 1,
        /// Their content is dropped: `madvise`.
        Discard = 2,
        /// They can no longer be accessed.
        Forbid = 3,
        /// They can still be read, but no longer be written.
        Seal = 4,
        /// They can be accessed, as they could not before.
        Grant = 5,
        /// They can be written, which could only be read before.
        Unseal = 6,
        /// The call asked for rights that are there already, to read and write.
        Granted = 7,
        /// As `Granted`, to read.
        GrantedRead = 8,
        /// There is memory that the kernel has handed out: what was there before is another one.
        Fresh = 9,
        /// The call asks for other rights. What that changes depends on what other threads have
        /// asked for.
        Ask = 10,
        /// The thread whose stack or thread-local storage it was has ended.
        ThreadEnd = 11,
    }
}

impl MappingChange {
    /// Whether what the memory held is gone.
    #[must_use]
    pub const fn drops_content(self) -> bool {
        use MappingChange::{Discard, Fresh, Replace, Unmap};
        matches!(self, Unmap | Replace | Discard | Fresh)
    }

    /// Whether what lay in the memory has ended its life without being destroyed.
    #[must_use]
    pub const fn ends_objects(self) -> bool {
        matches!(self, MappingChange::Unmap | MappingChange::Replace | MappingChange::Fresh)
    }

    /// Whether it only gives rights, or finds them: what was accessed before stays right.
    #[must_use]
    pub const fn only_gives(self) -> bool {
        use MappingChange::{Grant, Granted, GrantedRead, Unseal};
        matches!(self, Grant | Unseal | Granted | GrantedRead)
    }

    /// Whether a later access, of this sort, by a thread for which it is not ordered is wrong.
    #[must_use]
    pub const fn conflicts_with_access(self, access_reads: bool) -> bool {
        use MappingChange::{
            Ask, Discard, Forbid, Fresh, Grant, Granted, GrantedRead, Replace, Seal, ThreadEnd, Unmap, Unseal,
        };
        match self {
            Unmap | Replace | Discard | Forbid | Grant | ThreadEnd => true,
            Seal | Unseal => !access_reads,
            Granted | GrantedRead | Fresh | Ask => false,
        }
    }

    /// Whether two changes by different threads must be ordered. Two that drop what pages hold need
    /// not be; nor need those that give rights.
    #[must_use]
    pub const fn conflicts(self, other: MappingChange) -> bool {
        use MappingChange::{Ask, Discard, Forbid, Fresh, Replace, Seal, ThreadEnd, Unmap};
        match (self, other) {
            (Fresh | Ask, _) | (_, Fresh | Ask) => false,
            (Unmap | Replace | ThreadEnd, _) | (_, Unmap | Replace | ThreadEnd) => true,
            (Discard, _) | (_, Discard) => false,
            (Forbid | Seal, _) | (_, Forbid | Seal) => true,
            _ => false,
        }
    }

    /// Whether, behind it, its thread may make such an access, whatever other threads grant.
    #[must_use]
    pub const fn covers_access(self, access_reads: bool) -> bool {
        use MappingChange::{Grant, Granted, GrantedRead, Unseal};
        match self {
            Granted | Unseal | Grant => true,
            GrantedRead => access_reads,
            _ => false,
        }
    }

    /// The word for it in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            MappingChange::Unmap => "unmap",
            MappingChange::Replace | MappingChange::Fresh => "map",
            MappingChange::Discard => "discard",
            MappingChange::ThreadEnd => "end of thread",
            _ => "protect",
        }
    }
}
