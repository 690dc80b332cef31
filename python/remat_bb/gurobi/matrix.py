"""Arrays of variables and expressions, and matrices of constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._native import Constr, LinExpr, QuadExpr, TempConstr, Var, quicksum
from .constants import GRB
from .errors import GurobiError
from .indices import label


def _objects(value: Any) -> Any:
    """The operand of an array operation as an array of objects."""
    if isinstance(value, (MVar, MLinExpr)):
        return value._array
    if hasattr(value, "todense"):
        return np.asarray(value.todense())
    if isinstance(value, np.ndarray):
        return value
    made: Any = np.empty((), object)
    made[()] = value
    return made


def _sparse(value: Any) -> Any:
    """A sparse matrix in compressed rows; ``None`` for other values."""
    return value.tocsr() if hasattr(value, "tocsr") else None


def _elementwise(one: Any, two: Any, operator: Callable[[Any, Any], Any]) -> MLinExpr:
    left, right = np.broadcast_arrays(_objects(one), _objects(two), subok=False)
    made: Any = np.empty(left.shape, object)
    flat = made.reshape(-1)
    for k, (a, b) in enumerate(zip(left.reshape(-1).tolist(), right.reshape(-1).tolist())):
        flat[k] = operator(a, b)
    ours = isinstance(one, _Array) or isinstance(two, _Array)
    return (MLinExpr if ours else _Spread)(flat.reshape(left.shape))


def add(one: Any, two: Any) -> MLinExpr:
    """``one + two``, element by element."""
    return _elementwise(one, two, lambda a, b: a + b)


def add_to(one: Any, two: Any) -> MLinExpr:
    """``two + one``, element by element."""
    return _elementwise(two, one, lambda a, b: a + b)


def subtract(one: Any, two: Any) -> MLinExpr:
    """``one - two``, element by element."""
    return _elementwise(one, two, lambda a, b: a - b)


def subtract_from(one: Any, two: Any) -> MLinExpr:
    """``two - one``, element by element."""
    return _elementwise(one, two, lambda a, b: b - a)


def multiply(one: Any, two: Any) -> MLinExpr:
    """``one * two``, element by element."""
    return _elementwise(one, two, lambda a, b: a * b)


def multiply_by(one: Any, two: Any) -> MLinExpr:
    """``two * one``, element by element."""
    return _elementwise(two, one, lambda a, b: a * b)


def divide(one: Any, two: Any) -> MLinExpr:
    """``one / two``, element by element."""
    return _elementwise(one, two, lambda a, b: a / b)


def relate(one: Any, sense: str, two: Any) -> MConstrs:
    """The relation of two arrays, element by element."""
    return MConstrs(subtract(one, two)._array, sense)


def _product(matrix: Any, array: Any) -> Any:
    """``matrix @ array`` for a matrix of numbers and an array of variables or expressions."""
    rows = _sparse(matrix)
    if array.ndim == 2:
        columns = [_product(matrix, array[:, k]) for k in range(array.shape[1])]
        return np.stack(columns, axis=-1) if columns else np.empty((matrix.shape[0], 0), object)
    if rows is None:
        dense = np.asarray(matrix)
        if dense.ndim == 1:
            dense = dense[None, :]
            return _product(dense, array)[0]
        made: Any = np.empty(dense.shape[0], object)
        members = array.tolist()
        for k, row in enumerate(dense):
            used = np.flatnonzero(row)
            made[k] = _sum(row[used].tolist(), [members[j] for j in used.tolist()])
        return made
    made = np.empty(rows.shape[0], object)
    members = array.tolist()
    starts, indices, values = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()
    for k in range(rows.shape[0]):
        start, end = starts[k], starts[k + 1]
        made[k] = _sum(values[start:end], [members[j] for j in indices[start:end]])
    return made


def _sum(factors: list[float], members: list[Any]) -> Any:
    if all(isinstance(member, Var) for member in members):
        return LinExpr(factors, members)
    return quicksum([factor * member for factor, member in zip(factors, members)])


class _Array:
    """An array of members."""

    _array: Any
    __array_ufunc__ = None
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""
        return self._array.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of members."""
        return self._array.size  # type: ignore[no-any-return]

    @property
    def T(self) -> Any:
        """The transpose."""
        return type(self)(self._array.T)  # type: ignore[call-arg]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        # Other libraries see one scalar object, so a sparse matrix leaves the product to this
        # class.
        made: Any = np.empty((), object)
        made[()] = self
        return made

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = self._array[key]
        if isinstance(found, np.ndarray):
            return type(self)(found)  # type: ignore[call-arg]
        return type(self)(_objects(found))  # type: ignore[call-arg]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        """The members in another shape."""
        wanted = shape[0] if len(shape) == 1 else shape
        return type(self)(self._array.reshape(wanted, order=order))  # type: ignore[call-arg]

    def copy(self) -> Any:
        """A copy."""
        return type(self)(self._array.copy())  # type: ignore[call-arg]

    def item(self) -> Any:
        """The only member."""
        return self._array.item()

    def tolist(self) -> list[Any]:
        """The members in nested lists."""
        return self._array.tolist()  # type: ignore[no-any-return]

    def tolist_flat(self) -> list[Any]:
        """The members in a flat list."""
        return self._array.reshape(-1).tolist()  # type: ignore[no-any-return]


