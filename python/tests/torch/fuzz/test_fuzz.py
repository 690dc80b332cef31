"""A sample of the random modules that ``scripts/test-long`` judges by the thousand."""

import pytest
from grammar import ENDINGS, LOOPS, RULES, drawn, rules
from judge import described, judged

SAMPLE = (*range(1, 9), *range(10, 16), 17, 19, 21, 22, 23, 25, 49, 57, 109)
"""Seeds of the gate's modules: aot_eager runs all of them. The last three went wrong once."""


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_random_module(seed):
    program = drawn(seed)
    finding = judged(program)
    assert not finding.is_fault, described(program, finding)


def test_the_grammar_is_drawn_from():
    programs = [drawn(seed) for seed in range(300)]
    used = {statement.text for program in programs for statement in program.statements}
    assert used == {rule for kind in RULES for rule in rules(kind)}
    assert {program.ending for program in programs} == set(ENDINGS)
    assert {program.loop for program in programs} == set(LOOPS)
