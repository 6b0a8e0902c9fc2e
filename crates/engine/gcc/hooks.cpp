// Hooks for the memory accesses that gcc's ThreadSanitizer pass leaves without one.
//
// A plug-in for gcc (GIMPLE). It runs immediately before the sanitizer's pass, at every level of
// optimisation: what was optimised away gets no hook. The sanitizer's pass (tsan.cc) looks at
// assignments and atomic built-ins only. Handled here:
// - a call that reads a whole object as an argument: a hook before the call;
// - a call whose result is stored into an object: the result goes to a variable of the function's
//   own first, and the sanitizer hooks the assignment that follows;
// - functions of the C library that gcc expands in line (`__builtin_memcpy` of a constant size) or
//   replaces by others later: the calls become calls of functions that gcc does not know, which
//   the linker redirects to the runtime;
// - a store to a bit-field: the load and the store of the bytes around it become statements of
//   their own, each with its hook;
// - members whose bytes are stored in reverse order;
// - memory operands of inline assembly, and of the processor's intrinsics.
// Assembly that is atomic or says no more than "memory", and intrinsics under a mask, are named to
// the runtime instead.
// Invariant: an access has one hook at most. Assignments are left to the sanitizer wherever it
// hooks them.
//
// A second pass, at the end of code generation, tells the runtime where the variables of a function
// lie in its frame: see frames.h.

// First, because gcc's headers forbid names that those of the system define.
#include "../assembly.h"
#include "../frames.h"

#include "gcc-plugin.h"

#include "plugin-version.h"

#include "tree.h"

#include "backend.h"
#include "target.h"
#include "rtl.h"
#include "memmodel.h"
#include "tm_p.h"
#include "emit-rtl.h"
#include "varasm.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "alias.h"
#include "stringpool.h"
#include "attribs.h"
#include "asan.h"
#include "builtins.h"
#include "cfganal.h"
#include "context.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "gimplify-me.h"
#include "gimplify.h"
#include "stmt.h"
#include "stor-layout.h"
#include "tree-cfg.h"
#include "tree-ssa-alias.h"
#include "tree-ssa-loop-ivopts.h"

// gcc refuses plug-ins that do not say so.
int plugin_is_GPL_compatible;

namespace {

enum Kind { Read, Write };

// Tells the runtime of an access that it cannot see.
const char *const UNSEEN_ASSEMBLY = "raddle_unseen_assembly";
const char *const UNSEEN_INTRINSIC = "raddle_unseen_intrinsic";
// Bytes of the environment of the x87 unit, which updates of atomic floating-point numbers save.
const int X87_ENVIRONMENT = 28;

// Whether other threads may use the object, and one of them may write to it. The sanitizer's own
// condition.
bool is_shared(tree base)
{
    if (DECL_P(base) && !is_global_var(base)) {
        pt_solution escaped;
        memset(&escaped, 0, sizeof escaped);
        escaped.escaped = 1;
        escaped.ipa_escaped = flag_ipa_pta != 0;
        if (!pt_solution_includes(&escaped, base) || !may_be_aliased(base))
            return false;
    }
    return !TREE_READONLY(base) && !(VAR_P(base) && DECL_HARD_REGISTER(base));
}

// The object that a reference lies in; none where it is no memory.
tree base_of(tree reference)
{
    tree base = get_base_address(reference);
    bool memory = base && (DECL_P(base) || TREE_CODE(base) == MEM_REF || TREE_CODE(base) == TARGET_MEM_REF);
    if (!memory)
        return NULL_TREE;
    // An access through a known address is one to its object.
    if (TREE_CODE(base) == MEM_REF && TREE_CODE(TREE_OPERAND(base, 0)) == ADDR_EXPR)
        base = get_base_address(TREE_OPERAND(TREE_OPERAND(base, 0), 0));
    return base;
}

bool is_shared_memory(tree reference)
{
    if (is_gimple_reg(reference))
        return false;
    tree base = base_of(reference);
    return base && TREE_CODE(base) != FUNCTION_DECL && TREE_CODE(base) != LABEL_DECL && is_shared(base);
}

bool is_shared_pointer(tree pointer)
{
    STRIP_NOPS(pointer);
    if (TREE_CODE(pointer) != ADDR_EXPR)
        return TREE_CODE(pointer) == SSA_NAME;
    return is_shared_memory(TREE_OPERAND(pointer, 0));
}

// A function that gcc knows nothing about, apart from what the call relies on.
tree unknown_function(const char *name, tree type)
{
    tree function = build_fn_decl(name, type);
    TREE_NOTHROW(function) = 1;
    DECL_ATTRIBUTES(function) = tree_cons(get_identifier("leaf"), NULL, NULL);
    return function;
}

class Hooks {
public:
    // Returns whether the function changed.
    bool add(gimple_stmt_iterator *at)
    {
        gimple *statement = gsi_stmt(*at);
        if (gcall *call = dyn_cast<gcall *>(statement))
            return add_call(at, call);
        if (gasm *assembly = dyn_cast<gasm *>(statement))
            return add_assembly(at, assembly);
        if (gimple_assign_single_p(statement) && !gimple_clobber_p(statement))
            return add_assignment(at, statement);
        return false;
    }

private:
    bool add_call(gimple_stmt_iterator *at, gcall *call)
    {
        if (gimple_call_internal_p(call))
            return false;
        tree function = gimple_call_fndecl(call);
        if (function && fndecl_built_in_p(function, BUILT_IN_NORMAL))
            return keep_library_call(call, function);
        if (function && fndecl_built_in_p(function, BUILT_IN_MD))
            return add_intrinsic(at, call, function);
        bool changed = false;
        for (unsigned i = 0; i < gimple_call_num_args(call); i++)
            changed |= add_argument(at, gimple_call_arg(call, i));
        return store_result_apart(at, call) || changed;
    }

