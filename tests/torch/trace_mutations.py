"""Changes of one thing in a recorded trace. Each is a function of trace, position of an operator and random numbers; it changes the
trace, and says what it did, or gives None if there is nothing of its kind at that place."""
import torch

REAL_TYPES, WHOLE_TYPES = ("float32", "float64", "bfloat16", "float16"), ("int64", "int32", "int8", "uint8", "bool")

#: Operators that take the same arguments and mean something else.
NEIGHBOURS = [
    ("add", "sub", "mul", "div", "maximum", "minimum", "atan2", "pow"), ("add_", "sub_", "mul_", "div_"),
    ("lt", "le", "gt", "ge", "eq", "ne"), ("cos", "sin", "tanh", "exp", "sigmoid", "silu", "gelu", "relu", "erf", "expm1"),
    ("rsqrt", "sqrt", "reciprocal", "abs", "neg", "sign"), ("floor", "ceil", "round", "trunc"),
    ("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"), ("__and__", "__or__", "__xor__"),
    ("bitwise_not", "logical_not"), ("sum", "mean", "amax", "amin", "prod"), ("argmax", "argmin"), ("any", "all"),
    ("max", "min"), ("zeros", "ones"), ("zeros_like", "ones_like"), ("triu", "tril"), ("cumsum", "cumprod"),
    ("addcmul_", "addcdiv_"), ("_softmax", "_log_softmax"), ("index_put", "index_add"), ("gather", "take_along_dim")]


def tensor_args(entry):
    return [i for i, arg in enumerate(entry.get("args") or []) if isinstance(arg, dict) and "tensor" in arg]


def slots(entry):
    """Places in an operator's arguments: container, key and value of each leaf."""
    def walk(value):
        pairs = enumerate(value) if isinstance(value, list) else value.items()
        for key, each in list(pairs):
            if isinstance(each, list):
                yield from walk(each)
            elif key == "pin_memory":
                continue
            elif isinstance(each, dict) and not {"tensor", "dtype", "other", "item", "computed", "float", "complex"} & set(each):
                yield from walk(each)
            else:
                yield value, key, each

    yield from walk(entry.get("args") or [])
    yield from walk(entry.get("kwargs") or {})


def computes(trace, index):
    entry = trace["operators"][index]
    return entry if "op" in entry and "collective" not in entry else None


def communicates(trace, index):
    entry = trace["operators"][index]
    return entry if "collective" in entry else None


def change_literal(trace, index, rng):
    """A number, whatever it is: constant, dimension, size, index, bound of a slice, boundary."""
    entry = computes(trace, index)
    found = entry and [each for each in slots(entry) if isinstance(each[2], (int, float))]
    if not found:
        return None
    container, key, value = rng.choice(found)
    if isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, int):
        container[key] = rng.choice([value + 1, value - 1, -value - 1, value + 0.5, 0, 2 * value + 1])
    else:
        container[key] = rng.choice([value * 0.5, -value, value * 2 + (value == 0), float(int(value)), value + 1e-3])
    return f"{value} of {entry['op']} becomes {container[key]}" if container[key] != value or type(container[key]) != type(value) else None


def change_type(trace, index, rng):
    """A type that an operator is given; the result's memory, too, in half of the cases."""
    entry = computes(trace, index)
    found = entry and [each for each in slots(entry) if isinstance(each[2], dict) and "dtype" in each[2]]
    if not found:
        return None
    container, key, value = rng.choice(found)
    new = rng.choice([each for each in WHOLE_TYPES + REAL_TYPES if each != value["dtype"]])
    container[key] = {"dtype": new}
    if rng.random() < 0.5:
        for each in entry.get("out") or []:
            if isinstance(each, dict) and "tensor" in each and not entry.get("writes"):
                retype(trace, trace["tensors"][each["tensor"]][0], new)
    return f"type {value['dtype']} of {entry['op']} becomes {new}"


def retype(trace, storage, dtype):
    trace["storages"][storage]["dtype"] = dtype
    for each in trace["tensors"]:
        if each[0] == storage:
            each[1] = dtype


