"""PyG's Data in, PyG's Data with an embedding out."""

import torch

from maskgae import MaskGAE
from maskgae.datasets.generated import generate

data = generate(500, 2000, num_features=16, communities=5, seed=0).to_pyg()
model = MaskGAE(dim=32, settings={"training.epochs": 50}).fit(data)
data.z = torch.from_numpy(model.transform(data))
print(data)
