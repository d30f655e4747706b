#!/usr/bin/env python3
"""Makes a plan for more devices of a published one for two, in the same format.

    widen_nnscaler_plan.py LOGICAL.pkl TP2.pkl --tp N --out DIR [--batch B] [--heads H] [--deviate KIND:SEED]

TP2 must be a plan for two devices that run the same cells in the same order (GPT, tp 2). What differs
between the two of them is taken for a step: device r of N gets the r-th of N equal slices where devices 0
and 1 have two halves, term r of N where they have two terms, and an id of its own where they have two ids.
--batch and --heads replace the batch extent and the number of attention heads in both plans, since N
devices need as many of each. Writes DIR/logical.pkl and DIR/tpN.pkl.
"""
import argparse
import os
import pickle
import random

import nnscaler_objects as w

KINDS = {
    'slice': 'one device reads the parameter slice of another one',
    'group': 'an all-reduce of one parameter gradient runs over half of the devices on each side',
    'constant': 'one device has another epsilon in a layer norm',
    'order': 'one device runs two independent operators in another order; equivalent',
}


class Anything:
    """Stands for objects of a pickle that no plan needs."""

    def __init__(self, *args, **kwargs):
        self.arguments = args

    def __call__(self, *args, **kwargs):
        return Anything(*args)

    def __setstate__(self, state):
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self.__dict__.update({str(k): v for k, v in part.items()})

    def __setitem__(self, key, value):
        pass

    def append(self, item):
        pass

    def extend(self, items):
        pass

    def add(self, item):
        pass


class Reader(pickle.Unpickler):
    classes = {}

    def find_class(self, module, name):
        if module == 'builtins':
            return {'getattr': lambda *a: Anything, 'set': set, 'list': list, 'dict': dict,
                    'tuple': tuple, 'object': Anything}.get(name, Anything)
        if module.startswith('numpy') and name == 'scalar':
            return lambda dtype, data: int.from_bytes(data, 'little', signed=True)
        key = (module, name)
        if key not in self.classes:
            self.classes[key] = type(name, (Anything,), {'__module__': module})
        return self.classes[key]


def kind_of(thing):
    return type(thing).__name__


