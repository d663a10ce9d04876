"""A scikit-learn classifier on embeddings that never saw a label."""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from maskgae import MaskGAE
from maskgae.datasets.generated import generate

graph = generate(1000, 5000, num_features=16, communities=5, signal=0.3, seed=0)
embedding = MaskGAE(dim=32, settings={"training.epochs": 100}).fit_transform(graph)
assert graph.features is not None and graph.labels is not None

classifier = LogisticRegression(max_iter=1000)
for name, x in (("features", graph.features.dense().numpy()), ("embedding", embedding)):
    scores = cross_val_score(classifier, x, graph.labels.numpy(), cv=5)
    print(f"{name}: accuracy {scores.mean():.3f}")
