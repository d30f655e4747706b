"""State that nobody named is declared as state where it is certain what it is, and said otherwise."""
import pytest

torch = pytest.importorskip("torch")
from planproof.report import Verdict  # noqa: E402
from planproof.torch import Training, check, launch, shard  # noqa: E402
from planproof.torch.carried_state import owner_of_master  # noqa: E402
from planproof.torch.reachable import reached_from  # noqa: E402
from planproof.torch.relations import parameters  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402


def data(mesh):
    """A batch, of which a rank reads its part, and the inputs."""
    x = torch.randn(4, 8)
    if mesh is None:
        return x, {"x": x}
    rank, ranks = mesh.get_rank(), mesh.size()
    own = x.chunk(ranks)[rank].clone()
    return own, {"x": shard(own, 0, rank, ranks)}


def averaged(model, mesh):
    for each in model.parameters():
        if mesh is not None:
            torch.distributed.all_reduce(each.grad)
            each.grad /= mesh.size()


def with_an_average(mesh):
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, inputs = data(mesh)
    shadow = {name: value.detach().clone() for name, value in model.named_parameters()}

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        averaged(model, mesh)
        optimizer.step()
        with torch.no_grad():
            for name, value in model.named_parameters():
                shadow[name].lerp_(value, 0.1)
        return {"average": shadow["weight"] * 1.0}

    return Training(step, model, optimizer, inputs)


class Trainer:
    """Replaces what it keeps by a new tensor in every step."""

    def __init__(self, mesh):
        self.model, self.mesh = torch.nn.Linear(8, 4), mesh
        self.x, self.inputs = data(mesh)
        self.mean = torch.zeros(4)

    def step(self):
        self.model.zero_grad()
        y = self.model(self.x)
        (y - self.mean).square().mean().backward()
        averaged(self.model, self.mesh)
        with torch.no_grad():
            mean = y.mean(0)
            if self.mesh is not None:
                torch.distributed.all_reduce(mean)
                mean = mean / self.mesh.size()
            self.mean = 0.9 * self.mean + 0.1 * mean
        return {}


def with_an_attribute(mesh):
    trainer = Trainer(mesh)
    return Training(trainer.step, trainer.model, None, trainer.inputs)


def with_an_optimizer_that_is_not_passed(mesh):
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters())
    x, inputs = data(mesh)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        averaged(model, mesh)
        optimizer.step()
        return {}

    return Training(step, model, None, inputs)


def with_masters(mesh):
    model = torch.nn.Linear(8, 4).to(torch.bfloat16)
    masters = [each.detach().float().requires_grad_() for each in model.parameters()]
    optimizer = torch.optim.Adam(masters)
    x, inputs = data(mesh)

    def step():
        model.zero_grad()
        model(x.to(torch.bfloat16)).float().square().mean().backward()
        averaged(model, mesh)
        for own, master in zip(model.parameters(), masters):
            master.grad = own.grad.float()
        optimizer.step()
        with torch.no_grad():
            for own, master in zip(model.parameters(), masters):
                own.copy_(master)
        return {}

    return Training(step, model, optimizer, inputs)


NAMES = {with_an_average: ["shadow['weight']"], with_an_attribute: ["Trainer.mean"],
         with_an_optimizer_that_is_not_passed: [f"{name}.{word}" for name in ("bias", "weight")
                                                for word in ("exp_avg", "exp_avg_sq", "step")],
         with_masters: [f"{name}.{word}" for name in ("bias", "weight")
                        for word in ("exp_avg", "exp_avg_sq", "master", "step")]}


@pytest.mark.parametrize("build", NAMES)
def test_what_is_certain_is_declared_and_proved(build, tmp_path):
    report = check(build, {"dp": 2}, directory=tmp_path, start_method="fork", cache=False)
    for name in ("reference", "rank0", "rank1"):
        trace = load(tmp_path / f"{name}.trace")
        assert sorted(each["name"] for each in trace["inputs"] if each["role"] == "state") == NAMES[build]
        updated = {each["name"] for each in trace["results"] if each["kind"] == "updated"}
        assert set(NAMES[build]) <= updated
        unnamed = [each["size"] for each in trace["storages"] if "carried" in each]
        assert unnamed == ([4] if build is with_an_average else [])  # the bias's average, of which nothing is computed
    assert report.verdict is Verdict.PROVED, str(report)


