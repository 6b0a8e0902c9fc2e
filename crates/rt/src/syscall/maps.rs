//! Reading /proc/self/maps without allocation.
//!
//! The host has a reader of its own (`raddle_exec::mappings`), which allocates. This one runs
//! inside the target, where the allocator belongs to the program.

use crate::syscall::syscall;

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct MapsEntry {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// May be read.
    pub readable: bool,
    /// May be written.
    pub writable: bool,
    /// May be executed.
    pub executable: bool,
    /// Not shared.
    pub private: bool,
}

/// The lines, in order.
pub struct Maps {
    descriptor: i32,
    buffer: [u8; 4096],
    len: usize,
    at: usize,
}

impl Maps {
    /// Opens the list.
    pub fn open() -> Option<Self> {
        let path = c"/proc/self/maps";
        // SAFETY: a valid path.
        let descriptor =
            unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0) };
        (descriptor >= 0).then_some(Maps { descriptor: descriptor as i32, buffer: [0; 4096], len: 0, at: 0 })
    }

    /// The next line that can be understood.
    pub fn next(&mut self) -> Option<MapsEntry> {
        let start = self.hexadecimal()?;
        let end = self.hexadecimal()?;
        let readable = self.byte()? == b'r';
        let writable = self.byte()? == b'w';
        let executable = self.byte()? == b'x';
        let private = self.byte()? == b'p';
        while self.byte()? != b'\n' {}
        Some(MapsEntry { start, end, readable, writable, executable, private })
    }

    /// A number and the character that ends it.
    fn hexadecimal(&mut self) -> Option<usize> {
        let mut value = 0;
        loop {
            let byte = self.byte()?;
            match (byte as char).to_digit(16) {
                Some(digit) => value = value * 16 + digit as usize,
                None => return Some(value),
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        if self.at == self.len {
            // SAFETY: reads into the own buffer.
            let got = unsafe { syscall!(libc::SYS_read, self.descriptor, self.buffer.as_mut_ptr(), self.buffer.len()) };
            if got <= 0 {
                return None;
            }
            self.len = got as usize;
            self.at = 0;
        }
        self.at += 1;
        Some(self.buffer[self.at - 1])
    }
}

impl Drop for Maps {
    fn drop(&mut self) {
        // SAFETY: closes the own descriptor.
        unsafe { syscall!(libc::SYS_close, self.descriptor) };
    }
}
