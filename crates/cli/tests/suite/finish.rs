//! Names, colours, and forms of reports for other tools.

use crate::common::{Done, Place, finish, raddle};

const BANK: &str = "\
#include <pthread.h>
static int balance;
static void *teller(void *p) { balance++; return p; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, teller, 0);
  pthread_create(&b, 0, teller, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
";

/// Templates, strings, containers, lambdas.
const CACHE: &str = "\
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
namespace net {
struct Connection { std::mutex mutex_; std::vector<std::string> lines; };
template <typename Key, typename Value> class Cache {
 public:
  void put(const Key &key, const Value &value) { entries_[key] = value; }
 private:
  std::unordered_map<Key, Value> entries_;
};
template <typename T> void add(std::vector<T> &to, T value, const std::map<std::string, std::vector<T>> &) {
  to.push_back(std::move(value));
}
}
int main() {
  net::Cache<std::string, std::shared_ptr<net::Connection>> cache;
  auto connection = std::make_shared<net::Connection>();
  std::map<std::string, std::vector<std::string>> unused;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++)
    threads.emplace_back([&, i] {
      cache.put(std::to_string(i), connection);
      net::add<std::string>(connection->lines, \"x\", unused);
    });
  for (auto &thread : threads) thread.join();
}
";

fn checked(place: &Place, words: &[&str]) -> Done {
    let done = place.raddle([&["check"], words].concat());
    assert_eq!(done.code(), Some(1), "{}", done.all());
    done
}

#[test]
fn cxx_is_shown_as_people_write_it() {
    let place = Place::new();
    place.write("cache.cpp", CACHE);
    let done = checked(&place, &["cache.cpp"]);
    for line in done.stdout.lines() {
        // A headline names the object and two places.
        let is_headline = line.contains(" by T1 at ") && line.contains(" by T2 at ");
        let most = if is_headline { 180 } else { 160 };
        assert!(line.chars().count() <= most, "{} columns: {line}", line.chars().count());
        for word in ["basic_string<", "std::char_traits", ", std::allocator<", "__cxx11"] {
            assert!(!line.contains(word), "{word}: {line}");
        }
    }
    assert!(
        done.stdout.contains("net::Cache<std::string, std::shared_ptr<net::Connection>>::put  cache.cpp"),
        "{}",
        done.all()
    );
    assert!(done.stdout.contains("main::{lambda#1}::operator()  cache.cpp"), "{}", done.all());
    let first = done.stdout.lines().next().unwrap_or_default();
    assert!(first.contains("at cache.cpp:"), "the user's own lines: {first}");
}

/// A block of the size of a vector, read in a function that loops over a vector.
const REGISTRY: &str = "\
#include <memory>
#include <thread>
#include <vector>
int main() {
  auto number = std::make_shared<int>(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) threads.emplace_back([number] { ++*number; });
  for (auto &thread : threads) thread.join();
  return *number == 3 ? 0 : 1;
}
";

#[test]
fn a_block_is_not_called_by_another_type_of_its_size() {
    let place = Place::new();
    place.write("registry.cpp", REGISTRY);
    let done = checked(&place, &["registry.cpp"]);
    let headline = done.stdout.lines().next().unwrap_or_default();
    assert!(headline.contains("data race on a heap block of 24 bytes from registry.cpp:5"), "{}", done.all());
}

#[test]
fn reports_for_editors_and_for_github() {
    let place = Place::new();
    place.write("bank.c", BANK);
    let done = checked(&place, &["--report", "gcc", "bank.c"]);
    let first = done.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("bank.c:3:") && first.contains(": error: data race on `balance`"), "{}", done.all());
    assert!(done.stdout.contains("bank.c:3:39: note: (1) "), "{}", done.all());
    let done = checked(&place, &["--report=github", "bank.c"]);
    let first = done.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("::error file=bank.c,line=3,col="), "{first}");
    assert!(first.contains(",title=raddle r1::data race on `balance`") && first.contains("%0A(2) "), "{first}");
    for format in ["gcc", "github"] {
        let report = place.raddle(["report", "--format", format]);
        assert!(report.stdout.contains("data race on `balance`"), "{}", report.all());
    }
}