    bool add_argument(gimple_stmt_iterator *at, tree argument)
    {
        tree size = NULL_TREE;
        if (TREE_CODE(argument) == WITH_SIZE_EXPR) {
            size = TREE_OPERAND(argument, 1);
            argument = TREE_OPERAND(argument, 0);
        }
        if (!is_shared_memory(argument) || is_empty_type(TREE_TYPE(argument)))
            return false;
        return range(at, Read, argument, size);
    }

    // `object = f()` becomes `own = f(); object = own`. A type that must not be copied is
    // constructed in place by the called function, whose stores have hooks.
    bool store_result_apart(gimple_stmt_iterator *at, gcall *call)
    {
        tree result = gimple_call_lhs(call);
        if (!result || !is_shared_memory(result))
            return false;
        tree type = TREE_TYPE(result);
        if (TREE_ADDRESSABLE(type) || !COMPLETE_TYPE_P(type) || is_empty_type(type) ||
            TREE_CODE(TYPE_SIZE(type)) != INTEGER_CST)
            return false;
        tree own = create_tmp_var(build_qualified_type(TYPE_MAIN_VARIANT(type), TYPE_UNQUALIFIED), "raddle");
        gimple_call_set_lhs(call, own);
        update_stmt(call);
        gimple *store = gimple_build_assign(result, own);
        gimple_set_location(store, gimple_location(call));
        if (!stmt_ends_bb_p(call)) {
            // The iteration goes on behind it.
            gsi_insert_after(at, store, GSI_NEW_STMT);
        } else if (edge normally = find_fallthru_edge(gimple_bb(call)->succs)) {
            gsi_insert_on_edge(normally, store);
            edges_pending = true;
        }
        return true;
    }

    // Whether gcc may expand the function in line, or replace it by one that it expands.
    static bool may_be_expanded(built_in_function code)
    {
        switch (code) {
        case BUILT_IN_BCMP:
        case BUILT_IN_BCOPY:
        case BUILT_IN_BZERO:
        case BUILT_IN_INDEX:
        case BUILT_IN_MEMCHR:
        case BUILT_IN_MEMCMP:
        case BUILT_IN_MEMCPY:
        case BUILT_IN_MEMMOVE:
        case BUILT_IN_MEMPCPY:
        case BUILT_IN_MEMSET:
        case BUILT_IN_RINDEX:
        case BUILT_IN_SNPRINTF:
        case BUILT_IN_SPRINTF:
        case BUILT_IN_STPCPY:
        case BUILT_IN_STPNCPY:
        case BUILT_IN_STRCAT:
        case BUILT_IN_STRCHR:
        case BUILT_IN_STRCMP:
        case BUILT_IN_STRCPY:
        case BUILT_IN_STRCSPN:
        case BUILT_IN_STRLEN:
        case BUILT_IN_STRNCAT:
        case BUILT_IN_STRNCMP:
        case BUILT_IN_STRNCPY:
        case BUILT_IN_STRNLEN:
        case BUILT_IN_STRPBRK:
        case BUILT_IN_STRRCHR:
        case BUILT_IN_STRSPN:
        case BUILT_IN_STRSTR:
        case BUILT_IN_VSNPRINTF:
        case BUILT_IN_VSPRINTF:
            return true;
        // As `memcmp`, where only equality matters.
        case BUILT_IN_MEMCMP_EQ:
            return true;
        default:
            return false;
        }
    }

