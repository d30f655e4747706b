"""One small fault, anywhere in a plan file: another number, operand, operator, axis, relation, order, piece of a
declaration.

A mutated plan may still be right, or be no plan at all; the judge says which.
"""
import copy
import re

from collectives import WITHIN

TOKEN = re.compile(r"->|\.\.|//|==|!=|<=|>=|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|\S")
ALIKE = (("add", "sub", "mul", "maximum", "minimum"), ("relu", "abs", "neg", "identity", "square"),
         ("sum", "max", "min", "mean"),
         ("exp", "silu", "tanh", "sigmoid"), ("lt", "le", "gt", "ge", "eq", "ne"), ("flip", "identity"),
         ("all_reduce", "broadcast", "permute"), ("all_gather", "all_to_all"), ("reduce_scatter", "chunk"))
SYMBOLS = {"+": ["-"], "-": ["+"], "*": ["+"], "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="],
           "==": ["!=", "<="], "!=": ["=="], "//": ["%"], "%": ["//"], "max": ["min", "sum"], "min": ["max"],
           "sum": ["max", "mean"], "mean": ["sum"], "and": ["or"], "or": ["and"], "even": ["first", "all", "zero"],
           "first": ["even", "zero", "all"], "zero": ["even", "first", "all"], "all": ["even", "first", "zero"]}


def mutated(content, random):
    """A copy with a fault; where one cannot be placed, another is tried."""
    content = copy.deepcopy(content)
    before = copy.deepcopy(content)
    faults = [another_number, another_number, another_operand, another_operand, swapped_operands, another_operator,
              bypassed, another_key, another_key, another_relation, another_relation, another_token, another_token,
              another_token, another_exception, another_order, another_step, removed_exception, another_lineage,
              other_pieces]
    for _ in range(40):
        random.choice(faults)(content, random)
        if content != before:
            return content
    return content


def programs(content):
    return content["plan"]["programs"]


def operators(content, random):
    """The operators of a random program, those of its exceptions included; rarely those of the model."""
    if random.random() < .07:
        return content["specification"]["operators"]
    program = random.choice(programs(content))
    result = list(program["operators"])
    for exception in program.get("exceptions", []):
        own = exception["with"]
        result += own if isinstance(own, list) else [own]
    return result


def pick(random, items):
    items = list(items)
    return random.choice(items) if items else None


def listed(value):
    return value if isinstance(value, list) else [value]


def names_of(content, random):
    """Names of tensors that a program knows."""
    program = random.choice(programs(content))
    names = list(program.get("inputs", {}))
    for operator in program["operators"]:
        if "backward" not in operator and "out" in operator:
            names += listed(operator["out"])
        elif isinstance(operator.get("out"), dict):
            names += operator["out"].values()
    return names


def changed_number(value, random):
    if isinstance(value, bool):
        return not value
    return value + random.choice([1, -1, 1, -1, 2]) if random.random() < .9 else -value


def changed_text(text, random):
    """An expression with another number or sign."""
    tokens = re.findall(r"\s+|\d+|[A-Za-z_][\w.]*|\S", text)
    places = [k for k, token in enumerate(tokens) if token.isdigit() or token in ("+", "-", "*", "/", "%")]
    if not places:
        return text
    at = random.choice(places)
    token = tokens[at]
    tokens[at] = str(max(0, int(token) + random.choice([1, -1]))) if token.isdigit() else random.choice("+-*")
    return "".join(tokens)


def another_number(content, random):
    """In the attributes of an operator."""
    operator = pick(random, [o for o in operators(content, random) if o.get("attrs")])
    if operator is None:
        return
    key = random.choice(list(operator["attrs"]))
    operator["attrs"][key] = changed_value(operator["attrs"][key], random)


def changed_value(value, random):
    if isinstance(value, list) and value:
        at = random.randrange(len(value))
        value = list(value)
        if len(value) > 1 and random.random() < .4:
            other = random.randrange(len(value))
            value[at], value[other] = value[other], value[at]
        else:
            value[at] = changed_value(value[at], random)
        return value
    if isinstance(value, str):
        return "=" + changed_text(value[1:], random) if value.startswith("=") else value
    return changed_number(value, random) if isinstance(value, (int, float)) else value


def another_operand(content, random):
    operator = pick(random, [o for o in operators(content, random) if o.get("in") not in (None, [])])
    if operator is None:
        return
    own = listed(operator["in"])
    at = random.randrange(len(own))
    replacement = pick(random, names_of(content, random))
    if isinstance(own[at], str) and ":" in own[at]:
        program = own[at].split(":")[0]
        replacement = f"{program}:{replacement}"
    if replacement is not None:
        own = own[:at] + [replacement] + own[at + 1:]
        operator["in"] = own if isinstance(operator["in"], list) else own[0]


def swapped_operands(content, random):
    operator = pick(random, [o for o in operators(content, random)
                             if isinstance(o.get("in"), list) and len(o["in"]) > 1])
    if operator is not None:
        a, b = random.sample(range(len(operator["in"])), 2)
        own = operator["in"] = list(operator["in"])
        own[a], own[b] = own[b], own[a]


