//! System calls on paths, as the run sees the file system. All functions of the C library that take
//! a path, and all system calls that the program makes itself, end here. Results are those of the
//! kernel: errors are negative numbers.

use core::ffi::{CStr, c_char};

use raddle_vocab::io;
use raddle_wire::config_flag;

use crate::arch::syscall::modern;
use crate::interpose::buffers;
use crate::interpose::io::announce::{self, Making};
use crate::interpose::io::overlay::attributes::{self, named};
use crate::interpose::io::overlay::opening::{self, Opened};
use crate::interpose::io::overlay::walk::{self, Follow};
use crate::interpose::io::overlay::{Errno, PATH, file_type, listing, names, overlay, status};
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::io::{descriptor_ends, descriptors, overlay};
use crate::interpose::process::random_bytes;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::state::{Global, controlled, process, run};

/// Whether the run has a file system of its own.
pub fn private() -> bool {
    controlled() && process().config_flags & config_flag::SHARE_FILES == 0
}

/// Whether a call that changes nothing can be left to the kernel.
fn as_real() -> bool {
    !private() || overlay().is_empty()
}

fn text(path: *const c_char) -> Result<&'static CStr, Errno> {
    if path.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: the program passes a C string, by the contract of the function it calls.
    Ok(unsafe { CStr::from_ptr(path) })
}

fn answer(result: Result<isize, Errno>) -> isize {
    result.unwrap_or_else(|code| -(code as isize))
}

fn follow_unless(flags: i32) -> Follow {
    if flags & libc::AT_SYMLINK_NOFOLLOW == 0 { Follow::Always } else { Follow::BeforeSlash }
}

/// Makes the system call itself.
fn real(number: i64, operands: [usize; 6]) -> isize {
    // SAFETY: what the program asks of the kernel.
    unsafe { crate::syscall::call(number, operands) }
}

/// Notes what a new descriptor refers to. Anything but a file or directory is not modelled here,
/// and may give different data to every reader.
pub fn register(opened: &Opened) {
    let Opened { descriptor, node } = *opened;
    if !controlled() || descriptor < 0 {
        return;
    }
    if let Some(position) = overlay().positions.get_mut(descriptor as usize)
        && *position != 0
    {
        *position = 0;
    }
    let kind = match node {
        0 => status(descriptor).map_or(0, |about| file_type(&about)),
        node => file_type(&overlay().node(node).about),
    };
    match kind {
        libc::S_IFREG => {
            let content = match node {
                0 => names::content_of(descriptor),
                node => overlay().node(node).content,
            };
            regular_files::opened(descriptor, content, node);
        }
        libc::S_IFDIR => regular_files::opened_other(descriptor, node),
        _ => {
            undo::changed(undo::kind::OTHER);
            regular_files::opened_other(descriptor, node);
            if node != 0 {
                descriptors::set_channel(descriptor, io::named_pipe(u64::from(node)));
            }
        }
    }
}

fn announce_open(directory: i32, path: &CStr, flags: i32, pc: u64) {
    let truncates = flags & libc::O_TRUNC != 0;
    let follow = if flags & libc::O_NOFOLLOW == 0 { Follow::Always } else { Follow::BeforeSlash };
    if flags & libc::O_TMPFILE == libc::O_TMPFILE || flags & libc::O_CREAT == 0 {
        let content = truncates.then_some(FileAccess::Change);
        announce::looks_up(directory, path, follow, content, pc);
    } else {
        shared_state::touch(SharedPart::Mask, FileAccess::Observe, pc);
        announce::changes_name(directory, path, follow, Making::File { truncates }, pc);
    }
}

/// `openat`
pub fn open(directory: i32, path: *const c_char, flags: i32, mode: u32, pc: u64) -> isize {
    let opened = (|| {
        let path = text(path)?;
        announce_open(directory, path, flags, pc);
        if !private() || (overlay().is_empty() && !opening::writes(flags)) {
            let operands = [directory as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0];
            let descriptor = real(libc::SYS_openat, operands);
            return if descriptor < 0 {
                Err(-descriptor as Errno)
            } else {
                Ok(Opened { descriptor: descriptor as i32, node: 0 })
            };
        }
        let opened = opening::open(directory, path.to_bytes(), flags, mode)?;
        Ok(Opened { descriptor: opening::lowest(opened.descriptor, flags), ..opened })
    })();
    answer(opened.and_then(|opened| {
        if let Some(fixed) = in_place_of_random(&opened, flags) {
            return fixed.map(|descriptor| descriptor as isize);
        }
        register(&opened);
        Ok(opened.descriptor as isize)
    }))
}

