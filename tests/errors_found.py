"""Every sentence that the programs can say when something is wrong, collected from the source without running it.

Wherever an error is made, its text and its hint are read off the syntax tree. What a helper is given is looked up where
the helper is called, what a variable holds where it is set, what a function returns where it returns. A text that
cannot be read off so must be explained in `PASSED_ON`; a test holds that nothing else is left.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Final

from peos import errors

ROOT: Final = Path(__file__).parent.parent
TOPS: Final = ("peos", "analyzer", "shuffler", "user_client")
CLASSES: Final = frozenset(name for name, one in vars(errors).items() if isinstance(one, type))
_MOST: Final = 40  # alternatives of one text: more would be a mistake of this collector
_WORDS: Final = {"strerror": "reason", "in_words": "reason", "_": "…"}
Bound = dict[str, tuple[ast.expr, ast.AST]]  # parameters, what they are given, and where
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Texts that are another's, by file and function: what the sentence then consists of.
PASSED_ON: Final[Mapping[tuple[str, str], str]] = {
    ("analyzer/create.py", "_until_accepted"): "‹who is waited for, and for what›",
    ("peos/net/lane.py", "user_channel"): "‹why the other's certificate cannot be used›",
    ("user_client/cli.py", "submit_file"): "‹file, lines›: ‹what is wrong there›",
    ("user_client/client.py", "BadAnswers.__init__"): "‹each thing that is wrong with the answers›",
    ("user_client/client.py", "submit"): "‹why this client itself refuses›",
    ("user_client/entries.py", "read_answers"): "‹file, lines›: ‹what is wrong there›",
}


class Uncollected(Exception):
    """A text that is only known when the program runs."""


@dataclass(frozen=True, order=True)
class Sentence:
    """An error as it may be said."""

    file: str
    line: int
    name: str  # of its class
    text: str = field(compare=False)
    hint: str = field(compare=False)


@dataclass
class Source:
    """A file with its functions, and who is inside whom."""

    path: Path
    tree: ast.Module
    inside: dict[ast.AST, ast.AST] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Parse a file."""
        made = cls(path, ast.parse(path.read_text(encoding="utf-8")))
        made.inside = {child: node for node in ast.walk(made.tree) for child in ast.iter_child_nodes(node)}
        return made

    @property
    def name(self) -> str:
        """The file as the documents name it."""
        return str(self.path.relative_to(ROOT)) if self.path.is_relative_to(ROOT) else self.path.name

    @cached_property
    def calls(self) -> list[ast.Call]:
        """Every call in it."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What the node stands in, from the nearest outwards."""
        while node in self.inside:
            node = self.inside[node]
            yield node

    def function(self, node: ast.AST) -> Function | None:
        """The function that the node stands in."""
        return next((one for one in self.around(node) if isinstance(one, Function)), None)

    def place(self, node: ast.AST) -> str:
        """The function's name, with its class where that tells __init__ from __init__."""
        function = self.function(node)
        if function is None:
            return ""
        owner = self.inside[function]
        return (
            f"{owner.name}.{function.name}"
            if function.name == "__init__" and isinstance(owner, ast.ClassDef)
            else function.name
        )


