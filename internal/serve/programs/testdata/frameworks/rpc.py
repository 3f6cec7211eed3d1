# Two workers of PyTorch RPC: the first one sends a tensor of 4 MiB to the second one, and gets one back.
import sys

import torch
import torch.distributed.rpc as rpc

port, rank = sys.argv[1], int(sys.argv[2])
options = rpc.TensorPipeRpcBackendOptions(
    init_method="tcp://127.0.0.1:" + port, _transports=["ibv", "uv"], _channels=["basic"], rpc_timeout=60)
rpc.init_rpc("w%d" % rank, rank=rank, world_size=2, rpc_backend_options=options)
if rank == 0:
    x = torch.ones(1 << 20)
    for _ in range(3):
        if not (rpc.rpc_sync("w1", torch.add, args=(x, x)) == 2).all():
            sys.exit("another tensor came back")
    print("the tensors came back")
rpc.shutdown()
