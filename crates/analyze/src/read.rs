//! Converts LLVM's representation to plain data. It is the only module that calls LLVM.
//!
//! Every handle belongs to the module that is being read and is not used after the module is freed.
//! LLVM's getters do not modify it.

use std::collections::BTreeMap;
use std::ffi::{CString, c_uint};
use std::ptr;

use llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMStoreSizeOfType, LLVMTargetDataRef,
};
use llvm_sys::transforms::pass_builder::{LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses};
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMValueKind};

use crate::AnalysisError;
use crate::ir::{Func, GlobalVariable, Inst, InstOp, InstOperand, Loc, WholeProgram};

/// Reads one translation unit after another.
pub fn read(modules: &[&[u8]]) -> Result<WholeProgram, AnalysisError> {
    let mut program = WholeProgram::default();
    for bytes in modules {
        // SAFETY: the context lives until everything of the module has been copied.
        unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(context, Some(silent), ptr::null_mut());
            let outcome = read_module(context, bytes, &mut program);
            LLVMContextDispose(context);
            outcome?;
        }
    }
    Ok(program)
}

extern "C" fn silent(_: LLVMDiagnosticInfoRef, _: *mut std::ffi::c_void) {}

unsafe fn read_module(context: LLVMContextRef, bytes: &[u8], program: &mut WholeProgram) -> Result<(), AnalysisError> {
    // SAFETY: the buffer is copied; the module belongs to the context; see the module's comment.
    unsafe {
        let name = CString::new("unit").unwrap_or_default();
        let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), name.as_ptr());
        let mut module = ptr::null_mut();
        if LLVMParseBitcodeInContext2(context, buffer, &raw mut module) != 0 {
            LLVMDisposeMemoryBuffer(buffer);
            return Err(AnalysisError::Unreadable);
        }
        promote_locals(module);
        let mut reader = Reader {
            layout: LLVMGetModuleDataLayout(module),
            program,
            funcs: BTreeMap::new(),
            globals: BTreeMap::new(),
            files: BTreeMap::new(),
            values: BTreeMap::new(),
        };
        reader.declare(module);
        reader.define(module);
        LLVMDisposeModule(module);
        LLVMDisposeMemoryBuffer(buffer);
    }
    Ok(())
}

/// Promotes local variables whose address is not taken to values (mem2reg). The attribute `optnone`
/// of `-O0` would prevent that, so it is removed first.
unsafe fn promote_locals(module: LLVMModuleRef) {
    // SAFETY: attributes and passes of a module that is ours.
    unsafe {
        let kinds =
            ["optnone", "noinline"].map(|name| LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()));
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            for kind in kinds {
                LLVMRemoveEnumAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, kind);
            }
            function = LLVMGetNextFunction(function);
        }
        let passes = CString::new("function(sroa)").unwrap_or_default();
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(module, passes.as_ptr(), ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        if !error.is_null() {
            LLVMDisposeErrorMessage(LLVMGetErrorMessage(error));
        }
    }
}

struct Reader<'a> {
    layout: LLVMTargetDataRef,
    program: &'a mut WholeProgram,
    funcs: BTreeMap<LLVMValueRef, usize>,
    globals: BTreeMap<LLVMValueRef, usize>,
    files: BTreeMap<String, u32>,
    /// Instructions and parameters of the function that is being read.
    values: BTreeMap<LLVMValueRef, InstOperand>,
}

unsafe fn name_of(value: LLVMValueRef) -> String {
    // SAFETY: LLVM gives pointer and length.
    unsafe {
        let mut length = 0;
        let name = LLVMGetValueName2(value, &raw mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast(), length)).into_owned()
    }
}

unsafe fn is_local(value: LLVMValueRef) -> bool {
    // SAFETY: a getter.
    matches!(unsafe { LLVMGetLinkage(value) }, LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage)
}

