"""A communication hook of DistributedDataParallel that sums gradients in place of averaging them."""
import ddp
import torch.distributed as dist

MESH = {"dp": 2}


def build(mesh, fault=True):
    training = ddp.build(mesh)
    if mesh is not None:
        def hook(state, bucket):
            del state
            gradients = bucket.buffer()
            work = dist.all_reduce(gradients if fault else gradients.div_(mesh.size()), async_op=True)
            return work.get_future().then(lambda done: done.value()[0])

        training.model.register_comm_hook(None, hook)
    return training