/// If a device of random bytes was opened, what the run gets in its place.
fn in_place_of_random(opened: &Opened, flags: i32) -> Option<Result<i32, Errno>> {
    if !controlled() || opened.node != 0 || flags & libc::O_PATH != 0 {
        return None;
    }
    status(opened.descriptor).ok().filter(random_bytes::is_device)?;
    overlay::close(opened.descriptor);
    let fixed = random_bytes::open_device(flags);
    if let Ok(descriptor) = fixed {
        regular_files::opened_nameless(descriptor);
    }
    Some(fixed)
}

/// A nameless file, for reading and writing.
pub fn open_temporary() -> isize {
    let opened = overlay::memory_file().and_then(|held| {
        let descriptor = overlay::reopen(held, libc::O_RDWR);
        overlay::close(held);
        if descriptor < 0 { Err(-descriptor as Errno) } else { Ok(descriptor) }
    });
    if let Ok(descriptor) = opened {
        regular_files::opened_nameless(descriptor as i32);
    }
    answer(opened)
}

/// `mkdirat`
pub fn make_directory(directory: i32, path: *const c_char, mode: u32, pc: u64) -> isize {
    answer(text(path).and_then(|path| {
        shared_state::touch(SharedPart::Mask, FileAccess::Observe, pc);
        announce::changes_name(directory, path, Follow::Never, Making::Way, pc);
        if !private() {
            return Ok(real(libc::SYS_mkdirat, [directory as usize, path.as_ptr() as usize, mode as usize, 0, 0, 0]));
        }
        names::make_directory(directory, path.to_bytes(), mode)
    }))
}

/// `mknodat`
pub fn make_special(directory: i32, path: *const c_char, mode: u32, device: u64, pc: u64) -> isize {
    answer(text(path).and_then(|path| {
        shared_state::touch(SharedPart::Mask, FileAccess::Observe, pc);
        announce::changes_name(directory, path, Follow::Never, Making::File { truncates: false }, pc);
        if !private() {
            let operands = [directory as usize, path.as_ptr() as usize, mode as usize, device as usize, 0, 0];
            return Ok(real(libc::SYS_mknodat, operands));
        }
        names::make_special(directory, path.to_bytes(), mode)
    }))
}

/// `unlinkat`
pub fn unlink(directory: i32, path: *const c_char, flags: i32, pc: u64) -> isize {
    answer(text(path).and_then(|path| {
        let removes_directory = flags & libc::AT_REMOVEDIR != 0;
        let making = if removes_directory { Making::Way } else { Making::Nothing };
        announce::changes_name(directory, path, Follow::Never, making, pc);
        if !private() {
            return Ok(real(libc::SYS_unlinkat, [directory as usize, path.as_ptr() as usize, flags as usize, 0, 0, 0]));
        }
        if flags & !libc::AT_REMOVEDIR != 0 {
            return Err(libc::EINVAL);
        }
        match removes_directory {
            true => names::remove_directory(directory, path.to_bytes()),
            false => names::remove_file(directory, path.to_bytes()),
        }
    }))
}

/// `renameat2`
pub fn rename(from: (i32, *const c_char), to: (i32, *const c_char), flags: u32, pc: u64) -> isize {
    answer(text(from.1).and_then(|old| {
        let new = text(to.1)?;
        announce::moves_name((from.0, old), (to.0, new), pc);
        if !private() {
            let operands = [from.0 as usize, from.1 as usize, to.0 as usize, to.1 as usize, flags as usize, 0];
            return Ok(real(libc::SYS_renameat2, operands));
        }
        names::rename((from.0, old.to_bytes()), (to.0, new.to_bytes()), flags)
    }))
}

