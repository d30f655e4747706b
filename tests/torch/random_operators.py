"""Random single operators, each against a program that may or may not compute the same, as torch says by values.

    PYTHONPATH=python python tests/torch/random_operators.py --count 10000 --seed 1 [--only cumsum sort] [--keep DIRECTORY]

The reference is one operator. The plan is what it gave as constants, its decomposition, the same operator in place or on operands that are
spelled out, or in pieces; or it is changed: another argument, constant, or operator of the same parameters. Wrong is PROVED where values
differ, and REFUTED or MALFORMED where they are equal on all samples. UNKNOWN is no answer and never wrong."""
import argparse
import collections
import faulthandler
import gzip
import json
import multiprocessing
import multiprocessing.connection
import os
import random
import subprocess
import sys
import tempfile
import warnings

import torch
from compared_results import compare
from operator_calls import WITHOUT_VALUES, Call, Draw, Operand, declared_operators, overloads, replaced
from small_programs import Plain, Undefined, Written, leaves
from torch._decomp import decomposition_table
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
SAMPLES, MORE_SAMPLES = 8, 200
TRIES = 60


class Refused(Exception):
    """Torch does not run the program."""


def results(program, run, inputs):
    try:
        out = leaves(program(run, inputs))
    except NotImplementedError as error:
        raise Refused(str(error)) from error
    except (Undefined, RuntimeError, IndexError, ValueError, TypeError, AssertionError, OverflowError, AttributeError, KeyError) as error:
        raise Refused(str(error)) from error
    return out


def written_first(call):
    """The call with the tensors that it writes copied before, if they are inputs or constants."""
    parameters = call.overload._schema.arguments
    writes = {each.name for each in parameters if each.alias_info is not None and each.alias_info.is_write}
    if not writes:
        return call.program

    def program(run, inputs):
        def copied(value):
            return [copied(each) for each in value] if isinstance(value, list) else run(aten.clone.default, value.resolve(run, inputs))
        args, kwargs = list(call.args), dict(call.kwargs)
        fixed = {}
        for at, parameter in enumerate(parameters):
            if parameter.name not in writes:
                continue
            holder, key = (args, at) if at < len(args) else (kwargs, parameter.name)
            if key is at or key in kwargs:
                fixed[parameter.name] = copied(holder[key])
                holder[key] = fixed[parameter.name]
        out = Call(call.overload, args, kwargs).program(run, inputs)
        return out if leaves(out) else leaves(list(fixed.values()))
    return program


def constant_results(call, inputs, rng, wrong):
    """What the call gave, as constants; `wrong` changes an element."""
    values = [each.clone() for each in results(written_first(call), Plain(), inputs)]
    if wrong:
        places = [each for each in values if each.numel()]
        if not places:
            raise Refused("nothing to change")
        chosen = rng.choice(places)
        at = tuple(rng.randrange(extent) for extent in chosen.shape)
        chosen[at] = ~chosen[at] if chosen.dtype == torch.bool else chosen[at] + 1
    return lambda run, _: [run(aten.clone.default, run.constant(each)) for each in values]


def decomposed(call):
    function = decomposition_table.get(call.overload)
    if function is None:
        raise Refused("no decomposition")

    def program(run, inputs):
        class Adapter:
            """The overload's decomposition in its place."""
            _schema = call.overload._schema

            def __call__(self, *args, **kwargs):
                return function(*args, **kwargs)
        args = Call(Adapter(), call.args, call.kwargs)

        class Run:
            constant = staticmethod(run.constant)

            def __call__(self, overload, *args, **kwargs):
                if isinstance(overload, Adapter):
                    return run.decomposed(overload, *args, **kwargs)
                return run(overload, *args, **kwargs)
        return args.program(Run(), inputs)
    return program


