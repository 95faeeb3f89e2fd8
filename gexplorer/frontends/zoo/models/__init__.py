"""One file a model family; each defines ``ENTRIES``, a tuple of `gexplorer.frontends.zoo.entry.ZooEntry`."""