    bool keep_library_call(gcall *call, tree function)
    {
        built_in_function code = DECL_FUNCTION_CODE(function);
        if (!may_be_expanded(code))
            return false;
        bool shared = false;
        for (unsigned i = 0; i < gimple_call_num_args(call); i++) {
            tree argument = gimple_call_arg(call, i);
            shared |= POINTER_TYPE_P(TREE_TYPE(argument)) && is_shared_pointer(argument);
        }
        if (!shared)
            return false;
        if (code == BUILT_IN_MEMCMP_EQ)
            function = builtin_decl_implicit(BUILT_IN_MEMCMP);
        const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
        tree unknown = unknown_function(name, TREE_TYPE(function));
        DECL_PURE_P(unknown) = DECL_PURE_P(function);
        TREE_NOTHROW(unknown) = TREE_NOTHROW(function);
        gimple_call_set_fndecl(call, unknown);
        update_stmt(call);
        return true;
    }

    // What the operands' types say: a pointer to constants is read, another one is written.
    bool add_intrinsic(gimple_stmt_iterator *at, gcall *call, tree function)
    {
        std::string name = IDENTIFIER_POINTER(DECL_NAME(function));
        if (has_word(name, {"prefetch", "clflush", "clwb", "cldemote"}))
            return false;
        bool in_part = has_word(name, {"mask", "gather", "scatter", "compress", "expand", "save", "rstor"});
        bool changed = false;
        tree types = TYPE_ARG_TYPES(TREE_TYPE(function));
        for (unsigned i = 0; i < gimple_call_num_args(call) && types; i++, types = TREE_CHAIN(types)) {
            tree pointer = TREE_VALUE(types), argument = gimple_call_arg(call, i);
            if (!POINTER_TYPE_P(pointer) || !is_shared_pointer(argument))
                continue;
            tree pointed = TREE_TYPE(pointer);
            if (has_word(name, {"fnstenv", "fldenv"})) {
                Kind kind = has_word(name, {"fnstenv"}) ? Write : Read;
                hook(at, kind, argument, build_int_cst(sizetype, X87_ENVIRONMENT));
                changed = true;
                continue;
            }
            if (in_part || !COMPLETE_TYPE_P(pointed) || VOID_TYPE_P(pointed)) {
                unseen(at, UNSEEN_INTRINSIC);
                return true;
            }
            hook(at, TYPE_READONLY(pointed) ? Read : Write, argument, TYPE_SIZE_UNIT(pointed));
            changed = true;
        }
        return changed;
    }

    static bool has_word(const std::string &name, std::initializer_list<const char *> words)
    {
        for (const char *word : words)
            if (name.find(word) != std::string::npos)
                return true;
        return false;
    }

    bool add_assembly(gimple_stmt_iterator *at, gasm *statement)
    {
        if (assembly::touches_no_memory(gimple_asm_string(statement)))
            return false;
        bool unseen_memory = assembly::may_be_atomic(gimple_asm_string(statement));
        for (unsigned i = 0; i < gimple_asm_nclobbers(statement); i++) {
            tree name = TREE_VALUE(gimple_asm_clobber_op(statement, i));
            unseen_memory |= strcmp(TREE_STRING_POINTER(name), "memory") == 0;
        }
        if (unseen_memory) {
            unseen(at, UNSEEN_ASSEMBLY);
            return true;
        }
        bool changed = false;
        for (unsigned i = 0; i < gimple_asm_ninputs(statement); i++)
            changed |= add_operand(at, Read, TREE_VALUE(gimple_asm_input_op(statement, i)));
        for (unsigned i = 0; i < gimple_asm_noutputs(statement); i++)
            changed |= add_operand(at, Write, TREE_VALUE(gimple_asm_output_op(statement, i)));
        return changed;
    }