def spelled_out(call, rng):
    """The call on operands that are broadcast, copied, or given another way."""
    def program(run, inputs):
        def other(operand):
            value = operand.resolve(run, inputs)
            kind = choice[id(operand)]
            if kind == "clone":
                return run(aten.clone.default, value)
            if kind == "constant" and operand.kind != "free":
                return run.constant(value)
            if kind == "add":
                return run(aten.add.Scalar if value.dtype != torch.bool else aten.logical_or.default,
                           value, 0 if value.dtype != torch.bool else value)
            if kind == "expand" and common is not None and len(value.shape) <= len(common):
                return run(aten.clone.default, run(aten.expand.default, value, common), memory_format=torch.contiguous_format)
            if kind == "negative twice" and value.dtype.is_floating_point:
                return run(aten.neg.default, run(aten.neg.default, value))
            return value
        args, kwargs = call.args, call.kwargs
        for operand in operands:
            new = Fixed(other(operand))
            args = replaced(args, operand, new)
            kwargs = {name: replaced(each, operand, new) for name, each in kwargs.items()}
        return Call(call.overload, args, kwargs).program(run, inputs)
    operands = call.operands()
    if not operands:
        raise Refused("no operands")
    choice = {id(each): rng.choice(["clone", "constant", "add", "expand", "expand", "negative twice", "same"]) for each in operands}
    try:
        common = list(torch.broadcast_shapes(*[each.shape for each in operands]))
    except RuntimeError:
        common = None
    return program


class Fixed(Operand):
    """A tensor that is there already, in the place of an operand."""

    def __init__(self, tensor):
        super().__init__("fixed", tensor.dtype, list(tensor.shape))
        self.tensor = tensor

    def resolve(self, run, inputs):
        return self.tensor


def in_place(call):
    """The same in place, on a copy of the first operand."""
    packet = getattr(aten, call.overload._schema.name.split("::")[1] + "_", None)
    name = call.overload._overloadname
    if packet is None or name not in packet.overloads() or not call.args or not isinstance(call.args[0], Operand):
        raise Refused("not in place")

    def program(run, inputs):
        first = run(aten.clone.default, call.args[0].resolve(run, inputs))
        Call(getattr(packet, name), [Fixed(first), *call.args[1:]], call.kwargs).program(run, inputs)
        return [first]
    return program


def in_pieces(call, rng):
    """The operands cut along a dimension, and the results joined."""
    dim = rng.choice([0, 0, -1])
    operands = [each for each in call.operands() if each.shape]
    extents = {each.shape[dim] for each in operands} - {1}
    if len(extents) != 1 or min(extents) < 2:
        raise Refused("nothing to cut")
    extent = extents.pop()

    def program(run, inputs):
        whole, parts = {id(each): each.resolve(run, inputs) for each in operands}, []
        for start, end in ((0, 1), (1, extent)):
            args, kwargs = call.args, call.kwargs
            for operand in operands:
                value = whole[id(operand)]
                if value.shape[dim] == extent:
                    value = run(aten.slice.Tensor, value, dim, start, end)
                args = replaced(args, operand, Fixed(value))
                kwargs = {name: replaced(each, operand, Fixed(value)) for name, each in kwargs.items()}
            parts.append(leaves(Call(call.overload, args, kwargs).program(run, inputs)))
        return [run(aten.cat.default, list(each), dim) if each[0].dim() else each[-1] for each in zip(*parts)]
    return program


class Campaign:
    def __init__(self, seed, only=None):
        names = only or declared_operators()
        self.by_name = {name: [each for each in overloads(name) if each._overloadname != "Scalar_Scalar"] for name in names
                        if name not in WITHOUT_VALUES}
        for name in list(self.by_name):
            if hasattr(aten, name + "_") and not name.startswith("__"):
                self.by_name[name] += list(overloads(name + "_"))
        self.by_name = {name: each for name, each in self.by_name.items() if each}
        self.alike = collections.defaultdict(list)
        for name in declared_operators():
            for each in overloads(name) if name not in WITHOUT_VALUES else ():
                self.alike[self.parameters(each)].append(each)
        self.seed = seed

    @staticmethod
    def parameters(overload):
        return str([(str(each.real_type), each.kwarg_only) for each in overload._schema.arguments])

    def draw(self, number):
        """(text, kind, reference, plan, free operands) of a case that torch runs; None if none was found."""
        rng = random.Random(self.seed * 1000003 + number)
        for attempt in range(5 * TRIES):
            if attempt % TRIES == 0:
                overload = rng.choice(self.by_name[rng.choice(sorted(self.by_name))])
            draw = Draw(rng)
            try:
                call = draw.call(overload)
                free = {each.name: each for each in call.operands() if each.kind == "free"}
                inputs = sample(free, 0, number)
                if not results(written_first(call), Plain(), inputs):
                    continue
                for _ in range(6):
                    try:
                        kind, plan = self.plan(call, draw, rng, free, inputs)
                        results(plan, Plain(), inputs)
                        return f"{call.text()}", kind, written_first(call), plan, free
                    except Refused:
                        continue
            except Refused:
                continue
        return None

    def plan(self, call, draw, rng, free, inputs):
        kind = rng.choices(["constant", "wrong constant", "decomposed", "spelled out", "in place", "pieces", "changed", "changed", "neighbour"],
                           [1, 1, 2, 2, 1, 1, 2, 2, 1])[0]
        if kind in ("constant", "wrong constant"):
            if free:
                raise Refused("not constant")
            return kind, constant_results(call, inputs, rng, kind == "wrong constant")
        if kind == "decomposed":
            return kind, decomposed(call)
        if kind == "spelled out":
            return kind, spelled_out(call, rng)
        if kind == "in place":
            return kind, in_place(call)
        if kind == "pieces":
            return kind, in_pieces(call, rng)
        if kind == "changed":
            other = draw.changed(call)
            if other is None or any(each.kind == "free" and each.name not in free for each in other.operands()):
                raise Refused("nothing to change")
        else:
            others = [each for each in self.alike[self.parameters(call.overload)] if each != call.overload]
            if not others:
                raise Refused("no neighbour")
            other = Call(rng.choice(others), call.args, call.kwargs)
            known = {each.name for each in other.overload._schema.arguments}
            if not set(call.kwargs) <= known:
                raise Refused("other parameters")
        return f"{kind}: {other.text()}", written_first(other)


