// Hooks for the memory accesses that clang's ThreadSanitizer pass leaves without one.
//
// A plug-in for the pass pipeline of clang 19. It runs immediately before the sanitizer's pass, at
// every level of optimisation, and calls the same functions. Left out by the sanitizer's pass
// (ThreadSanitizer.cpp), and handled here:
// - loads and stores of other sizes than 1, 2, 4, 8 and 16 bytes;
// - arguments that are passed by value in memory: the call reads the whole object;
// - vector loads and stores under a mask, gathering and scattering;
// - objects on the function's own stack, if the address of the object escapes but the pointer that
//   is used for the access does not (a member, an element);
// - memory operands of inline assembly.
// Assembly that is atomic or says no more than "memory", and intrinsics of the processor with an
// address, are named to the runtime instead.
// Invariant: an access has one hook at most. Each condition here is the negation of the
// sanitizer's own.
//
// Beside, the runtime is told where the variables of a function lie in its frame: see frames.h. Bytes
// between their members are cleared when the function begins: what earlier calls have left there would
// make states of the program differ.

#include "../assembly.h"
#include "../frames.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace {

enum Kind { Read, Write };

// Whether another thread may learn the address. Unlike the sanitizer's own question, it is asked of
// the whole object; and passing a copy gives no address away.
class Escape : public CaptureTracker {
public:
    static bool of(const Value *object)
    {
        Escape tracker;
        PointerMayBeCaptured(object, &tracker);
        return tracker.escapes;
    }

    void tooManyUses() override { escapes = true; }

    bool captured(const Use *use) override
    {
        auto *call = dyn_cast<CallBase>(use->getUser());
        if (call && call->isArgOperand(use) && call->isByValArgument(call->getArgOperandNo(use)))
            return false;
        return escapes = true;
    }

private:
    bool escapes = false;
};

bool sanitizer_knows_size(uint64_t bytes)
{
    return bytes <= 16 && isPowerOf2_64(bytes);
}

class Hooks {
public:
    explicit Hooks(Function &function)
        : module(*function.getParent()), layout(module.getDataLayout())
    {
    }

    bool add(Instruction &at)
    {
        if (at.hasMetadata(LLVMContext::MD_nosanitize))
            return false;
        if (auto *load = dyn_cast<LoadInst>(&at))
            return load->isAtomic() ? false : plain(at, Read, load->getType());
        if (auto *store = dyn_cast<StoreInst>(&at))
            return store->isAtomic() ? false : plain(at, Write, store->getValueOperand()->getType());
        if (auto *intrinsic = dyn_cast<IntrinsicInst>(&at))
            return masked(*intrinsic);
        if (auto *call = dyn_cast<CallBase>(&at))
            return call->isInlineAsm() ? inline_assembly(*call) : by_value(*call);
        return false;
    }

private:
    Module &module;
    const DataLayout &layout;

