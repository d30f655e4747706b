"""Objects that pickle as those of nnScaler and torch, with the attributes that a reader of its plans relies on."""
import sys
import types


def define(module, name):
    """A class that pickles under nnScaler's module path."""
    existing = getattr(sys.modules.get(module), name, None)
    if existing is not None:
        return existing
    parts = module.split('.')
    for i in range(1, len(parts) + 1):
        path = '.'.join(parts[:i])
        if path not in sys.modules:
            sys.modules[path] = types.ModuleType(path)
    cls = type(name, (), {'__module__': module})
    setattr(sys.modules[module], name, cls)
    return cls


CodeGen = define('nnscaler.codegen.module.module', 'ModuleCodeGen')
ExecutionPlan = define('nnscaler.execplan.execplan', 'ExecutionPlan')
Reuse = define('nnscaler.execplan.execplan', 'ExeReuseCell')
Segment = define('nnscaler.graph.segment', 'IRSegment')
Dimops = define('nnscaler.graph.function.dimops', 'IRDimops')
Backward = define('nnscaler.ir.operator', 'IRBpOperation')
Data = define('nnscaler.ir.operator', 'IRDataOperation')
Adapter = define('nnscaler.ir.adapter.adapter', 'IRAdapter')
Reducer = define('nnscaler.ir.adapter.adapter', 'IRWeightReducer')
Full = define('nnscaler.ir.tensor', 'IRFullTensor')
Sub = define('nnscaler.ir.tensor', 'IRSubTensor')
IndexMap = define('nnscaler.ir.tensor', 'IndexMap')
ValueMap = define('nnscaler.ir.tensor', 'ValueMap')
Float32 = define('torch', 'float32')
UInt16 = define('torch', 'uint16')


def make(cls, **state):
    thing = cls()
    thing.__dict__.update(state)
    return thing


class Builder:
    def __init__(self):
        self.next_id = 1
        self.fulls = {}
        self.sub_ids = {}

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def full(self, name, shape, attr=False, loss=False, grad=True):
        if name in self.fulls:
            return self.fulls[name]
        tensor = make(Full, _id=self.new_id(), name=name, _shape=tuple(shape), _dtype=Float32,
                      _is_attr=attr, _is_grad=False, _is_loss=loss, _grad=None)
        if grad:
            tensor._grad = make(Full, _id=self.new_id(), name='g' + name, _shape=tuple(shape),
                                _dtype=Float32, _is_attr=attr, _is_grad=True, _is_loss=loss,
                                _grad=None)
        self.fulls[name] = tensor
        return tensor

    def copy(self, full, number):
        """What multiref makes: another full tensor of the same name."""
        key = (full.name, number)
        if key not in self.fulls:
            grad = make(Full, **dict(full._grad.__dict__, _id=self.new_id()))
            self.fulls[key] = make(Full, **dict(full.__dict__, _id=self.new_id(), _grad=grad))
        return self.fulls[key]

    def sub(self, full, ranges=None, term=(0, 1), grad=None, tag=''):
        ranges = tuple(ranges or ((0, extent) for extent in full._shape))
        key = (full._id, ranges, term, tag)
        if key not in self.sub_ids:
            self.sub_ids[key] = self.new_id()
        return make(Sub, _id=self.sub_ids[key], name=full.name, _full_tensor=full,
                    _dtype=full._dtype, _is_attr=full._is_attr, _is_grad=full._is_grad, _grad=grad,
                    _indmap=make(IndexMap, _indices=ranges, _shape=full._shape),
                    _valmap=make(ValueMap, _weight=term))

    def cell(self, cls, name, device, inputs, outputs, cell_id=None, **more):
        state = dict(_id=cell_id or self.new_id(), name=name, signature=name, _device=tuple(device),
                     _inputs=inputs, _outputs=outputs, _kwargs={}, _mirror=None, _comment=None)
        state.update(more)
        return make(cls, **state)

    def operator(self, name, device, inputs, outputs, line=0, **kwargs):
        comment = 'File "model.py", line %d, in forward,  y = %s(x)' % (line, name)
        return self.cell(Dimops, name, device, inputs, outputs, _kwargs=kwargs,
                         _comment=comment if line else None)

    def backward(self, forward):
        gradients = [t._grad for t in forward._outputs if t._grad is not None]
        made = [t._grad for t in forward._inputs if isinstance(t, Sub) and t._grad is not None]
        return self.cell(Backward, 'backward', forward._device, gradients, made, _mirror=forward)

    def adapter(self, device, inputs, outputs, prims, forward=True, cell_id=None):
        return self.cell(Adapter, 'adapter', [device], inputs, outputs, cell_id, _prims=prims,
                         _forward=forward)

    def segment(self, nodes, cell_id=None):
        return self.cell(Segment, 'segment', [], [], [], cell_id, _nodes=nodes)

    def reuse(self, cell):
        return self.cell(Reuse, cell.name, [], [], [], _cell=cell)


def prim(name, device, inputs, outputs, **kwargs):
    cls = define('nnscaler.ir.adapter.prim', name)
    return make(cls, _inputs=inputs, _outputs=outputs, _device=[device], kwargs=kwargs)


def module(sequences, copies=1):
    devices = tuple(sorted(sequences))
    plan = make(ExecutionPlan, _seq=sequences)
    return make(CodeGen, execplan=plan, devices=devices, runtime_ndevs=copies * len(devices),
                enable_dp=copies > 1, batch_size=None, comm_groups=[])
