#!/usr/bin/env python3
"""Writes small execution plans in nnScaler's pickle format, with the standard library only.

    write_nnscaler_plan.py OUT.pkl --plan single|tp2|tp2in|dp2nm2|pp2nm2 [--fault FAULT] [--seed N]

The model is an MLP, loss = sum(linear(linear(x))). The plans use the class names and attributes that
a reader of such files relies on, and nothing else of nnScaler. FAULT is one of FAULTS below; each
breaks the plan in one way. `--all DIR` writes every plan with every fault, as PLAN-FAULT-SEED-PROTOCOL.pkl;
`--corpus DIR` writes seeds for the pickle fuzzer.
"""
import argparse
import os
import pickle
import random

from nnscaler_objects import (Builder, Data, Float32, IndexMap, Reducer, Sub, UInt16, ValueMap, make,
                              module, prim)

BATCH, WIDTH, HIDDEN = 8, 6, 4

FAULTS = {
    'no_all_reduce': 'tp2: the all-reduce after the row-parallel linear is an identity',
    'no_backward_all_reduce': 'tp2: the all-reduce of the input gradient is an identity',
    'gather_for_reduce': 'tp2: that all-reduce is an all-gather',
    'gather_on_one_rank': 'tp2: the same on one rank only',
    'missing_adapter': 'tp2: rank 1 lacks the adapter',
    'wait_cycle': 'tp2: the ranks run two all-reduces in different order',
    'swapped_operands': 'tp2: a backward reads the other gradient',
    'wrong_slice': 'tp2: rank 1 holds the slice of rank 0',
    'two_index_maps': 'tp2: one tensor id with two index maps',
    'two_value_maps': 'tp2: one tensor id with two value maps',
    'two_producers': 'tp2: an activation is made twice',
    'dangling_gradient': 'any: the loss gradient of the last linear is never made',
    'no_reducer': 'dp2nm2: no weight reducer',
    'early_reducer': 'dp2nm2: the reducer runs before the last microbatch\'s backward',
    'double_reducer': 'dp2nm2: the reducer runs twice',
    'missing_microbatch': 'dp2nm2: the backward of one microbatch does not run',
    'batch_ratio': 'dp2nm2: twice as many copies as the batch allows',
    'irregular': 'dp2nm2: microbatches run different cells; equivalent all the same',
    'wrong_rank': 'pp2nm2: the sender names another receiver',
    'crossed_moves': 'pp2nm2: microbatches are received in a deadlocking order',
    'shuffled': 'single: operators in another order; equivalent all the same',
    'unknown_operator': 'any: an operator that nothing declares',
    'accumulated': 'any: a gradient is written twice, once by each of two uses; equivalent',
    'inplace': 'any: a relu overwrites its operand, which nothing reads any more; equivalent',
    'inplace_read': 'any: a relu overwrites its operand, which an addition reads afterwards',
    'inplace_view': 'any: the same through a view of the operand',
    'inplace_backward': 'any: a silu overwrites its operand, which its backward reads',
    'multiref': 'any: the data is copied for two layers side by side; equivalent. In tp2 the copies'
                ' gradients are partial, whatever their value maps say',
    'local_ids': 'tp2: two adapters pass a tensor of one id between their own primitives; equivalent',
    'big_shape': 'any: a tensor of 2^80 elements',
    'cyclic_segment': 'tp2: a segment that contains itself',
    'cyclic_tensor': 'tp2: a gradient that is its own gradient, of a tensor that is its own full tensor',
    'wrong_type': 'tp2: the outputs of an operator are a number',
    'allreduce_identity': 'tp2in: the gradient behind the all-reduce is not added up',
    'identity_allreduce': 'tp2in: the partial products are not added up',
    'chain': 'tp2in: a reduce-scatter and an all-gather for the all-reduce; equivalent',
    'chain_split': 'tp2in: the same, but the gather is a split backward, which drops the other half',
    'chain_plain': 'tp2in: a fused and a plain primitive in one backward adapter',
    'chain_apart': 'tp2in: two fused primitives that do not read one another',
    'keyword': 'tp2in: a primitive with a keyword that is not known',
    'unknown_type': 'any: a tensor of a type that nothing here computes with',
    'no_type': 'any: a tensor without a type',
    'conversion': 'single: a conversion to float32; equivalent',
    'unknown_conversion': 'single: a conversion to a type that nothing here computes with',
    'no_conversion': 'single: a conversion to what is no type',
    'move_type': 'pp2nm2: a tensor is received as another type',
    'move_shape': 'pp2nm2: a tensor is received in another shape',
}