/// `linkat`
pub fn link(from: (i32, *const c_char), to: (i32, *const c_char), flags: i32, pc: u64) -> isize {
    answer(text(from.1).and_then(|old| {
        let new = text(to.1)?;
        announce::moves_name((from.0, old), (to.0, new), pc);
        if !private() {
            let operands = [from.0 as usize, from.1 as usize, to.0 as usize, to.1 as usize, flags as usize, 0];
            return Ok(real(libc::SYS_linkat, operands));
        }
        let nofollow = if flags & libc::AT_SYMLINK_FOLLOW == 0 { libc::AT_SYMLINK_NOFOLLOW } else { 0 };
        let mut object = named(from.0, old.to_bytes(), flags & libc::AT_EMPTY_PATH | nofollow)?;
        names::link(&mut object, to.0, new.to_bytes())
    }))
}

/// `symlinkat`
pub fn symlink(target: *const c_char, directory: i32, path: *const c_char, pc: u64) -> isize {
    answer(text(target).and_then(|target| {
        let path = text(path)?;
        buffers::reads_text(target.as_ptr() as usize, pc);
        announce::changes_name(directory, path, Follow::Never, Making::Way, pc);
        if !private() {
            let operands = [target.as_ptr() as usize, directory as usize, path.as_ptr() as usize, 0, 0, 0];
            return Ok(real(libc::SYS_symlinkat, operands));
        }
        names::make_link(target.to_bytes(), directory, path.to_bytes())
    }))
}

/// `readlinkat`
pub fn read_link(directory: i32, path: *const c_char, into: *mut u8, room: usize, pc: u64) -> isize {
    let result = answer(text(path).and_then(|path| {
        announce::looks_up(directory, path, Follow::BeforeSlash, None, pc);
        touch(into, room);
        if as_real() {
            let operands = [directory as usize, path.as_ptr() as usize, into as usize, room, 0, 0];
            return Ok(real(libc::SYS_readlinkat, operands));
        }
        if room == 0 {
            return Err(libc::EINVAL);
        }
        let link = named(directory, path.to_bytes(), libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH)?;
        if !link.is(libc::S_IFLNK) {
            return Err(libc::EINVAL);
        }
        // SAFETY: the caller passes a buffer with so much room.
        let buffer = unsafe { core::slice::from_raw_parts_mut(into, room.min(PATH)) };
        walk::read_link(&link, buffer).map(|len| len as isize)
    }));
    buffers::writes(into as usize, result.max(0) as usize, pc);
    result
}

/// The status of an open file.
pub fn descriptor_status(descriptor: i32) -> Result<libc::stat, Errno> {
    match regular_files::node(descriptor) {
        0 => {
            let about = status(descriptor)?;
            match overlay().find(overlay::identity_of(&about)) {
                0 => Ok(about),
                node => attributes::status_of(node),
            }
        }
        node => attributes::status_of(node),
    }
}

/// A transition for a call that asks for the status, or changes the attributes, of what it names.
fn announce_status(directory: i32, path: &CStr, flags: i32, how: FileAccess, pc: u64) {
    if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        regular_files::touches(directory, how, pc);
    } else {
        announce::looks_up(directory, path, follow_unless(flags), Some(how), pc);
    }
}

/// `newfstatat`
pub fn stat(directory: i32, path: *const c_char, into: *mut libc::stat, flags: i32, pc: u64) -> isize {
    let result = answer(text(path).and_then(|path| {
        announce_status(directory, path, flags, FileAccess::Observe, pc);
        touch(into.cast(), size_of::<libc::stat>());
        if as_real() {
            let operands = [directory as usize, path.as_ptr() as usize, into as usize, flags as usize, 0, 0];
            return Ok(real(libc::SYS_newfstatat, operands));
        }
        let object = named(directory, path.to_bytes(), flags)?;
        // SAFETY: the caller passes room for the result.
        unsafe { into.write(object.about) };
        Ok(0)
    }));
    if result == 0 {
        buffers::writes(into as usize, size_of::<libc::stat>(), pc);
    }
    result
}

