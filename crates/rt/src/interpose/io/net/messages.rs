//! `sendmsg` and `recvmsg`. What is sent beside the bytes (descriptors, credentials) is not
//! modelled.

use super::data::{self, Pieces};
use crate::interpose::buffers::writes;
use crate::state::controlled;
use crate::syscall::set_errno;

/// `sendmsg`. `None` if the descriptor is not one of the runtime's sockets.
pub fn send_message(descriptor: i32, message: *const libc::msghdr, flags: i32, pc: u64) -> Option<isize> {
    if !controlled() {
        return None;
    }
    super::of(descriptor)?;
    // SAFETY: the caller of the function passes a description of buffers.
    let message = unsafe { message.as_ref() }?;
    if message.msg_controllen > 0 && !message.msg_control.is_null() {
        super::gives_up(b"sendmsg (with control data)", pc);
    }
    let pieces = Pieces::new(message.msg_iov, message.msg_iovlen);
    data::send(descriptor, pieces, flags, (message.msg_name, message.msg_namelen), pc)
}

/// `recvmsg`. `None` if the descriptor is not one of the runtime's sockets.
pub fn receive_message(descriptor: i32, message: *mut libc::msghdr, flags: i32, pc: u64) -> Option<isize> {
    if !controlled() {
        return None;
    }
    super::of(descriptor)?;
    // SAFETY: the caller of the function passes a description of buffers.
    let message = unsafe { message.as_mut() }?;
    let pieces = Pieces::new(message.msg_iov, message.msg_iovlen);
    Some(match data::receive(descriptor, pieces, flags, pc)? {
        Ok(received) => {
            let name = message.msg_name;
            if !name.is_null() {
                received.sender.tell(name, &raw mut message.msg_namelen);
                writes(name as usize, received.sender.bytes().len(), pc);
            }
            message.msg_controllen = 0;
            message.msg_flags = received.flags;
            received.len as isize
        }
        Err(code) => {
            set_errno(code);
            -1
        }
    })
}