def tensors(b, batch):
    x = b.full('data', (batch, WIDTH))
    w0 = b.full('layers.0.weight', (HIDDEN, WIDTH), attr=True)
    h = b.full('linear', (batch, HIDDEN))
    w1 = b.full('layers.1.weight', (WIDTH, HIDDEN), attr=True)
    y = b.full('linear_1', (batch, WIDTH))
    loss = b.full('sum_1', (1,), loss=True)
    return x, w0, h, w1, y, loss


def with_gradient(b, full, ranges=None, term=(0, 1), grad_term=(0, 1), tag=''):
    return b.sub(full, ranges, term, b.sub(full._grad, ranges, grad_term, tag=tag))


def two_uses(b, device, use):
    """The sum of two linear layers, each on a copy of x. Returns the nodes and the sum."""
    x, weight, h = use['data'], use['layers.0.weight'], use['linear']
    use['layers.2.weight'] = with_gradient(b, b.full('layers.2.weight', weight._full_tensor._shape,
                                                     attr=True), weight._indmap._indices)
    copies = [with_gradient(b, b.copy(x._full_tensor, k)) for k in range(2)]
    names = ('linear', 'linear_2', 'add_1')
    first, second, total = (with_gradient(b, b.full(name, h._full_tensor._shape),
                                          h._indmap._indices) for name in names)
    nodes = [b.operator('multiref', [device], [x], copies, 4, times=2),
             b.operator('linear', [device], [copies[0], weight], [first], 5, bias=None),
             b.operator('linear', [device], [copies[1], use['layers.2.weight']], [second], 5, bias=None),
             b.operator('add', [device], [first, second], [total], 6, alpha=1)]
    return nodes, total


def retype(nodes, fault):
    if fault in ('unknown_type', 'no_type'):
        nodes[0]._outputs[0]._dtype = UInt16 if fault == 'unknown_type' else None


CONVERSIONS = {'conversion': Float32, 'unknown_conversion': UInt16, 'no_conversion': 'bananas'}


def layers(b, device, batch, pieces=None, fault=''):
    """Forward operators of the whole model; `pieces` overrides tensors by name."""
    x, w0, h, w1, y, loss = tensors(b, batch)
    use = {t.name: with_gradient(b, t) for t in (x, w0, h, w1, y, loss)}
    use.update(pieces or {})
    nodes = [b.operator('linear', [device], [use['data'], use['layers.0.weight']], [use['linear']], 5,
                        bias=None)]
    if fault == 'multiref':
        nodes, use['linear'] = two_uses(b, device, use)
    if fault == 'accumulated':  # relu(h) + h: the gradient of h is written by both uses
        relu, add = b.full('relu', h._shape), b.full('add', h._shape)
        nodes.append(b.operator('relu', [device], [use['linear']], [with_gradient(b, relu)], 6))
        nodes.append(b.operator('add', [device], [with_gradient(b, relu), use['linear']],
                                [with_gradient(b, add)], 7, alpha=1))
        use['linear'] = with_gradient(b, add)
    if fault in CONVERSIONS:
        converted = with_gradient(b, b.full('to', h._shape))
        nodes.append(b.operator('to', [device], [use['linear']], [converted], 7,
                                dtype_or_device=CONVERSIONS[fault]))
        use['linear'] = converted
    if fault.startswith('inplace'):
        name = 'silu' if fault == 'inplace_backward' else 'relu'
        relu = b.full(name, h._shape)
        pieces_of_h = use['linear']._indmap._indices
        if fault == 'inplace_view':
            view = with_gradient(b, b.full('view', h._shape), pieces_of_h)
            nodes.append(b.operator('identity', [device], [use['linear']], [view], 6))
        result = with_gradient(b, relu, pieces_of_h)
        nodes.append(b.operator(name, [device], [use['linear']], [result], 6, inplace=True))
        use['linear'], before = result, use['linear']
        if fault in ('inplace_read', 'inplace_view'):
            total = with_gradient(b, b.full('add', h._shape), pieces_of_h)
            nodes.append(b.operator('add', [device], [result, before if fault == 'inplace_read' else view],
                                    [total], 7, alpha=1))
            use['linear'] = total
    nodes.append(b.operator('linear', [device], [use['linear'], use['layers.1.weight']],
                            [use['linear_1']], 8, bias=None))
    nodes.append(b.operator('sum', [device], [use['linear_1']], [use['sum_1']], 9))
    return nodes, use