class Plan:
    """Copies a plan, piece by piece, for `count` devices; `extents` renames extents."""

    def __init__(self, count, extents, heads):
        self.count, self.extents, self.heads = count, extents, heads
        self.fulls, self.subs, self.cells, self.ids = {}, {}, {}, {}
        self.next_id = 1_000_000

    def extent(self, value):
        return self.extents.get(value, value)

    def ids_of(self, first, second):
        if first == second:
            return [first] * self.count
        if (first, second) not in self.ids:
            self.ids[first, second] = [self.next_id + r for r in range(self.count)]
            self.next_id += self.count
        return self.ids[first, second]

    @staticmethod
    def dtype(thing):
        name = thing.__name__ if isinstance(thing, type) else kind_of(thing)
        return w.define('torch', name)

    def full(self, full):
        if full is None:
            return None
        if full._id not in self.fulls:
            made = self.fulls[full._id] = w.make(w.Full)
            shape = tuple(self.extent(int(e)) for e in full._shape)
            made.__dict__.update(_id=full._id, name=full.name, _shape=shape, _dtype=self.dtype(full._dtype),
                                 _is_attr=full._is_attr, _is_grad=full._is_grad, _is_loss=full._is_loss,
                                 _grad=self.full(full._grad))
        return self.fulls[full._id]

    def ranges(self, first, second):
        out = [[] for _ in range(self.count)]
        for (low, high), (low2, high2) in zip(first, second):
            low, high, low2, high2 = (self.extent(int(v)) for v in (low, high, low2, high2))
            for r in range(self.count):
                if (low, high) == (low2, high2):
                    out[r].append((low, high))
                    continue
                whole = self.extent(high2 - low)
                step, rest = divmod(whole, self.count)
                assert low == 0 and rest == 0, (first, second, self.count)
                out[r].append((r * step, (r + 1) * step))
        return [tuple(r) for r in out]

    def terms(self, first, second):
        if first == second:
            return [first] * self.count
        assert first[1] == second[1] == 2
        forward = first[0] == 0
        return [(r if forward else self.count - 1 - r, self.count) for r in range(self.count)]

    def sub(self, first, second):
        if kind_of(first) != 'IRSubTensor':
            return [first if isinstance(first, (int, float, str, type(None))) else None] * self.count
        key = (id(first), id(second))
        if key in self.subs:
            return self.subs[key]
        full = self.full(first._full_tensor)
        ids = self.ids_of(first._id, second._id)
        ranges = self.ranges(first._indmap._indices, second._indmap._indices)
        terms = self.terms(first._valmap._weight, second._valmap._weight)
        gradients = [None] * self.count
        made = [w.make(w.Sub, _id=ids[r], name=first.name, _full_tensor=full, _dtype=full._dtype,
                       _is_attr=first._is_attr, _is_grad=first._is_grad, _grad=None,
                       _indmap=w.make(w.IndexMap, _indices=ranges[r], _shape=full._shape),
                       _valmap=w.make(w.ValueMap, _weight=terms[r])) for r in range(self.count)]
        self.subs[key] = made
        if first._grad is not None:
            gradients = self.sub(first._grad, second._grad)
        for r in range(self.count):
            made[r]._grad = gradients[r]
        return made

    def many(self, first, second):
        assert len(first) == len(second)
        columns = [self.sub(a, b) for a, b in zip(first, second)]
        return [[column[r] for column in columns] for r in range(self.count)]

    def attributes(self, first, inputs):
        out = {k: v for k, v in first.items() if isinstance(v, (int, float, str, tuple, list, type(None)))}
        if 'h' in out:
            rows = inputs[1]
            low, high = rows._indmap._indices[0]
            out['h'] = self.heads * (high - low) // rows._full_tensor._shape[0]
        if 'ranks' in out:
            out['ranks'] = list(range(self.count))
        return out

    def prims(self, first, second):
        out = [[] for _ in range(self.count)]
        for one, two in zip(first, second):
            inputs, outputs = self.many(one._inputs, two._inputs), self.many(one._outputs, two._outputs)
            cls = w.define('nnscaler.ir.adapter.prim', kind_of(one))
            for r in range(self.count):
                out[r].append(w.make(cls, _inputs=inputs[r], _outputs=outputs[r], _device=[r],
                                     kwargs=self.attributes(one.kwargs, inputs[r])))
        return out

    def cell(self, first, second):
        key = (id(first), id(second))
        if key in self.cells:
            return self.cells[key]
        kind, second_kind = kind_of(first), kind_of(second)
        assert kind == second_kind, (kind, second_kind)
        ids = self.ids_of(first._id, second._id)
        if kind == 'IRWeightReducer':  # one object for all devices
            inputs = self.many(first._inputs, first._inputs)[0]
            cell = w.make(w.Reducer, _id=first._id, name=first.name, signature=first.name,
                          _device=tuple(range(self.count)), _inputs=inputs, _outputs=[], _kwargs={},
                          _mirror=None, _comment=None)
            made = self.cells[key] = [cell] * self.count
            return made
        cls = {'IRSegment': w.Segment, 'IRDimops': w.Dimops, 'IRBpOperation': w.Backward,
               'IRDataOperation': w.Data, 'IRAdapter': w.Adapter}[kind]
        made = self.cells[key] = [w.make(cls) for _ in range(self.count)]
        inputs, outputs = self.many(first._inputs, second._inputs), self.many(first._outputs, second._outputs)
        mirrors = [None] * self.count
        if kind == 'IRBpOperation':
            mirrors = self.cell(first._mirror, second._mirror)
        comment = first._comment if isinstance(getattr(first, '_comment', None), str) else None
        for r in range(self.count):
            made[r].__dict__.update(
                _id=ids[r], name=first.name, signature=first.name, _device=(r,), _inputs=inputs[r],
                _outputs=outputs[r], _kwargs=self.attributes(first._kwargs, inputs[r])
                if kind == 'IRDimops' else {}, _mirror=mirrors[r], _comment=comment)
        if kind == 'IRSegment':
            nodes = [self.cell(a, b) for a, b in zip(first._nodes, second._nodes)]
            for r in range(self.count):
                made[r]._nodes = [node[r] for node in nodes]
        if kind == 'IRAdapter':
            for r, prims in enumerate(self.prims(first._prims, second._prims)):
                made[r].__dict__.update(_prims=prims, _forward=first._forward)
        return made

    def module(self, root):
        sequences = list(root.execplan._seq.values())
        first, second = sequences[0], sequences[-1]
        assert len(first) == len(second)
        cells = [self.cell(a, b) for a, b in zip(first, second)]
        return w.module({r: [cell[r] for cell in cells] for r in range(self.count)})