/// `statx`
pub fn stat_more(directory: i32, path: *const c_char, flags: i32, mask: u32, into: *mut libc::statx, pc: u64) -> isize {
    let result = answer(text(path).and_then(|path| {
        announce_status(directory, path, flags, FileAccess::Observe, pc);
        touch(into.cast(), size_of::<libc::statx>());
        let object = match as_real() {
            true => None,
            false => Some(named(directory, path.to_bytes(), flags)?),
        };
        let Some(object) = object else {
            let operands =
                [directory as usize, path.as_ptr() as usize, flags as usize, mask as usize, into as usize, 0];
            return Ok(real(libc::SYS_statx, operands));
        };
        if object.node == 0 {
            let flags = flags | libc::AT_EMPTY_PATH;
            let empty = c"".as_ptr() as usize;
            let operands = [object.descriptor as usize, empty, flags as usize, mask as usize, into as usize, 0];
            return Ok(real(libc::SYS_statx, operands));
        }
        // SAFETY: the caller passes room for the result.
        unsafe { into.write(extended(&object.about)) };
        Ok(0)
    }));
    if result == 0 {
        buffers::writes(into as usize, size_of::<libc::statx>(), pc);
    }
    result
}

fn extended(about: &libc::stat) -> libc::statx {
    let time = |seconds: i64, nanoseconds: i64| {
        // SAFETY: an all-zero value is valid.
        let mut time: libc::statx_timestamp = unsafe { core::mem::zeroed() };
        (time.tv_sec, time.tv_nsec) = (seconds, nanoseconds as u32);
        time
    };
    // SAFETY: an all-zero value is valid.
    let mut result: libc::statx = unsafe { core::mem::zeroed() };
    result.stx_mask = libc::STATX_BASIC_STATS;
    result.stx_blksize = about.st_blksize as u32;
    result.stx_nlink = about.st_nlink as u32;
    (result.stx_uid, result.stx_gid) = (about.st_uid, about.st_gid);
    result.stx_mode = about.st_mode as u16;
    result.stx_ino = about.st_ino;
    result.stx_size = about.st_size as u64;
    result.stx_blocks = about.st_blocks as u64;
    result.stx_atime = time(about.st_atime, about.st_atime_nsec);
    result.stx_mtime = time(about.st_mtime, about.st_mtime_nsec);
    result.stx_ctime = time(about.st_ctime, about.st_ctime_nsec);
    result.stx_dev_major = libc::major(about.st_dev);
    result.stx_dev_minor = libc::minor(about.st_dev);
    result
}

/// `faccessat2`
pub fn access(directory: i32, path: *const c_char, mode: i32, flags: i32, pc: u64) -> isize {
    answer(text(path).and_then(|path| {
        announce::looks_up(directory, path, follow_unless(flags), None, pc);
        if as_real() {
            let operands = [directory as usize, path.as_ptr() as usize, mode as usize, flags as usize, 0, 0];
            return Ok(real(libc::SYS_faccessat2, operands));
        }
        if mode & !(libc::R_OK | libc::W_OK | libc::X_OK) != 0 {
            return Err(libc::EINVAL);
        }
        let object = named(directory, path.to_bytes(), flags)?;
        attributes::may_access(&object, mode as u32).map(|()| 0)
    }))
}

/// Changes attributes of what a path, or a descriptor, names.
fn change(
    directory: i32,
    path: *const c_char,
    flags: i32,
    pc: u64,
    change: impl FnOnce(&mut walk::FileObject) -> Result<isize, Errno>,
) -> isize {
    answer(text(path).and_then(|path| {
        announce_status(directory, path, flags, FileAccess::Change, pc);
        change(&mut named(directory, path.to_bytes(), flags)?)
    }))
}

/// `fchmodat2`
pub fn change_mode(directory: i32, path: *const c_char, mode: u32, flags: i32, pc: u64) -> isize {
    if !private() {
        if flags & libc::AT_EMPTY_PATH != 0 {
            return real(libc::SYS_fchmod, [directory as usize, mode as usize, 0, 0, 0, 0]);
        }
        return real(libc::SYS_fchmodat, [directory as usize, path as usize, mode as usize, 0, 0, 0]);
    }
    change(directory, path, flags, pc, |object| attributes::change_mode(object, mode))
}

/// `fchownat`
pub fn change_owner(directory: i32, path: *const c_char, owner: (u32, u32), flags: i32, pc: u64) -> isize {
    if !private() {
        let operands = [directory as usize, path as usize, owner.0 as usize, owner.1 as usize, flags as usize, 0];
        return real(libc::SYS_fchownat, operands);
    }
    change(directory, path, flags, pc, |object| attributes::change_owner(object, owner.0, owner.1))
}

