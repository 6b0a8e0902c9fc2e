# Commands of gdb over the threads of a program that raddle runs: fibers of one kernel thread.
import os
import signal

import gdb

# The runtime's `ThreadStatus`, in its order, and what is shown for each.
STATUS_TEXT = [
    "unused",
    "before",
    "at an access",
    "before",
    "in an endless loop",
    "ended",
    "failed",
    "left the process",
]
PENDING, AT_ACCESS, AT_SPIN_READ, ENDLESS_LOOP = 1, 2, 3, 4
# Roles of scripted parties.
PARTIES = ["client", "peer"]
# Where the switch to another thread stores registers on a stack, by processor: the saved registers with their
# distances, that of the address to go on at, and by how much the stack is higher then.
SWITCHES = {
    "x86-64": ({"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48}, 56, 64),
    "aarch64": ({"x29": 0, "x30": 8, **{"x%d" % n: 16 + 8 * (n - 19) for n in range(19, 29)}}, 8, 176),
}
# Words of the runtime's `__raddle_debug`, in their order.
FIELDS = [
    "version",
    "run",
    "fibers",
    "stride",
    "sp",
    "status",
    "kind",
    "pc",
    "parent",
    "threads",
    "running",
    "party",
]


def word(address, size=8):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, size).tobytes(), "little")


# The frame at hand may be one of the runtime, which is not written in C.
def evaluate(expression):
    gdb.execute("set language c", to_string=True)
    try:
        return int(gdb.parse_and_eval(expression))
    finally:
        gdb.execute("set language auto", to_string=True)


def table():
    try:
        start = evaluate("(unsigned long)&__raddle_debug")
    except gdb.error:
        raise gdb.GdbError("the program is not there, or was built with another raddle")
    return {name: word(start + 8 * index) for index, name in enumerate(FIELDS)}


def switch():
    name = gdb.selected_inferior().architecture().name()
    return SWITCHES["aarch64" if name.startswith("aarch64") else "x86-64"]


class Fiber:
    def __init__(self, t, number):
        at = t["run"] + t["fibers"] + number * t["stride"]
        self.number = number
        self.sp = word(at + t["sp"])
        self.status = word(at + t["status"], 1)
        self.kind = KINDS.get(word(at + t["kind"], 1), "?")
        self.pc = word(at + t["pc"])
        self.parent = word(at + t["parent"], 2)
        self.party = word(at + t["party"], 2)
        self.name = "T0"

    def is_there(self):
        live = (PENDING, AT_ACCESS, AT_SPIN_READ, ENDLESS_LOOP)
        return self.status in live and (self.kind != "start" or self.status != PENDING)

    # What it does while it has no stack to look at.
    def absence(self):
        if self.kind == "start" and self.status == PENDING:
            return "has not started"
        return STATUS_TEXT[self.status]

    # What it does while it has a stack.
    def presence(self, running):
        if self.status != PENDING:
            return STATUS_TEXT[self.status]
        if self.number != running or is_at("end"):
            return "before %s" % self.kind
        return "fails" if is_at("failure") else "runs"

    # What the switch to another thread left on its stack.
    def registers(self):
        saved, pc, bytes = switch()
        values = {name: word(self.sp + at) for name, at in saved.items()}
        values["pc"] = word(self.sp + pc)
        values["sp"] = self.sp + bytes
        return values


def fibers():
    t = table()
    found = [Fiber(t, number) for number in range(word(t["run"] + t["threads"]))]
    children = {}
    for fiber in found[1:]:
        if fiber.party:
            fiber.name = "%s%d" % (PARTIES[fiber.party >> 8], fiber.party & 255)
            continue
        nth = children[fiber.parent] = children.get(fiber.parent, 0) + 1
        above = found[fiber.parent].name
        fiber.name = "T%d" % nth if above == "T0" else "%s.%d" % (above, nth)
    return found, word(t["run"] + t["running"], 2)


def find(name):
    found, running = fibers()
    for fiber in found:
        if name in (fiber.name, str(fiber.number)):
            return fiber, running
    names = ", ".join(fiber.name for fiber in found)
    raise gdb.GdbError("there is no thread %s; there are %s" % (name, names))


# Registers of the thread that really runs, while another one is looked at.
own = None


def put(values):
    # The innermost frame's registers are those of the processor.
    gdb.newest_frame().select()
    for name in [name for name in values if name != "pc"] + ["pc"]:
        evaluate("$%s = %d" % (name, values[name]))


def restore():
    global own
    if own is not None:
        values, own = own, None
        put(values)


def enter(fiber, running):
    global own
    restore()
    if fiber.number == running:
        return
    if not fiber.is_there():
        raise gdb.GdbError("%s has no stack: it %s" % (fiber.name, fiber.absence()))
    gdb.newest_frame().select()
    own = {name: evaluate("(unsigned long)$" + name) for name in [*switch()[0], "pc", "sp"]}
    put(fiber.registers())


