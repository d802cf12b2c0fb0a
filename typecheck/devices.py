"""Arrays on the CPU and on a GPU (T38)."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, assert_type

import cupy
import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD, OnDevice, Plugin

Shape23 = tuple[Literal[2], Literal[3]]
T = TypeVar("T", bound=np.floating[Any])
Dv = TypeVar("Dv", bound=wg.Cpu | wg.Gpu)
OnGpu = wg.ArrayLayer[Any, np.float32, wg.Gpu]
OnCpu = wg.ArrayLayer[Any, np.float32, wg.Cpu]
settings = SGD(learning_rate=0.1)
host: np.ndarray[Any, np.dtype[np.float32]] = np.ones((2, 3), np.float32)
device: cupy.ndarray[Any, np.dtype[np.float32]] = cupy.asarray(host)


def case_where_an_array_is(gpu: OnGpu, cpu: OnCpu) -> None:  # T38
    assert_type(gpu.device, cupy.cuda.Device)
    assert_type(cpu.device, Literal["cpu"])
    assert_type(wg.lift(device).device, wg.Gpu)
    assert_type(wg.literal(device).device, wg.Gpu)
    assert_type(settings.array_weight(device).device, wg.Gpu)


def case_gpu_with_gpu(gpu: OnGpu) -> None:  # T38
    assert_type(gpu * gpu, OnGpu)
    assert_type(wg.matmul(gpu, gpu), OnGpu)
    assert_type(wg.add(gpu, device), OnGpu)
    assert_type(gpu @ device, OnGpu)


def case_numbers_are_on_every_device(gpu: OnGpu, single: wg.FloatWeight) -> None:  # T38
    assert_type(gpu * 2.0, OnGpu)
    assert_type(1 - gpu, OnGpu)
    assert_type(gpu * single, OnGpu)
    assert_type(single / gpu, OnGpu)
    assert_type(wg.multiply(single, device), OnGpu)


def case_operations_stay_on_their_device(gpu: OnGpu) -> None:  # T38
    assert_type(wg.relu(gpu), OnGpu)
    assert_type(wg.sum(gpu), wg.ArrayLayer[tuple[()], np.float32, wg.Gpu])
    assert_type(wg.softmax(gpu), OnGpu)
    assert_type(gpu[0], OnGpu)
    assert_type(wg.greater(gpu, 0.0), wg.Mask[Any, wg.Gpu])
    assert_type(wg.astype(gpu, np.float64), wg.ArrayLayer[Any, np.float64, wg.Gpu])


def case_cpu_with_gpu_by_operator(gpu: OnGpu, cpu: OnCpu) -> None:  # T38
    cpu * gpu  # E: devices cpu and gpu do not mix|operand types
    gpu @ cpu  # E: devices gpu and cpu do not mix|operand types
    gpu + host  # E: devices gpu and cpu do not mix|operand types
    host - gpu  # E: devices cpu and gpu do not mix|matches argument type "ArrayLayer
    cpu / device  # E: devices cpu and gpu do not mix|operand types


def case_cpu_with_gpu_by_function(gpu: OnGpu, cpu: OnCpu) -> None:  # T38
    wg.add(cpu, gpu)  # E: devices cpu and gpu do not mix|type parameter "Dv" of "__call__" of "Broadcasting"
    wg.matmul(gpu, cpu)  # E: devices gpu and cpu do not mix|type parameter "Dv" of "matmul"
    wg.multiply(host, gpu)  # E: devices cpu and gpu do not mix|type parameter
    wg.concat([cpu, gpu])  # E[list-item]: incompatible type "ArrayLayer\[Any, floating\[_32Bit\], Device\]"
    wg.greater(gpu, cpu)  # E: devices gpu and cpu do not mix|type parameter


def case_masks_of_another_device(gpu: OnGpu, cpu: OnCpu) -> None:  # T38, T82
    wg.where(wg.greater(cpu, 0.0), gpu, gpu)  # E: devices cpu and gpu do not mix|Cannot infer value
    assert_type(wg.where(wg.greater(gpu, 0.0), gpu, 0.0), OnGpu)


def double_of(x: wg.ArrayExpression[Any, T, Dv]) -> wg.ArrayLayer[Any, T, Dv]:
    return wg.multiply(x, 2.0)


def on_cpu(x: wg.ArrayExpression) -> OnCpu:
    return wg.exp(x)


def case_functions_of_one_and_of_any_device(gpu: OnGpu, cpu: OnCpu) -> None:  # T38
    assert_type(double_of(gpu), OnGpu)
    assert_type(double_of(cpu), OnCpu)
    on_cpu(cpu)
    on_cpu(gpu)  # E: devices cpu and gpu do not mix|incompatible type "ArrayLayer\[
    on_cpu(device)  # E: devices cpu and gpu do not mix|incompatible type "cupy\.ndarray\[


def case_what_a_run_gives(
    x: wg.ArrayLayer[Shape23, np.float32, wg.Gpu], w: wg.ArrayWeight[Shape23, np.float32, wg.Gpu]
) -> None:  # T38, T44
    assert_type(x.predict().run(), cupy.ndarray[Shape23, np.dtype[np.float32]])
    assert_type(w.data, cupy.ndarray[Shape23, np.dtype[np.float32]])
    assert_type(wg.predict(x).run(), cupy.ndarray[Shape23, np.dtype[np.float32]])


async def case_what_await_gives(x: wg.ArrayLayer[Shape23, np.float32, wg.Gpu]) -> None:  # T38, T56
    assert_type(await x, cupy.ndarray[Shape23, np.dtype[np.float32]])


def case_losses_on_a_gpu(gpu: OnGpu, w: wg.ArrayWeight[Shape23, np.float32, wg.Gpu]) -> None:  # T38, T45
    loss = wg.mean(gpu)
    assert_type(loss.train().run().dtype, np.dtype[np.float32])
    assert_type(wg.gradients(loss, (w,)).run()[0].shape, Shape23)


class Far(SGD, OnDevice):
    """Settings whose weights lie on a device."""


far = Far(learning_rate=0.1, device=cupy.cuda.Device(1))


def case_settings_say_where_weights_lie() -> None:  # T38
    assert_type(far.array_weight(host).device, wg.Gpu)
    assert_type(far.array_weight(device).device, wg.Gpu)
    assert_type(far.buffer(host).device, wg.Gpu)
    assert_type(far.double_weight(1.0), wg.DoubleWeight)
    assert_type(nn.Linear.make(far, 3, 2, seed=0).weight.device, wg.Gpu)
    assert_type(nn.Linear.make(settings, 3, 2, seed=0).weight.device, Literal["cpu"])
    Far(learning_rate=0.1, device="cuda:1")  # E[arg-type]: "device" to "Far" has incompatible type "str"


def case_layers_of_such_settings(gpu: OnGpu, cpu: OnCpu) -> None:  # T38
    layer = nn.Linear.make(far, 3, 2, seed=0)
    assert_type(layer(gpu).device, wg.Gpu)
    layer(cpu)  # E: devices gpu and cpu do not mix|incompatible type
    assert_type(layer(wg.to_device(cpu, cupy.cuda.Device(1))).device, wg.Gpu)
    norm, cell = nn.LayerNorm.make(far, 3), nn.LSTMCell.make(far, 3, 4, seed=0)
    assert_type(norm(layer(gpu)).device, wg.Gpu)
    norm(cpu)  # E: devices gpu and cpu do not mix|incompatible type
    assert_type(cell.bias.device, wg.Gpu)
    gpu * nn.Linear.make(settings, 3, 2, seed=0)(cpu)  # E: devices gpu and cpu do not mix|operand types


def layer_of(some: Plugin) -> nn.Linear:
    return nn.Linear.make(some, 3, 2, seed=0)
