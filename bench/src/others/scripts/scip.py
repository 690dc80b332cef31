import pyscipopt


class Watch(pyscipopt.Eventhdlr):
    """Notes when solutions come, and their values."""

    def __init__(self):
        self.seen = []

    def eventinit(self):
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexit(self):
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event):
        best = self.model.getBestSol()
        self.seen.append([time.time() - start, self.model.getSolObjVal(best)])


m = pyscipopt.Model()
m.hideOutput()
m.readProblem(path)
m.setParam('limits/time', limit)
m.setParam('limits/gap', gap)
m.setParam('lp/threads', 1)
m.setParam('parallel/maxnthreads', threads)
m.setParam('randomization/randomseedshift', seed)
watch = Watch()
if threads == 1:
    m.includeEventhdlr(watch, 'watch', 'notes when solutions come')
start = time.time()
m.optimize() if threads == 1 else m.solveConcurrent()
seconds = time.time() - start
found = m.getNSols() > 0
best = m.getBestSol() if found else None
values = [(v.name, m.getSolVal(best, v)) for v in m.getVars()] if found else None
say(m.getStatus(), m.getObjVal() if found else None, m.getDualbound(), m.getNNodes(), seconds, watch.seen, values)
