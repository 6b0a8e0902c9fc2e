//! Embeds bitcode in clang's objects and hides it from other tools.
//!
//! Objects and programs carry their bitcode for `raddle-analyze`. clang puts it into a section that
//! the linker plugins of LLVM look for. `ar` and `nm` load every such plugin that is installed. A
//! plugin of an older LLVM cannot read the bitcode and makes them see no symbols at all. So the
//! section is renamed in place, to a name of the same length.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Makes clang embed the bitcode from before all passes.
pub(crate) const EMBED: [&str; 2] = ["-Xclang", "-fembed-bitcode=bitcode"];

/// The name of clang's section.
const VISIBLE: &[u8; 8] = b".llvmbc\0";
/// The name that it gets.
const HIDDEN: &[u8; 8] = b".raddle\0";

/// Renames the section of an object or program. Other files are not changed.
pub(crate) fn hide(path: &Path) -> io::Result<()> {
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(());
    }
    let file = File::options().read(true).write(true).open(path)?;
    match position(&file) {
        Ok(Some(position)) => file.write_all_at(HIDDEN, position),
        // Too short for what its header promises: no ELF file, or none that a linker would take.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The offset of the section's name in the file.
fn position(file: &File) -> io::Result<Option<u64>> {
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0)?;
    // 64 bits, least byte first.
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let sections = u64::from_le_bytes(field(&header, 40));
    let size = u64::from(u16::from_le_bytes(field(&header, 58)));
    let section = |number: u64| -> io::Result<[u8; 64]> {
        let mut section = [0; 64];
        file.read_exact_at(&mut section, sections.saturating_add(number.saturating_mul(size)))?;
        Ok(section)
    };
    // Large numbers do not fit into the header and stand in the first section.
    let first = section(0)?;
    let count = match u16::from_le_bytes(field(&header, 60)) {
        0 => u64::from_le_bytes(field(&first, 32)),
        count => u64::from(count),
    };
    let names = match u16::from_le_bytes(field(&header, 62)) {
        u16::MAX => u64::from(u32::from_le_bytes(field(&first, 40))),
        names => u64::from(names),
    };
    let names = u64::from_le_bytes(field(&section(names)?, 24));
    for number in 0..count {
        let position = names.saturating_add(u64::from(u32::from_le_bytes(field(&section(number)?, 0))));
        let mut name = [0; 8];
        if file.read_exact_at(&mut name, position).is_ok() && name == *VISIBLE {
            return Ok(Some(position));
        }
    }
    Ok(None)
}

fn field<const N: usize>(bytes: &[u8; 64], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with two sections: the table of names, and one with this name.
    fn elf(name: &[u8; 8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[40..48].copy_from_slice(&72u64.to_le_bytes());
        bytes[58..60].copy_from_slice(&64u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&2u16.to_le_bytes());
        bytes.extend(name);
        let mut table = [0; 64];
        table[24..32].copy_from_slice(&64u64.to_le_bytes());
        bytes.extend(table);
        bytes.extend([0; 64]);
        bytes
    }

    fn hidden(bytes: &[u8]) -> Vec<u8> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, bytes).expect("written");
        hide(&path).expect("hidden");
        std::fs::read(&path).expect("read")
    }

    #[test]
    fn only_the_name_of_the_section_changes() {
        assert_eq!(hidden(&elf(VISIBLE)), elf(HIDDEN));
        assert_eq!(hidden(&elf(b".llvmcm\0")), elf(b".llvmcm\0"));
    }

    #[test]
    fn what_is_no_elf_file_is_left_alone() {
        let whole = elf(VISIBLE);
        for length in [0, 5, 63, 64, 72, 100] {
            assert_eq!(hidden(&whole[..length]), &whole[..length]);
        }
        let text = b"no program, but .llvmbc\0 in it, and long enough to be taken for a header of one".to_vec();
        assert_eq!(hidden(&text), text);
        hide(Path::new("/dev/null")).expect("left alone");
        hide(Path::new("/nonexistent/file")).expect("left alone");
    }
}
