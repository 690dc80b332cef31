import highspy
h = highspy.Highs()
h.setOptionValue('output_flag', False)
h.setOptionValue('threads', threads)
h.setOptionValue('mip_rel_gap', gap)
h.setOptionValue('random_seed', seed)
h.readModel(path)
h.setOptionValue('time_limit', limit)
incumbents = []
start = time.time()
h.cbMipImprovingSolution.subscribe(
    lambda e: incumbents.append([time.time() - start, e.data_out.objective_function_value]))
h.run()
seconds = time.time() - start
info = h.getInfo()
found = info.primal_solution_status == 2
names = h.getLp().col_names_
values = list(zip(names, map(float, h.getSolution().col_value))) if found else None
say(h.modelStatusToString(h.getModelStatus()), info.objective_function_value if found else None, info.mip_dual_bound,
    info.mip_node_count, seconds, incumbents, values)
