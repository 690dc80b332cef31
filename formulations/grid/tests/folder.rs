//! Grids end to end: any way to the results gives the same table, and wrong files are replaced.

use remat_grid::{Folder, Grid, Merged, Record, Tally, Work, merge};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::TempDir;

const GRID: &str = "models = ['zoo:chain?n=6', 'zoo:chain?n=7', 'graph.json']
budgets = ['40%..145%:8', '57%']
seeds = [0, 1]
chain = 4
[settings]
effort = 'quick'";

fn place(text: &str) -> (TempDir, Grid) {
    let place = tempfile::tempdir().unwrap();
    let spec = "zoo:chain?n=5".parse().unwrap();
    let instance = remat_instances::zoo::build(&spec).unwrap();
    let file = place.path().join("graph.json");
    std::fs::write(file, remat_instances::write_instance(&instance)).unwrap();
    let grid = Grid::parse("grid.toml", text, place.path()).unwrap();
    (place, grid)
}

fn folder(place: &TempDir, name: &str, grid: &Grid) -> Folder {
    Folder::create(&place.path().join(name), grid).unwrap()
}

fn solved(grid: &Grid, folder: &Folder) -> Tally {
    Work::of(grid, folder).run(0..grid.chains()).unwrap()
}

fn table(folder: &Folder) -> Merged {
    let merged = merge(folder).unwrap();
    assert_eq!((merged.missing(), merged.refuted.len()), (0, 0));
    merged
}

#[test]
fn any_way_to_the_results_gives_the_same_table() {
    let (place, grid) = place(GRID);
    let one = folder(&place, "one", &grid);
    let tally = solved(&grid, &one);
    assert_eq!(tally.done(), grid.jobs());
    assert!(tally.settled > 0 && tally.kept == 0, "{tally:?}");
    let wanted = table(&one).csv();

    let shards = folder(&place, "shards", &grid);
    for k in [2, 0, 1] {
        Work::of(&grid, &shards).run(grid.shard(k, 3)).unwrap();
    }
    assert_eq!(table(&shards).csv(), wanted);

    // A run that ends after some jobs, and one that goes on with two workers.
    let resumed = folder(&place, "resumed", &grid);
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let look = |tally: Tally| {
        count.store(tally.done(), Ordering::Relaxed);
        stop.store(tally.done() >= 5, Ordering::Relaxed);
    };
    let work = Work::of(&grid, &resumed).listener(&stop, &look);
    let first = work.run(0..grid.chains()).unwrap();
    assert_eq!(first.done() + first.missing, grid.jobs());
    assert_eq!(merge(&resumed).unwrap().missing(), first.missing);
    let second = Work::of(&grid, &resumed)
        .workers(2)
        .run(0..grid.chains())
        .unwrap();
    assert_eq!((second.kept, second.done()), (first.done(), grid.jobs()));
    assert_eq!(table(&resumed).csv(), wanted);

    // A copy of the folder needs no other file.
    let moved = place.path().join("moved");
    std::fs::rename(place.path().join("shards"), &moved).unwrap();
    std::fs::remove_file(place.path().join("graph.json")).unwrap();
    assert_eq!(table(&Folder::open(&moved).unwrap()).csv(), wanted);
}

#[test]
fn incomplete_foreign_and_false_files_are_solved_again() {
    let (place, grid) = place(GRID);
    let folder = folder(&place, "results", &grid);
    solved(&grid, &folder);
    let wanted = table(&folder);
    let planned: Vec<&str> = {
        let rows = wanted
            .rows
            .iter()
            .filter(|row| row.plan.as_deref() == Some(&row.key));
        rows.map(|row| row.key.as_str()).collect()
    };
    let text = |key: &str| std::fs::read_to_string(folder.file(key)).unwrap();
    let write = |key: &str, text: &str| std::fs::write(folder.file(key), text).unwrap();
    let half = text(planned[0]);
    write(planned[0], &half[..half.len() / 2]);
    write(planned[1], &text(planned[2]));
    write(
        planned[3],
        &text(planned[3]).replace("\"nodes\":", "\"nodes\":1"),
    );
    // A checksum that is right, over a cost that is not.
    let mut forged = Record::read(&text(planned[4]), planned[4]).unwrap();
    forged.objective = forged.objective.map(|cost| cost - 1);
    forged.bound = Some(0);
    write(planned[4], &forged.text());
    let merged = merge(&folder).unwrap();
    assert_eq!((merged.missing(), merged.refuted.len()), (4, 4));
    let tally = solved(&grid, &folder);
    assert_eq!((tally.replaced, tally.kept), (4, grid.jobs() - 4));
    assert_eq!(table(&folder).csv(), wanted.csv());
}