    bool plain(Instruction &at, Kind kind, Type *type)
    {
        Value *address = getLoadStorePointerOperand(&at);
        TypeSize size = layout.getTypeStoreSize(type);
        if (size.isScalable() || address->isSwiftError() || !is_shared(address, kind))
            return false;
        IRBuilder<> builder(&at);
        if (!sanitizer_knows_size(size)) {
            range(builder, kind, address, builder.getInt64(size));
            return true;
        }
        // The sanitizer's condition for leaving out an object on the stack.
        bool left_out = isa<AllocaInst>(getUnderlyingObject(address)) &&
                        !PointerMayBeCaptured(address, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
        if (left_out)
            single(builder, kind, address, size, getLoadStoreAlignment(&at), at.isVolatile());
        return left_out;
    }

    bool by_value(CallBase &call)
    {
        bool changed = false;
        for (unsigned i = 0; i < call.arg_size(); i++) {
            if (!call.isByValArgument(i) || !is_shared(call.getArgOperand(i), Read))
                continue;
            IRBuilder<> builder(&call);
            uint64_t size = layout.getTypeAllocSize(call.getParamByValType(i));
            range(builder, Read, call.getArgOperand(i), builder.getInt64(size));
            changed = true;
        }
        return changed;
    }

    bool inline_assembly(CallBase &at)
    {
        auto *assembly = cast<InlineAsm>(at.getCalledOperand());
        std::string text(assembly->getAsmString());
        if (assembly::touches_no_memory(text))
            return false;
        InlineAsm::ConstraintInfoVector constraints = assembly->ParseConstraints();
        bool unseen_memory = assembly::may_be_atomic(text);
        for (const InlineAsm::ConstraintInfo &constraint : constraints)
            for (const std::string &code : constraint.Codes)
                unseen_memory |= constraint.Type == InlineAsm::isClobber && code == "{memory}";
        if (unseen_memory)
            return unseen(at, "raddle_unseen_assembly");
        bool changed = false;
        unsigned argument = 0;
        for (const InlineAsm::ConstraintInfo &constraint : constraints) {
            if (constraint.Type == InlineAsm::isClobber || !constraint.hasArg())
                continue;
            if (constraint.isIndirect)
                changed |= operand(at, constraint.Type == InlineAsm::isOutput ? Write : Read, argument);
            argument++;
        }
        return changed;
    }

    bool operand(CallBase &at, Kind kind, unsigned argument)
    {
        Value *address = at.getArgOperand(argument);
        if (!is_shared(address, kind))
            return false;
        IRBuilder<> builder(&at);
        single(builder, kind, address, layout.getTypeStoreSize(at.getParamElementType(argument)), Align(1), false);
        return true;
    }

    // An intrinsic of the processor.
    bool of_processor(IntrinsicInst &at)
    {
        StringRef name = at.getCalledFunction()->getName();
        bool harmless = false;
        for (const char *word : {"clflush", "clwb", "cldemote", "prefetch", "mxcsr"})
            harmless |= name.contains(word);
        if (harmless || !name.starts_with("llvm.x86.") || !at.mayReadOrWriteMemory())
            return false;
        for (Value *argument : at.args())
            if (argument->getType()->isPointerTy() && is_shared(argument, Write))
                return unseen(at, "raddle_unseen_intrinsic");
        return false;
    }

    bool unseen(Instruction &at, StringRef name)
    {
        IRBuilder<> builder(&at);
        call(builder, name, {});
        return true;
    }

    bool masked(IntrinsicInst &at)
    {
        switch (at.getIntrinsicID()) {
        case Intrinsic::masked_load:
        case Intrinsic::masked_gather:
            return lanes(at, Read, at.getArgOperand(0), at.getArgOperand(2), at.getType());
        case Intrinsic::masked_store:
        case Intrinsic::masked_scatter:
            return lanes(at, Write, at.getArgOperand(1), at.getArgOperand(3), at.getArgOperand(0)->getType());
        case Intrinsic::masked_expandload:
            return packed(at, Read, at.getArgOperand(0), at.getArgOperand(1), at.getType());
        case Intrinsic::masked_compressstore:
            return packed(at, Write, at.getArgOperand(1), at.getArgOperand(2), at.getArgOperand(0)->getType());
        default:
            return of_processor(at);
        }
    }

    // One hook for each lane whose bit is set. The address is one pointer or a vector of them.
    bool lanes(Instruction &at, Kind kind, Value *address, Value *mask, Type *type)
    {
        auto *vector = dyn_cast<FixedVectorType>(type);
        bool one_pointer = address->getType()->isPointerTy();
        if (!vector || (one_pointer && !is_shared(address, kind)))
            return false;
        Type *element = vector->getElementType();
        for (unsigned lane = 0; lane < vector->getNumElements(); lane++) {
            IRBuilder<> builder(&at);
            Value *wanted = builder.CreateExtractElement(mask, lane);
            if (auto *constant = dyn_cast<ConstantInt>(wanted)) {
                if (constant->isZero())
                    continue;
            } else {
                builder.SetInsertPoint(SplitBlockAndInsertIfThen(wanted, &at, /*Unreachable=*/false));
                builder.SetCurrentDebugLocation(at.getDebugLoc());
            }
            Value *where = one_pointer ? builder.CreateConstGEP1_64(element, address, lane)
                                       : builder.CreateExtractElement(address, lane);
            single(builder, kind, where, layout.getTypeStoreSize(element), Align(1), false);
        }
        return true;
    }

    // The lanes whose bits are set lie in memory without gaps.
    bool packed(Instruction &at, Kind kind, Value *address, Value *mask, Type *type)
    {
        auto *vector = dyn_cast<FixedVectorType>(type);
        if (!vector || !is_shared(address, kind))
            return false;
        IRBuilder<> builder(&at);
        Value *bits = builder.CreateBitCast(mask, builder.getIntNTy(vector->getNumElements()));
        Value *count = builder.CreateUnaryIntrinsic(Intrinsic::ctpop, builder.CreateZExt(bits, builder.getInt64Ty()));
        range(builder, kind, address, builder.CreateMul(count, builder.getInt64(element_size(vector))));
        return true;
    }

    uint64_t element_size(FixedVectorType *vector) { return layout.getTypeStoreSize(vector->getElementType()); }

    // Whether other threads may use the memory, and one of them may write to it.
    bool is_shared(Value *address, Kind kind)
    {
        if (address->getType()->getPointerAddressSpace() != 0)
            return false;
        const Value *object = getUnderlyingObject(address);
        if (auto *global = dyn_cast<GlobalVariable>(object))
            return kind == Write || !global->isConstant();
        return !isa<AllocaInst>(object) || Escape::of(object);
    }

    void single(IRBuilder<> &builder, Kind kind, Value *address, uint64_t size, Align align, bool is_volatile)
    {
        if (!sanitizer_knows_size(size)) {
            range(builder, kind, address, builder.getInt64(size));
            return;
        }
        bool aligned = align.value() >= 8 || align.value() % size == 0;
        std::string name = aligned ? "__tsan_" : "__tsan_unaligned_";
        name += is_volatile ? "volatile_" : "";
        name += kind == Read ? "read" : "write";
        call(builder, name + std::to_string(size), {address});
    }

    void range(IRBuilder<> &builder, Kind kind, Value *address, Value *size)
    {
        call(builder, kind == Read ? "__tsan_read_range" : "__tsan_write_range", {address, size});
    }

    void call(IRBuilder<> &builder, StringRef name, ArrayRef<Value *> arguments)
    {
        SmallVector<Type *, 2> types;
        for (Value *argument : arguments)
            types.push_back(argument->getType());
        auto *type = FunctionType::get(builder.getVoidTy(), types, false);
        builder.CreateCall(module.getOrInsertFunction(name, type), arguments)->setDoesNotThrow();
    }
};

// Variables of a function to which pointers may exist.
class Frame {
public:
    explicit Frame(Function &function) : function(function), layout(function.getParent()->getDataLayout()) {}

