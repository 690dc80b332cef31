"""NetworkX both ways."""

import pytest

from remat_bb import Instance, InvalidInstance, solve

networkx = pytest.importorskip("networkx")


def test_instances_come_back_from_graphs(chain, choices):
    for instance in (chain, Instance(choices), Instance.zoo("gpt2?layers=2")):
        graph = instance.to_networkx()
        assert list(graph) == instance.nodes
        assert networkx.is_directed_acyclic_graph(graph)
        assert Instance(graph) == instance


def test_attributes_and_edges_are_those_of_the_document(choices):
    graph = Instance(choices).to_networkx()
    assert graph.graph["name"] == "two layers" and graph.graph["cost_unit"] == "us"
    assert graph.nodes["relu"]["cost"] == 40 and graph.nodes["relu"]["in_place"]["on"] == "conv"
    assert set(graph.predecessors("drelu")) == {"relu", "loss", "sign"}


def test_a_changed_graph_is_a_changed_instance(chain):
    graph = chain.to_networkx()
    last = chain.nodes[-1]
    graph.nodes[last]["cost"] += 5
    graph.add_edge(chain.nodes[0], last)
    changed = Instance(graph)
    assert changed.base_cost == chain.base_cost + 5
    assert 0 in changed.to_dict()["nodes"][-1]["needs"]


def test_edges_and_implementations_must_agree(choices):
    graph = Instance(choices).to_networkx()
    graph.remove_edge("sign", "drelu")
    with pytest.raises(InvalidInstance, match="'drelu'.*found edges from \\['loss', 'relu'\\]"):
        Instance(graph)


def test_graphs_of_ones_own():
    graph = networkx.DiGraph(name="own", cost_unit="ms")
    graph.add_node(("layer", 1), cost=3, size=8)
    graph.add_node(("layer", 2), cost=1.5, size=4)
    graph.add_edge(("layer", 1), ("layer", 2))
    instance = Instance(graph)
    assert instance.name == "own" and instance.nodes == ["('layer', 1)", "('layer', 2)"]
    assert instance.cost_unit == "us" and instance.base_cost == 4500
    assert solve(graph, "100%").objective == 4500


@pytest.mark.parametrize("kind", ["Graph", "MultiDiGraph"])
def test_other_graphs_are_refused(kind):
    graph = getattr(networkx, kind)()
    graph.add_node(1, cost=1, size=1)
    with pytest.raises(InvalidInstance, match="networkx.DiGraph"):
        Instance(graph)


def test_a_cycle_is_named():
    graph = networkx.DiGraph([("a", "b"), ("b", "a")])
    for node in graph:
        graph.nodes[node].update(cost=1, size=1)
    with pytest.raises(InvalidInstance, match="cycle"):
        Instance(graph)
    del graph.nodes["a"]["cost"]
    with pytest.raises(InvalidInstance) as caught:
        Instance(graph)
    assert caught.value.place.startswith("nodes[0]") and "cost" in str(caught.value)
