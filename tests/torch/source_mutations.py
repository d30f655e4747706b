"""Changes of one thing in the source of a Python module, as a programmer's slip: a statement that is left out, another constant, axis,
operator or variable, a missing scale or reduction, a detached value. Positions stay those of the file."""
import ast
import copy

#: Names that a programmer confuses.
CONFUSED = [
    ("mean", "sum"), ("sin", "cos"), ("avg", "sum"), ("AVG", "SUM"), ("chunk", "split"), ("gelu", "silu", "relu", "tanh"),
    ("get_rank", "get_local_rank"), ("all_reduce", "broadcast"), ("ColwiseParallel", "RowwiseParallel"), ("Shard", "Replicate"),
    ("dp", "tp"), ("replicate", "shard"), ("mse_loss", "l1_loss"), ("triu", "tril"), ("softmax", "log_softmax"), ("rsqrt", "sqrt"),
    ("AdamW", "Adam"), ("lt", "le"), ("zero_grad", "train"), ("randn", "rand"), ("x", "y"), ("q", "k"), ("k", "v"), ("rank", "ranks"),
    ("tokens", "labels"), ("gate", "up"), ("isend", "send"), ("first", "last"), ("Sums", "SumsGradient")]
OPERATORS = {ast.Add: [ast.Sub, ast.Mult], ast.Sub: [ast.Add], ast.Mult: [ast.Div, ast.Add], ast.Div: [ast.Mult], ast.Pow: [ast.Mult],
             ast.FloorDiv: [ast.Mult, ast.Mod], ast.Mod: [ast.FloorDiv], ast.BitOr: [ast.BitAnd], ast.BitAnd: [ast.BitOr]}
COMPARISONS = {ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt], ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt],
               ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is]}


#: Names that hold no tensors in these programs.
MODULES = ("torch", "dist", "nn", "functional", "math")
NO_TENSORS = frozenset("rank ranks mesh group of dim name names size loaded saved model self start seed index step optimizer stage data "
                       "said".split())


class Place:
    """A node with the field of its parent where it stands."""

    def __init__(self, node, parent, field, index):
        self.node, self.parent, self.field, self.index = node, parent, field, index

    def put(self, new):
        ast.copy_location(new, self.node)
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


def places(tree, lines):
    """All nodes within functions, on lines that are run."""
    def walk(parent, inside):
        for field, value in ast.iter_fields(parent):
            for index, node in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(node, ast.AST):
                    continue
                if inside and getattr(node, "lineno", None) in lines:
                    yield Place(node, parent, field, index if isinstance(value, list) else None)
                yield from walk(node, inside or isinstance(node, (ast.FunctionDef, ast.Lambda)))

    return list(walk(tree, False))