def cells_of(sequence):
    for cell in sequence:
        if hasattr(cell, '_nodes'):
            yield from cells_of(cell._nodes)
        else:
            yield cell


def deviate(plan, kind, rng):
    """Changes one instance of the plan."""
    sequences = plan.execplan._seq
    device = rng.randrange(len(sequences))
    nodes = list(cells_of(sequences[device]))
    if kind == 'slice':
        choices = [(n, i) for n in nodes if kind_of(n) == 'IRDimops' for i, t in enumerate(n._inputs)
                   if kind_of(t) == 'IRSubTensor' and t._is_attr
                   and t._indmap._indices != tuple((0, e) for e in t._full_tensor._shape)]
        node, operand = rng.choice(choices)
        mine = node._inputs[operand]._indmap
        shape = mine._shape
        cut = next(d for d, (low, high) in enumerate(mine._indices) if (low, high) != (0, shape[d]))
        width = mine._indices[cut][1] - mine._indices[cut][0]
        low = (mine._indices[cut][0] + width) % shape[cut]
        moved = mine._indices[:cut] + ((low, low + width),) + mine._indices[cut + 1:]
        name = node._inputs[operand].name
        for other in nodes:  # the parameter wherever the device reads it, and its gradient
            for tensor in list(other._inputs) + list(other._outputs):
                if kind_of(tensor) != 'IRSubTensor' or tensor._indmap._indices != mine._indices:
                    continue
                if tensor._is_attr and tensor.name in (name, node._inputs[operand]._grad.name):
                    tensor._indmap = w.make(w.IndexMap, _indices=moved, _shape=shape)
    elif kind == 'group':
        count = len(sequences)
        identity = rng.choice([n._id for n in nodes if kind_of(n) == 'IRAdapter'
                               and any('educe' in kind_of(p) for p in n._prims)])
        for r, sequence in sequences.items():
            for node in cells_of(sequence):
                if node._id != identity:
                    continue
                half = range(count // 2) if r < count // 2 else range(count // 2, count)
                for prim in node._prims:
                    prim.kwargs['ranks'] = list(half)
    elif kind == 'constant':
        rng.choice([n for n in nodes if n.name == 'layernorm'])._kwargs['eps'] = 2e-05
    else:
        for _ in range(200):
            segment = rng.choice([c for c in sequences[device] if hasattr(c, '_nodes')])._nodes
            at = rng.randrange(len(segment) - 1)
            one, two = segment[at], segment[at + 1]
            made = {t._id for t in one._outputs if kind_of(t) == 'IRSubTensor'}
            used = {t._id for t in two._inputs if kind_of(t) == 'IRSubTensor'}
            if kind_of(one) != 'IRAdapter' and kind_of(two) != 'IRAdapter' and not made & used:
                segment[at], segment[at + 1] = two, one
                return


def write(path, plan):
    with open(path, 'wb') as out:
        out.write(pickle.dumps(plan, 4))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('logical')
    parser.add_argument('parallel')
    parser.add_argument('--tp', type=int, required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--batch', type=int, default=16)
    parser.add_argument('--heads', type=int, default=16)
    parser.add_argument('--deviate', default='', help='KIND:SEED, KIND one of ' + ', '.join(KINDS))
    options = parser.parse_args()
    extents = {16: options.batch}
    with open(options.logical, 'rb') as file:
        logical = Plan(1, extents, options.heads).module(Reader(file).load())
    with open(options.parallel, 'rb') as file:
        parallel = Plan(options.tp, extents, options.heads).module(Reader(file).load())
    if options.deviate:
        kind, seed = options.deviate.split(':')
        deviate(parallel, kind, random.Random(int(seed)))
    os.makedirs(options.out, exist_ok=True)
    write(os.path.join(options.out, 'logical.pkl'), logical)
    write(os.path.join(options.out, 'tp%d.pkl' % options.tp), parallel)


if __name__ == '__main__':
    main()
