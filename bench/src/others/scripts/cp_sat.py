from ortools.linear_solver.python import model_builder
m = model_builder.Model()
m.import_from_mps_file(path)
s = model_builder.Solver('sat')
# Continuous columns are scaled to integers; a column without bounds gets those of mip_max_bound.
parameters = (('num_workers', threads), ('max_time_in_seconds', limit), ('relative_gap_limit', gap),
              ('random_seed', seed), ('mip_max_bound', 1e13))
s.set_solver_specific_parameters(','.join(f'{name}:{value}' for name, value in parameters))
start = time.time()
status = s.solve(m)
seconds = time.time() - start
found = status in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE)
bounded = status in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE,
                     model_builder.SolveStatus.NOT_SOLVED)
values = [(v.name, float(s.value(v))) for v in m.get_variables()] if found else None
say(status.name, s.objective_value if found else None, s.best_objective_bound if bounded else None, None, seconds, [], values)
