//! Node files: open nodes that do not fit into memory, each file with a checksum at its start.

use crate::mip::outcome::SolveError;
use crate::mip::state::packed::PackedNodes;
use crate::mip::tree::TreeNode;
use remat_lp::temporary::Temporary;
use remat_lp::whole_file;
use std::path::{Path, PathBuf};

struct NodeFile {
    path: PathBuf,
    count: usize,
    /// The smallest bound of its nodes.
    lowest: f64,
}

/// Length of the checksum of a file.
const CHECKSUM: usize = 4;

/// The node files of a search, in a separate folder; both are removed when dropped.
pub(crate) struct NodeFiles {
    own: Temporary,
    /// The outer folder, if it was created; it is removed second.
    _made: Option<Made>,
    files: Vec<NodeFile>,
    serial: u64,
}

impl NodeFiles {
    /// Creates a folder for the files inside `within`, which is created too if it is missing.
    pub fn new(within: &Path) -> Result<NodeFiles, SolveError> {
        let made = (!within.is_dir()).then(|| Made(within.to_path_buf()));
        let make = || {
            std::fs::create_dir_all(within)?;
            Temporary::folder(within, "remat-bb-nodes-")
        };
        // Another search may have removed the outer folder in the meantime.
        let own = make()
            .or_else(|_| make())
            .map_err(|e| SolveError::file(within, e))?;
        Ok(NodeFiles {
            own,
            _made: made,
            files: Vec::new(),
            serial: 0,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Number of nodes in files.
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
        let path = self.own.path().join(format!("{}.nodes", self.serial));
        let bytes = postcard::to_stdvec(&PackedNodes::new(nodes.iter()));
        let bytes = bytes.map_err(|e| SolveError::file(&path, e))?;
        let checksum = crc32fast::hash(&bytes).to_le_bytes();
        whole_file::write(&path, &[&checksum, &bytes]).map_err(|e| SolveError::file(&path, e))?;
        self.files.push(NodeFile {
            path,
            count: nodes.len(),
            lowest: nodes.iter().fold(f64::INFINITY, |a, n| a.min(n.bound)),
        });
        Ok(())
    }

    /// Nodes of the file with the smallest bound. The file is removed, unless it cannot be read.
    pub fn read_best(&mut self) -> Result<Vec<TreeNode>, SolveError> {
        let best = (0..self.files.len())
            .min_by(|&a, &b| self.files[a].lowest.total_cmp(&self.files[b].lowest));
        let Some(best) = best else {
            return Ok(Vec::new());
        };
        let path = &self.files[best].path;
        let nodes = packed(path)?.unpack();
        let nodes = nodes.ok_or_else(|| SolveError::file(path, "the nodes make no sense"))?;
        let _ = std::fs::remove_file(path);
        self.files.remove(best);
        Ok(nodes)
    }

    /// Drops files whose nodes are all at or above the cutoff.
    pub fn prune(&mut self, cutoff: f64) {
        self.files.retain(|f| {
            let keep = f.lowest < cutoff;
            if !keep {
                let _ = std::fs::remove_file(&f.path);
            }
            keep
        });
    }

    /// All nodes in their packed form.
    pub fn all(&self) -> Result<Vec<PackedNodes>, SolveError> {
        self.files.iter().map(|f| packed(&f.path)).collect()
    }
}

fn packed(path: &Path) -> Result<PackedNodes, SolveError> {
    let bytes = std::fs::read(path).map_err(|e| SolveError::file(path, e))?;
    let (checksum, bytes) = bytes.split_at_checked(CHECKSUM).unwrap_or_default();
    if checksum != crc32fast::hash(bytes).to_le_bytes() {
        return Err(SolveError::file(path, "damaged: its checksum does not fit"));
    }
    postcard::from_bytes(bytes).map_err(|e| SolveError::file(path, e))
}

/// A created folder, removed when dropped if it is empty.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
