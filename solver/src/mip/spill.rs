//! Node files: open nodes that memory has no room for.

use crate::mip::outcome::SolveError;
use crate::mip::packed::PackedNodes;
use crate::mip::state_file::fail;
use crate::mip::tree::TreeNode;
use remat_lp::whole_file;
use std::path::{Path, PathBuf};

struct NodeFile {
    path: PathBuf,
    count: usize,
    /// The smallest bound of its nodes.
    lowest: f64,
}

/// The node files of a search; they go when it does.
pub(crate) struct NodeFiles {
    folder: PathBuf,
    /// True if the folder was made for them.
    own: bool,
    files: Vec<NodeFile>,
    serial: u64,
}

impl NodeFiles {
    pub fn new(folder: &Path) -> Result<NodeFiles, SolveError> {
        let own = !folder.is_dir();
        if own {
            std::fs::create_dir_all(folder).map_err(|e| fail(folder, e))?;
        }
        Ok(NodeFiles {
            folder: folder.to_path_buf(),
            own,
            files: Vec::new(),
            serial: 0,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Nodes in files.
    pub fn len(&self) -> usize {
        self.files.iter().map(|f| f.count).sum()
    }

    /// The smallest bound of a node in a file.
    pub fn lowest_bound(&self) -> f64 {
        self.files
            .iter()
            .fold(f64::INFINITY, |a, f| a.min(f.lowest))
    }

    pub fn write(&mut self, nodes: &[TreeNode]) -> Result<(), SolveError> {
        self.serial += 1;
        let name = format!("remat-bb-{}-{}.nodes", std::process::id(), self.serial);
        let path = self.folder.join(name);
        let bytes = postcard::to_stdvec(&PackedNodes::new(nodes.iter()));
        let bytes = bytes.map_err(|e| fail(&path, e))?;
        whole_file::write(&path, &[&bytes]).map_err(|e| fail(&path, e))?;
        self.files.push(NodeFile {
            path,
            count: nodes.len(),
            lowest: nodes.iter().fold(f64::INFINITY, |a, n| a.min(n.bound)),
        });
        Ok(())
    }

    /// Nodes of the file with the smallest bound; the file goes.
    pub fn read_best(&mut self) -> Result<Vec<TreeNode>, SolveError> {
        let best = (0..self.files.len())
            .min_by(|&a, &b| self.files[a].lowest.total_cmp(&self.files[b].lowest));
        let Some(best) = best else {
            return Ok(Vec::new());
        };
        let file = self.files.remove(best);
        let nodes = packed(&file.path)?.unpack();
        let _ = std::fs::remove_file(&file.path);
        nodes.ok_or_else(|| fail(&file.path, "the nodes make no sense"))
    }

    /// Drops files whose nodes are all beyond the cutoff.
    pub fn prune(&mut self, cutoff: f64) {
        self.files.retain(|f| {
            let keep = f.lowest < cutoff;
            if !keep {
                let _ = std::fs::remove_file(&f.path);
            }
            keep
        });
    }

    /// All nodes as they are in the files.
    pub fn all(&self) -> Result<Vec<PackedNodes>, SolveError> {
        self.files.iter().map(|f| packed(&f.path)).collect()
    }
}

fn packed(path: &Path) -> Result<PackedNodes, SolveError> {
    let bytes = std::fs::read(path).map_err(|e| fail(path, e))?;
    postcard::from_bytes(&bytes).map_err(|e| fail(path, e))
}

impl Drop for NodeFiles {
    fn drop(&mut self) {
        // Nobody is left to be told if this fails.
        for f in &self.files {
            let _ = std::fs::remove_file(&f.path);
        }
        if self.own {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}
