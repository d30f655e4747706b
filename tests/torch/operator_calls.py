"""Random calls of single ATen operators, drawn by their schemas and tried in torch.

A call has an overload and arguments in which tensors stand as operands: free inputs, constants, or what another operator makes (`arange`).
Names of parameters say which values are likely to be accepted; what torch refuses is drawn again."""
import copy
import math
import os
import re
from dataclasses import dataclass, field

import torch

aten = torch.ops.aten
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "torch-operators.md")
VIEWS = ("slice select narrow expand view permute transpose t squeeze unsqueeze split split_with_sizes unbind diagonal as_strided unfold chunk "
         "alias detach movedim reshape").split()
#: Their results hold what nobody wrote, or depend on a generator.
WITHOUT_VALUES = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
SHAPES = [[], [1], [2], [3], [0], [4], [2, 3], [1, 3], [3, 1], [3, 3], [2, 2], [1, 1], [0, 3], [2, 0], [2, 2, 3], [1, 2, 3], [2, 1, 2]]
MOST = 2 ** 63 - 1
INDICES = {"index", "indices", "repeats", "offs", "target"}
MASKS = {"mask", "condition"}
#: Operators whose operands have shapes that depend on each other: parameters with letters for extents.
SHAPED = {"mm": {"self": "ab", "mat2": "bc"}, "bmm": {"self": "dab", "mat2": "dbc"}, "mv": {"self": "ab", "vec": "b"}, "dot": {"self": "a", "tensor": "a"},
          "addmm": {"self": "ac", "mat1": "ab", "mat2": "bc"}, "baddbmm": {"self": "dac", "batch1": "dab", "batch2": "dbc"},
          "embedding": {"weight": "ab"}, "nll_loss_forward": {"self": "ab", "target": "a", "weight": "b"},
          "nll_loss_backward": {"grad_output": "", "self": "ab", "target": "a", "weight": "b", "total_weight": ""},
          "_grouped_mm": {"self": "dab", "mat2": "dbc"}, "bincount": {"self": "a", "weights": "a"}, "histc": {"self": "ab"},
          "index_select": {"index": "c"}, "index_add": {"self": "ab", "index": "c", "source": "cb"},
          "index_copy": {"self": "ab", "index": "c", "source": "cb"}, "native_layer_norm": {"input": "ab", "weight": "b", "bias": "b"},
          "native_layer_norm_backward": {"grad_out": "ab", "input": "ab", "mean": "a1", "rstd": "a1", "weight": "b", "bias": "b"},
          "embedding_dense_backward": {"grad_output": "abc", "indices": "ab"},
          "_scaled_dot_product_flash_attention_for_cpu": {"query": "1abc", "key": "1abc", "value": "1abc", "attn_mask": "bb"}}
#: Torch itself crashes on shapes that do not agree.
SURE = {"embedding_dense_backward", "native_layer_norm_backward", "_scaled_dot_product_flash_attention_for_cpu"}
CRASHING = {"native_layer_norm_backward.out", "_scaled_dot_product_flash_attention_for_cpu_backward"}
INTEGERS = {"dim": range(-3, 3), "step": range(1, 4), "start": range(-6, 7), "end": [*range(-6, 8), MOST], "k": range(0, 4), "index": range(-4, 4),
            "diagonal": range(-2, 3), "offset": range(-2, 3), "num_weights": range(1, 6), "padding_idx": [-1, -1, 0, 1], "reduction": range(0, 3),
            "ignore_index": [-100, -100, 0, 1, -1], "bins": range(1, 5), "length": range(0, 4), "minlength": range(0, 6), "split_size": range(1, 4),
            "chunks": range(1, 4), "size": range(1, 3), "self_int": range(0, 4), "dim0": range(-3, 3), "dim1": range(-3, 3), "dimension": range(-2, 2),
            "source": range(-2, 2), "destination": range(-2, 2), "storage_offset": range(0, 3)}


