//! Operations on paths as transitions. What they touch (see `raddle_vocab::io`):
//!
//! | thing | observed by | changed by |
//! |---|---|---|
//! | the name of a file | looking it up | making, moving, removing it |
//! | the content of a file | asking for its status | truncating it, changing its attributes |
//! | the list of a directory | reading it, asking for its status | making, moving, removing a name (these commute) |
//! | the existence of a directory or link | paths through it | making, moving, removing it |
//!
//! Things are known by names, not by whole paths. This only adds dependences.
//!
//! The kernel walks along a path step by step, too: a link on the way, and directories far up, are
//! looked at in transitions of their own.

use core::ffi::CStr;

use raddle_vocab::io::{List, ListAccess};
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::interpose::buffers::reads_text;
use crate::interpose::io::overlay::walk::{Follow, Last, walk};
use crate::interpose::io::overlay::{NAME, names, overlay};
use crate::interpose::io::regular_files::{self, FileAccess, counts};
use crate::sched;
use crate::sched::controller::name_limit;
use crate::state::{AnnouncedOp, Fiber, ThreadStatus, run};

/// Directories far up a path that are looked at.
const FAR_UP: usize = 3;

/// Directories, by the numbers of their existence, that threads changed, and that paths went
/// through without room for them in the transition of the call itself. A call that comes before
/// such a change by another thread may count as one that comes behind it.
#[derive(Clone, Copy)]
pub struct Ways {
    changed: [u16; io::LISTS as usize],
    looked_at: [u16; io::LISTS as usize],
}

/// More than one thread. Others stand for themselves, from 1.
const SEVERAL: u16 = u16::MAX;

impl Ways {
    /// None.
    pub const NEW: Ways = Ways { changed: [0; io::LISTS as usize], looked_at: [0; io::LISTS as usize] };

    fn changed(&mut self, identity: u16) {
        Ways::note(&mut self.changed, &self.looked_at, identity);
    }

    fn looked_at(&mut self, identity: u16) {
        Ways::note(&mut self.looked_at, &self.changed, identity);
    }

    /// Adds one. It is a limit if it is among those of other threads. What a thread does while
    /// there is no other has its order.
    fn note(to: &mut [u16], others: &[u16], identity: u16) {
        let me = run().hot.tid + 1;
        let is_alive = |fiber: &Fiber| !matches!(fiber.status, ThreadStatus::Ended | ThreadStatus::Unused);
        if run().fibers[..run().threads].iter().filter(|fiber| is_alive(fiber)).count() < 2 {
            return;
        }
        let index = usize::from(identity);
        to[index] = if to[index] == 0 || to[index] == me { me } else { SEVERAL };
        if others[index] != 0 && others[index] != me {
            name_limit(limit::PATHS);
        }
    }
}

/// What a transition touches.
struct Touches {
    wide: [(u32, FileAccess); 2],
    wide_len: usize,
    lists: [Option<List>; 2],
}

impl Touches {
    const NONE: Touches = Touches { wide: [(0, FileAccess::Observe); 2], wide_len: 0, lists: [None; 2] };

    fn wide(&mut self, thing: u32, how: FileAccess) {
        if let Some(slot) = self.wide.get_mut(self.wide_len) {
            *slot = (thing, how);
            self.wide_len += 1;
        }
    }

    /// Adds a directory, or the working directory, that a path goes through: as a part of the
    /// transition if there is room for it.
    fn way(&mut self, identity: u16) {
        if self.wide_len == self.wide.len() && self.lists.iter().all(Option::is_some) {
            return run().ways.looked_at(identity);
        }
        self.list(identity, ListAccess::Observe);
    }

