"""The programs of docs/torch.md are proved as they are written there."""
import importlib.util
import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENTATION = os.path.join(HERE, "..", "..", "docs", "torch.md")


def programs():
    """Programs by the names that the text before them gives, and other Python."""
    with open(DOCUMENTATION, encoding="utf-8") as file:
        text = file.read()
    return dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize("name, mesh, package", [("train.py", "dp=2", "torch"), ("layer.py", "tp=2", "megatron")])
def test_a_program_is_proved(name, mesh, package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"no {package}")
    (tmp_path / name).write_text(programs()[name])
    ended = subprocess.run([sys.executable, "-m", "planproof.torch.launch", name, "--mesh", mesh], cwd=tmp_path,
                           capture_output=True, encoding="utf-8", timeout=300)
    assert ended.returncode == 0 and ended.stdout.startswith("PROVED"), ended.stdout + ended.stderr
    assert "RuntimeWarning" not in ended.stderr