#[test]
fn costs_and_bounds_never_rise_with_memory_and_fall_with_more_in_flight() {
    let (place, grid) = place(
        "models = 'zoo:chain?n=7'\nin_flight = [1, 3]\nbudgets = ['30%..100%:6', '9000000']\n\
         settings = { effort = 'quick' }",
    );
    let folder = folder(&place, "results", &grid);
    solved(&grid, &folder);
    let merged = table(&folder);
    let budgets = grid.budget_count();
    for rows in merged.rows.chunks(budgets) {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| row.budget_bytes);
        for pair in rows.windows(2) {
            assert!(pair[0].objective.is_none() || pair[1].objective <= pair[0].objective);
            assert!(pair[0].objective.is_none() || pair[1].objective.is_some());
            let scopes = pair[0].bound_scope == pair[1].bound_scope;
            assert!(!scopes || pair[0].bound.is_none() || pair[1].bound <= pair[0].bound);
        }
    }
    let (one, three) = merged.rows.split_at(budgets);
    for harder in three.iter().filter(|row| row.objective.is_some()) {
        for easier in one
            .iter()
            .filter(|row| row.budget_bytes >= harder.budget_bytes)
        {
            assert!(easier.objective <= harder.objective);
        }
    }
    for row in &merged.rows {
        assert!(
            row.peak_memory_bytes
                .is_none_or(|peak| peak <= row.budget_bytes)
        );
        assert!(row.objective.is_none() || row.bound <= row.objective);
    }
}

#[test]
fn results_without_starts_have_other_keys_and_true_bounds() {
    let (place, grid) = place(GRID);
    let with = folder(&place, "with", &grid);
    solved(&grid, &with);
    let alone = Grid::parse(
        "grid.toml",
        &format!("starts = false\n{GRID}"),
        place.path(),
    )
    .unwrap();
    let without = folder(&place, "without", &alone);
    let tally = solved(&alone, &without);
    assert_eq!((tally.settled, tally.solved), (0, alone.jobs()));
    for (one, other) in table(&with).rows.iter().zip(&table(&without).rows) {
        assert!(one.objective.is_none() || other.bound <= one.objective);
        assert!(other.objective.is_none() || one.bound <= other.objective);
    }
    let shared = with.keys().intersection(&without.keys()).count();
    // The first job of a chain is the same in both.
    assert_eq!(shared, grid.chains());
}

#[test]
fn pipelines_are_jobs_as_well() {
    let (place, grid) = place(
        "models = 'zoo:chain?n=8'\nstages = [2, 3]\nmicrobatches = 4\n\
         schedules = ['1f1b', 'gpipe']\nbudgets = '70%..100%:3'\nsettings = { link = '50GB/s' }",
    );
    let folder = folder(&place, "results", &grid);
    let done = solved(&grid, &folder);
    assert_eq!((done.done(), done.failed), (12, 0));
    let merged = table(&folder);
    assert!(
        merged
            .rows
            .iter()
            .all(|row| row.overhead_percent().is_none())
    );
    assert!(merged.rows.iter().any(|row| row.objective.is_some()));
    assert_eq!(solved(&grid, &folder).kept, 12);
}

#[test]
fn errors_name_the_file_the_key_and_a_remedy() {
    let parse = |text: &str| Grid::parse("grid.toml", text, Path::new("")).err().unwrap();
    let model = "models = 'zoo:vgg16'\nbudgets = '60%'\n";
    for (text, key, words) in [
        (
            "model = 'zoo:vgg16'".to_owned(),
            "model",
            "did you mean models?",
        ),
        ("budgets = '60%'".to_owned(), "models", "there is none"),
        (format!("{model}batches = []"), "batches", "an empty list"),
        (format!("{model}seeds = [1, 1]"), "seeds", "twice"),
        (format!("{model}seeds = ['x']"), "seeds", "whole number"),
        (format!("{model}chain = 0"), "chain", "whole number from 1"),
        (
            format!("{model}stages = 2"),
            "microbatches",
            "there is none",
        ),
        (
            format!("{model}schedules = 'gpipe'"),
            "schedules",
            "pipelines",
        ),
        (
            format!("{model}[settings]\ngpa = '1%'"),
            "settings.gpa",
            "did you mean gap?",
        ),
        (
            format!("{model}[settings]\ngap = 2"),
            "settings.gap",
            "percentage",
        ),
        (
            format!("{model}stages = 2\nmicrobatches = 4\nreorder = true"),
            "reorder",
            "pipelines",
        ),
        (
            "models = 'zoo:vgg16'\nbudgets = 'least..100%:3'".to_owned(),
            "budgets",
            "least",
        ),
        (
            "models = 'zoo:vgg16'\nbudgets = '60 apples'".to_owned(),
            "budgets",
            "unit",
        ),
    ] {
        let error = parse(&text);
        let all = format!("{error}; {}", error.remedy);
        assert_eq!(error.key.as_deref(), Some(key), "{all}");
        assert!(
            all.starts_with("grid.toml: ") && all.contains(words),
            "{all}"
        );
    }
    let unread = parse("models = [");
    assert!(
        unread.key.is_none() && unread.to_string().contains("no TOML"),
        "{unread}"
    );
    let (place, grid) = place("models = 'zoo:vgg17'\nbudgets = '60%'");
    let lost = Folder::create(&place.path().join("results"), &grid).unwrap();
    let error = Work::of(&grid, &lost).run(0..1).err().unwrap();
    assert!(
        error.to_string().contains("did you mean \"vgg16\"?")
            || error.to_string().contains("vgg16")
    );
}
