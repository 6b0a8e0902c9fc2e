//! Which local variable of a frame lies at an address.

use gimli::{AttributeValue, EvaluationResult, Location, Register, UnwindSection as _};

use super::debug::{Debug, Die, DieRef, Reader, flag};
use super::elf::Elf;
use super::types;

/// The most entries of one function that are read.
const MAX_ENTRIES: usize = 1 << 18;
/// The most steps of one location expression.
const MAX_STEPS: u32 = 10_000;

/// DWARF numbers of two registers.
struct RegisterNumbers {
    frame_pointer: Register,
    stack_pointer: Register,
}

impl RegisterNumbers {
    /// On the processor that a file is for.
    fn of(machine: object::Architecture) -> Self {
        let (frame_pointer, stack_pointer) = match machine {
            object::Architecture::Aarch64 => (29, 31),
            _ => (6, 7),
        };
        RegisterNumbers { frame_pointer: Register(frame_pointer), stack_pointer: Register(stack_pointer) }
    }
}

impl FrameRegisters {
    /// What the register holds, if it is one of those that are known.
    fn value(&self, elf: &Elf, register: Register) -> Option<u64> {
        let numbers = RegisterNumbers::of(elf.machine);
        match register {
            _ if register == numbers.frame_pointer => Some(self.bp),
            _ if register == numbers.stack_pointer => Some(self.sp),
            _ => None,
        }
    }
}

/// What is known of a frame: its registers at some point inside the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRegisters {
    /// Where in the function, as a return address.
    pub pc: u64,
    /// Stack pointer there.
    pub sp: u64,
    /// Frame pointer register there.
    pub bp: u64,
}

/// A variable found in a frame.
pub(super) struct Local {
    pub name: String,
    pub kind: DieRef,
    pub start: u64,
    pub size: u64,
}

/// The frame's canonical address: the stack pointer before its call.
pub(super) fn frame_address(elf: &Elf, registers: &FrameRegisters) -> Option<u64> {
    let unwinding = elf.unwinding()?;
    let linked = elf.linked(registers.pc.wrapping_sub(1))?;
    let mut context = Box::new(gimli::UnwindContext::new());
    let row = unwinding
        .frames
        .unwind_info_for_address(&unwinding.bases, &mut context, linked, gimli::EhFrame::cie_from_offset)
        .ok()?;
    match *row.cfa() {
        gimli::CfaRule::RegisterAndOffset { register, offset } => {
            Some(registers.value(elf, register)?.wrapping_add_signed(offset))
        }
        _ => None,
    }
}

/// The variable of the function around `registers.pc` that holds an address.
pub(super) fn variable_at(elf: &Elf, registers: &FrameRegisters, address: u64) -> Option<Local> {
    let cfa = frame_address(elf, registers)?;
    let linked = elf.linked(registers.pc.wrapping_sub(1))?;
    let function = function_at(elf, linked)?;
    let frame = Frame { elf, debug: &elf.variables().0, function, linked, cfa, registers };
    frame.search(address)
}

/// Calls `show` for every variable and parameter of a function, those of inlined calls included.
/// Functions of classes that are declared inside it (so the bodies of lambdas) have frames of their
/// own.
pub(super) fn for_each_variable(debug: &Debug, function: DieRef, mut show: impl FnMut(DieRef, &Die)) {
    let Some(unit) = debug.units.get(function.unit) else { return };
    let Ok(mut cursor) = unit.entries_at_offset(function.offset) else { return };
    let mut top = None;
    // The depth of the function inside, of which entries are passed over.
    let mut nested = None;
    for _ in 0..MAX_ENTRIES {
        let Ok(Some(entry)) = cursor.next_dfs() else { return };
        let is_inside = entry.depth() > *top.get_or_insert(entry.depth());
        if !is_inside && entry.offset() != function.offset {
            return;
        }
        if nested.is_some_and(|depth| entry.depth() > depth) {
            continue;
        }
        nested = (is_inside && entry.tag() == gimli::DW_TAG_subprogram).then(|| entry.depth());
        let is_variable = matches!(entry.tag(), gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter);
        if is_variable && !flag(entry, gimli::DW_AT_declaration) {
            show(DieRef { unit: function.unit, offset: entry.offset() }, entry);
        }
    }
}

