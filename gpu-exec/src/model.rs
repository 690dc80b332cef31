//! From an instance back to the network it is of.

use crate::error::ExecError;
use remat_formulations::Instance;
use remat_formulations::zoo::{self, ModelSpec, TrainingProgram};

/// The network whose training graph an instance is: of the zoo, or a profile of it. The program's instance is the given
/// one, with its costs and sizes.
///
/// # Errors
/// [`ExecError::Mismatch`] for an instance whose name is no model of the zoo, and for one whose nodes are others.
pub fn program_of(instance: &Instance) -> Result<TrainingProgram, ExecError> {
    let name = instance.name();
    let unknown = |problem: String| {
        ExecError::Mismatch(format!(
            "the operators of {name:?} are not known ({problem}): only models of the zoo, and profiles of them, can be \
             executed"
        ))
    };
    let spec: ModelSpec = name
        .parse()
        .map_err(|problem: zoo::ZooError| unknown(problem.to_string()))?;
    let program = zoo::program(&spec).map_err(|problem| unknown(problem.to_string()))?;
    let Some(mut program) = program else {
        return Err(unknown("a bare graph without operators".into()));
    };
    let of_model = program.instance.nodes();
    if of_model.len() != instance.len() {
        return Err(ExecError::Mismatch(format!(
            "{name:?} has {} nodes, the model of that name {}",
            instance.len(),
            of_model.len()
        )));
    }
    for (found, wanted) in instance.nodes().iter().zip(of_model) {
        if found.name != wanted.name || found.needs() != wanted.needs() {
            return Err(ExecError::Mismatch(format!(
                "node {:?} of {name:?} is not the model's node {:?}, or reads other nodes",
                found.name, wanted.name
            )));
        }
    }
    program.instance = instance.clone();
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_formulations::instance::{InstanceData, NodeId};

    #[test]
    fn a_model_is_found_by_its_name_and_checked() {
        let spec: ModelSpec = "zoo:resnet18?batch=2".parse().unwrap();
        let instance = zoo::build(&spec).unwrap();
        let program = program_of(&instance).unwrap();
        assert_eq!(program.actions.len(), instance.len());
        let changed = |change: &dyn Fn(&mut InstanceData)| {
            let mut data = instance.data().clone();
            change(&mut data);
            program_of(&Instance::new(data).unwrap())
                .unwrap_err()
                .to_string()
        };
        assert!(changed(&|data| data.name = "mine".into()).contains("mine"));
        assert!(changed(&|data| data.nodes[3].name = "odd".into()).contains("odd"));
        let last = instance.len() - 1;
        let rewired = changed(&|data| data.nodes[last].implementations[0].needs = vec![NodeId(0)]);
        assert!(rewired.contains("reads other nodes"), "{rewired}");
    }
}