def another_operator(content, random):
    operator = pick(random, [o for o in operators(content, random) if any(o.get("op") in group for group in ALIKE)])
    if operator is None:
        return
    group = random.choice([g for g in ALIKE if operator["op"] in g])
    operator["op"] = random.choice(group)
    if operator["op"] in WITHIN or "over" in operator:
        _fit_collective(operator, random)


def _fit_collective(operator, random):
    """Keys that the collective has, and no others."""
    keys = {"broadcast": {"root": 0}, "permute": {"shift": 1}, "all_reduce": {}, "all_gather": {"dim": 0},
            "all_to_all": {"split_dim": 0, "concat_dim": 0}, "reduce_scatter": {"dim": 0},
            "chunk": {"dim": 0}}.get(operator["op"])
    if keys is None or ("over" not in operator and operator["op"] != "all_reduce"):
        return
    for key in ("root", "shift", "pairs", "dim", "reduce", "split_dim", "concat_dim"):
        if key not in keys and not (key == "reduce" and operator["op"] in ("all_reduce", "reduce_scatter")):
            operator.pop(key, None)
    for key, value in keys.items():
        operator.setdefault(key, value)


def bypassed(content, random):
    """The identity in place of an operator with one operand."""
    operator = pick(random, [o for o in operators(content, random) if "op" in o and isinstance(o.get("out"), str)
                             and o["op"] not in ("wait", "move") and ":" not in str(o.get("in"))])
    if operator is not None:
        own = listed(operator["in"])
        keep = {k: v for k, v in operator.items() if k in ("out", "phase", "name")}
        operator.clear()
        operator.update({"op": "identity", "in": random.choice(own), **keep})


def another_key(content, random):
    """Of a collective."""
    operator = pick(random, [o for o in operators(content, random) if set(o) & {
        "over", "reduce", "root", "shift", "pairs", "split_dim", "concat_dim", "dim"}])
    if operator is None:
        return
    key = random.choice([k for k in ("over", "reduce", "root", "shift", "pairs", "split_dim", "concat_dim", "dim")
                         if k in operator])
    if key == "over":
        operator["over"] = another_axis(content, operator["over"], random)
    elif key == "reduce":
        operator["reduce"] = random.choice(["sum", "max", "min", "avg"])
    elif key == "pairs":
        operator["pairs"] = other_pairs(operator["pairs"], random)
    else:
        operator[key] = changed_number(operator[key], random)
    if operator.get("op") in ("all_reduce", "reduce_scatter") and random.random() < .3:
        operator["reduce"] = random.choice(["sum", "max", "min", "avg"])


def other_pairs(pairs, random):
    pairs = copy.deepcopy(pairs)
    if pairs and random.random() < .5:
        pairs.pop(random.randrange(len(pairs)))
    elif pairs:
        a, b = random.randrange(len(pairs)), random.randrange(len(pairs))
        pairs[a][1], pairs[b][1] = pairs[b][1], pairs[a][1]
    return pairs


def another_axis(content, own, random):
    axes = list(content["plan"]["mesh"]) + (["microbatch"] if content["plan"].get("microbatches", 1) > 1 else [])
    own = listed(own)
    choice = random.random()
    if len(own) > 1 and choice < .5:
        own = own[::-1] if choice < .3 else [random.choice(own)]
    elif choice < .8:
        own = [random.choice(axes)]
    else:
        own = random.sample(axes, min(2, len(axes)))
    return own[0] if len(own) == 1 else own


def another_relation(content, random):
    """Of an input or a required output."""
    program = random.choice(programs(content))
    places = [d for d in (program.get("inputs"), content["specification"].get("outputs")) if isinstance(d, dict) and d]
    place = pick(random, places)
    if place is None:
        return
    name = random.choice(list(place))
    place[name] = other_relation(content, place[name], random)


def other_relation(content, relation, random):
    relation = copy.deepcopy(relation)
    cuts = [k for k in relation if k.isdigit()]
    if "map" in relation:
        at = random.randrange(len(relation["map"]))
        relation["map"][at] = changed_text(relation["map"][at], random)
    elif cuts and random.random() < .8:
        key = random.choice(cuts)
        value = relation[key]
        if isinstance(value, dict):
            value["sizes"] = value["sizes"][::-1] if random.random() < .5 else other_pieces_of(value["sizes"], random)
        elif isinstance(value, list) and not isinstance(value[0], str):
            relation[key] = [changed_number(v, random) for v in value]
        elif random.random() < .3:
            relation[str(random.randint(0, 2))] = relation.pop(key)
        else:
            relation[key] = another_axis(content, value, random)
    elif random.random() < .5:
        relation[str(random.randint(0, 1))] = random.choice(list(content["plan"]["mesh"]))
    elif cuts:
        relation.pop(random.choice(cuts))
    return relation


def other_pieces_of(sizes, random):
    sizes = list(sizes)
    a, b = random.randrange(len(sizes)), random.randrange(len(sizes))
    sizes[a] += 1
    sizes[b] -= 1
    return sizes