/// `utimensat`
pub fn change_times(
    directory: i32,
    path: *const c_char,
    times: Option<[libc::timespec; 2]>,
    flags: i32,
    pc: u64,
) -> isize {
    if !private() {
        let pointer = times.as_ref().map_or(core::ptr::null(), |times| times.as_ptr()) as usize;
        // A descriptor without a path is not given as an empty path here.
        let by_descriptor = flags & libc::AT_EMPTY_PATH != 0;
        let (path, flags) = if by_descriptor { (0, 0) } else { (path as usize, flags as usize) };
        return real(libc::SYS_utimensat, [directory as usize, path, pointer, flags, 0, 0]);
    }
    change(directory, path, flags, pc, |object| attributes::change_times(object, times))
}

/// `truncate`
pub fn truncate(path: *const c_char, bytes: i64, pc: u64) -> isize {
    if !private() {
        return real(libc::SYS_truncate, [path as usize, bytes as usize, 0, 0, 0, 0]);
    }
    change(libc::AT_FDCWD, path, 0, pc, |object| attributes::set_size(object, bytes))
}

fn go_to(object: &walk::FileObject) -> Result<isize, Errno> {
    if !object.is(libc::S_IFDIR) {
        return Err(libc::ENOTDIR);
    }
    attributes::may_access(object, libc::X_OK as u32)?;
    undo::changed(undo::kind::DIRECTORY);
    overlay().directory = object.node;
    let real_directory = match object.node {
        0 => object.descriptor,
        node => overlay().node(node).held(),
    };
    // A directory of the overlay alone stays out of the kernel's sight.
    match real_directory {
        ..0 => Ok(0),
        descriptor => Ok(real(libc::SYS_fchdir, [descriptor as usize, 0, 0, 0, 0, 0])),
    }
}

/// `chdir`
pub fn change_directory(path: *const c_char, pc: u64) -> isize {
    answer(text(path).and_then(|path| {
        announce::looks_up(libc::AT_FDCWD, path, Follow::Always, None, pc);
        announce::working_directory(FileAccess::Change, pc);
        if as_real() {
            undo::changed(undo::kind::DIRECTORY);
            return Ok(real(libc::SYS_chdir, [path.as_ptr() as usize, 0, 0, 0, 0, 0]));
        }
        go_to(&named(libc::AT_FDCWD, path.to_bytes(), 0)?)
    }))
}

/// `fchdir`
pub fn change_directory_to(descriptor: i32, pc: u64) -> isize {
    announce::working_directory(FileAccess::Change, pc);
    if as_real() {
        undo::changed(undo::kind::DIRECTORY);
        return real(libc::SYS_fchdir, [descriptor as usize, 0, 0, 0, 0, 0]);
    }
    answer(walk::of_descriptor(descriptor).and_then(|object| go_to(&object)))
}

static WORKING_DIRECTORY: Global<[u8; PATH]> = Global::new([0; PATH]);

/// The path of a directory, or of a name in it, valid until it is asked for again.
pub fn path_of(directory: &walk::DirectoryPlace, last: &[u8]) -> Result<&'static [u8], Errno> {
    // SAFETY: rule 4 of the crate; the text is used before the next call.
    let text = unsafe { &mut *WORKING_DIRECTORY.get() };
    let start = names::path_of(directory, last, text)?;
    Ok(&text[start..])
}

/// `getcwd`: the length with the end.
pub fn get_directory(into: *mut u8, room: usize, pc: u64) -> isize {
    announce::working_directory(FileAccess::Observe, pc);
    touch(into, room);
    if as_real() {
        return real(libc::SYS_getcwd, [into as usize, room, 0, 0, 0, 0]);
    }
    answer(walk::start(libc::AT_FDCWD).and_then(|place| {
        let path = path_of(&place, b"")?;
        if path.len() + 1 > room {
            return Err(libc::ERANGE);
        }
        // SAFETY: the caller passes a buffer with so much room.
        unsafe {
            core::ptr::copy_nonoverlapping(path.as_ptr(), into, path.len());
            *into.add(path.len()) = 0;
        }
        Ok(path.len() as isize + 1)
    }))
}

