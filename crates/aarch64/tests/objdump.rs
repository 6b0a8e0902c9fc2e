//! Instructions are what objdump says they are, for C++ compiled by gcc with and without
//! optimisation. And what becomes of values in the code that gcc makes of small functions.

use std::fs;
use std::process::Command;

use raddle_aarch64::{Aarch64, LONGEST, decode};
use raddle_liveness::{
    Base, CodePlace, CodeReader, ControlFlow, Fate, FrameEnd, Instruction, OperandAccess, Scratch, StackEffect,
    Storage, fate, frame_end,
};
use raddle_testkit::tools::require;

const PROGRAM: &str = r#"
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
std::atomic<int> flag;
std::atomic<unsigned __int128> wide;
std::map<std::string, double> table;
int look(int times) {
    int last = -1, now;
    while ((now = flag.load()) < times)
        last = now;
    return last;
}
struct Big { long words[30]; };
Big copy(const Big &big) { return big; }
int main(int argc, char **argv) {
    std::thread other([] { flag = 3; });
    Big big{};
    for (int i = 0; i < argc; i++) {
        table[argv[i]] += i * 0.5f + look(2) / (argc + 1) % 9;
        big.words[i] ^= ~i << argc;
    }
    switch (argc) {
    case 1: puts("1"); break;
    case 2: puts("2"); break;
    case 3: return 3;
    case 4: return 9;
    case 5: return 7;
    }
    other.join();
    return table.size() > 3 && argv[0][0] % 7 == copy(big).words[2];
}
"#;

const COMPILER: &str = "aarch64-linux-gnu-g++";
const DISASSEMBLER: &str = "aarch64-linux-gnu-objdump";

/// Address, bytes, mnemonic and operands of each instruction of the text section.
fn disassembled(options: &[&str]) -> Vec<(u64, u32, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("p.cpp"), folder.path().join("p"));
    fs::write(&source, PROGRAM).unwrap();
    let built = Command::new(COMPILER).args(options).arg(&source).arg("-c").arg("-o").arg(&binary).status().unwrap();
    assert!(built.success());
    let listing = Command::new(DISASSEMBLER).args(["-d", "-w"]).arg(&binary).output().unwrap();
    let text = String::from_utf8(listing.stdout).unwrap();
    text.lines().filter_map(instruction).collect()
}

fn instruction(line: &str) -> Option<(u64, u32, String, String)> {
    let mut parts = line.split('\t');
    let address = u64::from_str_radix(parts.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let word = u32::from_str_radix(parts.next()?.trim(), 16).ok()?;
    let mnemonic = parts.next()?.trim().to_string();
    let operands = parts.next().unwrap_or_default().split("//").next().unwrap_or_default().trim().to_string();
    Some((address, word, mnemonic, operands))
}

/// The registers that a text names, as masks: not those that are always zero, and no vector
/// registers.
fn named(text: &str) -> u32 {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.fold(0, |mask, word| {
        let number = match word {
            "sp" | "wsp" => Some(31),
            _ if word.starts_with(['x', 'w']) => word[1..].parse().ok(),
            _ => None,
        };
        mask | number.map_or(0, |number: u32| 1 << number)
    })
}

/// Where control goes, by the mnemonic.
fn flow(mnemonic: &str) -> &'static str {
    match mnemonic {
        "b" => "jump",
        "bl" => "call",
        "blr" => "call by pointer",
        "br" | "braaz" => "unknown",
        "ret" | "retaa" | "retab" => "return",
        "cbz" | "cbnz" | "tbz" | "tbnz" => "branch",
        "brk" | "udf" => "end",
        _ if mnemonic.starts_with("b.") => "branch",
        _ => "next",
    }
}

fn flow_of(instruction: &Instruction) -> &'static str {
    match instruction.flow {
        ControlFlow::Next => "next",
        ControlFlow::Call(_) => "call",
        ControlFlow::CallByPointer => "call by pointer",
        ControlFlow::Jump(_) => "jump",
        ControlFlow::Branch(_) => "branch",
        ControlFlow::Return => "return",
        ControlFlow::End => "end",
        ControlFlow::Unknown => "unknown",
    }
}