@dataclass
class Operand:
    """A tensor of a call: a free input, a constant, or what an operator without operands makes."""
    kind: str                 # free, constant, made
    dtype: torch.dtype
    shape: list
    domain: tuple = None
    value: object = None      # of a constant, the tensor; of what is made, (overload, arguments, keywords)
    distinct: bool = False
    transposed: bool = False
    name: str = ""

    def sample(self, generator, style):
        """Values of a free operand: small whole numbers, normal ones, positive ones, larger ones."""
        shape = self.shape[:-2] + self.shape[:-3:-1] if self.transposed else self.shape
        if self.distinct and shape and shape[-1] <= self.domain[1] - self.domain[0]:
            rows = [torch.randperm(self.domain[1] - self.domain[0], generator=generator)[:shape[-1]] for _ in range(math.prod(shape[:-1]))]
            value = torch.stack(rows).reshape(shape) if rows else torch.zeros(shape, dtype=torch.int64)
            value = (value + self.domain[0]).to(self.dtype)
        elif self.dtype == torch.bool:
            value = torch.randint(2, shape, generator=generator).bool()
        elif not self.dtype.is_floating_point:
            value = torch.randint(*self.domain, shape, generator=generator).to(self.dtype)
        elif style == 0:
            value = torch.randint(-3, 4, shape, generator=generator).to(self.dtype)
        elif style == 1:
            value = torch.randn(shape, generator=generator, dtype=torch.float64).to(self.dtype)
        elif style == 3:
            value = (torch.randn(shape, generator=generator, dtype=torch.float64) * 4).to(self.dtype)
        else:
            value = (torch.rand(shape, generator=generator, dtype=torch.float64) * 1.5 + 0.25).to(self.dtype)
        return value.transpose(-1, -2) if self.transposed else value

    def resolve(self, run, inputs):
        if self.kind == "free":
            return inputs[self.name]
        if self.kind == "constant":
            return run.constant(self.value)
        overload, args, kwargs = self.value
        return run(overload, *args, **kwargs)


@dataclass
class Call:
    overload: object
    args: list
    kwargs: dict = field(default_factory=dict)

    def operands(self):
        return operands_in([self.args, list(self.kwargs.values())])

    def program(self, run, inputs):
        """Its tensors, of the results or of what it writes."""
        made = {}

        def resolved(value):
            if isinstance(value, Operand):
                if id(value) not in made:
                    made[id(value)] = value.resolve(run, inputs)
                return made[id(value)]
            return [resolved(each) for each in value] if isinstance(value, list) else value
        return run(self.overload, *resolved(self.args), **{name: resolved(each) for name, each in self.kwargs.items()})

    def text(self):
        def shown(value):
            if isinstance(value, Operand):
                inner = value.value[1] if value.kind == "made" else value.value.tolist() if value.kind == "constant" else value.domain or ""
                maker = f"={value.value[0]}" if value.kind == "made" else ""
                return f"{value.kind}{maker}:{str(value.dtype)[6:]}{value.shape}{inner}{'T' if value.transposed else ''}"
            return f"[{', '.join(map(shown, value))}]" if isinstance(value, list) else repr(value)
        return f"{self.overload}({', '.join([*map(shown, self.args), *(f'{name}={shown(each)}' for name, each in self.kwargs.items())])})"


def operands_in(value):
    if isinstance(value, Operand):
        return [value]
    return [operand for each in value for operand in operands_in(each)] if isinstance(value, list) else []