def backwards(b, nodes):
    return [b.backward(node) for node in reversed(nodes)]


def data_cell(b, device, batch, cell_id=None):
    return b.cell(Data, 'dataloader', [device], [], [b.sub(tensors(b, batch)[0])], cell_id)


def single(fault, rng):
    b = Builder()
    nodes, _ = layers(b, 0, BATCH, fault=fault)
    back = backwards(b, nodes)
    if fault == 'dangling_gradient':
        back.pop(0)
    if fault == 'unknown_operator':
        nodes[0].name = 'frobnicate'
    if fault == 'shuffled':
        nodes, back = nodes + back, []
        rng.shuffle(nodes)
    if fault == 'big_shape':
        nodes[0]._outputs[0]._full_tensor._shape = (1 << 40, 1 << 40)
    retype(nodes, fault)
    return module({0: [data_cell(b, 0, BATCH), b.segment(nodes), b.segment(back)]})


def pass_through(b, rank, tensor, number):
    """An adapter that cuts a tensor in two and gathers it again."""
    half = BATCH // 2
    piece = b.sub(tensor._full_tensor, ((rank * half, rank * half + half), (0, WIDTH)), tag='piece')
    cut = prim('ChunkPrim', rank, [tensor], [piece], dim=0, ranks=[0, 1])
    gather = prim('AllGatherPrim', rank, [piece], [tensor], dim=0, ranks=[0, 1])
    key = ('pass_through', number)
    b.fulls.setdefault(key, b.new_id())
    return b.adapter(rank, [tensor], [tensor], [cut, gather], number < 2, b.fulls[key])