    bool add_operand(gimple_stmt_iterator *at, Kind kind, tree operand)
    {
        return is_shared_memory(operand) && range(at, kind, operand, NULL_TREE);
    }

    bool add_assignment(gimple_stmt_iterator *at, gimple *assignment)
    {
        tree target = gimple_assign_lhs(assignment), value = gimple_assign_rhs1(assignment);
        bool changed = false;
        if (!is_gimple_reg(target) && is_reversed(target) && is_shared_memory(target))
            changed |= range(at, Write, target, NULL_TREE);
        else if (is_bit_field_store(target))
            changed |= split_bit_field_store(at, assignment, target);
        if (gimple_assign_load_p(assignment) && is_reversed(value) && is_shared_memory(value))
            changed |= range(at, Read, value, NULL_TREE);
        return changed;
    }

    // The sanitizer leaves out members with the byte order of another machine.
    static bool is_reversed(tree reference)
    {
        bool bit_field = TREE_CODE(reference) == COMPONENT_REF && DECL_BIT_FIELD_TYPE(TREE_OPERAND(reference, 1));
        return may_be_nonaddressable_p(bit_field ? TREE_OPERAND(reference, 0) : reference) || reverses(reference);
    }

    static bool reverses(tree reference)
    {
        return (TREE_CODE(reference) == COMPONENT_REF || TREE_CODE(reference) == BIT_FIELD_REF) &&
               reverse_storage_order_for_component_p(reference);
    }

    static bool is_bit_field_store(tree target)
    {
        return TREE_CODE(target) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(target, 1)) &&
               !TREE_THIS_VOLATILE(target) && is_shared_memory(target);
    }

    // `object.field = value` becomes `old = bytes; new = old with value; bytes = new`.
    bool split_bit_field_store(gimple_stmt_iterator *at, gimple *assignment, tree target)
    {
        tree field = TREE_OPERAND(target, 1), bytes = DECL_BIT_FIELD_REPRESENTATIVE(field);
        tree value = gimple_assign_rhs1(assignment);
        if (!bytes || !is_gimple_val(value) || !INTEGRAL_TYPE_P(TREE_TYPE(value)) || !has_constant_place(field) ||
            !has_constant_place(bytes))
            return false;
        HOST_WIDE_INT size = tree_to_shwi(DECL_SIZE(bytes)), offset = bit_offset(bytes);
        HOST_WIDE_INT within = bit_offset(field) - offset;
        bool whole = (size == 8 || size == 16 || size == 32 || size == 64) && offset % BITS_PER_UNIT == 0;
        if (!whole || within < 0 || within + TYPE_PRECISION(TREE_TYPE(value)) > size ||
            TYPE_PRECISION(TREE_TYPE(value)) != tree_to_shwi(DECL_SIZE(field)))
            return false;
        tree object = TREE_OPERAND(target, 0);
        unsigned align = MIN(get_object_alignment(object), (unsigned)size);
        align = offset % align ? (unsigned)BITS_PER_UNIT : align;
        tree plain = build_nonstandard_integer_type(size, 1);
        tree address = build_fold_addr_expr(unshare_expr(object));
        address = force_gimple_operand_gsi(at, address, true, NULL_TREE, true, GSI_SAME_STMT);
        tree place = build2(MEM_REF, build_aligned_type(plain, align), address,
                            build_int_cst(ptr_type_node, offset / BITS_PER_UNIT));
        tree old_bytes = assign(at, assignment, gimple_build_assign(make_ssa_name(plain), place));
        tree changed = assign(at, assignment,
                              gimple_build_assign(make_ssa_name(plain), BIT_INSERT_EXPR, old_bytes, value,
                                                  bitsize_int(within)));
        gimple_assign_set_lhs(assignment, unshare_expr(place));
        gimple_assign_set_rhs1(assignment, changed);
        update_stmt(assignment);
        return true;
    }

    static bool has_constant_place(tree field)
    {
        return tree_fits_shwi_p(DECL_FIELD_OFFSET(field)) && tree_fits_shwi_p(DECL_FIELD_BIT_OFFSET(field)) &&
               tree_fits_shwi_p(DECL_SIZE(field));
    }

    static HOST_WIDE_INT bit_offset(tree field)
    {
        return tree_to_shwi(DECL_FIELD_OFFSET(field)) * BITS_PER_UNIT + tree_to_shwi(DECL_FIELD_BIT_OFFSET(field));
    }

