"""Options in the words of other solvers."""

import math

import pytest

from remat_bb._dropin.options import Settings


def taken(*options, **named) -> dict:
    settings = Settings()
    settings.update(list(options), "test")
    settings.update(named, "test")
    return settings.arguments()


def test_names_of_other_solvers() -> None:
    assert taken("sec 20", "ratioGap=0.01", "-allow 0.5", "randomCbcSeed 3", "maxN 7") == {
        "time_limit": 20.0,
        "gap": 0.01,
        "absolute_gap": 0.5,
        "seed": 3,
        "node_limit": 7,
    }
    assert taken(TimeLimit=9, MIPGap=1e-3, MIPGapAbs=2, Threads=4, Method=1, Presolve=-1) == {
        "time_limit": 9.0,
        "gap": 1e-3,
        "absolute_gap": 2.0,
        "threads": 4,
        "algorithm": "dual",
        "presolve": True,
    }
    assert taken(maximumSeconds=3, numberThreads=2, allowableFractionGap=0.1) == {
        "time_limit": 3.0,
        "threads": 2,
        "gap": 0.1,
    }
    assert taken(mip_rel_gap=0.0, random_seed=5, presolve="off", solver="choose") == {
        "gap": 0.0,
        "seed": 5,
        "presolve": False,
        "algorithm": "auto",
    }


def test_values_are_moved_into_their_ranges() -> None:
    assert taken(OptimalityTol=1e-2, IntFeasTol=1e-12) == {
        "optimality_tolerance": 1e-3,
        "integrality_tolerance": 1e-10,
    }
    for no_limit in (math.inf, 1e100, 1e20):
        assert taken(TimeLimit=no_limit) == {}
    assert taken(TimeLimit=-1, gap=7.0, Threads=0, Seed=-4) == {
        "time_limit": 0.0,
        "gap": 1.0,
        "seed": 4,
    }
    assert taken(time_limit="5m", node_limit=math.inf, cutoff=math.inf) == {"time_limit": "5m"}


def test_unknown_names_warn_and_ways_of_working_do_not(recwarn) -> None:
    assert taken(MIPFocus=1, Crossover=0, parallel="on", timeMode="elapsed") == {}
    assert not recwarn.list
    with pytest.warns(DeprecationWarning, match="test: option 'spam' is not known"):
        Settings().update({"spam": 1}, "test", DeprecationWarning)