def tp2(fault, rng):
    b = Builder()
    x, w0, h, w1, y, loss = tensors(b, BATCH)
    half = HIDDEN // 2
    ids = {k: b.new_id() for k in ('data', 'in', 'out', 'back_in', 'back_out', 'extra')}
    sequences = {}
    for rank in (0, 1):
        rows = (rank * half, rank * half + half)
        if fault == 'wrong_slice':
            rows = (0, half)
        x_whole = with_gradient(b, x, grad_term=(rank, 2))
        pieces = {
            'data': x_whole,
            'layers.0.weight': with_gradient(b, w0, (rows, (0, WIDTH))),
            'linear': with_gradient(b, h, ((0, BATCH), rows)),
            'layers.1.weight': with_gradient(b, w1, ((0, WIDTH), rows)),
            'linear_1': b.sub(y, term=(rank, 2), grad=b.sub(y._grad)),
        }
        nodes, use = layers(b, rank, BATCH, pieces, fault)
        whole = with_gradient(b, y)
        nodes[-1]._inputs = [whole]
        forward_in = prim('IdentityAllreducePrim', rank, [b.sub(x)], [b.sub(x)], ranks=[0, 1])
        forward_out = prim('AllReduceIdentityPrim', rank, [use['linear_1']], [whole], ranks=[0, 1])
        if fault == 'no_all_reduce':
            forward_out = prim('IdentityPrim', rank, [use['linear_1']], [whole])
        if fault == 'gather_for_reduce' or (fault == 'gather_on_one_rank' and rank == 1):
            forward_out = prim('AllGatherPrim', rank, [use['linear_1']], [whole], dim=0, ranks=[0, 1])
        enter = b.adapter(rank, [b.sub(x)], [b.sub(x)], [forward_in], True, ids['in'])
        leave = b.adapter(rank, [use['linear_1']], [whole], [forward_out], True, ids['out'])
        back = backwards(b, nodes)
        enter_back = b.adapter(rank, [b.sub(y._grad)], [b.sub(y._grad)], [forward_out], False,
                               ids['back_out'])
        leave_prim = forward_in
        if fault == 'no_backward_all_reduce':
            leave_prim = prim('IdentityPrim', rank, [x_whole._grad], [b.sub(x._grad)])
        leave_back = b.adapter(rank, [x_whole._grad], [b.sub(x._grad)], [leave_prim], False,
                               ids['back_in'])
        forward = [enter, *nodes[:-1], leave, nodes[-1]]
        backward = [back[0], enter_back, *back[1:], leave_back]
        if fault == 'local_ids':
            forward[0:0] = [pass_through(b, rank, b.sub(x), k) for k in range(2)]
            backward += [pass_through(b, rank, b.sub(x._grad), k) for k in range(2, 4)]
        if fault == 'missing_adapter' and rank == 1:
            forward.remove(leave)
            nodes[-1]._inputs = [use['linear_1']]
        if fault == 'wait_cycle':
            extra = b.adapter(rank, [b.sub(x)], [], [prim('AllReducePrim', rank, [b.sub(x)],
                                                          [b.sub(x, tag='x')], ranks=[0, 1])],
                              True, ids['extra'])
            forward.insert(forward.index(leave) + rank, extra)
        if fault == 'dangling_gradient':
            backward.remove(back[0])
            backward[0]._inputs = [b.sub(y._grad, tag='never')]
            backward[0]._outputs = [b.sub(y._grad)]
        if fault == 'swapped_operands' and rank == 1:
            back[-1]._outputs.reverse()
        if fault == 'two_index_maps' and rank == 1:
            nodes[2]._inputs[0] = make(Sub, **dict(whole.__dict__, _indmap=make(
                IndexMap, _indices=((0, BATCH), (1, WIDTH)), _shape=y._shape)))
        if fault == 'two_value_maps' and rank == 1:
            nodes[2]._inputs[0] = make(Sub, **dict(whole.__dict__, _valmap=make(ValueMap, _weight=(0, 3))))
        if fault == 'two_producers':
            forward.insert(2, b.operator('linear', [rank], nodes[0]._inputs, nodes[0]._outputs, bias=None))
        if fault == 'unknown_operator':
            nodes[0].name = 'frobnicate'
        if fault == 'big_shape':
            y._shape = (1 << 40, 1 << 40)
        if fault == 'cyclic_segment':
            inner = b.segment(forward)
            inner._nodes.append(inner)
            forward = [inner]
        if fault == 'cyclic_tensor':
            whole._grad._grad = whole._grad
            whole._full_tensor = whole
        if fault == 'wrong_type':
            nodes[0]._outputs = 7
        retype(nodes, fault)
        sequences[rank] = [data_cell(b, rank, BATCH, ids['data']), b.segment(forward),
                           b.segment(backward)]
    return module(sequences)