def other_pieces(content, random):
    """The order of the participants of a collective between programs."""
    found = [o for p in programs(content) for o in p["operators"]
             if isinstance(o.get("in"), list) and any(":" in str(n) for n in o["in"])]
    operator = pick(random, found)
    if operator is not None and len(operator["in"]) > 1:
        before, after = operator["in"], list(operator["in"])
        random.shuffle(after)
        for other in found:
            if other["in"] == before and (other is operator or random.random() < .9):
                other["in"] = after


def another_token(content, random):
    """In a declaration; those that only the plan uses come first."""
    lines = content.get("operators")
    if not lines:
        return
    starts = [k for k, line in enumerate(lines) if line.startswith("op ")]
    first = starts[1] if len(starts) > 1 and random.random() < .9 else 0
    at = pick(random, [k for k in range(first, len(lines)) if not lines[k].startswith(("op ", "  {"))])
    if at is None:
        return
    start = lines[at].find("=") + 1
    tokens = [m for m in TOKEN.finditer(lines[at]) if m.start() >= start or "ties" in lines[at]]
    names = [m.group() for m in tokens if re.fullmatch(r"[ikr]\d+", m.group())]
    places = [m for m in tokens if m.group() in SYMBOLS or m.group().isdigit() or m.group() in names]
    match = pick(random, places)
    if match is None:
        return
    token = match.group()
    if token in SYMBOLS:
        new = random.choice(SYMBOLS[token])
    elif token.isdigit():
        new = str(max(0, int(token) + random.choice([1, -1])))
    else:
        new = random.choice(names)
    lines[at] = lines[at][:match.start()] + new + lines[at][match.end():]


def another_exception(content, random):
    """A rank, or several, that do something else."""
    program = random.choice(programs(content))
    free = [a for a in content["plan"]["mesh"] if a not in program.get("devices", {})]
    if content["plan"].get("microbatches", 1) > 1 and random.random() < .3:
        free.append("microbatch")
    replaced = pick(random, [o for o in program["operators"] if "op" in o and isinstance(o.get("out"), str) and
                             o["op"] not in ("wait", "move") and ":" not in str(o.get("in"))])
    if replaced is None or not free:
        return
    extents = {**content["plan"]["mesh"], "microbatch": content["plan"].get("microbatches", 1)}
    at = {axis: random.randrange(extents[axis]) for axis in random.sample(free, random.randint(1, len(free)))}
    operand = random.choice(listed(replaced["in"]))
    kind = random.choice(["neg", "identity", "double", "same", "zero"])
    if "over" in replaced or kind == "same":
        own = {k: v for k, v in replaced.items() if k not in ("phase", "async", "name", "channel")}
        if "reduce" in own or (replaced["op"] == "all_reduce" and random.random() < .3):
            own["reduce"] = random.choice(["sum", "avg", "max"])
        with_ = own if random.random() < .5 else [{**own, "out": "t.0"}, {"op": "neg", "in": "t.0", "out": own["out"]}]
    else:
        operator, attrs = {"neg": ("neg", {}), "identity": ("identity", {}), "double": ("mul", {}),
                           "zero": ("mul", {})}[kind]
        with_ = {"op": operator, "in": operand if operator != "mul" else [operand, 2 if kind == "double" else 0],
                 "out": replaced["out"], **({"attrs": attrs} if attrs else {})}
    program.setdefault("exceptions", []).append({"at": at, "replace": replaced["out"], "with": with_})


def removed_exception(content, random):
    program = random.choice(programs(content))
    if program.get("exceptions"):
        program["exceptions"].pop(random.randrange(len(program["exceptions"])))


def another_order(content, random):
    own = random.choice(programs(content))["operators"]
    if len(own) > 1:
        a = random.randrange(len(own) - 1)
        b = a + 1 if random.random() < .7 else random.randrange(len(own))
        own[a], own[b] = own[b], own[a]


def another_step(content, random):
    program = random.choice(programs(content))
    schedule = program.get("schedule")
    if schedule and len(schedule) > 1:
        a = random.randrange(len(schedule) - 1)
        schedule[a], schedule[a + 1] = schedule[a + 1], schedule[a]
    elif program.get("buffers") and random.random() < .6:
        names = names_of(content, random)
        program["buffers"][random.choice(names)] = random.choice(list(program["buffers"].values()))


def another_lineage(content, random):
    """A claim that is false, or one that is added."""
    program = random.choice(programs(content))
    logical = [n for role in ("inputs", "parameters", "buffers") for n in content["specification"].get(role, {})] + [
        n for o in content["specification"]["operators"] for n in listed(o["out"])]
    own = program.setdefault("lineage", {})
    computed = [n for n in names_of(content, random) if n not in program.get("inputs", {})]
    if not computed:
        return
    name = random.choice(list(own) or computed)
    relation = dict(own.get(name, {}))
    choice = random.random()
    if choice < .4 or not relation:
        relation["of"] = random.choice(logical)
    elif choice < .6:
        relation = other_relation(content, relation, random)
    elif choice < .8:
        relation["factor"] = random.choice([2, -1, 0.5, 3])
    else:
        relation.pop("partial", None)
    own[name] = relation