/// The distance in `[sp, #16]`, `[sp, #-16]!` and `[sp]`, if the text has one.
fn distance(operands: &str) -> Option<(Base, i32)> {
    let inside = operands.split_once('[')?.1.split_once(']')?.0;
    let (base, rest) = inside.split_once(',').unwrap_or((inside, "#0"));
    let base = match base {
        "sp" => Base::StackPointer,
        "x29" => Base::FramePointer,
        _ => return None,
    };
    Some((base, rest.trim().strip_prefix('#')?.parse().ok()?))
}

#[test]
fn instructions_are_what_objdump_says() {
    require(COMPILER);
    require(DISASSEMBLER);
    for options in [
        &["-O0", "-fsanitize=thread"][..],
        &["-O2"][..],
        &["-O3", "-march=armv8.3-a+lse", "-mbranch-protection=standard"][..],
    ] {
        let all = disassembled(options);
        assert!(all.len() > 500, "{} instructions", all.len());
        for (address, word, mnemonic, operands) in &all {
            let what = format!("{address:x}: {word:08x} {mnemonic} {operands}");
            let found = decode(&word.to_le_bytes()).unwrap_or_else(|| panic!("{what}: not known"));
            assert_eq!(flow_of(&found), flow(mnemonic), "{what}");
            check_registers(&found, mnemonic, operands, &what);
            if let Some((base, at)) = distance(operands) {
                let operand = found.operand.unwrap_or_else(|| panic!("{what}: no operand"));
                assert_eq!((operand.base, operand.displacement), (base, at), "{what}");
                let is_store = mnemonic.starts_with("st") && !mnemonic.contains('x');
                assert_eq!(matches!(operand.access, OperandAccess::Writes(_)), is_store, "{what}");
            }
        }
    }
}

/// No register that the text names is missing among those that are read or written, and none is
/// called overwritten that is read.
fn check_registers(found: &Instruction, mnemonic: &str, operands: &str, what: &str) {
    let pointers = 1 << 29 | 1 << 31;
    let all = named(operands);
    let moves = if found.stack == StackEffect::None { 0 } else { pointers };
    assert_eq!(all & !(found.reads | found.writes | found.changes | moves), 0, "{what}: {found:x?}");
    let is_store = mnemonic.starts_with("st") || mnemonic.starts_with("c") && !mnemonic.starts_with("cs");
    let is_vector = operands.starts_with(['v', 'd', 's', 'q', 'b', 'h', '{']) && !operands.starts_with("sp");
    let (first, rest) = operands.split_once(',').unwrap_or((operands, ""));
    let is_pair = mnemonic.starts_with("ldp");
    let (to, from) = match rest.split_once(',') {
        Some((second, rest)) if is_pair => (named(first) | named(second), rest),
        _ => (named(first), rest),
    };
    let read = if is_store || is_vector || flow(mnemonic) != "next" { all } else { named(from) };
    if is_vector
        || mnemonic.starts_with("cas")
        || mnemonic.starts_with("swp")
        || mnemonic.starts_with("ld") && !is_pair && !mnemonic.starts_with("ldr") && !mnemonic.starts_with("ldu")
    {
        return;
    }
    assert_eq!(read & !(found.reads | moves) & !(found.writes & to), 0, "{what}: {found:x?} is read");
    assert_eq!(found.writes & found.reads, 0, "{what}: {found:x?}");
    if flow(mnemonic) == "next"
        && !is_store
        && read & to == 0
        && moves == 0
        && mnemonic != "movk"
        && mnemonic != "bfi"
        && mnemonic != "bfxil"
        && mnemonic != "msr"
        && mnemonic != "prfm"
    {
        assert_eq!(to & !found.writes, 0, "{what}: {found:x?} is written");
    }
}

/// Code as words.
struct Words<'a>(&'a [u32]);

/// What only records an access, and what never returns.
const RECORDS: u64 = 0x1000;
const ABORTS: u64 = 0x2000;

