//! Runs `remat_bench::remat_lp` on its own.

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(e) = remat_bench::remat_lp::run(&args) {
        eprintln!("{e}");
        std::process::exit(1);
    }
}