class _Attributed(_Array):
    """Members whose attributes are arrays."""

    def getAttr(self, attrname: str) -> Any:
        """An attribute of all members, as an array."""
        return self.__getattr__(attrname)

    def setAttr(self, attrname: str, newvalue: Any) -> None:
        """Sets an attribute of all members, to one common value or one for each."""
        values = np.broadcast_to(np.asarray(newvalue), self.shape)
        for one, value in zip(self.tolist_flat(), values.reshape(-1).tolist()):
            one.setAttr(attrname, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        values = [one.getAttr(name) for one in self.tolist_flat()]
        return np.array(values).reshape(self.shape)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self.setAttr(name, value)


class MLinExpr(_Array):
    """An array of expressions."""

    @classmethod
    def zeros(cls, shape: Any) -> MLinExpr:
        """Expressions without terms."""
        made: Any = np.empty(shape, object)
        flat = made.reshape(-1)
        for k in range(flat.size):
            flat[k] = LinExpr()
        return cls(made)

    def __add__(self, other: Any) -> MLinExpr:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> MLinExpr:
        return subtract(self, other)

    def __rsub__(self, other: Any) -> MLinExpr:
        return subtract_from(self, other)

    def __mul__(self, other: Any) -> MLinExpr:
        return multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> MLinExpr:
        return divide(self, other)

    def __neg__(self) -> MLinExpr:
        return multiply(self, -1.0)

    def __pow__(self, power: Any) -> MLinExpr:
        return _elementwise(self, power, lambda a, b: a**b)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, _Array):
            if self.ndim == 1 and other.ndim == 1:
                return MLinExpr(_objects(multiply(self, other).sum()._array))
            rows = [MLinExpr(row) @ other for row in np.atleast_2d(self._array)]
            return MLinExpr(np.stack([row._array for row in rows]))
        turned = other.T if hasattr(other, "T") else np.asarray(other).T
        made = _product(turned, self._array.T)
        return MLinExpr(_objects(made).T)

    def __rmatmul__(self, other: Any) -> MLinExpr:
        return MLinExpr(_objects(_product(other, self._array)))

    def __le__(self, other: Any) -> MConstrs:
        return relate(self, "<", other)

    def __ge__(self, other: Any) -> MConstrs:
        return relate(self, ">", other)

    def __eq__(self, other: object) -> Any:
        return relate(self, "=", other)

    def sum(self, axis: int | None = None) -> MLinExpr:
        """The sum of all members, or along a dimension."""
        if axis is None:
            return MLinExpr(_objects(quicksum(self.tolist_flat())))
        moved = np.moveaxis(self._array, axis, -1)
        made: Any = np.empty(moved.shape[:-1], object)
        for place in np.ndindex(*made.shape):
            made[place] = quicksum(moved[place].tolist())
        return MLinExpr(made)

    def getValue(self) -> Any:
        """Values at the best point."""
        return np.vectorize(lambda e: e.getValue() if hasattr(e, "getValue") else e.X)(self._array)