def is_runtime(frame):
    name = gdb.solib_name(frame.pc())
    return name is not None and "libraddle_rt" in name


# Breakpoints in the runtime that stay, by what they mean.
stations = {}


# Whether the program stands at one of them.
def is_at(station):
    place = stations.get(station)
    frame = gdb.newest_frame()
    for _ in range(3):
        if place is None or frame is None:
            return False
        # It may stand behind the first instructions of the function.
        if place <= frame.pc() < place + 32:
            return True
        frame = frame.older()
    return False


# Stops there, silently, from the given time on.
def station(name, function, skipped=0):
    try:
        stations[name] = evaluate("(unsigned long)&%s" % function)
    except gdb.error:
        raise gdb.GdbError("the program was built with another raddle")
    breakpoint = gdb.Breakpoint("*%d" % stations[name], internal=True)
    breakpoint.silent = True
    breakpoint.ignore_count = skipped
    return breakpoint


# The program's own code, above raddle's.
def select_program():
    frame = gdb.newest_frame()
    while frame is not None and is_runtime(frame):
        frame = frame.older()
    if frame is not None:
        frame.select()
    return frame


# Backtraces without the frames of the runtime.
class ProgramFrames:
    def __init__(self):
        self.name, self.priority, self.enabled = "raddle", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return (frame for frame in frames if not is_runtime(frame.inferior_frame()))


# Headers of the system say less than the program's own code that called them.
def is_own(frame):
    symtab = frame.find_sal().symtab
    return symtab is not None and not symtab.fullname().startswith("/usr/")


def own_code(frame):
    inner = frame
    while frame is not None and not is_own(frame):
        frame = frame.older()
    return inner if frame is None else frame


# So that names mean what they mean there.
def select_own():
    frame = own_code(select_program())
    if frame is not None:
        frame.select()
    return frame


def place(frame):
    if frame is None:
        return "?"
    line = frame.find_sal()
    where = " at %s:%d" % (line.symtab.filename, line.line) if line.symtab else ""
    return "%s%s" % (frame.name() or hex(frame.pc()), where)


# Stops when the counter of events changes.
def watch_heartbeat():
    counter = "*(unsigned long *)%d" % HEARTBEAT
    watch = gdb.Breakpoint(counter, gdb.BP_WATCHPOINT, gdb.WP_WRITE, True)
    watch.silent = True
    return watch