    /// Adds a list or an existence, where there is room for it.
    fn list(&mut self, identity: u16, access: ListAccess) {
        let list = List { identity, access };
        if let Some(slot) = self.lists.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(list);
        } else {
            let how = if access == ListAccess::Observe { FileAccess::Observe } else { FileAccess::Change };
            self.wide(list.thing() as u32, how);
        }
    }

    fn perform(self, pc: u64) {
        self.perform_with(0, pc);
    }

    fn perform_with(mut self, flags: u64, pc: u64) {
        if self.wide_len == 0 {
            // The first thing cannot be missing: one of the lists takes its place.
            let Some(list) = self.lists[1].take().or(self.lists[0].take()) else { return };
            let how = if list.access == ListAccess::Observe { FileAccess::Observe } else { FileAccess::Change };
            self.wide(list.thing() as u32, how);
        }
        let (first, how) = self.wide[0];
        let mut arg = flags | if how == FileAccess::Observe { io::OBSERVES } else { 0 };
        if self.wide_len == 2 {
            let (second, how) = self.wide[1];
            arg |= io::and(second) | if how == FileAccess::Observe { io::SECOND_OBSERVES } else { 0 };
        }
        let op = AnnouncedOp::new(OpKind::Io, io::file_in(first, self.lists), arg, pc);
        sched::perform(op, Outcome::Done, 0, 0);
    }
}

/// A name, copied from wherever it was.
#[derive(Clone, Copy)]
struct Name {
    text: [u8; NAME],
    len: usize,
}

impl Name {
    fn new(name: &[u8]) -> Self {
        let mut text = [0; NAME];
        let len = name.len().min(NAME);
        text[..len].copy_from_slice(&name[..len]);
        Name { text, len }
    }

