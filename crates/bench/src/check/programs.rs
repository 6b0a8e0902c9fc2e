//! The programs of the search benchmark.

/// The best rate of another checker that was recorded on a machine with two cores.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRate {
    /// The checker.
    pub checker: &'static str,
    /// Executions per CPU second.
    pub rate: f64,
    /// The goal: how many times as fast raddle is to be.
    pub factor: f64,
}

/// A program of `bench/programs`.
#[derive(Clone, Copy, Debug)]
pub struct BenchProgram {
    /// What people call it.
    pub title: &'static str,
    /// The file, without its ending.
    pub source: &'static str,
    /// Macro definitions.
    pub defines: &'static [&'static str],
    /// Executions that a search finds.
    pub executions: u64,
    /// The rate to compare it with.
    pub recorded: Option<RecordedRate>,
}

const fn recorded(checker: &'static str, rate: f64, factor: f64) -> Option<RecordedRate> {
    Some(RecordedRate { checker, rate, factor })
}

const GENMC: &str = "GenMC, no races";
const SOURCE: &str = "Nidhugg source";

/// The table.
pub const PROGRAMS: [BenchProgram; 13] = [
    BenchProgram {
        title: "indexer, mutexes, 15 threads",
        source: "indexer_mutex",
        defines: &["-DN=15"],
        executions: 4096,
        recorded: recorded(SOURCE, 1357.0, 10.0),
    },
    BenchProgram {
        title: "indexer, CAS, 15 threads",
        source: "indexer_cas",
        defines: &["-DN=15"],
        executions: 4096,
        recorded: recorded(GENMC, 3243.0, 10.0),
    },
    BenchProgram {
        title: "fsbench, 26 threads",
        source: "fsbench",
        defines: &["-DN=26"],
        executions: 8192,
        recorded: recorded(GENMC, 993.0, 10.0),
    },
    BenchProgram {
        title: "last zero, 15 writers",
        source: "last_zero",
        defines: &["-DN=15"],
        executions: 147_456,
        recorded: recorded(GENMC, 9100.0, 10.0),
    },
    BenchProgram {
        title: "1 writer, 13 readers",
        source: "readers",
        defines: &["-DN=13"],
        executions: 8192,
        recorded: recorded(GENMC, 44_000.0, 3.0),
    },
    BenchProgram {
        title: "8 locked increments",
        source: "locked_increments",
        defines: &["-DN=8"],
        executions: 40_320,
        recorded: recorded(GENMC, 12_700.0, 10.0),
    },
    BenchProgram {
        title: "10 ordered philosophers",
        source: "philosophers_ordered",
        defines: &["-DN=10"],
        executions: 1022,
        recorded: recorded(GENMC, 7200.0, 10.0),
    },
    BenchProgram {
        title: "account, 5 threads",
        source: "account",
        defines: &["-DN=5"],
        executions: 14_400,
        recorded: recorded("GenMC", 68_000.0, 3.0),
    },
    BenchProgram {
        title: "Dekker, 4 rounds",
        source: "dekker",
        defines: &["-DN=4"],
        executions: 33_147,
        recorded: recorded(GENMC, 44_000.0, 3.0),
    },
    BenchProgram {
        title: "buffer, 2+2 threads, 2 items",
        source: "buffer_two_conditions",
        defines: &["-DPRODUCERS=2", "-DCONSUMERS=2", "-DITEMS=2"],
        executions: 86_336,
        recorded: recorded("Nidhugg optimal", 6000.0, 10.0),
    },
    BenchProgram {
        title: "3 x 1,000,000 local iterations",
        source: "local_work",
        defines: &["-DN=3", "-DITERATIONS=1000000"],
        executions: 6,
        recorded: recorded(SOURCE, 1.0 / 3.1, 500.0),
    },
    BenchProgram {
        title: "ticket lock, 6 threads",
        source: "ticket_lock",
        defines: &["-DN=6"],
        executions: 720,
        recorded: None,
    },
    BenchProgram {
        title: "Peterson, 3 entries each",
        source: "peterson",
        defines: &["-DN=3"],
        executions: 588,
        recorded: None,
    },
];

/// A program with increasing numbers of threads.
#[derive(Clone, Copy, Debug)]
pub struct GrowthSeries {
    /// What people call it.
    pub title: &'static str,
    /// The file, without its ending.
    pub source: &'static str,
    /// Values of `N`, each with the transitions of the whole search in Table 1 of the Inspect
    /// paper, if the table has it.
    pub sizes: &'static [(u64, Option<u64>)],
}

/// The programs whose growth is drawn.
pub const GROWING: [GrowthSeries; 6] = [
    GrowthSeries {
        title: "indexer, mutexes",
        source: "indexer_mutex",
        sizes: &[(12, None), (13, Some(6033)), (14, Some(42_635)), (15, Some(351_520))],
    },
    GrowthSeries {
        title: "fsbench",
        source: "fsbench",
        sizes: &[
            (16, Some(1242)),
            (18, Some(4893)),
            (20, Some(20_599)),
            (22, Some(84_829)),
            (24, Some(367_786)),
            (26, Some(1_579_803)),
        ],
    },
    GrowthSeries { title: "readers", source: "readers", sizes: &[(7, None), (9, None), (11, None), (13, None)] },
    GrowthSeries {
        title: "locked increments",
        source: "locked_increments",
        sizes: &[(5, None), (6, None), (7, None), (8, None)],
    },
    GrowthSeries {
        title: "philosophers",
        source: "philosophers_ordered",
        sizes: &[(6, None), (8, None), (10, None), (12, None)],
    },
    GrowthSeries { title: "last zero", source: "last_zero", sizes: &[(8, None), (10, None), (12, None)] },
];
