# SPDX-License-Identifier: BSD-2-Clause
"""docs/python.ipynb runs from the first cell to the last; its assertions are the test."""

import ast
import json
import os

import pytest

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def run_cell(text, names):
    """Runs a cell as Jupyter does: the value of its last line is the result."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs(monkeypatch):
    Image = pytest.importorskip("PIL.Image")
    with open(os.path.join(DOCS, "python.ipynb"), encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5 and not any(cell["outputs"] for cell in cells), "keep outputs out of the repository"
    monkeypatch.chdir(DOCS)
    names = {"__name__": "__main__"}
    results = [run_cell("".join(cell["source"]), names) for cell in cells]
    assert isinstance(results[-1], Image.Image) and results[-1].width == 4 * names["scene"].shape[1]
    if os.environ.get("HONE_SAVE_PICTURE"):
        results[-1].save(os.environ["HONE_SAVE_PICTURE"], quality=88)