class Raddle(gdb.Command):
    """Commands over the threads of the program: raddle threads, where, switch, next, back, goto."""

    def __init__(self):
        super().__init__("raddle", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class Threads(gdb.Command):
    """Shows every thread of the program: where it stands, and before which operation."""

    def __init__(self):
        super().__init__("raddle threads", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        restore()
        found, running = fibers()
        for fiber in found:
            mark = "*" if fiber.number == running else " "
            if not fiber.is_there() and (fiber.number != running or is_at("end")):
                print("%s %-6s %s" % (mark, fiber.name, fiber.absence()))
                continue
            enter(fiber, running)
            where = place(own_code(select_program()))
            restore()
            print("%s %-6s %-22s %s" % (mark, fiber.name, fiber.presence(running), where))
        gdb.newest_frame().select()
        select_own()


class Where(gdb.Command):
    """Shows the stack of a thread: raddle where [T1]."""

    def __init__(self):
        super().__init__("raddle where", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if argument.strip():
            enter(*find(argument.strip()))
        frame = select_program()
        while frame is not None:
            # The numbers of `backtrace` and `frame`.
            if not is_runtime(frame):
                print("#%-2d %s" % (frame.level(), place(frame)))
            frame = frame.older()
        if argument.strip():
            restore()
            select_own()


class Switch(gdb.Command):
    """Looks at another thread: raddle switch T1.

    Commands that only look work on it; `raddle restore` and commands that run the program go back
    to the thread that runs."""

    def __init__(self):
        super().__init__("raddle switch", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        fiber, running = find(argument.strip())
        enter(fiber, running)
        print("%s in %s" % (fiber.name, place(select_own())))


class Next(gdb.Command):
    """Runs to the next transition of any thread."""

    def __init__(self):
        super().__init__("raddle next", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        restore()
        before = word(HEARTBEAT)
        gdb.execute("set language c", to_string=True)
        watch = watch_heartbeat()
        gdb.execute("set language auto", to_string=True)
        try:
            gdb.execute("continue", to_string=True)
        finally:
            if watch.is_valid():
                watch.delete()
        try:
            now = word(HEARTBEAT)
        except gdb.error:
            print("the run is over")
            return
        found, _ = fibers()
        print("the run is at its end" if is_at("end") or now == before else "event %d" % now)
        Threads.invoke(None, "", from_tty)


# Runs until so many events have been made.
def run_to(event):
    gdb.execute("set language c", to_string=True)
    watch = watch_heartbeat()
    watch.condition = "*(unsigned long *)%d == %d" % (HEARTBEAT, event)
    gdb.execute("set language auto", to_string=True)
    try:
        gdb.execute("continue", to_string=True)
    finally:
        if watch.is_valid():
            watch.delete()


# The host runs the schedule once more, up to another event. Breakpoints are kept.
def run_again(event):
    gdb.execute("save breakpoints %s.breakpoints" % AGAIN, to_string=True)
    with open(AGAIN, "w") as file:
        file.write(str(event))
    gdb.execute("kill", to_string=True)
    gdb.execute("quit")


class Goto(gdb.Command):
    """Goes to an event of the schedule, forwards or backwards: raddle goto N.

    To go back, the schedule is run again: the same events come in the same order."""

    def __init__(self):
        super().__init__("raddle goto", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if not argument.strip().isdigit() or int(argument) < 1:
            raise gdb.GdbError("give the number of an event: raddle goto 12")
        restore()
        event = int(argument)
        try:
            now = word(HEARTBEAT)
        except gdb.error:
            now = event
        if event <= now:
            run_again(event)
            return
        run_to(event)
        try:
            print("the run is at its end" if is_at("end") else "event %d" % word(HEARTBEAT))
        except gdb.error:
            print("the run is over: the schedule has fewer events")
            return
        Threads.invoke(None, "", from_tty)


class Back(gdb.Command):
    """Goes back to the transition before: runs the schedule again up to there."""

    def __init__(self):
        super().__init__("raddle back", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        restore()
        now = word(HEARTBEAT)
        if now <= 1:
            raise gdb.GdbError("this is the first event")
        run_again(now - 1)


class Restore(gdb.Command):
    """Goes back to the thread that runs."""

    def __init__(self):
        super().__init__("raddle restore", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        restore()


Raddle(), Threads(), Where(), Switch(), Next(), Goto(), Back(), Restore(), ProgramFrames()
HOOKED = "continue step next stepi nexti finish until kill detach call"
for command in HOOKED.split():
    gdb.execute("define hook-%s\nraddle restore\nend" % command, to_string=True)


# The program does not run on behind the debugger's back.
def end_program(_):
    for inferior in gdb.inferiors():
        if inferior.pid:
            os.kill(inferior.pid, signal.SIGKILL)


# Says so where the run ends: what comes next is the end of the process.
def tell_end(event):
    if started and isinstance(event, gdb.BreakpointEvent) and is_at("end"):
        print("raddle: the run is at its end: `continue` ends the process")


started = False
gdb.events.gdb_exiting.connect(end_program)
gdb.events.stop.connect(tell_end)


# Goes to where the user wants to look: before an event, to a failure, or to the end of the run, where
# every thread stands before what it would do next.
def start(event, failure):
    global started
    for setting in [
        "set pagination off",
        # `quit` ends the program: there is nothing to ask.
        "set confirm off",
        "set print thread-events off",
        "set print inferior-events off",
        "set breakpoint pending on",
        "set follow-fork-mode child",
        "set suppress-cli-notifications on",
        "handle SIGSTOP nostop noprint nopass",
    ]:
        gdb.execute(setting, to_string=True)
    gdb.execute("file %s" % PROGRAM.replace(" ", "\\ "), to_string=True)
    gdb.execute("attach %d" % PROCESS, to_string=True)
    station("end", "__raddle_finished")
    places = []
    if event is not None:
        gdb.execute("set language c", to_string=True)
        places = [watch_heartbeat()]
        places[0].condition = "*(unsigned long *)%d == %d" % (HEARTBEAT, event)
    elif failure is not None:
        places = [station("failure", "__raddle_failed", failure)]
    for breakpoint in places:
        breakpoint.silent = True
    gdb.execute("continue", to_string=True)
    for breakpoint in places:
        if breakpoint.is_valid():
            breakpoint.delete()
    gdb.execute("set language auto", to_string=True)
    gdb.execute("set suppress-cli-notifications off")
    # The messages of gdb itself end here.
    gdb.execute("set pagination on")
    if os.path.exists(AGAIN + ".breakpoints"):
        gdb.execute("source %s.breakpoints" % AGAIN, to_string=True)
    if is_at("failure"):
        print("raddle: stopped at the failure")
    elif is_at("end") and any(fiber.status == AT_ACCESS for fiber in fibers()[0]):
        print("raddle: stopped before the access")
    elif is_at("end"):
        print("raddle: stopped where the schedule ends")
    elif event is not None:
        print("raddle: stopped before event %d" % event)
    else:
        print("raddle: stopped")
    Threads.invoke(None, "", False)
    print(
        "raddle: `raddle threads`, `where T1`, `switch T1`, `next`, `back`, `goto N`; "
        "`continue` runs on"
    )
    started = True