impl Reader<'_> {
    /// Numbers functions and variables. A symbol that several units share has one number.
    unsafe fn declare(&mut self, module: LLVMModuleRef) {
        // SAFETY: getters.
        unsafe {
            let mut function = LLVMGetFirstFunction(module);
            while !function.is_null() {
                let (name, external) = (name_of(function), !is_local(function));
                let same = |other: &Func| external && other.external && other.name == name;
                let number = self.program.funcs.iter().position(same).unwrap_or_else(|| {
                    let (insts, blocks) = (Vec::new(), Vec::new());
                    self.program.funcs.push(Func { name, insts, blocks, params: 0, external });
                    self.program.funcs.len() - 1
                });
                self.funcs.insert(function, number);
                function = LLVMGetNextFunction(function);
            }
            let mut global = LLVMGetFirstGlobal(module);
            while !global.is_null() {
                self.declare_global(global);
                global = LLVMGetNextGlobal(global);
            }
        }
    }

    unsafe fn declare_global(&mut self, global: LLVMValueRef) {
        // SAFETY: getters.
        unsafe {
            let (name, external) = (name_of(global), !is_local(global));
            let same = |other: &GlobalVariable| external && other.external && other.name == name;
            let known = self.program.globals.iter().position(same);
            let kind = LLVMGlobalGetValueType(global);
            let size = if LLVMTypeIsSized(kind) != 0 { LLVMABISizeOfType(self.layout, kind) } else { 0 };
            let number = known.unwrap_or_else(|| {
                self.program.globals.push(GlobalVariable {
                    name,
                    size,
                    init: Vec::new(),
                    thread_local: LLVMIsThreadLocal(global) != 0,
                    constant: LLVMIsGlobalConstant(global) != 0,
                    defined: false,
                    external,
                });
                self.program.globals.len() - 1
            });
            self.globals.insert(global, number);
        }
    }

    unsafe fn define(&mut self, module: LLVMModuleRef) {
        // SAFETY: getters.
        unsafe {
            for (global, number) in self.globals.clone() {
                let init = LLVMGetInitializer(global);
                if !init.is_null() && !self.program.globals[number].defined {
                    let mut pointers = Vec::new();
                    self.initial(init, 0, &mut pointers);
                    let kind = LLVMGlobalGetValueType(global);
                    let global = &mut self.program.globals[number];
                    global.size = global.size.max(LLVMABISizeOfType(self.layout, kind));
                    (global.init, global.defined) = (pointers, true);
                }
            }
            let mut function = LLVMGetFirstFunction(module);
            while !function.is_null() {
                let number = self.funcs[&function];
                if LLVMCountBasicBlocks(function) > 0 && self.program.funcs[number].insts.is_empty() {
                    self.define_function(function, number);
                }
                function = LLVMGetNextFunction(function);
            }
        }
    }

    /// Pointers inside a constant.
    unsafe fn initial(&mut self, value: LLVMValueRef, at: u64, out: &mut Vec<(u64, InstOperand)>) {
        // SAFETY: getters; the kind says which of them apply.
        unsafe {
            let kind = LLVMTypeOf(value);
            match LLVMGetValueKind(value) {
                LLVMValueKind::LLVMConstantStructValueKind => {
                    for index in 0..LLVMGetNumOperands(value) as c_uint {
                        let offset = LLVMOffsetOfElement(self.layout, kind, index);
                        self.initial(LLVMGetOperand(value, index), at + offset, out);
                    }
                }
                LLVMValueKind::LLVMConstantArrayValueKind => {
                    let size = LLVMABISizeOfType(self.layout, LLVMGetElementType(kind));
                    for index in 0..LLVMGetNumOperands(value) as c_uint {
                        self.initial(LLVMGetOperand(value, index), at + size * u64::from(index), out);
                    }
                }
                _ if LLVMGetTypeKind(kind) == LLVMTypeKind::LLVMPointerTypeKind => match self.constant(value) {
                    InstOperand::Plain => {}
                    pointer => out.push((at, pointer)),
                },
                _ => {}
            }
        }
    }

    unsafe fn define_function(&mut self, function: LLVMValueRef, number: usize) {
        // SAFETY: getters.
        unsafe {
            self.values.clear();
            let params = LLVMCountParams(function);
            for index in 0..params {
                self.values.insert(LLVMGetParam(function, index), InstOperand::Arg(index as usize));
            }
            let (mut blocks, mut order, mut starts) = (BTreeMap::new(), Vec::new(), Vec::new());
            let mut block = LLVMGetFirstBasicBlock(function);
            let mut count = 0;
            while !block.is_null() {
                blocks.insert(block, starts.len());
                starts.push(count);
                let mut inst = LLVMGetFirstInstruction(block);
                while !inst.is_null() {
                    self.values.insert(inst, InstOperand::Inst(count));
                    order.push((inst, starts.len() - 1));
                    count += 1;
                    inst = LLVMGetNextInstruction(inst);
                }
                block = LLVMGetNextBasicBlock(block);
            }
            let insts = order.into_iter().map(|(inst, block)| {
                let op = self.op(inst, &blocks);
                let kind = LLVMGetTypeKind(LLVMTypeOf(inst));
                let pointer = !matches!(
                    kind,
                    LLVMTypeKind::LLVMVoidTypeKind | LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind
                );
                Inst { op, loc: self.loc(inst), block, pointer }
            });
            let insts: Vec<Inst> = insts.collect();
            let func = &mut self.program.funcs[number];
            (func.insts, func.blocks, func.params) = (insts, starts, params as usize);
        }
    }

    unsafe fn loc(&mut self, inst: LLVMValueRef) -> Loc {
        // SAFETY: getters; strings come with their length.
        unsafe {
            let line = LLVMGetDebugLocLine(inst);
            if line == 0 {
                return (0, 0, 0);
            }
            let text = |get: unsafe extern "C" fn(LLVMValueRef, *mut c_uint) -> *const std::ffi::c_char| {
                let mut length = 0;
                let start = get(inst, &raw mut length);
                if start.is_null() {
                    return String::new();
                }
                String::from_utf8_lossy(std::slice::from_raw_parts(start.cast(), length as usize)).into_owned()
            };
            let (file, directory) = (text(LLVMGetDebugLocFilename), text(LLVMGetDebugLocDirectory));
            let path = normalised(&if file.starts_with('/') { file } else { format!("{directory}/{file}") });
            let next = self.program.files.len() as u32;
            let known = self.program.files.iter().position(|other| *other == path).map(|at| at as u32);
            let number = *self.files.entry(path.clone()).or_insert(known.unwrap_or(next));
            if number as usize == self.program.files.len() {
                self.program.files.push(path);
            }
            (number, line, LLVMGetDebugLocColumn(inst))
        }
    }

    unsafe fn size(&self, kind: LLVMTypeRef) -> u64 {
        // SAFETY: a getter; unsized types are asked for before.
        unsafe { if LLVMTypeIsSized(kind) != 0 { LLVMStoreSizeOfType(self.layout, kind) } else { 0 } }
    }

    unsafe fn value(&mut self, value: LLVMValueRef) -> InstOperand {
        if let Some(&known) = self.values.get(&value) {
            return known;
        }
        // SAFETY: as the caller's.
        unsafe { self.constant(value) }
    }

    unsafe fn constant(&mut self, value: LLVMValueRef) -> InstOperand {
        // SAFETY: getters; the kind says which of them apply.
        unsafe {
            match LLVMGetValueKind(value) {
                LLVMValueKind::LLVMGlobalVariableValueKind => self
                    .globals
                    .get(&value)
                    .map_or(InstOperand::Unknown, |&global| InstOperand::Global(global, Some(0))),
                LLVMValueKind::LLVMFunctionValueKind => {
                    self.funcs.get(&value).map_or(InstOperand::Unknown, |&f| InstOperand::Func(f))
                }
                LLVMValueKind::LLVMGlobalAliasValueKind => self.constant(LLVMAliasGetAliasee(value)),
                LLVMValueKind::LLVMConstantIntValueKind => InstOperand::Int(LLVMConstIntGetSExtValue(value)),
                LLVMValueKind::LLVMConstantExprValueKind => self.expression(value),
                LLVMValueKind::LLVMInlineAsmValueKind
                | LLVMValueKind::LLVMBlockAddressValueKind
                | LLVMValueKind::LLVMGlobalIFuncValueKind
                | LLVMValueKind::LLVMConstantStructValueKind
                | LLVMValueKind::LLVMConstantVectorValueKind => InstOperand::Unknown,
                _ => InstOperand::Plain,
            }
        }
    }

    unsafe fn expression(&mut self, value: LLVMValueRef) -> InstOperand {
        // SAFETY: getters; the opcode says which of them apply.
        unsafe {
            match LLVMGetConstOpcode(value) {
                LLVMOpcode::LLVMGetElementPtr => {
                    let base = self.constant(LLVMGetOperand(value, 0));
                    let (offset, variable, _) = self.offset(value);
                    match base {
                        InstOperand::Global(global, at) => {
                            InstOperand::Global(global, at.filter(|_| !variable).map(|at| at + offset))
                        }
                        other => other,
                    }
                }
                LLVMOpcode::LLVMBitCast
                | LLVMOpcode::LLVMPtrToInt
                | LLVMOpcode::LLVMIntToPtr
                | LLVMOpcode::LLVMAddrSpaceCast => self.constant(LLVMGetOperand(value, 0)),
                _ => InstOperand::Unknown,
            }
        }
    }

    /// The constant offset of pointer arithmetic, whether there is a variable one, and the variable
    /// indices.
    unsafe fn offset(&mut self, gep: LLVMValueRef) -> (i64, bool, Vec<InstOperand>) {
        // SAFETY: getters on a getelementptr.
        unsafe {
            let mut kind = LLVMGetGEPSourceElementType(gep);
            let (mut offset, mut variable, mut indices) = (0i64, false, Vec::new());
            for number in 1..LLVMGetNumOperands(gep) as c_uint {
                let index = self.value(LLVMGetOperand(gep, number));
                let is_struct = LLVMGetTypeKind(kind) == LLVMTypeKind::LLVMStructTypeKind;
                if number > 1 && is_struct {
                    if let InstOperand::Int(field) = index {
                        offset += LLVMOffsetOfElement(self.layout, kind, field as c_uint) as i64;
                        kind = LLVMStructGetTypeAtIndex(kind, field as c_uint);
                    }
                    continue;
                }
                if number > 1 {
                    kind = LLVMGetElementType(kind);
                }
                match index {
                    InstOperand::Int(times) => {
                        offset = offset.wrapping_add(times.wrapping_mul(LLVMABISizeOfType(self.layout, kind) as i64));
                    }
                    other => {
                        variable = true;
                        indices.push(other);
                    }
                }
            }
            (offset, variable, indices)
        }
    }

    unsafe fn operands(&mut self, inst: LLVMValueRef) -> Vec<InstOperand> {
        // SAFETY: getters.
        unsafe {
            (0..LLVMGetNumOperands(inst) as c_uint).map(|number| self.value(LLVMGetOperand(inst, number))).collect()
        }
    }

    unsafe fn op(&mut self, inst: LLVMValueRef, blocks: &BTreeMap<LLVMBasicBlockRef, usize>) -> InstOp {
        // SAFETY: getters; the opcode says which of them apply.
        unsafe {
            let operand = |reader: &mut Self, number| reader.value(LLVMGetOperand(inst, number));
            let is_atomic = || LLVMGetOrdering(inst) as u32 != 0;
            let successors = || {
                let count = LLVMGetNumSuccessors(inst);
                (0..count).filter_map(|number| blocks.get(&LLVMGetSuccessor(inst, number)).copied()).collect::<Vec<_>>()
            };
            match LLVMGetInstructionOpcode(inst) {
                LLVMOpcode::LLVMAlloca => {
                    let size = LLVMABISizeOfType(self.layout, LLVMGetAllocatedType(inst));
                    match operand(self, 0) {
                        InstOperand::Int(count) => InstOp::Alloca(size.saturating_mul(count.max(0) as u64)),
                        _ => InstOp::Alloca(u64::MAX),
                    }
                }
                LLVMOpcode::LLVMLoad => {
                    InstOp::Load { ptr: operand(self, 0), size: self.size(LLVMTypeOf(inst)), atomic: is_atomic() }
                }
                LLVMOpcode::LLVMStore => {
                    let size = self.size(LLVMTypeOf(LLVMGetOperand(inst, 0)));
                    InstOp::Store { ptr: operand(self, 1), value: operand(self, 0), size, atomic: is_atomic() }
                }
                LLVMOpcode::LLVMAtomicRMW => {
                    let size = self.size(LLVMTypeOf(LLVMGetOperand(inst, 1)));
                    InstOp::Rmw { ptr: operand(self, 0), value: operand(self, 1), size }
                }
                LLVMOpcode::LLVMAtomicCmpXchg => {
                    let size = self.size(LLVMTypeOf(LLVMGetOperand(inst, 2)));
                    InstOp::Rmw { ptr: operand(self, 0), value: operand(self, 2), size }
                }
                LLVMOpcode::LLVMFence => InstOp::Fence,
                LLVMOpcode::LLVMGetElementPtr => {
                    let (offset, variable, indices) = self.offset(inst);
                    InstOp::Gep { base: operand(self, 0), offset, variable, indices }
                }
                LLVMOpcode::LLVMICmp => {
                    let (left, right) = (operand(self, 0), operand(self, 1));
                    match LLVMGetICmpPredicate(inst) {
                        predicate @ (LLVMIntEQ | LLVMIntNE) => {
                            InstOp::Compare { equal: predicate == LLVMIntEQ, left, right }
                        }
                        _ => InstOp::Compute(vec![left, right]),
                    }
                }
                LLVMOpcode::LLVMPHI => {
                    let count = LLVMCountIncoming(inst);
                    InstOp::Merge((0..count).map(|n| self.value(LLVMGetIncomingValue(inst, n))).collect())
                }
                LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke => {
                    let called = LLVMGetCalledValue(inst);
                    let asm = LLVMGetValueKind(called) == LLVMValueKind::LLVMInlineAsmValueKind;
                    let count = LLVMGetNumArgOperands(inst);
                    let args = (0..count).map(|number| self.value(LLVMGetOperand(inst, number))).collect();
                    let is_invoke = LLVMGetInstructionOpcode(inst) == LLVMOpcode::LLVMInvoke;
                    let to = if is_invoke { successors() } else { Vec::new() };
                    InstOp::Call { callee: self.value(called), args, asm, to }
                }
                LLVMOpcode::LLVMBr => {
                    let on = (LLVMIsConditional(inst) != 0).then(|| self.value(LLVMGetCondition(inst)));
                    InstOp::Branch { on, to: successors() }
                }
                LLVMOpcode::LLVMSwitch | LLVMOpcode::LLVMIndirectBr => {
                    InstOp::Branch { on: Some(operand(self, 0)), to: successors() }
                }
                LLVMOpcode::LLVMRet => {
                    let value = LLVMGetNumOperands(inst) > 0;
                    InstOp::Return(value.then(|| operand(self, 0)))
                }
                LLVMOpcode::LLVMResume => InstOp::Resume,
                LLVMOpcode::LLVMUnreachable => InstOp::Unreachable,
                LLVMOpcode::LLVMLandingPad => InstOp::Other(Vec::new()),
                LLVMOpcode::LLVMTrunc | LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt => {
                    InstOp::Merge(self.operands(inst))
                }
                LLVMOpcode::LLVMFCmp => InstOp::Compute(self.operands(inst)),
                _ => InstOp::Merge(self.operands(inst)),
            }
        }
    }
}

/// Without `.` and `..`.
fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    format!("/{}", parts.join("/"))
}

/// The version of LLVM.
pub fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three numbers are written.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}
