"""Trees as s-expressions: read at every depth, and refused with the line and the column."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.often import few
from wengert.data import Leaf, Node, Tree, sst, tree
from wengert.errors import DataError

words = st.text("ab'.-\\é", min_size=1, max_size=3)
leaves = st.builds(Leaf, st.integers(0, 4), words)
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda inner: st.builds(Node, st.integers(0, 4), st.lists(inner, min_size=1, max_size=3).map(tuple)),
)


def told(x: Tree) -> object:
    return (x.label, x.word) if isinstance(x, Leaf) else (x.label, [told(child) for child in x.children])


@given(trees)
def test_what_is_written_is_read(x: Tree) -> None:
    assert told(tree(str(x))) == told(x)
    assert repr(x) == (
        str(x) if isinstance(x, Leaf) else f"<Node of label {x.label} with {len(x.children)} children>"
    )


@given(st.text("() 0123ab\t", max_size=20))
def test_any_text_is_a_tree_or_one_error(text: str) -> None:
    try:
        found = tree(text)
    except DataError as error:
        place, line, column, _ = str(error).split(":", 3)
        assert (place, line) == ("tree", "1") and 1 <= int(column) <= len(text) + 1
    else:
        assert str(found).replace(" ", "") == "".join(text.split())


@pytest.mark.parametrize("depth", few([5_000, 100_000], 1))
@pytest.mark.parametrize("shape", ["left", "right"])
def test_depth_needs_no_stack(tmp_path: Path, shape: str, depth: int) -> None:
    text = "(1 " * depth + "(2 a)" + ")" * depth
    if shape == "left":
        text = "(1 " * depth + "(2 a)" + " (3 b))" * depth
    (tmp_path / "dev.txt").write_text(text)
    (found,) = sst(tmp_path, "dev")
    assert str(found) == text
    count, at = 0, found
    while isinstance(at, Node):
        count, at = count + 1, at.children[0]
    assert count == depth and repr(found) == f"<Node of label 1 with {2 if shape == 'left' else 1} children>"
    del found, at  # of which a chain of destructors must not overflow the stack either


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", '1: the line ends where "(" has to be'),
        ("3", """1: '3' stands where "(" has to be"""),
        ("(", "2: the line ends where a label has to be"),
        ("()", "2: ')' stands where a label, a whole number, has to be"),
        ("(S (2 a))", "2: 'S' stands where a label"),
        ("(-1 a)", "2: '-1' stands where a label"),
        ("(²  a)", "2: '²' stands where a label"),
        ("(3)", "3: a label is followed by a word or by trees, and here by nothing"),
        ("(3 a", """5: the line ends where ")" has to be"""),
        ("(3 a b)", """6: 'b' stands where ")" has to be"""),
        ("(3 (2 a) b)", "10: 'b' stands where a tree has to begin or end"),
        ("(3 (2 a)", """9: the line ends, and 1 ")" has to follow"""),
        ("(3 a))", "6: ')' stands after the end of the tree"),
        ("(3 a) (2 b)", "7: '(' stands after the end of the tree"),
        ("(3 (5 a) (2 b))", "5: the label 5 is none of 0 to 4"),
        ("(99999999999999999999 a)", "2: '99999999999999999999' stands where a label"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_column(line: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        tree(line, labels=5, place="train.txt", line=7)
    assert str(caught.value).startswith(f"train.txt:7:{said}")


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("(3 (2 a) (4 b))\n\n(1 (0 -LRB-) (2 '))\r\n(2 8\xa01)", newline="", encoding="utf-8")
    assert [str(found) for found in sst(path)] == ["(3 (2 a) (4 b))", "(1 (0 -LRB-) (2 '))", "(2 8\xa01)"]
    path.write_text("(3 a)\n\n(3 b\n")
    with pytest.raises(DataError, match=rf'^{path}:3:5: the line ends where "\)" has to be$'):
        sst(path)
    path.write_bytes("(3 é)\n(2 é\xff)".encode("latin-1"))
    with pytest.raises(DataError, match=rf"^{path}:1:4: this is no UTF-8 text: "):
        sst(path)
    path.write_text(" \n")
    with pytest.raises(DataError, match="it has no tree"):
        sst(path)
    with pytest.raises(FileNotFoundError):
        sst(tmp_path, "test")
