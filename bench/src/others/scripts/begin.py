# What every script begins with. No run outlives twice its limit by more than a minute.
import json, math, signal, sys, time
path, limit, threads, gap, seed, solution = (
    sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
signal.alarm(int(2 * limit) + 60)


def known(value):
    is_number = isinstance(value, (int, float)) and math.isfinite(value) and abs(value) < 1e19
    return value if is_number else None


def say(status, objective, bound, nodes, seconds, incumbents, values):
    """The last line of a run, and its solution: names and values of columns, or none."""
    if solution and values is not None:
        with open(solution, 'w') as file:
            file.writelines(f'{name} {value!r}\n' for name, value in values if value != 0)
    print(json.dumps({'status': str(status).lower(), 'objective': known(objective), 'bound': known(bound), 'nodes': nodes,
                      'seconds': seconds, 'incumbents': incumbents}))