impl CodeReader<Aarch64> for Words<'_> {
    fn fetch(&mut self, pc: u64) -> Option<[u8; LONGEST]> {
        self.0.get(usize::try_from(pc / 4).ok()?).map(|word| word.to_le_bytes())
    }

    fn only_records_access(&mut self, function: u64) -> bool {
        function == RECORDS
    }

    fn never_returns(&mut self, function: u64) -> bool {
        function == ABORTS
    }

    fn is_import(&mut self, _code: u64) -> bool {
        false
    }

    fn may_lead(&mut self, pointer: i32, byte: i32) -> bool {
        // Two variables of eight bytes each.
        (pointer / 8, pointer < 0) == (byte / 8, byte < 0)
    }

    fn is_private(&self, _byte: i32) -> bool {
        true
    }
}

/// A loop as gcc makes it without optimisation: a variable at 28 is recorded and loaded, one at 24
/// is written and never read, and x19 is given back.
#[rustfmt::skip]
const LOOP: [u32; 10] = [
    0x9100_73e0, //  0 add x0, sp, #28
    0x9400_03ff, //  4 bl 0x1000
    0xb940_1fe0, //  8 ldr w0, [sp, #28]
    0x7100_001f, // 12 cmp w0, #0
    0x5400_0060, // 16 b.eq 28
    0xb900_1be0, // 20 str w0, [sp, #24]
    0x17ff_fffa, // 24 b 0
    0xf940_0bf3, // 28 ldr x19, [sp, #16]
    0xa8c2_7bfd, // 32 ldp x29, x30, [sp], #32
    0xd65f_03c0, // 36 ret
];

fn fate_in(code: &[u32], pc: u64, storage: Storage) -> Fate {
    let mut scratch = Scratch::NEW;
    fate(CodePlace { pc, frame_pointer: Some(0) }, storage, &mut Words(code), &mut scratch)
}

#[test]
fn what_a_loop_reads_is_alive() {
    for byte in 0..4 {
        assert_eq!(fate_in(&LOOP, 0, Storage::Byte(28 + byte)), Fate::Alive, "it is loaded");
        assert_eq!(fate_in(&LOOP, 0, Storage::Byte(24 + byte)), Fate::DeadUnshared, "nothing reads it");
        assert_eq!(fate_in(&LOOP, 28, Storage::Byte(28 + byte)), Fate::Dead, "the loop is over");
    }
    for byte in 0..8 {
        assert_eq!(fate_in(&LOOP, 0, Storage::Byte(16 + byte)), Fate::Returned(1 << 19), "the caller's x19");
        assert_eq!(fate_in(&LOOP, 0, Storage::Byte(byte)), Fate::Returned(1 << 29), "the caller's frame pointer");
        assert_eq!(fate_in(&LOOP, 0, Storage::Byte(8 + byte)), Fate::Alive, "the return address");
        assert_eq!(fate_in(&LOOP, 0, Storage::Byte(32 + byte)), Fate::Dead, "an argument on the stack");
    }
    assert_eq!(fate_in(&LOOP, 0, Storage::Register(19)), Fate::Dead);
    assert_eq!(fate_in(&LOOP, 0, Storage::Register(20)), Fate::Returned(1 << 20));
    assert_eq!(fate_in(&LOOP[..8], 0, Storage::Byte(24)), Fate::Alive, "unknown code");
}

#[test]
fn a_frame_ends_where_the_link_register_was_saved() {
    let mut scratch = Scratch::NEW;
    let mut end = |pc| frame_end(CodePlace { pc, frame_pointer: Some(0) }, &mut Words(&LOOP), &mut scratch);
    assert_eq!(end(0), Some(FrameEnd { return_address: 8, end: 32, frame_pointer: Some(0) }));
    assert_eq!(end(36), None, "the return address is not saved");
}

#[test]
fn a_pointer_that_is_passed_on_leads_to_its_variable() {
    let mut code = LOOP;
    code[1] = 0x9400_02ff; // bl 0xc00
    assert_eq!(fate_in(&code, 0, Storage::Byte(24)), Fate::Alive, "the variable has eight bytes");
    code[1] = 0x9400_07ff; // bl 0x2000
    assert_eq!(fate_in(&code, 0, Storage::Byte(16)), Fate::Dead, "nothing follows");
}