def tp2in(fault, rng):
    """The first layer cut along its input, the second along its output: what lies between them is
    added up forward, and its gradient backward."""
    b = Builder()
    x, w0, h, w1, y, loss = tensors(b, BATCH)
    half = WIDTH // 2
    ids = {k: b.new_id() for k in ('data', 'in', 'middle', 'out', 'back_in', 'back_middle', 'back_out')}
    sequences = {}
    for rank in (0, 1):
        own, ranks = (rank * half, rank * half + half), [0, 1]
        rows = (rank * BATCH // 2, (rank + 1) * BATCH // 2)
        x_piece = with_gradient(b, x, ((0, BATCH), own))
        h_part = b.sub(h, term=(rank, 2), grad=b.sub(h._grad))
        h_whole = b.sub(h, grad=b.sub(h._grad, term=(rank, 2)))
        y_piece = with_gradient(b, y, ((0, BATCH), own))
        pieces = {'data': x_piece, 'linear': h_part, 'linear_1': y_piece,
                  'layers.0.weight': with_gradient(b, w0, ((0, HIDDEN), own)),
                  'layers.1.weight': with_gradient(b, w1, (own, (0, HIDDEN)))}
        nodes, _ = layers(b, rank, BATCH, pieces, fault)
        nodes[1]._inputs[0] = h_whole
        nodes[2]._inputs = [with_gradient(b, y)]
        names = {'allreduce_identity': 'AllReduceIdentityPrim', 'identity_allreduce': 'IdentityAllreducePrim'}
        more = {'op': 'max'} if fault == 'keyword' else {}
        middle = [prim(names.get(fault, 'AllReduceAllReducePrim'), rank, [h_part], [h_whole],
                       ranks=ranks, **more)]
        if fault.startswith('chain'):
            chunk = b.sub(h, (rows, (0, HIDDEN)))
            other = b.sub(h, (rows, (0, HIDDEN)), tag='other') if fault == 'chain_apart' else chunk
            gather = {'chain_split': 'AllGatherSplitPrim', 'chain_plain': 'AllGatherPrim'}
            middle = [prim('ReduceScatterAllGatherPrim', rank, [h_part], [chunk], dim=0, ranks=ranks),
                      prim(gather.get(fault, 'AllGatherReduceScatterPrim'), rank, [other], [h_whole],
                           dim=0, ranks=ranks)]
        enter = [prim('SplitAllGatherPrim', rank, [b.sub(x)], [x_piece], dim=1, ranks=ranks)]
        leave = [prim('AllGatherSplitPrim', rank, [y_piece], [b.sub(y)], dim=1, ranks=ranks)]
        forward = [b.adapter(rank, [b.sub(x)], [x_piece], enter, True, ids['in']), nodes[0],
                   b.adapter(rank, [h_part], [h_whole], middle, True, ids['middle']), nodes[1],
                   b.adapter(rank, [y_piece], [b.sub(y)], leave, True, ids['out']), nodes[2]]
        back = backwards(b, nodes)
        backward = [back[0],
                    b.adapter(rank, [b.sub(y._grad)], [y_piece._grad], leave, False, ids['back_out']),
                    back[1],
                    b.adapter(rank, [h_whole._grad], [h_part._grad], middle, False, ids['back_middle']),
                    back[2],
                    b.adapter(rank, [x_piece._grad], [b.sub(x._grad)], enter, False, ids['back_in'])]
        retype(nodes, fault)
        if fault == 'unknown_operator':
            nodes[0].name = 'frobnicate'
        if fault == 'dangling_gradient':
            backward.remove(back[0])
            backward[0]._inputs = [b.sub(y._grad, tag='never')]
        sequences[rank] = [data_cell(b, rank, BATCH, ids['data']), b.segment(forward),
                           b.segment(backward)]
    return module(sequences)


def dp2nm2(fault, rng):
    b = Builder()
    batch = BATCH // 4
    nodes, use = layers(b, 0, batch, fault=fault)
    data, forward = data_cell(b, 0, batch), b.segment(nodes)
    back = backwards(b, nodes)
    if fault == 'dangling_gradient':
        back.pop(0)
    if fault == 'unknown_operator':
        nodes[0].name = 'frobnicate'
    retype(nodes, fault)
    backward = b.segment(back)
    reducer = b.cell(Reducer, 'reducer', [0], [use[name] for name in use if name.endswith('weight')], [])
    cells = [data, forward, backward] * 2
    if fault == 'irregular':  # the second microbatch has its own objects, in another grouping
        half = len(back) // 2
        cells[3:] = [data, forward, b.segment(back, backward._id)]
        cells[5] = b.segment([b.segment(back[:half]), b.segment(back[half:])], backward._id)
        forward_again = b.segment(list(nodes), forward._id)
        cells[4] = forward_again
    if fault == 'missing_microbatch':
        cells.pop()
    sequence = [b.reuse(cell) for cell in cells]
    if fault != 'no_reducer':
        sequence.append(reducer)
    if fault == 'early_reducer':
        sequence[-1], sequence[-2] = sequence[-2], sequence[-1]
    if fault == 'double_reducer':
        sequence.append(reducer)
    return module({0: sequence}, 4 if fault == 'batch_ratio' else 2)


def pp2nm2(fault, rng):
    b = Builder()
    batch = BATCH // 2
    nodes, use = layers(b, 0, batch)
    nodes[1]._device = nodes[2]._device = (1,)
    retype(nodes, fault)
    back = backwards(b, nodes)
    h, gh = use['linear'], use['linear']._grad
    loss = b.sub(tensors(b, batch)[5])
    ids = {k: b.new_id() for k in ('data', 'send', 'return', 'loss')}

    def move(device, tensor, source, target, cell_id):
        sends = device == source
        shape = tuple(hi - lo for lo, hi in tensor._indmap._indices)
        named = target
        if fault == 'wrong_rank' and sends and cell_id == ids['send']:
            named = 0
        dtype = 'torch.float32'
        if not sends and fault == 'move_type':
            dtype = 'torch.int32'
        if not sends and fault == 'move_shape':
            shape = tuple(reversed(shape)) + (1,)
        step = prim('MovePrim', device, [tensor] if sends else [], [] if sends else [tensor],
                    shape=shape, dtype=dtype, src=source, dst=named)
        return b.reuse(b.adapter(device, [tensor] if sends else [], [] if sends else [tensor],
                                 [step], not tensor._is_grad, cell_id))

    first = [b.reuse(data_cell(b, 0, batch, ids['data'])), b.reuse(b.segment([nodes[0]])),
             move(0, h, 0, 1, ids['send'])]
    first_back = [move(0, gh, 1, 0, ids['return']), b.reuse(b.segment([back[2]]))]
    second = [move(1, h, 0, 1, ids['send']), b.reuse(b.segment([nodes[1], nodes[2]]))]
    second_back = [b.reuse(b.segment([back[0], back[1]])), move(1, gh, 1, 0, ids['return'])]
    last = {d: [move(d, loss, 1, 0, ids['loss'])] * 2 for d in (0, 1)}
    zero = first + first + first_back + first_back + last[0]
    one = second + second + second_back + second_back + last[1]
    if fault == 'crossed_moves':
        one = second + second_back + second + second_back + last[1]
    if fault == 'dangling_gradient':
        second_back[0]._cell._nodes.pop(0)
    return module({0: zero, 1: one})


def write(path, plan, fault, seed, protocol):
    with open(path, 'wb') as out:
        out.write(pickle.dumps(PLANS[plan](fault, random.Random(seed)), protocol))


def write_all(directory):
    os.makedirs(directory, exist_ok=True)
    cases = [(plan, '', 0, protocol) for plan in PLANS for protocol in range(2, 6)]
    for fault, text in FAULTS.items():
        plan = text.split(':')[0]
        for name in PLANS if plan == 'any' else [plan]:
            cases += [(name, fault, seed, 4) for seed in range(5)]
    for plan, fault, seed, protocol in cases:
        name = '%s-%s-%d-%d.pkl' % (plan, fault, seed, protocol)
        write(os.path.join(directory, name), plan, fault, seed, protocol)


def write_corpus(directory):
    os.makedirs(directory, exist_ok=True)
    values = [None, True, 7, -300, 1 << 40, 1 << 90, 1.5, 'text', 'x' * 300, b'bytes', (1, 2),
              [1, [2, [3]]], {'a': 1}, {1, 2}]
    cycle = []
    cycle.append(cycle)
    values.append(cycle)
    for protocol in range(6):
        for i, value in enumerate(values):
            with open(os.path.join(directory, 'value%d_p%d' % (i, protocol)), 'wb') as out:
                out.write(pickle.dumps(value, protocol))
    for name, plan in PLANS.items():
        with open(os.path.join(directory, 'plan_' + name), 'wb') as out:
            out.write(pickle.dumps(plan('', random.Random(0)), 4))


PLANS = {'single': single, 'tp2': tp2, 'tp2in': tp2in, 'dp2nm2': dp2nm2, 'pp2nm2': pp2nm2}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', nargs='?')
    parser.add_argument('--plan', choices=sorted(PLANS), default='single')
    parser.add_argument('--fault', choices=[''] + sorted(FAULTS), default='')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--protocol', type=int, default=4)
    parser.add_argument('--all', metavar='DIR')
    parser.add_argument('--corpus', metavar='DIR')
    options = parser.parse_args()
    if options.corpus:
        write_corpus(options.corpus)
        return
    if options.all:
        write_all(options.all)
        return
    if not options.out:
        parser.error('the file to write is missing')
    write(options.out, options.plan, options.fault, options.seed, options.protocol)


if __name__ == '__main__':
    main()