def change_operator(trace, index, rng):
    entry = computes(trace, index)
    if not entry or not entry["op"].startswith("aten."):
        return None
    _, name, overload = entry["op"].split(".")
    others = [other for row in NEIGHBOURS if name in row for other in row if other != name]
    others = [other for other in others if hasattr(torch.ops.aten, other) and overload in getattr(torch.ops.aten, other).overloads()]
    if not others:
        return None
    before, entry["op"] = entry["op"], f"aten.{rng.choice(others)}.{overload}"
    return f"{before} becomes {entry['op']}"


def change_overload(trace, index, rng):
    entry = computes(trace, index)
    if not entry or not entry["op"].startswith("aten."):
        return None
    _, name, overload = entry["op"].split(".")
    others = [each for each in getattr(torch.ops.aten, name).overloads() if each != overload and "out" not in each]
    if not others:
        return None
    before, entry["op"] = entry["op"], f"aten.{name}.{rng.choice(others)}"
    return f"{before} becomes {entry['op']}"


def swap_arguments(trace, index, rng):
    entry = computes(trace, index)
    places = entry and tensor_args(entry)
    if not places or len(places) < 2 or entry.get("writes"):
        return None
    a, b = rng.sample(places, 2)
    args = entry["args"]
    if args[a] == args[b]:
        return None
    args[a], args[b] = args[b], args[a]
    return f"operands {a} and {b} of {entry['op']} are exchanged"


def drop_argument(trace, index, rng):
    """The last argument or a keyword is left out, so the default counts."""
    entry = computes(trace, index)
    if not entry:
        return None
    keys = [key for key in entry.get("kwargs") or {} if key not in ("device", "layout", "pin_memory")]
    if keys:
        key = rng.choice(keys)
        value = entry["kwargs"].pop(key)
    elif len(entry.get("args") or []) > 1 and not isinstance(entry["args"][-1], dict):
        key, value = len(entry["args"]) - 1, entry["args"].pop()
    else:
        return None
    return f"argument {key} of {entry['op']}, {value}, is left out"


def replace(entry, at, number):
    """An operator in place writes the operand that it gets."""
    before = entry["args"][at]["tensor"]
    entry["args"][at] = {"tensor": number}
    if entry.get("writes") == [before] and at == 0:
        entry["writes"], entry["out"] = [number], [{"tensor": number}]


def change_operand(trace, index, rng):
    entry = computes(trace, index)
    args = entry and tensor_args(entry)
    if not args:
        return None
    at = rng.choice(args)
    number = entry["args"][at]["tensor"]
    kind = trace["tensors"][number]
    others = [i for i, t in enumerate(trace["tensors"][:number]) if t[0] != kind[0] and t[1] == kind[1] and t[3:] == kind[3:]]
    if not others:
        return None
    replace(entry, at, rng.choice(others[-12:]))
    return f"operand {at} of {entry['op']} is tensor {entry['args'][at]['tensor']} in place of {number}"