class Collector:
    """Everything under `tops`, read once."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.sources = [Source.read(path) for path in paths]
        self.own: set[str] = set()  # errors that a role has for itself
        self._under_way: list[ast.expr] = []
        self.functions: dict[str, list[tuple[Source, Function]]] = {}
        for source in self.sources:
            for node in ast.walk(source.tree):
                if isinstance(node, Function):
                    self.functions.setdefault(node.name, []).append((source, node))
                if (
                    isinstance(node, ast.ClassDef)
                    and source.name != "peos/errors.py"
                    and any(_called(base) in CLASSES for base in node.bases)
                ):
                    self.own.add(node.name)

    def made(self) -> Iterator[tuple[Source, ast.Call, str]]:
        """Every place where an error is made, and its class."""
        for source in self.sources:
            for call in source.calls:
                name = _called(call.func)
                owner = next((one for one in source.around(call) if isinstance(one, ast.ClassDef)), None)
                if name in CLASSES and isinstance(call.func, ast.Name):
                    yield source, call, name
                elif name == "__init__" and owner is not None and owner.name in self.own:
                    yield source, call, owner.name  # what an error of a role's own says, it says itself

    def sentences(self) -> list[Sentence]:
        """All that can be said; Uncollected names what cannot be read off."""
        found: dict[tuple[str, str, str, str], Sentence] = {}
        for source, call, name in self.made():
            for text, hint in self._told(source, call):
                one = Sentence(source.name, call.lineno, name, text, hint)
                found.setdefault((one.file, name, text, hint), one)
        return sorted(found.values())

    def _told(self, source: Source, call: ast.Call) -> list[tuple[str, str]]:
        """Each text of one place with its hint."""
        hint = next((word.value for word in call.keywords if word.arg == "hint"), ast.Constant(""))
        told = []
        for scope, bound in self._bindings(source, call):
            try:
                texts = self.texts(source, call.args[0], scope, bound)
            except Uncollected:
                if (source.name, source.place(call)) not in PASSED_ON:
                    raise Uncollected(f"{source.name}:{call.lineno}: {ast.unparse(call.args[0])}") from None
                texts = [PASSED_ON[source.name, source.place(call)]]
            try:
                hints = self.texts(source, hint, scope, bound)
            except Uncollected:
                hints = ["‹its own›"]
            told += [(text, " / ".join(dict.fromkeys(filter(None, hints)))) for text in texts if text]
        return told

    def _bindings(self, source: Source, call: ast.Call) -> list[tuple[ast.AST, Bound]]:
        """What a private helper's parameters are, once for each of its calls; nothing to bind elsewhere."""
        function = source.function(call)
        if function is None or not function.name.startswith("_") or function.name.startswith("__"):
            return [(call, {})]
        names = [one.arg for one in function.args.args if one.arg != "self"]
        used = {node.id for one in (*call.args, *call.keywords) for node in ast.walk(one) if isinstance(node, ast.Name)}
        bound: list[tuple[ast.AST, Bound]] = []
        for other in source.calls if used & set(names) else ():
            if _called(other.func) == function.name:
                given = dict(zip(names, other.args, strict=False)) | {
                    word.arg: word.value for word in other.keywords if word.arg
                }
                bound.append((call, {key: (value, other) for key, value in given.items()}))
        return bound or [(call, {})]

    def texts(self, source: Source, node: ast.expr, scope: ast.AST, bound: Bound) -> list[str]:
        """What an expression may say: each alternative, with ‹words› for what is filled in."""
        match node:
            case ast.Constant(value=str() | int() | float() as constant):
                return [str(constant)]
            case ast.IfExp(body=one, orelse=other):
                return self.texts(source, one, scope, bound) + self.texts(source, other, scope, bound)
            case ast.BoolOp(values=values):
                return [text for one in values for text in self._or_word(source, one, scope, bound)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pair = (self._or_word(source, left, scope, bound), self._or_word(source, right, scope, bound))
                return ["".join(parts) for parts in product(*pair)]
            case ast.JoinedStr(values=values):
                parts = [self._part(source, one, scope, bound) for one in values]
                whole = ["".join(one) for one in product(*parts)]
                assert len(whole) <= _MOST, f"{source.name}:{node.lineno}"
                return whole
            case ast.Name(id=name) if name in bound:
                value, where = bound[name]
                return self.texts(source, value, where, {})
            case ast.Name() | ast.Attribute() | ast.Call():
                return self._looked_up(source, node, scope)
        raise Uncollected

    def _part(self, source: Source, node: ast.expr, scope: ast.AST, bound: Bound) -> list[str]:
        if isinstance(node, ast.FormattedValue):
            inner = node.value
            is_text = isinstance(inner, ast.IfExp) or (
                isinstance(inner, ast.Name) and (inner.id in bound or inner.id.isupper())
            )
            return self._or_word(source, inner, scope, bound) if is_text else [f"‹{_word(inner)}›"]
        return self.texts(source, node, scope, bound)

    def _or_word(self, source: Source, node: ast.expr, scope: ast.AST, bound: Bound) -> list[str]:
        try:
            return self.texts(source, node, scope, bound) if not isinstance(node, ast.Call) else [f"‹{_word(node)}›"]
        except Uncollected:
            return [f"‹{_word(node)}›"]

    def _looked_up(self, source: Source, node: ast.expr, scope: ast.AST) -> list[str]:
        """What a name was set to, what a field was made with, what a function returns."""
        if node in self._under_way:  # a name that is set from itself
            raise Uncollected
        given: list[tuple[Source, ast.expr]] = []
        if isinstance(node, ast.Name):
            function = source.function(scope)
            for where in (function, source.tree) if function else (source.tree,):
                given = given or [(source, value) for value in _assigned(where, node.id)]
            if not given and node.id.isupper() and not node.id.startswith("_"):  # it comes from another file
                given = [(one, value) for one in self.sources for value in _assigned(one.tree, node.id)][:1]
        elif isinstance(node, ast.Attribute):
            given = [(source, value) for value in self._fields(source, node.attr)]
        elif isinstance(node, ast.Call):
            for there, function in self.functions.get(_called(node.func), [])[:1]:
                given = [(there, one.value) for one in ast.walk(function) if isinstance(one, ast.Return) and one.value]
        self._under_way.append(node)
        try:
            texts = [text for there, value in given for text in self.texts(there, value, value, {})]
        finally:
            self._under_way.pop()
        if not texts:
            raise Uncollected
        return texts

    def _fields(self, source: Source, name: str) -> Iterator[ast.expr]:
        """What a small class of the same file is made with, under that name."""
        for owner in (one for one in source.tree.body if isinstance(one, ast.ClassDef)):
            names = [
                one.target.id
                for one in owner.body
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            ]
            for call in source.calls if name in names else ():
                if _called(call.func) == owner.name and len(call.args) > names.index(name):
                    yield call.args[names.index(name)]


def _called(node: ast.expr) -> str:
    """The last name of what is called."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _assigned(where: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a name is set to in a function or a file."""
    for node in ast.walk(where) if isinstance(where, Function) else ast.iter_child_nodes(where):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                yield value
            case ast.NamedExpr(target=ast.Name(id=found), value=value) if found == name:
                yield value


def _word(node: ast.expr) -> str:
    """A name for what is filled in: the nearest that the expression has."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _WORDS:
            return _WORDS[name]
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_").replace("_", " ").lower()
        case ast.Call(func=ast.Name(id="in_words" | "shown" as name)):
            return {"in_words": "reason", "shown": "value"}[name]
        case ast.Call(func=ast.Attribute(attr="join"), args=[listed]):
            return _word(listed)
        case ast.Call(func=ast.Name(id="map" | "sorted" | "filter"), args=[*_, listed]):
            return _word(listed)
        case ast.Call(func=ast.Name(id="len" | "type" | "str" | "int" | "math" as what), args=[one]):
            return f"number of {_word(one)}" if what == "len" else _word(one)
        case ast.Call(func=ast.Attribute(value=one)) | ast.Subscript(value=one) | ast.BoolOp(values=[one, *_]):
            return _word(one)
        case ast.Call(func=ast.Name(), args=[one, *_]):
            return _word(one)
        case ast.BinOp(left=one) if not isinstance(one, ast.Constant):
            return _word(one)
    return "…"


def paths(root: Path = ROOT) -> list[Path]:
    """The programs' own files."""
    found = (path for top in TOPS for path in (root / top).rglob("*.py"))
    return sorted(path for path in found if not path.name.endswith("_pb2.py"))