def sample(free, index, seed):
    generator = torch.Generator().manual_seed(seed * 9176 + index)
    return {name: operand.sample(generator, index % 4) for name, operand in free.items()}


def equal_by_values(case, number, samples):
    """Whether all samples that are defined are equal; None if none is. Sizes that depend on data are those of the first sample."""
    _, _, reference, plan, free = case
    seen, recorded = False, None
    for index in range(samples if free else 1):
        inputs = sample(free, index, number)
        try:
            left = results(reference, Plain(), {name: each.clone() for name, each in inputs.items()})
        except Refused:
            continue
        recorded = recorded or [each.shape for each in left]
        if recorded != [each.shape for each in left]:
            continue
        try:
            right = results(plan, Plain(), {name: each.clone() for name, each in inputs.items()})
        except Refused:
            continue
        same = compare(left, right)
        if same is False:
            return False
        seen = seen or same
    return True if seen else None


def comparable(case, number):
    """Whether shapes and types of the results agree."""
    _, _, reference, plan, free = case
    inputs = sample(free, 0, number)
    shapes = [[(each.shape, each.dtype) for each in results(program, Plain(), {name: each.clone() for name, each in inputs.items()})]
              for program in (reference, plan)]
    return shapes[0] == shapes[1]


def traces(case, number):
    _, _, reference, plan, free = case
    written = []
    for program in (reference, plan):
        run = Written()
        inputs = {name: run.input(name, each, free[name].domain) for name, each in sample(free, 0, number).items()}
        written.append(run.trace(results(program, run, inputs)))
    return written


def verdict(program, paths, limit=20):
    try:
        done = subprocess.run([program, "verify", "-q", "--no-cache", *paths], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "UNKNOWN: time"
    return (done.stdout + done.stderr).strip().split("\n")[0] or f"no answer, exit code {done.returncode}"


def is_rounded(case, number, plan_trace):
    """Whether numbers of the plan stand for others that are no short binary fractions: what the operator gave as constants, or what its
    decomposition writes for a root or 0.044715. In real numbers the operator gives others, which only the last bits tell."""
    _, kind, _, plan, free = case
    if kind == "decomposed":
        literals = [leaf for entry in plan_trace["operators"] for leaf in tree_leaves((entry.get("args"), entry.get("kwargs")))]
        return any(isinstance(each, float) and each * 2 ** 10 != round(each * 2 ** 10) for each in literals)
    scaled = [each.double() * 2 ** 10 for each in results(plan, Plain(), sample(free, 0, number))]
    return kind == "constant" and any((each != each.round()).any() for each in scaled)


def is_rounding(case, number):
    """Whether a rounding of the inputs changes the reference where the two differ as much as they do: sums that cancel out."""
    _, _, reference, plan, free = case
    for index in range(MORE_SAMPLES):
        inputs = sample(free, index, number)
        try:
            left, right = (results(program, Plain(), {name: each.clone() for name, each in inputs.items()}) for program in (reference, plan))
        except Refused:
            continue
        if compare(left, right) is not False:
            continue
        changed, generator = [], torch.Generator().manual_seed(index)
        for _ in range(8):
            nearby = {name: each * (1 + torch.finfo(each.dtype).eps * torch.randn(each.shape, generator=generator).to(each.dtype))
                      if each.is_floating_point() else each.clone() for name, each in inputs.items()}
            changed.append(results(reference, Plain(), nearby))
        for at, (a, b) in enumerate(zip(left, right)):
            if a.shape != b.shape or not a.is_floating_point():
                return False
            most = max(((other[at].double() - a.double()).abs().max().item() for other in changed if a.numel()), default=0.0)
            if a.numel() and (a.double() - b.double()).abs().max().item() > 16 * most:
                return False
    return True


def judged(case, number, answer):
    """What is wrong with the answer; None if nothing is."""
    word = answer.split(":")[0]
    if word not in ("PROVED", "REFUTED", "MALFORMED", "UNKNOWN"):
        return "crash"
    if word == "PROVED" and equal_by_values(case, number, MORE_SAMPLES) is False and not is_rounding(case, number):
        return "PROVED, and differs"
    if word == "MALFORMED" and comparable(case, number):
        return "MALFORMED, and torch runs it"
    if word == "REFUTED" and equal_by_values(case, number, MORE_SAMPLES) is True:
        return "REFUTED, and equal"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=os.environ.get("PLANPROOF_BINARY", "build/cli/planproof"))
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", nargs="*", help="names of operators")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep traces that are judged wrongly")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    return run(options)