def names(node, context):
    """Variables that a statement reads, or sets."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


def left_out(place, rng):
    del rng
    node = place.node
    if isinstance(node, (ast.Assign, ast.For, ast.With)) and names(node, ast.Store) - names(node, ast.Load):
        return None  # a name would be missing
    if not isinstance(node, (ast.Expr, ast.AugAssign, ast.Assign, ast.For, ast.With)) or \
            isinstance(getattr(node, "value", None), ast.Constant):
        return None
    place.put(ast.Pass())
    return f"`{ast.unparse(node).splitlines()[0]}` is left out"


def other_constant(place, rng):
    node = place.node
    if not isinstance(node, ast.Constant) or isinstance(node.value, str) or node.value is None or node.value is Ellipsis:
        return None
    value = node.value
    if isinstance(value, bool):
        new = not value
    elif isinstance(value, int):
        new = rng.choice([value + 1, value - 1, -value or 1, 2 * value or 2])
    else:
        new = rng.choice([value * 2, value / 2, -value, value + 1])
    place.put(ast.Constant(new))
    return f"{value} becomes {new}"


def other_operator(place, rng):
    node = place.node
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        before, node.op = type(node.op).__name__, rng.choice(OPERATORS[type(node.op)])()
        return f"{before} becomes {type(node.op).__name__}: `{ast.unparse(node)}`"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        node.ops[0] = rng.choice(COMPARISONS[type(node.ops[0])])()
        return f"`{ast.unparse(node)}`"
    if isinstance(node, ast.UnaryOp):
        place.put(node.operand)
        return f"`{ast.unparse(node)}` becomes its operand"
    return None


def one_operand(place, rng):
    """A missing scale, offset or summand."""
    node = place.node
    if not isinstance(node, ast.BinOp):
        return None
    new = rng.choice([node.left, node.right])
    place.put(new)
    return f"`{ast.unparse(node)}` becomes `{ast.unparse(new)}`"


def exchanged(place, rng):
    node = place.node
    if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Mult)):
        node.left, node.right = node.right, node.left
    elif isinstance(node, (ast.Call, ast.Tuple, ast.List)):
        items = node.args if isinstance(node, ast.Call) else node.elts
        if len(items) < 2 or isinstance(getattr(node, "ctx", None), ast.Store):
            return None
        i = rng.randrange(len(items) - 1)
        items[i], items[i + 1] = items[i + 1], items[i]
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    else:
        return None
    return f"exchanged: `{ast.unparse(node)}`"


def without_call(place, rng):
    """f(x, ...) is x, and x.f(...) is x."""
    node = place.node
    if not isinstance(node, ast.Call):
        return None
    inner = [node.args[0]] if node.args and not isinstance(node.args[0], ast.Starred) else []
    if isinstance(node.func, ast.Attribute):
        inner.append(node.func.value)
    inner = [each for each in inner if not (isinstance(each, ast.Name) and (each.id in NO_TENSORS or each.id in MODULES))
             and not isinstance(each, ast.Constant)]
    if not inner:
        return None
    new = rng.choice(inner)
    place.put(new)
    return f"`{ast.unparse(node)}` becomes `{ast.unparse(new)}`"


def without_argument(place, rng):
    node = place.node
    if not isinstance(node, ast.Call) or not (node.keywords or len(node.args) > 1):
        return None
    before = ast.unparse(node)
    if node.keywords and (len(node.args) < 2 or rng.random() < 0.6):
        del node.keywords[rng.randrange(len(node.keywords))]
    else:
        node.args.pop()
    return f"`{before}` becomes `{ast.unparse(node)}`"


def detached(place, rng):
    del rng
    node = place.node
    if not isinstance(node, (ast.Call, ast.Name, ast.BinOp)) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or \
            place.field not in ("args", "left", "right", "value") or \
            isinstance(node, ast.Name) and (node.id in NO_TENSORS or node.id.isupper()):
        return None
    place.put(ast.Call(ast.Attribute(copy.deepcopy(node), "detach", ast.Load()), [], []))
    return f"`{ast.unparse(node)}` is detached"


def twice(place, rng):
    """A statement is done twice: a reduction, a step, an update."""
    del rng
    node = place.node
    if not isinstance(node, (ast.Expr, ast.AugAssign)) or isinstance(getattr(node, "value", None), ast.Constant):
        return None
    getattr(place.parent, place.field).insert(place.index, copy.deepcopy(node))
    return f"`{ast.unparse(node)}` is done twice"


def without_context(place, rng):
    del rng
    if not isinstance(place.node, ast.With):
        return None
    place.put(ast.If(ast.Constant(True), place.node.body, []))
    return f"without `{ast.unparse(place.node).splitlines()[0]}`"


def other_branch(place, rng):
    node = place.node
    if not isinstance(node, (ast.If, ast.IfExp)):
        return None
    before = ast.unparse(node.test)
    node.test = ast.copy_location(rng.choice([ast.UnaryOp(ast.Not(), node.test), ast.Constant(True), ast.Constant(False)]), node.test)
    return f"`{before}` becomes `{ast.unparse(node.test)}`"


def confused(place, rng):
    node = place.node
    field = {ast.Name: "id", ast.Attribute: "attr", ast.Constant: "value", ast.keyword: "arg"}.get(type(node))
    text = getattr(node, field) if field else None
    others = [other for row in CONFUSED if text in row for other in row if other != text]
    if not others or not isinstance(text, str) or isinstance(getattr(node, "ctx", None), ast.Store):
        return None
    setattr(node, field, rng.choice(others))
    return f"{text} becomes {getattr(node, field)}"


def other_order(place, rng):
    """Two statements, one after another, change places."""
    del rng
    body, i = getattr(place.parent, place.field), place.index
    if not isinstance(place.node, ast.stmt) or i is None or i + 1 >= len(body) or isinstance(body[i], ast.FunctionDef) or \
            isinstance(body[i + 1], (ast.Return, ast.FunctionDef)) or names(body[i], ast.Store) & names(body[i + 1], ast.Load):
        return None
    body[i], body[i + 1] = body[i + 1], body[i]
    return f"`{ast.unparse(body[i + 1]).splitlines()[0]}` comes after `{ast.unparse(body[i]).splitlines()[0]}`"


def other_slice(place, rng):
    node = place.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Name) and \
            node.slice.id in ("name", "word") or isinstance(getattr(node.slice, "value", None), str):
        return None
    before = ast.unparse(node)
    if isinstance(node.slice, ast.Slice):
        low, high = node.slice.lower, node.slice.upper
        one = ast.Constant(1)
        way = rng.randrange(3)
        if way == 0:
            node.slice.lower = ast.BinOp(low, ast.Add(), one) if low else one
        elif way == 1:
            node.slice.lower = None
        else:
            node.slice.upper = ast.BinOp(high, ast.Sub(), one) if high else ast.Constant(-1)
    else:
        node.slice = ast.Constant(0) if rng.random() < 0.5 else ast.BinOp(node.slice, ast.Sub(), ast.Constant(1))
    return f"`{before}` becomes `{ast.unparse(node)}`"


KINDS = [left_out, left_out, other_constant, other_constant, other_operator, other_operator, one_operand, one_operand, exchanged,
         without_call, without_argument, detached, twice, without_context, other_branch, confused, confused, other_order, other_slice]


def mutated(source, lines, rng):
    """The tree of a module after one change on one of these lines, and what it is; None if the kind has no place there."""
    tree = ast.parse(source)
    kind = rng.choice(KINDS)
    order = places(tree, lines)
    rng.shuffle(order)
    for place in order:
        line = place.node.lineno
        text = kind(place, rng)
        if text is not None:
            ast.fix_missing_locations(tree)
            return tree, f"line {line}: {kind.__name__}: {' '.join(text.split())}"
    return None
