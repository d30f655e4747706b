"""What goes wrong in a user's program is said in one line; what is not compared is said, too."""
import pytest

torch = pytest.importorskip("torch")
from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import Training, launch  # noqa: E402
from planproof.torch.launch import main  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402


@pytest.mark.parametrize("program, message", [
    (None, "program.py is no file"),
    ("def make(mesh): pass", "program.py has no function build(mesh)"),
    ("def build(mesh): pass", "build gave a NoneType, no planproof.torch.Training")])
def test_a_program_that_is_none_is_one_line(program, message, tmp_path, capsys):
    path = tmp_path / "program.py"
    if program:
        path.write_text(program)
    assert main([str(path), "--mesh", "dp=1"]) == 64
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].endswith(message)


def test_an_error_of_the_program_is_shown_with_its_line(tmp_path, capsys):
    path = tmp_path / "program.py"
    path.write_text("def build(mesh):\n    raise ValueError('of the program')\n")
    assert main([str(path), "--mesh", "dp=1"]) == 64
    said = capsys.readouterr().err
    assert said.rstrip().endswith("ValueError: of the program") and f'"{path}", line 2' in said
    assert "launch.py\", line" in said and "in main\n" not in said  # the process's frames only


@pytest.mark.parametrize("text", ["dp", "dp=0", "dp=two", "=2", "dp=2,dp=2", "dp=2,"])
def test_a_mesh_that_is_none_is_a_wrong_usage(text, capsys):
    with pytest.raises(SystemExit):
        main(["program.py", "--mesh", text])
    assert f"such as dp=2,tp=2, not {text}" in capsys.readouterr().err


def test_processes_of_a_program_that_hangs_are_ended(tmp_path):
    import multiprocessing
    from planproof.errors import VerificationTimeout
    before = set(multiprocessing.active_children())
    with pytest.raises(VerificationTimeout):
        launch(hanging, {"dp": 2}, tmp_path, start_method="fork", timeout=1)
    assert set(multiprocessing.active_children()) <= before


def hanging(_):
    import time
    time.sleep(60)


def test_a_local_function_is_not_spawned(tmp_path):
    with pytest.raises(RecordingError, match="define it at the top of a module"):
        launch(lambda mesh: None, {"dp": 2}, tmp_path)


def step_of(forgets):
    def build(_):
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters())

        def step():
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            if forgets:
                optimizer.zero_grad()

        return Training(step, model, optimizer)
    return build


@pytest.mark.parametrize("other", [False, True])
def test_an_input_that_is_not_read_is_noted(other, tmp_path):
    def build(_):
        x = torch.ones(1, 2)
        read = x.clone() if other else x
        return Training(lambda: {"y": read * 2}, None, None, {"x": x})

    (path,) = launch(build, {}, tmp_path, start_method="fork")
    assert any("does not read the input x" in note for note in load(path)["notes"]) == other


@pytest.mark.parametrize("forgets", [False, True])
def test_gradients_that_are_gone_are_noted(forgets, tmp_path):
    (path,) = launch(step_of(forgets), {}, tmp_path, start_method="fork")
    assert any("no parameter has a gradient" in note for note in load(path)["notes"]) == forgets