def change_view(trace, index, rng):
    """An operand begins elsewhere, has other strides, is conjugated or negated, or is shorter."""
    entry = computes(trace, index)
    args = entry and tensor_args(entry)
    if not args:
        return None
    at = rng.choice(args)
    storage, dtype, offset, shape, strides, *flags = trace["tensors"][entry["args"][at]["tensor"]]
    size = trace["storages"][storage]["size"]
    new, way = [storage, dtype, offset, list(shape), list(strides), *flags], rng.randrange(4)
    if way == 0:
        free = size - sum((n - 1) * s for n, s in zip(shape, strides)) - 1
        new[2] = rng.choice([0, 1, max(free, 0) // 2, max(free, 0)])
    elif way == 1 and len(shape) > 1:
        a, b = rng.sample(range(len(shape)), 2)
        new[4][a], new[4][b] = new[4][b], new[4][a]
        if rng.random() < 0.5:
            new[3][a], new[3][b] = new[3][b], new[3][a]
    elif way == 2:
        new[5:] = [(flags[0] if flags else 0) ^ (2 if dtype.startswith("float") else 1)]
    elif way == 3 and shape:
        dim = rng.randrange(len(shape))
        new[3][dim] = rng.choice([1, max(1, shape[dim] - 1), shape[dim] + 1])
    extent = sum((n - 1) * s for n, s in zip(new[3], new[4])) + 1
    if new[:5] == trace["tensors"][entry["args"][at]["tensor"]][:5] and way != 2 or new[2] + extent > size:
        return None
    trace["tensors"].append(new)
    replace(entry, at, len(trace["tensors"]) - 1)
    return f"operand {at} of {entry['op']} is seen as {new[2:]} in place of {[offset, shape, strides, *flags]}"


def move_slice(trace, index, rng):
    """A slice or a row is taken one further on, with all that the trace says of its result."""
    entry = computes(trace, index)
    if not entry or entry["op"] not in ("aten.slice.Tensor", "aten.select.int", "aten.narrow.default"):
        return None
    of, out = (trace["tensors"][each["tensor"]] for each in (entry["args"][0], entry["out"][0]))
    args = entry["args"]
    dim = args[1] if len(args) > 1 else 0
    step = rng.choice([1, -1])
    for at in (2, 3) if entry["op"] == "aten.slice.Tensor" else (2,):
        if len(args) > at and isinstance(args[at], int):
            args[at] = min(args[at], of[3][dim]) + step
    out[2] += step * of[4][dim]
    extent = sum((n - 1) * s for n, s in zip(out[3], out[4])) + 1
    return f"{entry['op']} begins {step} further" if 0 <= out[2] <= trace["storages"][out[0]]["size"] - extent else None


def leave_out(trace, index, rng):
    entry = computes(trace, index)
    if not entry or not entry.get("writes") or "item" in entry:
        return None
    del trace["operators"][index], rng
    return f"{entry['op']} is left out"


def exchange_operators(trace, index, rng):
    operators = trace["operators"]
    other = index + rng.randrange(1, 4)
    if other >= len(operators) or any("wait" in operators[each] or "work" in operators[each] for each in (index, other)):
        return None
    operators[index], operators[other] = operators[other], operators[index]
    return f"operators {index} and {other} are exchanged"


def change_item(trace, index, rng):
    """A number that came from a tensor is another one, is computed otherwise, or is a constant."""
    entry = computes(trace, index)
    found = entry and [each for each in slots(entry) if isinstance(each[2], dict) and {"item", "computed"} & set(each[2])]
    if not found:
        return None
    container, key, value = rng.choice(found)
    others = [value["value"]]
    if "item" in value:
        others += [{**value, "item": each} for each in (value["item"] - 1, value["item"] + 1) if each >= 0]
    else:
        head, *rest = value["computed"]
        other = {"add": "sub", "sub": "add", "mul": "div", "div": "mul", "pow": "mul"}.get(head, head)
        others += [{**value, "computed": [other, *rest]},
                   {**value, "computed": [head, *rest[::-1]]}]
    new = rng.choice(others)
    if new == value:
        return None
    container[key] = new
    return f"{value} of {entry['op']} becomes {new}"


def change_reduction(trace, index, rng):
    entry = communicates(trace, index)
    if not entry or entry.get("reduce") not in ("sum", "avg", "max"):
        return None
    before = entry["reduce"]
    entry["reduce"] = rng.choice([each for each in ("sum", "avg", "max") if each != before])
    return f"{entry['collective']} by {before} is by {entry['reduce']}"


def change_participants(trace, index, rng):
    """Group, root, peer, tag, factor, sizes, or the order of what goes to or comes from the ranks."""
    entry = communicates(trace, index)
    if not entry:
        return None
    keys = ("group", "root", "peer", "tag", "factor", "in_splits", "out_splits", "in", "out")
    keys = [key for key in keys if entry.get(key, []) != []]
    key = rng.choice(keys)
    before = entry[key]
    if key == "group":
        others = [each for each in range(len(trace["groups"])) if each != before]
        if not others:
            return None
        entry[key] = rng.choice(others)
    elif key in ("root", "peer"):
        entry[key] = rng.choice([each for each in range(trace["world"]) if each != before])
    elif isinstance(before, list):
        entry[key] = before[::-1] if key != "in" or len(before) > 1 else before
        if key in ("in", "out") and len(before) == 1:  # another tensor of this kind
            kind = trace["tensors"][before[0]]
            others = [i for i, t in enumerate(trace["tensors"]) if t[0] != kind[0] and t[1] == kind[1] and t[3:] == kind[3:]]
            entry[key] = [rng.choice(others)] if others else before
    else:
        entry[key] = before + 1
    return f"{key} {before} of {entry['collective']} becomes {entry[key]}" if entry[key] != before else None


def change_message(trace, index, rng):
    """What is sent or received is of another type, or shape, or is shorter."""
    entry = communicates(trace, index)
    places = entry and [(key, i) for key in ("in", "out") for i in range(len(entry.get(key) or []))]
    if not places:
        return None
    key, i = rng.choice(places)
    storage, dtype, offset, shape, strides, *flags = trace["tensors"][entry[key][i]]
    ways = [[storage, dtype, offset, shape[:-1] + [shape[-1] - 1], strides]] if shape and shape[-1] > 1 else []
    if len(shape) > 1:
        ways.append([storage, dtype, offset, shape[::-1], strides[::-1]])
    ways += [[storage, other, offset, shape, strides, *flags] for other in {"float32": ["int32"], "int64": ["float64"]}.get(dtype, [])]
    if not ways:
        return None
    new = rng.choice(ways)
    trace["tensors"].append(new)
    entry[key] = [*entry[key][:i], len(trace["tensors"]) - 1, *entry[key][i + 1:]]
    return f"{key} of {entry['collective']} is {new[1:4]} in place of {[dtype, offset, shape]}"


def change_group(trace, index, rng):
    del index
    at = rng.randrange(len(trace["groups"])) if trace["groups"] else None
    if at is None or len(trace["groups"][at]) < 2:
        return None
    before = trace["groups"][at]
    trace["groups"][at] = rng.choice([before[::-1], before[1:], before[:-1]])
    return f"group {before} is {trace['groups'][at]}"


def drop_result(trace, index, rng):
    del index
    gone = trace["results"].pop(rng.randrange(len(trace["results"])))
    return f"no result {gone['kind']} {gone['name']}"


def change_result(trace, index, rng):
    """A result is another tensor, another part, or reduced otherwise."""
    del index
    entry = rng.choice(trace["results"])
    return changed_relation(trace, entry, rng, f"{entry['kind']} {entry['name']}")


def change_input(trace, index, rng):
    del index
    entry = rng.choice(trace["inputs"])
    return changed_relation(trace, entry, rng, f"{entry['role']} {entry['name']}")


def changed_relation(trace, entry, rng, name):
    way = rng.randrange(4)
    if way == 0 and "reduce" in entry:
        entry["reduce"] = {"avg": "sum", "sum": "avg"}[entry["reduce"]]
        return f"{name} is reduced by {entry['reduce']}"
    if way == 1 and entry.get("place"):
        dim = rng.randrange(len(entry["place"]))
        start, length = entry["place"][dim][0]
        new = rng.choice([start + 1, start - 1, 0, entry["of"][dim] - length])
        if new == start or not 0 <= new <= entry["of"][dim] - length:
            return None
        entry["place"][dim][0] = [new, length]
        return f"{name} is said to begin at {new} and not {start} in dimension {dim}"
    if way == 2 and entry.get("flat"):
        entry["flat"][0] = max(0, entry["flat"][0] + rng.choice([-1, 1]))
        return f"{name} is said to begin at {entry['flat'][0]}"
    kind = trace["tensors"][entry["tensor"]]
    others = [i for i, t in enumerate(trace["tensors"]) if t[0] != kind[0] and t[1] == kind[1] and t[3:] == kind[3:]]
    if not others:
        return None
    before, entry["tensor"] = entry["tensor"], rng.choice(others)
    return f"{name} is tensor {entry['tensor']} in place of {before}"


def exchange_names(trace, index, rng):
    """Two inputs, or two results, of the same kind and shape have each other's name."""
    del index
    entries = trace[rng.choice(["inputs", "results"])]
    pairs = [(a, b) for i, a in enumerate(entries) for b in entries[:i]
             if a.get("role") == b.get("role") and a.get("kind") == b.get("kind") and a.get("of") == b.get("of")
             and trace["tensors"][a["tensor"]][3] == trace["tensors"][b["tensor"]][3] and a["name"] != b["name"]]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    a["name"], b["name"] = b["name"], a["name"]
    return f"{a.get('role') or a['kind']} {b['name']} and {a['name']} have each other's name"


KINDS = [change_literal, change_literal, change_type, change_operator, change_overload, swap_arguments, drop_argument, change_operand,
         change_view, move_slice, leave_out, exchange_operators, change_item, change_reduction, change_participants, change_message,
         change_group, drop_result, change_result, change_input, exchange_names]
