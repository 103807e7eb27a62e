"""A small convolutional network from a cold start: no warm-up, no schedule.

The images are made here (bright or dark bars in noise, in one of four directions), so
that the example needs no download. Run it: python examples/cnn.py
"""

import torch
from torch import nn

import acprop

SIZE = 16


def batch(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of a bar in noise, and the direction of the bar: one of four."""
    labels = torch.randint(4, (n,), generator=generator)
    angle = (labels * torch.pi / 4)[:, None, None]
    offset = torch.rand(n, 1, 1, generator=generator) * 8 - 4
    axis = torch.arange(SIZE) - (SIZE - 1) / 2
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    distance = x * angle.sin() - y * angle.cos() - offset
    sign = torch.randint(2, (n, 1, 1), generator=generator) * 2 - 1
    noise = torch.randn(n, SIZE, SIZE, generator=generator)
    return (sign * (distance.abs() < 1.5) + noise)[:, None], labels


def main(n_steps: int = 300) -> float:
    """Train, and return the accuracy on images never seen."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 4),
    )
    opt = acprop.ACProp(acprop.param_groups(model, weight_decay=0.01), lr=1e-3)
    for step in range(n_steps):
        images, labels = batch(64, generator)
        loss = nn.functional.cross_entropy(model(images), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.3f}")
    images, labels = batch(1000, generator)
    with torch.no_grad():
        accuracy = (model.eval()(images).argmax(1) == labels).float().mean().item()
    print(f"accuracy on new images: {accuracy:.1%} (chance: 25 %)")
    return accuracy


if __name__ == "__main__":
    main()
