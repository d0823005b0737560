"""The reference of docs/api.md, from the docstrings: python -m tests.docs.api_reference writes it."""

import ast
import inspect
import textwrap
from pathlib import Path

import model_export

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
MARK = "## Reference\n"


def reference() -> str:
    """Every name of the library with its signature and its docstring, functions first."""
    names = sorted(dir(model_export), key=lambda name: (name[0].isupper(), name))
    return "\n".join(part for name in names for part in _entry(name, getattr(model_export, name)))


def _entry(name: str, found: object) -> list[str]:
    parts = [f"### {name}", "", *_described(name, found)]
    if inspect.isclass(found):
        for own, method in vars(found).items():
            if not own.startswith("_") and inspect.isfunction(method):
                parts += _described(f"{name}.{own}", method)
    return parts


def _described(name: str, found: object) -> list[str]:
    code = f"{name}{_signature(found)}"
    text = (inspect.getdoc(found) or "").partition("\n>>>")[0].strip()
    return ["```python", *textwrap.wrap(code, 104, subsequent_indent="    "), "```", "", text, ""]


def _signature(found: object) -> str:
    """As it is written, without the object itself; the fields of a dataclass."""
    node = ast.parse(textwrap.dedent(inspect.getsource(found))).body[0]  # type: ignore[arg-type]
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        if not made:
            fields = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign)]
            return f"({', '.join(fields)})"
        node = made[0]
    assert isinstance(node, ast.FunctionDef)
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ").replace("'", '"')
    returns = "" if node.name == "__init__" else f" -> {ast.unparse(node.returns or ast.Constant(None))}"
    return f"({arguments}){returns}"


if __name__ == "__main__":
    head = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{reference()}")
