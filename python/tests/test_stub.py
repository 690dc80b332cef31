"""Functions and classes of the native module have the parameters and members of the stub."""

import ast
import inspect
import pathlib

import pytest

import remat_bb
from remat_bb import _native

FOLDER = pathlib.Path(remat_bb.__file__).parent
STUBS = ["_native.pyi", "_programs.pyi", "_modelling.pyi"]


def stubbed():
    """Classes and functions of the stubs, by name."""
    found = {}
    for stub in STUBS:
        for node in ast.parse((FOLDER / stub).read_text()).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.setdefault(node.name, node)
    return found


STUBBED = stubbed()
NATIVE = {name: value for name, value in vars(_native).items() if not name.startswith("_")}
CLASSES = {name: value for name, value in NATIVE.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in NATIVE.items() if inspect.isroutine(value)}


def parameters_of_stub(node, is_method):
    """Names, kinds and whether there is a default, as :func:`parameters_of` has them."""
    decorators = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    arguments = node.args
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found = []
    for argument, default in zip(positional, defaults):
        kind = "positional" if argument in arguments.posonlyargs else "any"
        found.append((argument.arg, kind, default is not None))
    if is_method and "staticmethod" not in decorators:
        found = found[1:]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "rest", False))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        found.append((argument.arg, "keyword", default is not None))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "keywords", False))
    return found


def parameters_of(value, is_method):
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: "positional",
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
        inspect.Parameter.VAR_POSITIONAL: "rest",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "keywords",
    }
    parameters = list(inspect.signature(value).parameters.values())
    if is_method and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    empty = inspect.Parameter.empty
    return [(p.name, kinds[p.kind], p.default is not empty) for p in parameters]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_parameters_of_the_stub(name):
    assert parameters_of_stub(STUBBED[name], False) == parameters_of(FUNCTIONS[name], False)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_the_members_of_the_stub(name):
    value, members = CLASSES[name], {}
    for node in STUBBED[name].body:
        if isinstance(node, ast.FunctionDef):
            members.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            members.setdefault(node.target.id, [])
    public = {m for m in vars(value) if not m.startswith("_")}
    assert public == {m for m in members if not m.startswith("_")}
    # Objects with numbered members can be iterated over without a method for it.
    for member, nodes in members.items():
        assert hasattr(value, member) or member == "__iter__", member
        own = vars(value).get(member)
        is_plain = len(nodes) == 1 and not member.startswith("__")
        if is_plain and inspect.isroutine(getattr(value, member)) and own is not None:
            is_method = not isinstance(own, staticmethod)
            expected = parameters_of_stub(nodes[0], True)
            assert expected == parameters_of(getattr(value, member), is_method), member
