"""A NetworkX graph in, embeddings and missing links out."""

import networkx

from maskgae import MaskGAE

graph = networkx.les_miserables_graph()
model = MaskGAE(dim=32, random_state=0).fit(graph)

print("embeddings:", model.embedding_.shape)
print("AUC on held-out pairs:", round(model.metrics_["auc"], 3))
links = model.predict_links(top=3, nodes=["Cosette"])
for target, score in zip(links["target"], links["score"], strict=True):
    print(f"Cosette - {target}: {score:.2f}")
