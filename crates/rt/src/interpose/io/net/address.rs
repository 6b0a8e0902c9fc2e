//! Addresses of sockets.

use core::ffi::c_void;

use raddle_vocab::io::Endpoint;

use crate::interpose::io::overlay::Errno;
use crate::interpose::io::regular_files;

/// Bytes of the longest address: that of the Unix domain.
const MOST: usize = size_of::<libc::sockaddr_un>();
/// Bytes in front of a name of the Unix domain.
const FAMILY: usize = 2;
/// Bytes of the addresses of the Internet protocols.
const INET: usize = size_of::<libc::sockaddr_in>();
const INET6: usize = size_of::<libc::sockaddr_in6>();

/// An address as the program gives it; of no bytes if there is none.
#[derive(Clone, Copy)]
pub struct Address {
    bytes: [u8; MOST],
    len: u8,
}

impl Address {
    /// No address.
    pub const NONE: Address = Address { bytes: [0; MOST], len: 0 };

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.len > 0
    }

    /// The address that a call of the program gives for a socket of the domain.
    ///
    /// # Errors
    /// As the kernel has them.
    pub fn given(at: *const c_void, len: u32, domain: i32) -> Result<Address, Errno> {
        if at.is_null() {
            return Err(libc::EFAULT);
        }
        let len = len as usize;
        if len < FAMILY || len > size_of::<libc::sockaddr_storage>() {
            return Err(libc::EINVAL);
        }
        let mut address = Address { bytes: [0; MOST], len: len.min(MOST) as u8 };
        // SAFETY: the caller of the function passes so many bytes.
        unsafe { core::ptr::copy_nonoverlapping(at.cast(), address.bytes.as_mut_ptr(), len.min(MOST)) };
        match domain {
            libc::AF_INET | libc::AF_INET6 => {
                let needed = if domain == libc::AF_INET { INET } else { INET6 };
                // An unspecified family is only allowed where connections end.
                if address.family() == libc::AF_UNSPEC {
                    return Ok(address);
                }
                if address.family() == libc::AF_INET6 && domain == libc::AF_INET6 && len < 24 || len < INET {
                    return Err(libc::EINVAL);
                }
                if address.family() != domain {
                    return Err(libc::EAFNOSUPPORT);
                }
                address.len = needed as u8;
            }
            _ => {
                if address.family() == libc::AF_UNSPEC {
                    return Ok(address);
                }
                if address.family() != libc::AF_UNIX || len > MOST {
                    return Err(libc::EINVAL);
                }
                if !address.is_abstract() && len > FAMILY {
                    // A path ends at its first zero.
                    let path = &address.bytes[FAMILY..len];
                    let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
                    address.bytes[FAMILY + end..].fill(0);
                    address.len = (FAMILY + end + 1).min(MOST) as u8;
                }
            }
        }
        Ok(address)
    }

    /// That of a socket of the domain that is bound to none.
    pub fn unbound(domain: i32) -> Address {
        match domain {
            libc::AF_UNIX => Address::of_family(domain, FAMILY),
            libc::AF_INET => Address::of_family(domain, INET),
            _ => Address::of_family(domain, INET6),
        }
    }

    /// The loopback address of the domain, with a port.
    pub fn loopback(domain: i32, port: u16) -> Address {
        let mut address = Address::unbound(domain);
        if domain == libc::AF_INET {
            address.bytes[4..8].copy_from_slice(&[127, 0, 0, 1]);
        } else {
            address.bytes[23] = 1;
        }
        address.set_port(port);
        address
    }

    fn of_family(family: i32, len: usize) -> Address {
        let mut address = Address { len: len as u8, ..Address::NONE };
        address.bytes[..FAMILY].copy_from_slice(&(family as u16).to_ne_bytes());
        address
    }

    /// The family that it says it is of.
    pub fn family(&self) -> i32 {
        i32::from(u16::from_ne_bytes([self.bytes[0], self.bytes[1]]))
    }

    /// The port, of an address of the Internet protocols.
    pub fn port(&self) -> u16 {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]])
    }

    /// Sets the port.
    pub fn set_port(&mut self, port: u16) {
        self.bytes[2..4].copy_from_slice(&port.to_be_bytes());
    }

    /// The host, in the form that both Internet protocols have in common.
    fn host(&self) -> [u8; 16] {
        let mut host = [0; 16];
        if self.family() == libc::AF_INET {
            host[10..12].fill(0xff);
            host[12..].copy_from_slice(&self.bytes[4..8]);
        } else {
            host.copy_from_slice(&self.bytes[8..24]);
        }
        host
    }

    /// Whether it stands for all addresses of the machine.
    pub fn is_any(&self) -> bool {
        let host = self.host();
        host == [0; 16] || host[10..] == [0xff, 0xff, 0, 0, 0, 0] && host[..10] == [0; 10]
    }

    /// Whether it is one that only this machine reaches.
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        let one = {
            let mut one = [0; 16];
            one[15] = 1;
            one
        };
        host == one || host[..13] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127]
    }

    /// An address that stands for all of the machine's is that of the loopback, for one that
    /// connects.
    pub fn as_target(mut self) -> Address {
        if self.family() != libc::AF_UNIX && self.is_any() {
            let loopback = Address::loopback(self.family(), self.port());
            self.bytes = loopback.bytes;
        }
        self
    }

    /// Whether two of the Internet protocols stand for the same host, or one of them for all. One
    /// for all of the older protocol's does not stand for the newer one's.
    pub fn meets(&self, other: &Address) -> bool {
        let covers = |any: &Address, other: &Address| {
            let is_old = |address: &Address| address.host()[10..12] == [0xff, 0xff] && address.host()[..10] == [0; 10];
            any.is_any() && (any.family() == libc::AF_INET6 || is_old(other) || other.is_any())
        };
        self.host() == other.host() || covers(self, other) || covers(other, self)
    }

    fn is_abstract(&self) -> bool {
        usize::from(self.len) > FAMILY && self.bytes[FAMILY] == 0
    }

    /// The path, with a zero behind it, of a name of the Unix domain that is one of a file.
    pub fn path(&self) -> Option<[u8; MOST]> {
        if self.family() != libc::AF_UNIX || usize::from(self.len) <= FAMILY || self.is_abstract() {
            return None;
        }
        let mut path = [0; MOST];
        path[..MOST - FAMILY].copy_from_slice(&self.bytes[FAMILY..]);
        Some(path)
    }

    /// The name in the Unix domain.
    pub fn name(&self) -> &[u8] {
        &self.bytes[FAMILY..usize::from(self.len).max(FAMILY)]
    }

    /// What is touched where sockets are bound to the address.
    pub fn endpoint(&self, kind: i32) -> Endpoint {
        if self.family() == libc::AF_UNIX {
            Endpoint::Name(regular_files::hash(self.name(), 26) & !1 & 0x0fff_ffff)
        } else {
            Endpoint::Port { datagrams: kind == libc::SOCK_DGRAM, number: self.port() }
        }
    }

    /// Tells the program the address, as far as it has room for it.
    pub fn tell(&self, into: *mut c_void, room: *mut u32) {
        if into.is_null() || room.is_null() {
            return;
        }
        // SAFETY: the caller of the function passes so much room, and where its size is.
        unsafe {
            let bytes = usize::from(self.len).min(*room as usize);
            core::ptr::copy_nonoverlapping(self.bytes.as_ptr(), into.cast(), bytes);
            *room = u32::from(self.len);
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// An address of these bytes.
    pub fn of(bytes: &[u8]) -> Address {
        let mut address = Address { len: bytes.len().min(MOST) as u8, ..Address::NONE };
        address.bytes[..bytes.len().min(MOST)].copy_from_slice(&bytes[..bytes.len().min(MOST)]);
        address
    }
}
