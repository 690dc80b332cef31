import ripsolve
m = ripsolve.read(path)
for name, value in (('TimeLimit', limit), ('Threads', threads), ('MIPGap', gap), ('OutputFlag', 0)):
    m.setParam(name, value)
start = time.time()
m.optimize()
seconds = time.time() - start
names = {2: 'optimal', 3: 'infeasible', 4: 'inf_or_unbd', 5: 'unbounded', 7: 'node limit', 9: 'time limit'}
found = m.SolCount > 0
values = [(v.VarName, float(v.X)) for v in m.getVars()] if found else None
say(names.get(m.Status, m.Status), m.ObjVal if found else None, m.ObjBound, m.NodeCount, seconds, [], values)
