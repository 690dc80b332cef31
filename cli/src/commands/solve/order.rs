//! The choice of the order of first computations: options, words, JSON.

use crate::arguments::SolveArguments;
use crate::failure::Failure;
use remat_formulations::reorder::OrderChoice;
use remat_instances::instance::CostUnit;
use remat_report::counted;

/// Checks that a schedule or a proof is written together with its instance.
pub(super) fn check(arguments: &SolveArguments) -> Result<(), Failure> {
    let of_order = [
        ("--schedule-out", &arguments.schedule_out),
        ("--certificate", &arguments.certificate),
    ];
    let alone = of_order.iter().find(|(_, path)| path.is_some());
    match alone {
        Some((option, _)) if arguments.options.reorder && arguments.reordered_out.is_none() => {
            Err(Failure::Usage {
                problem: format!(
                    "{option} with --reorder: it is of the instance in the order found"
                ),
                remedy: "write that instance, too: add --reordered-out INSTANCE.json".into(),
            })
        }
        _ => Ok(()),
    }
}

/// The choice of the order in words.
pub(super) fn words(answer: &OrderChoice, cost: Option<u64>, unit: &CostUnit) -> String {
    let judged = counted(answer.orders, "order");
    let any = remat_report::cost(answer.any_order_bound, unit);
    let given = match answer.given_cost {
        Some(cost) => format!("costs {}", remat_report::cost(cost, unit)),
        None => "has no plan that was found".into(),
    };
    if answer.is_early {
        return format!(
            "updates right behind what they read, else as it was given; no plan costs less than {any} in any"
        );
    }
    match answer.is_given() && answer.given_cost == cost {
        true => format!("as it was given, of {judged}; no plan costs less than {any} in any"),
        false => format!(
            "another one, of {judged}; the one that was given {given}, no plan costs less than {any} in any"
        ),
    }
}