    static tree assign(gimple_stmt_iterator *at, gimple *like, gassign *statement)
    {
        gimple_set_location(statement, gimple_location(like));
        gsi_insert_before(at, statement, GSI_SAME_STMT);
        return gimple_assign_lhs(statement);
    }

    // A hook for all bytes of a reference.
    bool range(gimple_stmt_iterator *at, Kind kind, tree reference, tree size)
    {
        poly_int64 bits, position;
        tree offset;
        machine_mode mode;
        int is_unsigned, reversed, is_volatile;
        tree object = get_inner_reference(reference, &bits, &position, &offset, &mode, &is_unsigned, &reversed, &is_volatile);
        HOST_WIDE_INT first;
        if (!position.is_constant(&first))
            return false;
        if (!size) {
            HOST_WIDE_INT width;
            if (!bits.is_constant(&width) || width <= 0)
                return false;
            size = size_int((first % BITS_PER_UNIT + width + BITS_PER_UNIT - 1) / BITS_PER_UNIT);
        }
        tree address = build_fold_addr_expr(unshare_expr(object));
        address = fold_convert(ptr_type_node, address);
        if (offset)
            address = fold_build_pointer_plus(address, unshare_expr(offset));
        address = fold_build_pointer_plus_hwi(address, first / BITS_PER_UNIT);
        hook(at, kind, address, size);
        return true;
    }

    void hook(gimple_stmt_iterator *at, Kind kind, tree address, tree size)
    {
        address = force_gimple_operand_gsi(at, address, true, NULL_TREE, true, GSI_SAME_STMT);
        size = force_gimple_operand_gsi(at, fold_convert(size_type_node, unshare_expr(size)), true, NULL_TREE, true,
                                        GSI_SAME_STMT);
        tree function = builtin_decl_implicit(kind == Read ? BUILT_IN_TSAN_READ_RANGE : BUILT_IN_TSAN_WRITE_RANGE);
        insert(at, gimple_build_call(function, 2, address, size));
    }

    void unseen(gimple_stmt_iterator *at, const char *name)
    {
        tree type = build_function_type_list(void_type_node, NULL_TREE);
        insert(at, gimple_build_call(unknown_function(name, type), 0));
    }

    static void insert(gimple_stmt_iterator *at, gcall *call)
    {
        gimple_set_location(call, gimple_location(gsi_stmt(*at)));
        gsi_insert_before(at, call, GSI_SAME_STMT);
    }

public:
    bool edges_pending = false;
};

const pass_data ABOUT = {GIMPLE_PASS, "raddle", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0};

struct Pass : gimple_opt_pass {
    Pass() : gimple_opt_pass(ABOUT, g) {}

    opt_pass *clone() override { return new Pass(); }

    bool gate(function *) override { return sanitize_flags_p(SANITIZE_THREAD); }

    unsigned int execute(function *code) override
    {
        // The sanitizer's pass does it when it starts, but the hooks are needed before.
        initialize_sanitizer_builtins();
        Hooks hooks;
        bool changed = false;
        basic_block block;
        FOR_EACH_BB_FN(block, code)
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
                changed |= hooks.add(&at);
        if (hooks.edges_pending)
            gsi_commit_edge_inserts();
        return changed ? TODO_update_ssa : 0;
    }
};

// The variables of the function that is compiled; a root for gcc's collector of garbage.
tree variables;