#[test]
fn colours_are_a_choice() {
    let place = Place::new();
    place.write("bank.c", BANK);
    assert!(!checked(&place, &["bank.c"]).stdout.contains('\x1b'));
    assert!(checked(&place, &["--color", "always", "bank.c"]).stdout.contains('\x1b'));
    assert!(!checked(&place, &["--color=never", "bank.c"]).stdout.contains('\x1b'));
    let report = place.raddle(["--color", "always", "report"]);
    assert!(report.stdout.contains('\x1b'), "{}", report.all());
    assert_eq!(place.raddle(["check", "--color", "blue", "bank.c"]).code(), Some(2));
}

/// The same names for `replay`, `show` and `report`; `list` shows them.
#[test]
fn findings_have_one_name() {
    let place = Place::new();
    let empty = place.raddle(["list"]);
    assert!(empty.code() == Some(0) && empty.stdout.contains("no runs"), "{}", empty.all());
    place.write("bank.c", BANK);
    place.write("other.c", BANK.replace("balance", "total"));
    checked(&place, &["bank.c"]);
    checked(&place, &["other.c"]);
    let list = place.raddle(["list"]);
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert!(
        lines[0].starts_with("other  bug, ") && lines[1].starts_with("  other/r1  error: data race"),
        "{}",
        list.all()
    );
    assert!(list.stdout.contains("\n  bank/r1  error: data race on `balance`"), "{}", list.all());
    for (name, variable) in
        [("r1", "total"), ("bank/r1", "balance"), (".raddle/bank/r1.json", "balance"), ("other/r1", "total")]
    {
        let replay = place.raddle(["replay", name]);
        assert!(replay.code() == Some(1) && replay.stdout.contains(variable), "{name}: {}", replay.all());
        let report = place.raddle(["report", name]);
        assert!(report.stdout.contains(&format!("data race on `{variable}`")), "{name}: {}", report.all());
        let show = place.raddle(["show", name, "--step", "1"]);
        assert_eq!(show.code(), Some(0), "{name}: {}", show.all());
        let other = if variable == "total" { "balance" } else { "total" };
        assert!(!report.stdout.contains(other), "{name}: {}", report.all());
    }
    for words in [["replay", "bank/r9"], ["report", "bank/r9"], ["show", "none/r1"]] {
        assert_eq!(place.raddle(words).code(), Some(2), "{words:?}");
    }
}

/// The line that is printed suppresses the finding.
#[test]
fn suppressions_can_be_pasted() {
    let place = Place::new();
    place.write("bank.c", BANK);
    let done = checked(&place, &["bank.c"]);
    let line = done
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("silence "))
        .unwrap_or_else(|| panic!("{}", done.all()));
    let pattern = line.split("  ").next().unwrap_or_default();
    assert_eq!(pattern, "race:balance");
    place.write("silent", pattern);
    let done = place.raddle(["check", "--suppressions", "silent", "bank.c"]);
    assert_eq!(done.code(), Some(0), "{}", done.all());
}

#[test]
fn a_program_without_lines_gets_a_hint() {
    let place = Place::new();
    place.write("bank.c", BANK);
    let built = place.raddle(["cc", "-pthread", "bank.c", "-o", "bank"]);
    assert!(built.status.success(), "{}", built.all());
    assert!(finish(place.command("strip").arg("bank")).status.success());
    let done = finish(place.command(raddle()).args(["check", "./bank"]));
    assert_eq!(done.code(), Some(1), "{}", done.all());
    assert!(done.stdout.contains("compile with -g, and do not strip"), "{}", done.all());
}