/// The list of an open directory, for the search.
pub fn list_of(descriptor: i32) -> u16 {
    match walk::of_descriptor(descriptor).map(|object| object.node) {
        Ok(0) | Err(_) => names::list_of(descriptor),
        Ok(node) => overlay().node(node).list,
    }
}

/// `getdents64`
pub fn read_directory(descriptor: i32, into: *mut u8, room: usize, pc: u64) -> isize {
    if regular_files::counts() {
        announce::reads_list(list_of(descriptor), pc);
    }
    touch(into, room);
    if as_real() || usize::try_from(descriptor).is_ok_and(|index| index >= descriptors::MAX_CHANNELS) {
        return real(libc::SYS_getdents64, [descriptor as usize, into as usize, room, 0, 0, 0]);
    }
    answer(walk::start(descriptor).and_then(|place| {
        let position = overlay().positions[descriptor as usize];
        // SAFETY: the caller passes a buffer with so much room.
        let buffer = unsafe { core::slice::from_raw_parts_mut(into, room) };
        let (bytes, next) = listing::read(&place, position, buffer)?;
        overlay().positions[descriptor as usize] = next;
        Ok(bytes as isize)
    }))
}

/// `statfs`, of what a path or descriptor names.
pub fn system_status(directory: i32, path: *const c_char, into: *mut libc::statfs, pc: u64) -> isize {
    answer(text(path).and_then(|path| {
        announce_status(directory, path, libc::AT_EMPTY_PATH, FileAccess::Observe, pc);
        touch(into.cast(), size_of::<libc::statfs>());
        if as_real() {
            let is_path = !path.is_empty() || directory == libc::AT_FDCWD;
            let number = if is_path { libc::SYS_statfs } else { libc::SYS_fstatfs };
            let first = if is_path { path.as_ptr() as usize } else { directory as usize };
            return Ok(real(number, [first, into as usize, 0, 0, 0, 0]));
        }
        let flags = if directory == libc::AT_FDCWD { 0 } else { libc::AT_EMPTY_PATH };
        let object = named(directory, path.to_bytes(), flags)?;
        let descriptor = attributes::system_descriptor(&object)?;
        let result = real(libc::SYS_fstatfs, [descriptor as usize, into as usize, 0, 0, 0, 0]);
        overlay::close(descriptor);
        Ok(result)
    }))
}

/// Calls the function with a descriptor by which the kernel gets or sets an extended attribute of
/// what a path or descriptor names.
pub fn with_attributes(
    directory: i32,
    path: *const c_char,
    flags: i32,
    how: FileAccess,
    pc: u64,
    call: impl FnOnce(i32) -> isize,
) -> isize {
    answer(text(path).and_then(|path| {
        announce_status(directory, path, flags, how, pc);
        let mut object = named(directory, path.to_bytes(), flags)?;
        if how == FileAccess::Change && private() {
            attributes::copy_up(&mut object)?;
        }
        let node = match object.node {
            0 => return Ok(call_real(object.descriptor, call)),
            number => *overlay().node(number),
        };
        if node.is_in_memory() {
            return Ok(call_real(node.held(), call));
        }
        if how == FileAccess::Observe && node.held() >= 0 {
            return Ok(call_real(node.held(), call));
        }
        Err(if how == FileAccess::Observe { libc::ENODATA } else { libc::EOPNOTSUPP })
    }))
}

/// The kernel wants a descriptor with access.
fn call_real(descriptor: i32, call: impl FnOnce(i32) -> isize) -> isize {
    let open = overlay::reopen(descriptor, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC);
    if open < 0 {
        return open;
    }
    let result = call(open as i32);
    overlay::close(open as i32);
    result
}

/// A name that depends only on the thread's own history: six letters in front of a suffix.
///
/// # Safety
/// The template is a C string that can be written.
pub unsafe fn fill_template(template: *mut c_char, suffix: usize) -> Result<(), Errno> {
    let len = text(template)?.to_bytes().len();
    let start = len.checked_sub(6 + suffix).ok_or(libc::EINVAL)?;
    if text(template)?.to_bytes()[start..start + 6] != *b"XXXXXX" {
        return Err(libc::EINVAL);
    }
    let me = run().me();
    me.temporary_files += 1;
    let mut number = me.key.wrapping_add(u64::from(me.temporary_files));
    for index in start..start + 6 {
        // SAFETY: characters of the caller's template, which the function replaces by contract.
        unsafe { *template.add(index) = (b'a' + (number % 26) as u8) as c_char };
        number /= 26;
    }
    Ok(())
}