def declared_operators():
    """Names of aten operators on the page, and those that give views."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read().split("\n## ")[0]
    names = re.findall(r"`([a-z_0-9]+)(?:\.[A-Za-z_]+)*`", page)
    return sorted({name for name in names if hasattr(aten, name)} | set(VIEWS))


def overloads(name):
    """Overloads that work on tensors and give some."""
    packet = getattr(aten, name)
    for each in packet.overloads():
        overload = getattr(packet, each)
        schema = overload._schema
        if "hacked_twin" in each or {name, f"{name}.{each}"} & CRASHING or not any("Tensor" in str(value.type) for value in schema.returns):
            continue
        if any(str(value.type) in ("t", "Any") or "Dict" in str(value.type) for value in schema.arguments):
            continue
        yield overload


class Draw:
    """Random arguments by `rng` (random.Random)."""

    def __init__(self, rng):
        self.rng = rng

    def call(self, overload):
        self.base = list(self.rng.choice(SHAPES))
        self.dtype = self.rng.choices([torch.float64, torch.float32, torch.int64, torch.int32, torch.bool, torch.uint8, torch.int8],
                                      [55, 8, 16, 5, 10, 3, 3])[0]
        self.extents = {letter: self.rng.choice([1, 2, 2, 3, 3, 0 if self.rng.random() < 0.2 else 2]) for letter in "abcd"} | {"1": 1}
        self.operator = overload._schema.name.split("::")[1]
        if self.operator in SURE:
            self.extents = {letter: max(1, extent) for letter, extent in self.extents.items()}
        self.free, self.known, self.length = 0, self.rng.random() < 0.25, self.rng.randint(1, 3)
        args, kwargs, named = [], {}, False
        for parameter in overload._schema.arguments:
            if parameter.has_default_value() and self.rng.random() < 0.45:
                named = True
                continue
            value = self.argument(parameter.name, str(parameter.real_type))
            if named or parameter.kwarg_only:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return Call(overload, args, kwargs)

    def argument(self, name, kind):
        if kind.startswith("Optional["):
            return None if self.rng.random() < 0.3 else self.argument(name, kind[9:-1])
        if name == "out" or name.startswith("grad_input") or kind == "Tensor" and name in ("values_out", "total_weight_out"):
            return self.tensor(name)
        if kind == "Tensor":
            return self.tensor(name)
        if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            if name == "indices" and self.operator not in SURE:
                return self.indices()
            return [self.tensor(name) for _ in range(self.length)]
        if kind in ("number", "Scalar"):
            return self.scalar()
        if kind == "List[number]":
            return [self.scalar() for _ in range(self.length)]
        if kind in ("int", "SymInt"):
            if name == "num_weights" and self.operator in SURE:
                return max(1, self.extents["d"])
            return self.rng.choice(INTEGERS.get(name, range(-2, 4)))
        if kind in ("List[int]", "List[SymInt]"):
            return self.integers(name)
        if kind == "bool":
            return self.rng.random() < 0.5
        if kind == "List[bool]":
            return [self.rng.random() < 0.7 for _ in range(3)]
        if kind == "float":
            return 0.0 if name == "dropout_p" else self.rng.choice([0.5, 1.0, 2.0, 1e-5, -1.5])
        if kind == "str":
            return self.rng.choice(["none", "tanh"] if name == "approximate" else ["add", "multiply"] if name == "reduce" else ["trunc", "floor"])
        if kind == "ScalarType":
            return self.rng.choice([torch.float64, torch.float32, torch.int64, torch.int32, torch.bool, torch.uint8])
        return None

    def scalar(self):
        kind = self.rng.random()
        if kind < 0.4:
            return self.rng.randint(-2, 3)
        if kind < 0.48:
            return self.rng.random() < 0.5
        if kind < 0.5:
            return self.rng.choice([float("inf"), float("-inf"), 300, -200])
        return self.rng.choice([0.5, -0.5, 1.5, -2.5, 2.0, 1.0, 0.0, 0.1, 1 / 3, 2.5, -1.0, 3.7])

    def integers(self, name):
        if name == "input_sizes" or name in ("size", "shape") and self.rng.random() < 0.6:
            size = list(self.base)
            if name != "input_sizes":
                self.rng.shuffle(size)
                if self.operator in ("view", "reshape", "expand", "view_copy") and size and self.rng.random() < 0.5:
                    at = self.rng.randrange(len(size))
                    size[at] = -1
                if self.rng.random() < 0.3:
                    size.insert(0, self.rng.choice([1, 2]))
            return size
        if name == "size" and self.operator in ("view", "reshape", "view_copy"):
            return self.rng.choice([[-1], [math.prod(self.base)], [1, -1], [-1, 1], [2, -1]])
        if name == "pad":
            return [self.rng.choice([0, 1, 2, -1]) for _ in range(2 * self.rng.randint(0, max(1, len(self.base))))]
        if name == "normalized_shape":
            return [self.extents["b"]] if self.rng.random() < 0.8 else self.base[-2:]
        if name in ("dim", "dims"):
            count = self.rng.randint(0, 2) if self.operator not in ("permute",) else len(self.base)
            chosen = self.rng.sample(range(max(1, len(self.base))), min(count, max(1, len(self.base))))
            return [each - len(self.base) if self.rng.random() < 0.3 else each for each in chosen]
        if name == "repeats":
            return [self.rng.randint(0, 2) for _ in range(self.rng.randint(len(self.base), len(self.base) + 1))]
        return [self.rng.randint(-2 if name == "shifts" else 0, 3) for _ in range(self.rng.randint(1, 2) if name != "stride" else len(self.base))]

    def shape(self, name):
        letters = SHAPED.get(self.operator, {}).get(name)
        if letters is not None and (self.operator in SURE or self.rng.random() < 0.9):
            return [self.extents[each] for each in letters]
        kind = self.rng.random()
        if self.operator == "select_backward" and self.base and kind < 0.6:
            at = self.rng.randrange(len(self.base))
            return self.base[:at] + self.base[at + 1:]
        if kind < 0.55:
            return list(self.base)
        if kind < 0.85:
            short = self.base[self.rng.randint(0, len(self.base)):] if self.rng.random() < 0.6 else list(self.base)
            return [1 if self.rng.random() < 0.35 else extent for extent in short]
        return list(self.rng.choice(SHAPES))

    def indices(self):
        result = []
        for place in range(self.rng.randint(1, 2)):
            kind = self.rng.random()
            if kind < 0.15:
                result.append(None)
            elif kind < 0.25 and self.base:
                result.append(self.operand("indices", torch.bool, self.base[:1]))
            else:
                extent = self.base[place] if place < len(self.base) else 2
                result.append(self.operand("indices", torch.int64, self.rng.choice([[], [1], [extent], [2], [3], [2, 2], [2, 1]]), extent))
        return result

    def tensor(self, name):
        shape, extent = self.shape(name), None
        if name in MASKS and self.rng.random() < 0.9:
            return self.operand(name, torch.bool, shape)
        if name in INDICES and self.rng.random() < 0.97:
            extent = self.rng.choice([*self.base, *self.extents.values(), 2]) if self.operator not in SURE else max(1, self.extents["d"])
            return self.operand(name, torch.int64 if self.rng.random() < 0.92 else torch.int32, shape, extent)
        dtype = self.dtype if self.rng.random() < 0.8 else self.rng.choice([torch.float64, torch.int64, torch.bool, torch.float32, torch.int32])
        return self.operand(name, dtype, shape)

    def operand(self, name, dtype, shape, extent=None):
        """A tensor; one of indices has values that fit a dimension of `extent`."""
        low, high = self.rng.choice([(0, 2), (-2, 3), (0, 5), (-3, 4), (1, 4)])
        if extent:
            low, high = 0 if self.rng.random() < 0.7 or self.operator in SURE else -extent, extent
        if dtype == torch.uint8:
            low = max(low, 0)
        made = Operand("free", dtype, shape, None if dtype.is_floating_point or dtype == torch.bool else (low, high))
        made.distinct = extent is not None and self.operator in ("scatter", "index_copy", "index_put", "index_copy_", "scatter_", "_unsafe_index_put")
        made.transposed = len(shape) > 1 and self.rng.random() < 0.15
        kind = self.rng.random() * (0.79 if self.operator in SURE and extent else 1)
        if self.known:    # all operands are
            kind = max(kind, 0.45)
        if name == "out" or kind < 0.45:
            made.name = f"x{self.free}"
            self.free += 1
            return made
        if kind < 0.8 or made.distinct:
            generator = torch.Generator().manual_seed(self.rng.getrandbits(30))
            made.value = made.sample(generator, self.rng.choice([0, 0, 1, 2]))
            if dtype.is_floating_point:    # decimals with few digits, as programs have them
                made.value = (made.value * 4).round() / 4
            made.kind = "constant"
            return made
        return self.made(made)

    def made(self, operand):
        """What an operator without operands makes."""
        operand.kind, operand.domain, operand.transposed = "made", None, False
        shape, dtype = operand.shape, operand.dtype
        if len(shape) == 1 and self.rng.random() < 0.7 and dtype != torch.bool:
            operand.value = (aten.arange.default, [shape[0]], {"dtype": dtype})
            if self.rng.random() < 0.3:
                start = self.rng.randint(-1, 2) if dtype != torch.uint8 else 1
                operand.value = (aten.arange.start, [start, start + shape[0]], {"dtype": dtype})
        elif self.rng.random() < 0.5:
            operand.value = (self.rng.choice([aten.zeros.default, aten.ones.default]), [shape], {"dtype": dtype})
        else:
            operand.value = (aten.full.default, [shape, self.rng.choice([0, 1, 2, 0.5, -1, True, 2.5])], {"dtype": dtype})
        return operand

    def changed(self, call):
        """The call with one argument that is no tensor drawn anew, or a constant changed; None if there is none."""
        result = Call(call.overload, list(call.args), dict(call.kwargs))
        parameters = call.overload._schema.arguments
        plain = [i for i, each in enumerate(call.args) if not operands_in(each) and each is not None]
        constants = [each for each in call.operands() if each.kind == "constant" and each.value.numel()]
        if self.operator in SURE:
            plain, parameters = [], []
        named = [each.name for each in parameters if each.has_default_value() and "Tensor" not in str(each.type)]
        choices = ["plain"] * bool(plain) + ["constant"] * bool(constants) + ["named"] * bool(named)
        if not choices:
            return None
        choice = self.rng.choice(choices)
        if choice == "plain":
            at = self.rng.choice(plain)
            result.args[at] = self.argument(parameters[at].name, str(parameters[at].real_type).removeprefix("Optional[").removesuffix("]"))
        elif choice == "constant":
            old = self.rng.choice(constants)
            new = copy.copy(old)
            new.value = old.value.clone(memory_format=torch.preserve_format)
            at = tuple(self.rng.randrange(extent) for extent in new.shape)
            step = 1 if new.dtype == torch.uint8 else self.rng.choice([1, -1])
            new.value[at] = ~new.value[at] if new.dtype == torch.bool else new.value[at] + step
            result.args = replaced(result.args, old, new)
            result.kwargs = {name: replaced(each, old, new) for name, each in result.kwargs.items()}
        else:
            parameter = self.rng.choice([each for each in parameters if each.name in named])
            at = [each.name for each in parameters].index(parameter.name)
            value = self.argument(parameter.name, str(parameter.real_type))
            if at < len(result.args):
                result.args[at] = value
            else:
                result.kwargs[parameter.name] = value
        return result


def replaced(value, old, new):
    if value is old:
        return new
    return [replaced(each, old, new) for each in value] if isinstance(value, list) else value
