"""Link recommendation from a frame of who-knows-whom, kept on disk and loaded again."""

import tempfile

import pandas

from maskgae import MaskGAE
from maskgae.datasets.generated import generate

pairs = generate(300, 1500, communities=6, seed=0).pairs.T.numpy()
people = pandas.DataFrame(pairs, columns=["source", "target"]).map(lambda i: f"person {i}")

with tempfile.TemporaryDirectory() as folder:
    MaskGAE(dim=32, settings={"training.epochs": 100}).fit(people).save(folder)
    model = MaskGAE.load(folder)

print(pandas.DataFrame(model.predict_links(top=3, nodes=["person 7"])))
print(model.score_pairs([("person 7", "person 8")]))