    // Names them, each with assembly that is given its address and makes no code.
    bool add()
    {
        SmallVector<AllocaInst *> variables;
        Instruction *behind = nullptr;
        for (Instruction &instruction : function.getEntryBlock())
            if (auto *variable = dyn_cast<AllocaInst>(&instruction)) {
                behind = variable->getNextNode();
                if (is_pointed_to(*variable))
                    variables.push_back(variable);
            }
        for (AllocaInst *variable : variables) {
            name(*variable, behind);
            clear_gaps(*variable, behind);
        }
        return !variables.empty();
    }

private:
    Function &function;
    const DataLayout &layout;

    bool is_pointed_to(const AllocaInst &variable)
    {
        std::optional<TypeSize> size = variable.getAllocationSize(layout);
        bool is_fixed = size && !size->isScalable() && variable.isStaticAlloca() && !variable.isUsedWithInAlloca();
        if (!is_fixed || variable.isSwiftError() || variable.getAddressSpace() != 0 || *size == 0 || *size >= 1u << 31)
            return false;
        for (const User *user : variable.users()) {
            auto *store = dyn_cast<StoreInst>(user);
            if (!isa<LoadInst>(user) && !(store && store->getValueOperand() != &variable))
                return true;
        }
        return false;
    }

    void name(AllocaInst &variable, Instruction *before)
    {
        uint64_t size = *variable.getAllocationSize(layout);
        bool is_reached_by_index = has_array(variable.getAllocatedType()) || has_unknown_distance(&variable, size);
        std::string text = frames::at_operand("$0", (uint32_t)size, is_reached_by_index);
        auto *type = FunctionType::get(Type::getVoidTy(function.getContext()), {variable.getType()}, false);
        auto *assembly = InlineAsm::get(type, text, "*m", /*hasSideEffects=*/true);
        IRBuilder<> builder(before);
        CallInst *call = builder.CreateCall(type, assembly, {&variable});
        call->addParamAttr(0, Attribute::get(function.getContext(), Attribute::ElementType, variable.getAllocatedType()));
        call->addParamAttr(0, Attribute::NoCapture);
        call->setDoesNotThrow();
    }