/// Makes a system call by its number, if it is one on files; `None` for all others.
pub fn by_number(number: i64, operands: [usize; 6], pc: u64) -> Option<isize> {
    const HERE: i32 = libc::AT_FDCWD;
    let (number, operands) = modern(number, operands);
    let [a, b, c, d, e, _] = operands;
    let path = |operand: usize| operand as *const c_char;
    let pair = |times: usize| {
        // SAFETY: null, or the caller passes both times.
        unsafe { (times as *const [libc::timespec; 2]).as_ref() }.copied()
    };
    let itself = c"".as_ptr();
    Some(match number {
        libc::SYS_openat => open(a as i32, path(b), c as i32, d as u32, pc),
        libc::SYS_close => {
            let result = descriptors::close_descriptor(a as i32, pc);
            if result < 0 { -(libc::EBADF as isize) } else { 0 }
        }
        libc::SYS_close_range => {
            let result = descriptors::close_all(a as u32, b as u32, c as i32, pc);
            if result < 0 { -(libc::EINVAL as isize) } else { 0 }
        }
        libc::SYS_newfstatat => stat(a as i32, path(b), c as *mut libc::stat, d as i32, pc),
        libc::SYS_fstat => stat(a as i32, itself, b as *mut libc::stat, libc::AT_EMPTY_PATH, pc),
        libc::SYS_statx => stat_more(a as i32, path(b), c as i32, d as u32, e as *mut libc::statx, pc),
        libc::SYS_faccessat => access(a as i32, path(b), c as i32, 0, pc),
        libc::SYS_faccessat2 => access(a as i32, path(b), c as i32, d as i32, pc),
        libc::SYS_getdents64 => read_directory(a as i32, b as *mut u8, c, pc),
        libc::SYS_readlinkat => read_link(a as i32, path(b), c as *mut u8, d, pc),
        libc::SYS_chdir => change_directory(path(a), pc),
        libc::SYS_fchdir => change_directory_to(a as i32, pc),
        libc::SYS_getcwd => get_directory(a as *mut u8, b, pc),
        libc::SYS_mkdirat => make_directory(a as i32, path(b), c as u32, pc),
        libc::SYS_mknodat => make_special(a as i32, path(b), c as u32, d as u64, pc),
        libc::SYS_unlinkat => unlink(a as i32, path(b), c as i32, pc),
        libc::SYS_renameat => rename((a as i32, path(b)), (c as i32, path(d)), 0, pc),
        libc::SYS_renameat2 => rename((a as i32, path(b)), (c as i32, path(d)), e as u32, pc),
        libc::SYS_linkat => link((a as i32, path(b)), (c as i32, path(d)), e as i32, pc),
        libc::SYS_symlinkat => symlink(path(a), b as i32, path(c), pc),
        libc::SYS_fchmod => change_mode(a as i32, itself, b as u32, libc::AT_EMPTY_PATH, pc),
        libc::SYS_fchmodat => change_mode(a as i32, path(b), c as u32, 0, pc),
        libc::SYS_fchown => change_owner(a as i32, itself, (b as u32, c as u32), libc::AT_EMPTY_PATH, pc),
        libc::SYS_fchownat => change_owner(a as i32, path(b), (c as u32, d as u32), e as i32, pc),
        libc::SYS_utimensat if b == 0 => change_times(a as i32, itself, pair(c), libc::AT_EMPTY_PATH, pc),
        libc::SYS_utimensat => change_times(a as i32, path(b), pair(c), d as i32, pc),
        libc::SYS_truncate => truncate(path(a), b as i64, pc),
        libc::SYS_statfs => system_status(HERE, path(a), b as *mut libc::statfs, pc),
        libc::SYS_fstatfs => system_status(a as i32, itself, b as *mut libc::statfs, pc),
        libc::SYS_fcntl if matches!(b as i32, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) => {
            let copy = real(number, operands);
            if copy >= 0 {
                descriptors::copied(a as i32, copy as i32);
                descriptor_ends::made(copy as i32);
            }
            copy
        }
        _ => return None,
    })
}