/// The outermost function at an address, which owns the frame.
pub(super) fn function_at(elf: &Elf, linked: u64) -> Option<DieRef> {
    let lines = elf.lines()?;
    let unit = lines.find_dwarf_and_unit(linked).skip_all_loads()?;
    let start = unit.header.debug_info_offset()?;
    let debug = &elf.variables().0;
    let unit = debug.units.iter().position(|other| other.header.debug_info_offset() == Some(start))?;
    let mut frames = lines.find_frames(linked).skip_all_loads().ok()?;
    let mut offset = None;
    while let Ok(Some(frame)) = frames.next() {
        offset = frame.dw_die_offset;
    }
    Some(DieRef { unit, offset: offset? })
}

struct Frame<'a> {
    elf: &'a Elf,
    debug: &'a Debug,
    function: DieRef,
    linked: u64,
    cfa: u64,
    registers: &'a FrameRegisters,
}

impl Frame<'_> {
    /// The variable that holds an address. Variables of different blocks may share bytes; the
    /// innermost declaration wins.
    fn search(&self, address: u64) -> Option<Local> {
        let mut best: Option<(isize, Local)> = None;
        for_each_variable(self.debug, self.function, |_, entry| {
            if let Some(local) = self.local(entry, address)
                && best.as_ref().is_none_or(|(deepest, _)| entry.depth() > *deepest)
            {
                best = Some((entry.depth(), local));
            }
        });
        best.map(|(_, local)| local)
    }

    fn local(&self, entry: &Die, address: u64) -> Option<Local> {
        let die = DieRef { unit: self.function.unit, offset: entry.offset() };
        let start = self.address_of(&entry.attr_value(gimli::DW_AT_location)?)?;
        let kind = self.debug.type_of(die)?;
        let size = types::size_of(self.debug, kind)?;
        let inside = address.checked_sub(start).is_some_and(|offset| offset < size);
        inside.then(|| self.debug.name_of(die)).flatten().map(|name| Local { name, kind, start, size })
    }

    /// Evaluates a location: an expression, or a list of them by pc.
    fn address_of(&self, location: &AttributeValue<Reader>) -> Option<u64> {
        let unit = self.debug.units.get(self.function.unit)?;
        if let AttributeValue::Exprloc(expression) = location {
            return self.evaluate(expression.clone(), true);
        }
        let mut list = self.debug.dwarf.attr_locations(unit, location.clone()).ok()??;
        // A variable whose address escapes has one place in memory. Other items may give it through
        // a register whose value is not known here. So any item with an address will do, the one
        // for this pc first.
        let mut elsewhere = None;
        while let Ok(Some(item)) = list.next() {
            let address = self.evaluate(item.data, true);
            if (item.range.begin..item.range.end).contains(&self.linked) && address.is_some() {
                return address;
            }
            elsewhere = elsewhere.or(address);
        }
        elsewhere
    }

    /// The address that an expression computes; `None` for values in registers.
    fn evaluate(&self, expression: gimli::Expression<Reader>, may_use_frame_base: bool) -> Option<u64> {
        let unit = self.debug.units.get(self.function.unit)?;
        let mut evaluation = expression.evaluation(unit.encoding());
        evaluation.set_max_iterations(MAX_STEPS);
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresCallFrameCfa => evaluation.resume_with_call_frame_cfa(self.cfa).ok()?,
                EvaluationResult::RequiresFrameBase if may_use_frame_base => {
                    evaluation.resume_with_frame_base(self.frame_base()?).ok()?
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.registers.value(self.elf, register)?;
                    evaluation.resume_with_register(gimli::Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.elf.bias)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.result().first()?.location {
            Location::Address { address } => Some(address),
            // A frame base given as a register means the register's contents.
            Location::Register { register } if !may_use_frame_base => self.registers.value(self.elf, register),
            _ => None,
        }
    }

    fn frame_base(&self) -> Option<u64> {
        let entry = self.debug.entry(self.function)?;
        match entry.attr_value(gimli::DW_AT_frame_base)? {
            AttributeValue::Exprloc(expression) => self.evaluate(expression, false),
            _ => None,
        }
    }
}