const ggc_root_tab ROOTS[] = {
    {&variables, 1, sizeof variables, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
    LAST_GGC_ROOT_TAB,
};

const pass_data ABOUT_VARIABLES = {GIMPLE_PASS, "raddle_variables", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0};

// Keeps the list of variables, before gcc makes machine code and forgets about temporaries.
struct Variables : gimple_opt_pass {
    Variables() : gimple_opt_pass(ABOUT_VARIABLES, g) {}

    opt_pass *clone() override { return new Variables(); }

    unsigned int execute(function *code) override
    {
        variables = NULL_TREE;
        unsigned index;
        tree variable;
        FOR_EACH_LOCAL_DECL(code, index, variable)
            if (VAR_P(variable) && !is_global_var(variable))
                variables = tree_cons(NULL_TREE, variable, variables);
        return 0;
    }
};

const pass_data ABOUT_FRAMES = {RTL_PASS, "raddle_frames", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0};

// Names the variables that lie in the frame, behind the last pass that moves any.
struct Frames : rtl_opt_pass {
    Frames() : rtl_opt_pass(ABOUT_FRAMES, g) {}

    opt_pass *clone() override { return new Frames(); }

    // A frame that is aligned anew lies at no fixed distance from its caller's.
    bool gate(function *) override
    {
        return sanitize_flags_p(SANITIZE_THREAD) && !crtl->stack_realign_needed && !crtl->drap_reg;
    }

    unsigned int execute(function *code) override
    {
        std::string text;
        for (tree one = variables; one; one = TREE_CHAIN(one))
            add(text, TREE_VALUE(one));
        for (tree parameter = DECL_ARGUMENTS(code->decl); parameter; parameter = DECL_CHAIN(parameter))
            add(text, parameter);
        add(text, DECL_RESULT(code->decl));
        if (text.empty())
            return 0;
        // gcc prints the place of all assembly, and takes it to be in a file.
        rtx assembly = gen_rtx_ASM_INPUT_loc(VOIDmode, ggc_strdup(text.c_str()), BUILTINS_LOCATION);
        for (rtx_insn *at = get_insns(); at; at = NEXT_INSN(at))
            if (NONDEBUG_INSN_P(at)) {
                emit_insn_before(assembly, at);
                break;
            }
        return 0;
    }

private:
    static void add(std::string &text, tree variable)
    {
        HOST_WIDE_INT offset, size;
        if (!variable || !DECL_RTL_SET_P(variable) || !is_in_frame(DECL_RTL(variable), &offset))
            return;
        if (!TREE_ADDRESSABLE(variable) && !AGGREGATE_TYPE_P(TREE_TYPE(variable)))
            return;
        tree bytes = DECL_SIZE_UNIT(variable);
        if (!bytes || !tree_fits_shwi_p(bytes))
            return;
        size = tree_to_shwi(bytes);
        if (offset == (int32_t)offset && size > 0 && size == (int32_t)size)
            text += frames::at_distance((int32_t)offset, (int32_t)size, has_array(TREE_TYPE(variable)));
    }

    // The distance from the caller's stack pointer at the call.
    static bool is_in_frame(rtx place, HOST_WIDE_INT *distance)
    {
        if (!MEM_P(place))
            return false;
        poly_int64 offset;
        rtx base = strip_offset(XEXP(place, 0), &offset);
        if (!offset.is_constant(distance))
            return false;
        if (base == arg_pointer_rtx)
            return true;
        poly_int64 frame, arguments;
        INITIAL_ELIMINATION_OFFSET(FRAME_POINTER_REGNUM, STACK_POINTER_REGNUM, frame);
        INITIAL_ELIMINATION_OFFSET(ARG_POINTER_REGNUM, STACK_POINTER_REGNUM, arguments);
        HOST_WIDE_INT between;
        bool is_local = base == frame_pointer_rtx || base == virtual_stack_vars_rtx;
        if (!is_local || !(frame - arguments).is_constant(&between))
            return false;
        *distance += between;
        return true;
    }

    static bool has_array(tree type)
    {
        if (TREE_CODE(type) == ARRAY_TYPE || TREE_CODE(type) == VECTOR_TYPE)
            return true;
        if (!RECORD_OR_UNION_TYPE_P(type))
            return false;
        for (tree field = TYPE_FIELDS(type); field; field = DECL_CHAIN(field))
            if (TREE_CODE(field) == FIELD_DECL && has_array(TREE_TYPE(field)))
                return true;
        return false;
    }
};

void before(const char *base, const char *name, opt_pass *pass)
{
    register_pass_info about;
    about.pass = pass;
    about.reference_pass_name = name;
    about.ref_pass_instance_number = 0;
    about.pos_op = PASS_POS_INSERT_BEFORE;
    register_callback(base, PLUGIN_PASS_MANAGER_SETUP, NULL, &about);
}

} // namespace

int plugin_init(plugin_name_args *about, plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version))
        return 1;
    // With optimisation (two pipelines), and without.
    before(about->base_name, "tsan", new Pass());
    before(about->base_name, "tsan0", new Pass());
    register_callback(about->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *>(ROOTS));
    before(about->base_name, "optimized", new Variables());
    before(about->base_name, "shorten", new Frames());
    return 0;
}
