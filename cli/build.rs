//! Lets the program find libtorch where it was built with it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Told by remat-gpu-exec's build script, with the feature `torch`.
    if let Ok(lib) = std::env::var("DEP_REMAT_SHIM_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    }
}