def hidden_average(mesh):
    model = torch.nn.Linear(8, 4)
    x, inputs = data(mesh)

    def keeper():
        kept = model.weight.detach().clone()
        while True:
            kept = 0.9 * kept + 0.1 * model.weight.detach() + model.weight.grad
            yield kept

    averages = keeper()

    def step():
        model.zero_grad()
        model(x).square().mean().backward()
        averaged(model, mesh)
        return {"average": next(averages)}

    return Training(step, model, None, inputs)


def test_what_is_not_certain_is_carried_over_and_no_constant(tmp_path):
    report = check(hidden_average, {"dp": 2}, directory=tmp_path, start_method="fork", cache=False)
    carried = [each for each in load(tmp_path / "rank0.trace")["storages"] if each.get("carried")]
    assert [each["size"] for each in carried] == [32]
    assert report.verdict is Verdict.UNKNOWN and "state that nobody named: pass its optimizer" in str(report)


def test_what_no_result_depends_on_is_said_and_not_compared(tmp_path):
    launch(with_an_average, {}, tmp_path, start_method="fork")
    notes = load(tmp_path / "reference.trace")["notes"]
    assert ["carries over" in note and note.endswith("not compared: shadow['bias']") for note in notes].count(True) == 1


def test_a_constant_of_which_views_are_taken_is_none(tmp_path):
    def build(_):
        mask, a = torch.tensor([1.0, 0.0, 2.0]), torch.ones(3)
        return Training(lambda: {"y": mask.view(3, 1)[1:].sum() * a}, None, None, {"a": a})

    (path,) = launch(build, {}, tmp_path, start_method="fork")
    trace = load(path)
    assert [each["name"] for each in trace["inputs"]] == ["a"]
    assert [each.get("carried") for each in trace["storages"] if "values" in each] == [None]


def test_tensors_are_reached_by_their_names():
    weight = torch.nn.Parameter(torch.ones(2))
    state = {weight: {"mean": torch.zeros(1)}, "list": [torch.ones(1)]}

    def step():
        return state

    reached = reached_from(step, {id(weight): "weight"})
    assert list(reached.tensors) == ["state[weight]['mean']", "state['list'][0]"] or \
        set(reached.tensors) == {"state[weight]['mean']", "state['list'][0]"}


def test_a_master_of_two_equal_parameters_has_no_owner():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)).to(torch.bfloat16)
    known = list(parameters(model, None, None))
    first = model[0].weight.detach().float()
    assert owner_of_master(first, known).name == "0.weight"
    with torch.no_grad():
        model[1].weight.copy_(model[0].weight)
    assert owner_of_master(first, known) is None


def test_an_optimizer_s_tensors_without_owner_are_said(tmp_path):
    def build(_):
        model, other = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.Adam([*model.parameters(), other])

        def step():
            optimizer.zero_grad()
            (model(torch.ones(1, 2)).sum() * other.sum()).backward()
            optimizer.step()
            return {}

        return Training(step, model, optimizer)

    (path,) = launch(build, {}, tmp_path, start_method="fork")
    assert any("Adam has states of 1 tensors" in note or "shapes [3]" in note for note in load(path)["notes"])


class WithoutCounters:
    """A shim that says which states of an optimizer have names, as DeepSpeed's does."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def state(self):
        return {key: {word: value for word, value in content.items() if word != "step"} for key, content in self.optimizer.state.items()}


def test_what_a_shim_leaves_out_of_an_optimizer_has_no_name(recorded):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(3, 4)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    def names(described):
        return {each["name"] for each in recorded(step, model=model, optimizer=described, inputs={"x": x}).content["inputs"]}

    step()
    named, shim = names(optimizer), names(WithoutCounters(optimizer))
    assert "weight.step" in named
    assert shim == {name for name in named if not name.endswith(".step")}


def test_what_is_kept_by_an_object_s_identity_has_no_name():
    kept, key = torch.ones(3), object()

    def step():
        return table[key]

    table = {key: kept, "mean": torch.zeros(2)}
    assert list(reached_from(step, {}).tensors) == ["table['mean']"]