    fn text(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

/// What is known about a path before the operation.
struct Target {
    name: Name,
    content: u32,
    /// List of its directory.
    list: u16,
    /// It is a directory, with this list.
    directory: Option<u16>,
    /// It is a symbolic link.
    is_link: bool,
}

/// Parts of a path without its last, nearest first; `.` and `..` are left out.
fn directories(path: &CStr) -> impl Iterator<Item = &[u8]> {
    let parts = path.to_bytes().split(|&byte| byte == b'/').rev();
    parts.filter(|part| !part.is_empty()).skip(1).filter(|part| !matches!(*part, b"." | b".."))
}

fn last_part(path: &CStr) -> &[u8] {
    path.to_bytes().split(|&byte| byte == b'/').rfind(|part| !part.is_empty()).unwrap_or(b"/")
}

fn examine(directory: i32, path: &CStr, follow: Follow) -> Target {
    let lexical = last_part(path);
    let parent = directories(path).next().unwrap_or(b"");
    let mut target = Target {
        name: Name::new(lexical),
        content: regular_files::content(lexical),
        list: regular_files::list(parent),
        directory: None,
        is_link: false,
    };
    let Ok(found) = walk(directory, path.to_bytes(), follow) else { return target };
    if found.last == Last::Name {
        target.name = Name::new(found.name());
        target.content = regular_files::content(found.name());
    }
    target.list = match found.directory.node {
        0 => names::list_of(found.directory.descriptor),
        node => overlay().node(node).list,
    };
    if let Some(object) = &found.object {
        target.is_link = object.is(libc::S_IFLNK);
        if object.node != 0 {
            target.content = overlay().node(object.node).content;
        }
        if object.is(libc::S_IFDIR) {
            target.directory = Some(match object.node {
                0 => names::list_of(object.descriptor),
                node => overlay().node(node).list,
            });
        }
    }
    target
}

/// Looks at directories far up, and at a link that stands for the path.
fn look_ahead(path: &CStr, target: &Target, pc: u64) {
    let mut touches = Touches::NONE;
    let far_up = directories(path).skip(1).take(FAR_UP);
    let is_link = target.name.text() != last_part(path) && target.name.len > 0;
    for part in far_up.chain(is_link.then(|| last_part(path))) {
        let identity = regular_files::existence(part);
        touches.way(identity);
        run().ways.looked_at(identity);
    }
    touches.perform(pc);
}

/// The path goes through a directory, and may begin at the working directory.
fn observe_directory(path: &CStr, touches: &mut Touches) {
    if let Some(directory) = directories(path).next() {
        touches.way(regular_files::existence(directory));
    }
    if path.to_bytes().first() != Some(&b'/') {
        touches.way(regular_files::existence(b"."));
    }
}

/// The call changes the working directory, or asks for it. It orders no memory.
pub fn working_directory(how: FileAccess, pc: u64) {
    if counts() {
        let access = if how == FileAccess::Observe { ListAccess::Observe } else { ListAccess::Change };
        let mut touches = Touches::NONE;
        touches.list(regular_files::existence(b"."), access);
        if how == FileAccess::Change {
            run().ways.changed(regular_files::existence(b"."));
        }
        touches.perform_with(io::UNORDERED, pc);
    }
}

/// The call looks the path up; `content` says what it does with what is in the file.
pub fn looks_up(directory: i32, path: &CStr, follow: Follow, content: Option<FileAccess>, pc: u64) {
    reads_text(path.as_ptr() as usize, pc);
    if !counts() {
        return;
    }
    let target = examine(directory, path, follow);
    look_ahead(path, &target, pc);
    let mut touches = Touches::NONE;
    touches.wide(regular_files::name(target.name.text()), FileAccess::Observe);
    match (content, target.directory) {
        (Some(FileAccess::Observe), Some(list)) => touches.list(list, ListAccess::Observe),
        (Some(how), _) => touches.wide(target.content, how),
        (None, _) => {}
    }
    observe_directory(path, &mut touches);
    touches.way(regular_files::existence(target.name.text()));
    touches.perform(pc);
}

/// What a call does with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Making {
    /// It makes a file if there is none.
    File {
        /// It empties a file that is there.
        truncates: bool,
    },
    /// It makes or removes a directory, or a link.
    Way,
    /// It removes what is not a directory.
    Nothing,
}

/// The call makes or removes a name.
pub fn changes_name(directory: i32, path: &CStr, follow: Follow, making: Making, pc: u64) {
    reads_text(path.as_ptr() as usize, pc);
    if !counts() {
        return;
    }
    let target = examine(directory, path, follow);
    look_ahead(path, &target, pc);
    let mut touches = Touches::NONE;
    touches.wide(regular_files::name(target.name.text()), FileAccess::Change);
    if making == (Making::File { truncates: true }) {
        touches.wide(target.content, FileAccess::Change);
    }
    touches.list(target.list, ListAccess::Share);
    if making == Making::Way || (making == Making::Nothing && target.is_link) {
        let identity = regular_files::existence(target.name.text());
        touches.list(identity, ListAccess::Change);
        run().ways.changed(identity);
    }
    observe_directory(path, &mut touches);
    touches.perform(pc);
}

/// The call moves a name, or gives the file another one.
pub fn moves_name(from: (i32, &CStr), to: (i32, &CStr), pc: u64) {
    reads_text(from.1.as_ptr() as usize, pc);
    reads_text(to.1.as_ptr() as usize, pc);
    if !counts() {
        return;
    }
    let (old, new) = (examine(from.0, from.1, Follow::Never), examine(to.0, to.1, Follow::Never));
    let mut parents = Touches::NONE;
    for path in [from.1, to.1] {
        observe_directory(path, &mut parents);
    }
    for list in parents.lists.into_iter().flatten() {
        run().ways.looked_at(list.identity);
    }
    parents.perform(pc);
    let mut touches = Touches::NONE;
    touches.list(old.list, ListAccess::Share);
    if new.list != old.list {
        touches.list(new.list, ListAccess::Share);
    }
    let is_way = old.directory.is_some() || old.is_link || new.directory.is_some() || new.is_link;
    for name in [old.name.text(), new.name.text()] {
        if is_way {
            let way = List { identity: regular_files::existence(name), access: ListAccess::Change };
            run().ways.changed(way.identity);
            touches.wide(way.thing() as u32, FileAccess::Change);
        } else {
            touches.wide(regular_files::name(name), FileAccess::Change);
        }
    }
    touches.perform(pc);
}

/// The call reads the list of an open directory, and changes this position in it.
pub fn reads_list_at(list: u16, position: u32, pc: u64) {
    let mut touches = Touches::NONE;
    touches.wide(position, FileAccess::Change);
    touches.list(list, ListAccess::Observe);
    touches.perform(pc);
}

/// The call reads the list of an open directory.
pub fn reads_list(list: u16, pc: u64) {
    if counts() {
        let mut touches = Touches::NONE;
        touches.list(list, ListAccess::Observe);
        touches.perform(pc);
    }
}