Found = collections.namedtuple("Found", "word same text fault", defaults=(None, None, False))


def examined(options, number, campaign, directory):
    case = campaign.draw(number)
    if case is None:
        return Found("not drawn")
    try:
        written = traces(case, number)
    except Refused:
        return Found("not written")
    paths = [os.path.join(options.keep or directory, f"{number}.{name}.trace") for name in ("ref", "rank0")]
    for path, trace in zip(paths, written):
        with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
            json.dump(trace, file)
    answer = verdict(options.program, paths)
    fault, word = judged(case, number, answer), answer.split(":")[0]
    if fault == "REFUTED, and equal" and is_rounded(case, number, written[1]):
        fault, word = None, "REFUTED by a rounded constant"
    text = f"{fault or 'right'}: case {number} of seed {options.seed}: {case[0]}\n    {case[1]}\n    {answer[:300]}"
    if not fault:
        for path in paths:
            os.remove(path)
    return Found(word, equal_by_values(case, number, SAMPLES), text if fault or options.verbose else None, bool(fault))


class Worker:
    """A process of its own: torch crashes on some arguments."""
    CONTEXT = multiprocessing.get_context("fork")

    def __init__(self, options, campaign, numbers):
        self.options, self.campaign, self.left = options, campaign, list(numbers)
        self.start()

    def start(self):
        self.channel, there = self.CONTEXT.Pipe(duplex=False)
        self.process = self.CONTEXT.Process(target=self.work, args=(there,))
        self.process.start()
        there.close()

    def work(self, channel):
        faulthandler.disable()    # a crash of torch is expected
        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as directory:
            for number in self.left:
                channel.send(examined(self.options, number, self.campaign, directory))

    def next(self):
        """The number of the next case, and what was found."""
        try:
            found = self.channel.recv()
        except EOFError:
            found = Found("torch crashes")
        number = self.left.pop(0)
        if found.word == "torch crashes" and self.left:
            self.process.join()
            self.start()
        return number, found


def run(options):
    warnings.simplefilter("ignore")
    counts, wrong = collections.Counter(), []
    campaign, numbers = Campaign(options.seed, options.only), range(options.first, options.first + options.count)
    workers = [Worker(options, campaign, numbers[each::options.jobs]) for each in range(min(options.jobs, options.count))]
    while workers:
        ready = multiprocessing.connection.wait([each.channel for each in workers])
        for worker in [each for each in workers if each.channel in ready]:
            number, found = worker.next()
            counts[found.word, found.same] += 1
            if found.fault:
                wrong.append(number)
            if found.text:
                print(found.text, flush=True)
            if not worker.left:
                worker.process.join()
                workers.remove(worker)
    for (word, same), count in sorted(counts.items(), key=str):
        print(f"{word}{ {None: '', True: ', equal', False: ', different'}[same]}: {count}")
    print(f"{sum(counts.values())} cases, {len(wrong)} judged wrongly{': ' if wrong else ''}{' '.join(map(str, sorted(wrong)))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
