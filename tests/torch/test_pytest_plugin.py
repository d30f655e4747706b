"""PyTorch programs as tests of somebody else's project."""
import pytest

pytest.importorskip("torch")
pytest_plugins = ["pytester"]

PROGRAM = """
    import pytest
    import torch
    from planproof import VerificationTimeout
    from planproof.errors import RecordingError
    from planproof.torch import Training, reduced, shard

    def build(mesh, kind="avg"):
        model = torch.nn.Linear(4, 2)
        x = torch.randn(4, 4)
        inputs = {"x": x}
        if mesh is not None:
            rank, ranks = mesh.get_rank(), mesh.size()
            model = torch.nn.parallel.DistributedDataParallel(model)
            x = x.chunk(ranks)[rank].clone()
            inputs = {"x": shard(x, 0, rank, ranks)}

        def step():
            model.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            return {"loss": loss if mesh is None else reduced(loss, kind)}

        return Training(step, model, inputs=inputs)

    def summed(mesh):
        return build(mesh, "sum")
"""


@pytest.fixture(autouse=True)
def of_this_checkout(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester, tests, *arguments):
    pytester.makepyfile(test_ranks=PROGRAM + tests)
    return pytester.runpytest_inprocess("-p", "planproof.pytest_plugin", "-p", "no:cacheprovider", *arguments)


def test_a_proved_program_passes_and_keeps_its_traces(pytester):
    run(pytester, """
    def test_ranks(verify_training, tmp_path):
        assert verify_training(build, {"dp": 2}).proved
        verify_training(build, {"dp": 2}, directory=tmp_path / "own", start_method="fork")
        verify_training(build, {"dp": 1}, start_method="fork")
        found = {each.name: len(list(each.glob("*.trace"))) for each in tmp_path.iterdir()}
        assert found == {"traces": 3, "own": 3, "traces-2": 2}
    """).assert_outcomes(passed=1)


def test_a_wrong_program_fails_with_the_explanation(pytester):
    result = run(pytester, """
    def test_ranks(verify_training):
        verify_training(summed, {"dp": 2})
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*verify_training(summed, {\"dp\": 2})", "E*AssertionError: REFUTED: stage loss: *"])


def test_the_marker_has_options(pytester):
    run(pytester, """
    @pytest.mark.planproof(start_method="fork", verdict="REFUTED", timeout=60)
    def test_a_known_bug(verify_training):
        verify_training(summed, {"dp": 2})

    @pytest.mark.planproof(start_method="fork", timeout=0.01)
    def test_a_limit(verify_training):
        with pytest.raises(VerificationTimeout):
            verify_training(build, {"dp": 2})

    @pytest.mark.planproof(start_method="fork", overrides={"loss": {"reduce": "avg", "over": "dp"}})
    def test_overrides(verify_training):
        assert any("loss is the avg" in each for each in verify_training(summed, {"dp": 2}).assumptions)
    """, "--strict-markers").assert_outcomes(passed=3)


def test_a_function_that_cannot_be_sent_is_one_line(pytester):
    run(pytester, """
    def test_ranks(verify_training):
        with pytest.raises(RecordingError, match="define it at the top of a module, or say start_method"):
            verify_training(lambda mesh: build(mesh), {"dp": 2})
        assert verify_training(lambda mesh: build(mesh), {"dp": 2}, start_method="fork")
    """).assert_outcomes(passed=1)


def test_without_torch_the_test_is_skipped(pytester):
    pytester.makeconftest("import sys\nsys.modules['torch'] = None")
    pytester.makepyfile("""
    def test_ranks(verify_training):
        raise AssertionError
    """)
    result = pytester.runpytest_subprocess("-p", "planproof.pytest_plugin", "-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*torch is not installed*"])