class _Spread(MLinExpr):
    """The result of one expression with each number of an array. Other libraries, such as pandas,
    see its members."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._array


MQuadExpr = MLinExpr


class MVar(_Attributed, MLinExpr):
    """An array of variables."""

    @classmethod
    def fromlist(cls, vars: Any) -> MVar:
        """An array of variables in nested lists."""
        made = np.array(vars, dtype=object)
        return cls(made)

    @classmethod
    def fromvar(cls, var: Var) -> MVar:
        """An array of one variable, without dimensions."""
        return cls(_objects(var))

    def sum(self, axis: int | None = None) -> MLinExpr:
        """The sum of all members, or along a dimension."""
        return MLinExpr(self._array).sum(axis)

    def diagonal(self, offset: int = 0) -> MVar:
        """The diagonal of a matrix."""
        return MVar(self._array.diagonal(offset))

    def __repr__(self) -> str:
        return f"<MVar {self.shape}>"


class MConstrs:
    """Relations of arrays, not yet part of a model."""

    def __init__(self, differences: Any, sense: str) -> None:
        self._array, self._sense = differences, sense

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        raise GurobiError(GRB.Error.INVALID_ARGUMENT, "constraints are neither true nor false")

    def _as_constraint(self, model: Any, name: str) -> MConstr:
        made: Any = np.empty(self._array.shape, object)
        flat = made.reshape(-1)
        for k, difference in enumerate(self._array.reshape(-1).tolist()):
            word = f"{name}[{k}]" if name and flat.size > 1 else name
            flat[k] = model.addConstr(difference, self._sense, 0.0, word)
        return MConstr(made)


class MConstr(_Attributed):
    """An array of constraints."""


def add_mvar(model: Any, shape: Any, lb: Any, ub: Any, obj: Any, vtype: Any, name: Any) -> MVar:
    """Adds an array of variables to a model."""
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    count = int(np.prod(sizes)) if sizes else 1

    def values(of: Any) -> Any:
        if isinstance(of, str) or np.ndim(of) == 0:
            return of if isinstance(of, str) else float(of)
        return np.broadcast_to(np.asarray(of), sizes).reshape(-1).tolist()

    names = None
    if isinstance(name, str) and name:
        keys = list(np.ndindex(*sizes))
        names = [label(name, key if len(key) != 1 else key[0]) for key in keys]
    elif not isinstance(name, str) and name is not None:
        names = [str(one) for one in np.asarray(name, dtype=object).reshape(-1)]
    made: Any = np.empty(count, object)
    made[:] = model._add_vars(count, values(lb), values(ub), values(obj), values(vtype), names)
    return MVar(made.reshape(sizes))


def add_mconstr(model: Any, A: Any, x: Any, sense: Any, b: Any, name: Any) -> MConstr:
    """Adds the constraints ``A x (sense) b`` to a model in one call."""
    rows = _sparse(A)
    if rows is None:
        dense = np.atleast_2d(np.asarray(A, float))
        indices = [np.flatnonzero(row) for row in dense]
        starts = np.cumsum([0, *(len(k) for k in indices)])
        columns = np.concatenate(indices) if indices else np.empty(0, int)
        values = np.concatenate([row[k] for row, k in zip(dense, indices)]) if indices else columns
    else:
        starts, columns, values = rows.indptr, rows.indices, rows.data
    count = len(starts) - 1
    if x is None:
        handles = np.asarray(model._program.cols)
    else:
        members = x.tolist_flat() if isinstance(x, MVar) else list(x)
        handles = np.asarray([var._handle for var in members])
    right = np.broadcast_to(np.asarray(b, float).reshape(-1), (count,))
    senses = list(sense) if len(sense) == count and count != 1 else [sense[0]] * count
    if not isinstance(sense, str):
        senses = [str(one)[0] for one in np.asarray(sense).reshape(-1)]
    letters = np.asarray([one[0] for one in senses])
    lower = np.where(letters == "<", -np.inf, right)
    upper = np.where(letters == ">", np.inf, right)
    names = None
    if isinstance(name, str) and name:
        names = [f"{name}[{k}]" for k in range(count)]
    first = model._program.add_rows(
        lower.astype(float),
        upper.astype(float),
        np.asarray(starts, np.int64),
        handles[np.asarray(columns, int)].astype(np.int64) if len(columns) else columns,
        np.asarray(values, float),
        names,
    )
    made: Any = np.empty(count, object)
    made[:] = [model._constr_at(first + k) for k in range(count)]
    return MConstr(made)


def objective(
    model: Any, Q: Any, c: Any, constant: float, left: Any, right: Any, linear: Any
) -> Any:
    """The expression ``left' Q right + c' linear + constant``."""
    everything = model.getVars()

    def members(of: Any) -> list[Any]:
        if of is None:
            return everything  # type: ignore[no-any-return]
        return of.tolist_flat() if isinstance(of, MVar) else list(of)

    expr = LinExpr(float(constant))
    if c is not None:
        factors = np.asarray(c, float).reshape(-1)
        used = np.flatnonzero(factors)
        variables = members(linear)
        expr += LinExpr(factors[used].tolist(), [variables[k] for k in used.tolist()])
    if Q is None:
        return expr
    entries = Q.tocoo() if hasattr(Q, "tocoo") else None
    if entries is None:
        dense = np.asarray(Q, float)
        rows, columns = np.nonzero(dense)
        values = dense[rows, columns]
    else:
        rows, columns, values = entries.row, entries.col, entries.data
    one, two = members(left), members(right)
    products = QuadExpr(expr)
    for i, j, value in zip(rows.tolist(), columns.tolist(), values.tolist()):
        if value:
            products.addTerms(value, one[i], two[j])
    return products if products.size() else expr


def of_model(model: Any) -> Any:
    """The matrix of the linear constraints of a model."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]

    program = model._program
    cols = {col: k for k, col in enumerate(program.cols)}
    starts, indices, values = [0], [], []
    for row in program.rows:
        entries = program.entries(row)
        indices += [cols[col] for col, _ in entries]
        values += [value for _, value in entries]
        starts.append(len(indices))
    shape = (program.num_rows, program.num_cols)
    return csr_matrix((values, indices, starts), shape=shape)


def _joined(arrays: Any, join: Callable[[Any], Any]) -> Any:
    parts = [one._array if isinstance(one, _Array) else np.asarray(one, object) for one in arrays]
    kind = MVar if all(isinstance(one, MVar) for one in arrays) else MLinExpr
    return kind(join(parts))


def hstack(arrays: Any) -> Any:
    """Arrays side by side."""
    return _joined(arrays, np.hstack)


def vstack(arrays: Any) -> Any:
    """Arrays one below the other."""
    return _joined(arrays, np.vstack)


def concatenate(arrays: Any, axis: int = 0) -> Any:
    """Arrays one after the other along a dimension."""
    return _joined(arrays, lambda parts: np.concatenate(parts, axis))


__all__ = ["Constr", "MConstr", "MLinExpr", "MQuadExpr", "MVar", "TempConstr"]
