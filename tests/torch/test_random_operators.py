"""A fixed sample of the random single operators; random_operators.py runs as many as wanted."""
import argparse
import os

import pytest

torch = pytest.importorskip("torch")
import random_operators  # noqa: E402


def test_no_verdict_on_an_operator_contradicts_its_values(capsys):
    wrong = random_operators.run(argparse.Namespace(
        program=os.environ.get("PLANPROOF_BINARY", "build/cli/planproof"), count=60, seed=41, first=0, only=None, keep=None, jobs=2, verbose=False))
    out = capsys.readouterr().out
    assert wrong == 0, out
    assert "PROVED, equal" in out and "REFUTED, different" in out


def test_a_wrong_verdict_is_told(tmp_path, capsys):
    """The judgement itself: a program that always says PROVED, or always REFUTED, is found."""
    for word in ("PROVED", "REFUTED", "MALFORMED"):
        liar = tmp_path / word
        liar.write_text(f"#!/bin/sh\necho {word}: so it is\n")
        liar.chmod(0o755)
        wrong = random_operators.run(argparse.Namespace(
            program=str(liar), count=8, seed=41, first=0, only=None, keep=None, jobs=2, verbose=False))
        assert wrong == 1
        assert f"{word}, and " in capsys.readouterr().out
