//! From an instance back to its network.

use crate::error::ExecError;
use remat_instances::Instance;
use remat_instances::instance::Node;
use remat_instances::zoo::{self, ModelSpec, TrainingProgram};

/// The network whose training graph an instance is: a model of the zoo, or a profile of one. The
/// program's instance is the given one, with its costs and sizes.
///
/// # Errors
/// [`ExecError::Mismatch`] for an instance whose name is no model of the zoo, and for one with
/// other nodes.
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
    let whole = zoo::program(&spec).map_err(|problem| unknown(problem.to_string()))?;
    let Some(mut program) = whole else {
        return Err(unknown("a bare graph without operators".into()));
    };
    if instance.len() < program.instance.len()
        && let Ok(plain) = spec.with("implementations", "plain")
    {
        // Checkmate's view of a graph with implementation sets.
        let plain = zoo::program(&plain).map_err(|problem| unknown(problem.to_string()))?;
        program = plain.unwrap_or(program);
    }
    let of_model = program.instance.nodes();
    if of_model.len() != instance.len() {
        return Err(ExecError::Mismatch(format!(
            "{name:?} has {} nodes, the model of that name {}",
            instance.len(),
            of_model.len()
        )));
    }
    for (found, wanted) in instance.nodes().iter().zip(of_model) {
        if found.name != wanted.name || !offered(found, wanted) {
            return Err(ExecError::Mismatch(format!(
                "node {:?} of {name:?} is not the model's node {:?}, or reads other nodes",
                found.name, wanted.name
            )));
        }
    }
    program.instance = instance.clone();
    Ok(program)
}

/// Returns whether every way to compute a node is one of the model's, with the same inputs.
fn offered(found: &Node, model: &Node) -> bool {
    let over = |node: &Node| node.in_place.as_ref().map(|option| option.on);
    found.needs() == model.needs()
        && found
            .implementations
            .iter()
            .all(|i| model.implementations.iter().any(|m| m.needs == i.needs))
        && (found.in_place.is_none() || over(found) == over(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::instance::{Implementation, InstanceData, NodeId};

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
        let mut choices = instance.data().clone();
        choices.nodes[last]
            .implementations
            .push(Implementation::new(vec![NodeId(0)], 1, 0));
        let choices = program_of(&Instance::new(choices).unwrap()).unwrap_err();
        assert!(choices.to_string().contains("reads other nodes"));
        let rewired = changed(&|data| data.nodes[last].implementations[0].needs = vec![NodeId(0)]);
        assert!(rewired.contains("reads other nodes"), "{rewired}");
    }

    #[test]
    fn a_model_with_choices_is_found_as_a_whole_and_as_checkmate_sees_it() {
        let spec: ModelSpec = "vgg16?batch=2&implementations=monet".parse().unwrap();
        let whole = zoo::build(&spec).unwrap();
        assert_eq!(program_of(&whole).unwrap().actions.len(), whole.len());
        let (view, kept) = whole.single_implementation();
        let program = program_of(&view).unwrap();
        assert_eq!(program.actions.len(), kept.len());
        assert!(kept.len() < whole.len());
    }
}