    // Larger variables keep what is in their gaps.
    static constexpr uint64_t LARGEST_CLEARED = 128;

    void clear_gaps(AllocaInst &variable, Instruction *before)
    {
        Type *type = variable.getAllocatedType();
        if (!type->isStructTy() || layout.getTypeAllocSize(type) > LARGEST_CLEARED)
            return;
        std::vector<bool> used(layout.getTypeAllocSize(type));
        use(used, type, 0);
        IRBuilder<> builder(before);
        for (uint64_t at = 0; at < used.size(); at++)
            if (!used[at]) {
                Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &variable, at);
                builder.CreateStore(builder.getInt8(0), place)->setNoSanitizeMetadata();
            }
    }

    // Marks the bytes of members.
    void use(std::vector<bool> &used, Type *type, uint64_t at)
    {
        if (auto *structure = dyn_cast<StructType>(type)) {
            const StructLayout *members = layout.getStructLayout(structure);
            for (unsigned i = 0; i < structure->getNumElements(); i++)
                use(used, structure->getElementType(i), at + members->getElementOffset(i));
        } else if (!is_filler(type)) {
            for (uint64_t i = 0; i < layout.getTypeAllocSize(type); i++)
                used[at + i] = true;
        }
    }

    // What clang puts behind the last member, or a short array of characters.
    static bool is_filler(Type *type)
    {
        auto *bytes = dyn_cast<ArrayType>(type);
        return bytes && bytes->getElementType()->isIntegerTy(8) && bytes->getNumElements() <= 7;
    }

    static bool has_array(Type *type)
    {
        if (type->isArrayTy() || type->isVectorTy())
            return !is_filler(type);
        for (Type *part : type->subtypes())
            if (has_array(part))
                return true;
        return false;
    }

    // Whether code computes a pointer to it whose distance is not known, or lies outside.
    bool has_unknown_distance(const Value *variable, uint64_t size)
    {
        SmallVector<std::pair<const Value *, int64_t>> open{{variable, 0}};
        SmallDenseMap<const Value *, int64_t> seen;
        while (!open.empty()) {
            auto [pointer, distance] = open.pop_back_val();
            auto [known, is_new] = seen.insert({pointer, distance});
            if (!is_new && known->second != distance)
                return true;
            if (!is_new)
                continue;
            for (const User *user : pointer->users()) {
                int64_t further = distance;
                if (auto *element = dyn_cast<GEPOperator>(user)) {
                    APInt offset(layout.getIndexTypeSizeInBits(element->getType()), 0);
                    if (!element->accumulateConstantOffset(layout, offset))
                        return true;
                    further += offset.getSExtValue();
                    if (further < 0 || (uint64_t)further > size)
                        return true;
                } else if (isa<PtrToIntOperator>(user)) {
                    return true;
                } else if (!isa<PHINode>(user) && !isa<SelectInst>(user)) {
                    continue;
                }
                open.push_back({user, further});
            }
        }
        return false;
    }
};

struct Pass : PassInfoMixin<Pass> {
    // Runs on functions that are not optimised too.
    static bool isRequired() { return true; }

    PreservedAnalyses run(Function &function, FunctionAnalysisManager &)
    {
        bool wanted = function.hasFnAttribute(Attribute::SanitizeThread) && !function.hasFnAttribute(Attribute::Naked) &&
                      !function.hasFnAttribute(Attribute::DisableSanitizerInstrumentation);
        if (!wanted)
            return PreservedAnalyses::all();
        SmallVector<Instruction *> accesses;
        for (Instruction &instruction : instructions(function))
            // A call that is said to touch no memory still copies its arguments.
            if (instruction.mayReadOrWriteMemory() || isa<CallBase>(instruction))
                accesses.push_back(&instruction);
        Hooks hooks(function);
        bool changed = false;
        for (Instruction *access : accesses)
            changed |= hooks.add(*access);
        changed |= Frame(function).add();
        return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
    }
};

void add_pass(PassBuilder &builder)
{
    builder.registerOptimizerLastEPCallback([](ModulePassManager &passes, OptimizationLevel) {
        passes.addPass(createModuleToFunctionPassAdaptor(Pass()));
    });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "raddle-clang-hooks", "1", add_pass};
}
