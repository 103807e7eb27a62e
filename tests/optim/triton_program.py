"""What inductor writes for a CUDA device, on a machine that has none.

    python triton_program.py '{"foreach": true}'

The compiled step is traced on the CPU, its graph is moved to fake CUDA tensors, and
inductor lowers it for a device whose properties are made up. Nothing is run: the
Triton kernels are printed as JSON, with how often each is launched.
"""

import json
import re
import sys
from types import SimpleNamespace

import torch
import torch._inductor.scheduler
import torch.utils._triton
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.device_interface import CudaInterface
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode

import acprop

N_PARAMS = 4


def traced(options: dict) -> tuple[torch.fx.GraphModule, list[torch.Tensor], int]:
    """The graph of a compiled step, its inputs, and how many graphs there were."""
    graphs = []

    def keep(graph, inputs):
        graphs.append((graph, inputs))
        return make_boxed_func(graph.forward)

    backend = aot_autograd(fw_compiler=keep, decompositions=select_decomp_table())
    params = [torch.nn.Parameter(torch.randn(64, 64)) for _ in range(N_PARAMS)]
    for param in params:
        param.grad = torch.randn_like(param)
    opt = acprop.ACProp(params, lr=torch.tensor(1e-3), capturable=True, **options)
    torch.compile(opt.step, backend=backend)()
    return *graphs[-1], len(graphs)


def pretend() -> None:
    """An A100, as far as inductor asks before it compiles; and a Triton."""
    gpu = SimpleNamespace(
        name="NVIDIA A100",
        major=8,
        minor=0,
        multi_processor_count=108,
        total_memory=80 << 30,
        warp_size=32,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=166912,
        gcnArchName="",
        L2_cache_size=40 << 20,
        clock_rate=1410,
    )
    torch.cuda.get_device_properties = lambda *_: gpu
    torch.cuda.get_device_capability = lambda *_: (8, 0)
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda.is_available = lambda: True
    CudaInterface.get_compute_capability = staticmethod(lambda *_: 80)
    CudaInterface.Worker.get_device_properties = staticmethod(lambda *_: gpu)
    CudaInterface.get_device_properties = staticmethod(lambda *_: gpu)
    CudaInterface.is_available = staticmethod(lambda: True)
    torch._inductor.scheduler.has_triton = lambda *_: True
    torch.utils._triton.triton_hash_with_backend = lambda: "none"


def lowered(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> str:
    """The Python file that inductor would compile."""
    mode = FakeTensorMode()

    def on_cuda(tensor: torch.Tensor) -> torch.Tensor:
        with mode:
            return torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda"
            )

    for node in graph.graph.nodes:
        if isinstance(node.meta.get("val"), torch.Tensor):
            node.meta["val"] = on_cuda(node.meta["val"])
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda", 0)}
    graph.recompile()
    moved = [on_cuda(tensor) for tensor in inputs]
    made = GraphLowering(graph, moved)
    with (
        mode,
        V.set_debug_handler(DebugContext()),
        V.set_graph_handler(made),
        V.set_fake_mode(mode),
    ):
        made.run(*moved)
        return made.codegen()[0].value


def main(options: dict) -> None:
    graph, inputs, n_graphs = traced(options)
    pretend()
    source = lowered(graph, inputs)
    bodies = re.findall(r"@triton\.jit\n(.*?)''', ", source, re.DOTALL)
    print(  # noqa: T201
        json.dumps(
            {
                "graphs": n_graphs,
                "kernels": bodies,
                "launches": len(re.findall(r"^ +triton_\w+\.run\(", source, re.M)),
                "others": len(re.findall(r"^ +extern_kernels\.", source, re.M)),
                "waits": len(re.findall(r"\.item\(|\.cpu\(|synchronize\(", source)),
            }
        )
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
